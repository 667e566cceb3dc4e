/*---
name = "graph.requirements"
plane = "graph"
description = "What an opportunity requires: clearance, skills and headcount of each requirement."
heading = "Requirements"
noun = ["requirement"]
definition = """
The id is that of an opportunity, for all of its requirements, or that of one requirement, for that one alone.
"""
words = ["requirement", "requirements", "requires", "required", "security", "clearances", "clearance", "skills", "needs"]
phrases = [
  "what are the requirements on opportunity",
  "security requirements of",
  "which clearances are required",
  "what does the opportunity require",
  "requirements and likely competitors",
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
name = "clearance"
type = "enum"
label = "Clearance"
words = ["clearance", "clearances", "security", "requires", "required", "needs"]
[columns.aliases]
"NONE" = ["no clearance"]
"PUBLIC_TRUST" = ["Public Trust"]
"CONFIDENTIAL" = ["Confidential"]
"SECRET" = ["Secret"]
"TS" = ["Top Secret"]
"TS_SCI" = ["TS/SCI"]
"DOE_L" = ["DOE L"]
"DOE_Q" = ["DOE Q"]

[[columns]]
name = "skills"
type = "enum"
label = "Skills"
plural = true
words = ["skill", "skills"]

[[columns]]
name = "headcount"
type = "count"
unit = "people"
label = "Headcount"
additive = true
words = ["headcount", "people", "positions"]

[[columns]]
name = "part_of"
type = "text"
label = "Part of"
untrusted = true
words = ["part of", "under"]
---*/
SELECT r.title AS requirement, r.clearance, r.skills, r.headcount, above.title AS part_of
FROM graph.requirement r
LEFT JOIN graph.requirement above
       ON above.tenant_id = :tenant_id
      AND above.requirement_id = r.parent_id
WHERE r.tenant_id = :tenant_id
  AND (r.opportunity_id = :subject OR r.requirement_id = :subject)
ORDER BY coalesce(above.title, r.title), r.parent_id IS NOT NULL, r.title, r.requirement_id
