/*---
name = "graph.requirement_gaps"
plane = "graph"
description = "Which skills that an opportunity requires no partner of ours lists."
heading = "Requirement gaps"
noun = ["requirement"]
definition = """
The id is that of an opportunity, for all of its requirements, or that of one requirement, for that one alone. A gap
is a skill that a requirement names and no partner lists among its capabilities, letter case aside. Our own staff play
no part in it.
"""
words = ["gap", "gaps", "missing", "uncovered", "lack", "short"]
phrases = [
  "which requirements have gaps",
  "what are we missing",
  "requirement gaps",
  "which skills does no partner cover",
  "where are we short",
]
row_cap = 100

[[params]]
name = "subject"
kind = "uuid"

[[columns]]
name = "requirement"
type = "text"
label = "Requirement"
key = true
untrusted = true
words = ["requirement", "requirements"]

[[columns]]
name = "missing_skills"
type = "enum"
label = "Missing skills"
plural = true
words = ["missing skills", "gap", "gaps"]

[[columns]]
name = "headcount"
type = "count"
unit = "people"
label = "Headcount"
additive = true
words = ["headcount", "people", "positions"]
---*/
WITH needed AS (
    SELECT r.requirement_id, r.title, r.headcount, unnest(r.skills) AS skill
    FROM graph.requirement r
    WHERE r.tenant_id = :tenant_id
      AND (r.opportunity_id = :subject OR r.requirement_id = :subject)
), offered AS (
    SELECT lower(unnest(p.capabilities)) AS skill
    FROM graph.partner p
    WHERE p.tenant_id = :tenant_id
)
SELECT title AS requirement, array_agg(DISTINCT skill ORDER BY skill) AS missing_skills, headcount
FROM needed
WHERE NOT EXISTS (SELECT 1 FROM offered WHERE offered.skill = lower(needed.skill))
GROUP BY requirement_id, title, headcount
ORDER BY title, requirement_id
