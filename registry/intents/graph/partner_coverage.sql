/*---
name = "graph.partner_coverage"
plane = "graph"
description = "Which skills that an opportunity requires each partner lists."
heading = "Partners that cover the requirements"
noun = ["partner"]
definition = """
The id is that of an opportunity, for all of its requirements, or that of one requirement, for that one alone. Covered
skills are those that a requirement names and the partner lists among its capabilities, letter case aside. It is a
list of words that agree, not a judgement of the partner.
"""
words = ["partners", "cover", "covers", "coverage", "fill", "fills", "team", "teaming"]
phrases = [
  "partners who fill the gaps",
  "which partners cover the requirements",
  "partner coverage",
  "who can we team with on the opportunity",
  "partners for the opportunity",
]
row_cap = 25
order_by = ["skills_covered", "desc"]

[[params]]
name = "subject"
kind = "uuid"

[[columns]]
name = "partner"
type = "entity"
label = "Partner"
key = true
words = ["partner", "firm"]

[[columns]]
name = "uei"
type = "id"
label = "UEI"
bindable = true
words = ["UEI"]

[[columns]]
name = "covered_skills"
type = "enum"
label = "Covered skills"
plural = true
words = ["covered skills", "covers", "skills"]

[[columns]]
name = "skills_covered"
type = "count"
unit = "skills"
label = "Skills covered"
words = ["skills covered", "number of skills"]

[[columns]]
name = "set_asides"
type = "enum"
label = "Set asides"
plural = true
words = ["set aside", "set asides", "certifications"]
---*/
WITH needed AS (
    SELECT DISTINCT lower(unnest(r.skills)) AS skill
    FROM graph.requirement r
    WHERE r.tenant_id = :tenant_id
      AND (r.opportunity_id = :subject OR r.requirement_id = :subject)
), offered AS (
    SELECT p.uei, p.name, p.set_asides, lower(unnest(p.capabilities)) AS skill
    FROM graph.partner p
    WHERE p.tenant_id = :tenant_id
)
SELECT offered.name AS partner, offered.uei, array_agg(DISTINCT needed.skill ORDER BY needed.skill) AS covered_skills,
       count(DISTINCT needed.skill) AS skills_covered, offered.set_asides
FROM offered
JOIN needed ON needed.skill = offered.skill
GROUP BY offered.uei, offered.name, offered.set_asides
ORDER BY count(DISTINCT needed.skill) DESC, offered.name, offered.uei
