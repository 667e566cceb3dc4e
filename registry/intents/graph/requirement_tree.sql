/*---
name = "graph.requirement_tree"
plane = "graph"
description = "The requirements of an opportunity as a tree: top level ones and everything under them."
heading = "Requirement tree"
noun = ["requirement"]
definition = """
The id is that of an opportunity, for all of its requirements, or that of one requirement, for it and those under it.
Levels start at 1 and end at 8: what lies deeper is not shown. A requirement whose parent is not known stands at the
top.
"""
words = ["tree", "break", "breakdown", "under", "hierarchy", "top level", "structure", "requirements", "decompose"]
phrases = [
  "break the opportunity down",
  "top level requirements and everything under them",
  "requirement tree",
  "what sits under requirement",
  "level by level",
  "hierarchy of requirements",
  "decompose the requirement",
]
row_cap = 200

[[params]]
name = "subject"
kind = "uuid"

[[columns]]
name = "level"
type = "count"
unit = "levels"
label = "Level"
words = ["level"]

[[columns]]
name = "path"
type = "text"
label = "Requirement"
key = true
untrusted = true
words = ["requirement", "requirements", "path"]

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
---*/
WITH RECURSIVE top AS (
    SELECT r.requirement_id
    FROM graph.requirement r
    LEFT JOIN graph.requirement above
           ON above.tenant_id = :tenant_id
          AND above.requirement_id = r.parent_id
    WHERE r.tenant_id = :tenant_id
      AND (r.requirement_id = :subject OR (r.opportunity_id = :subject AND above.requirement_id IS NULL))
), tree AS (
    SELECT r.requirement_id, 1 AS level, r.title AS path, ARRAY[r.title, r.requirement_id::text] AS place,
           r.clearance, r.skills, r.headcount
    FROM graph.requirement r
    JOIN top ON top.requirement_id = r.requirement_id
    WHERE r.tenant_id = :tenant_id
    UNION ALL
    SELECT r.requirement_id, tree.level + 1, concat(tree.path, ' / ', r.title), tree.place || ARRAY[r.title, r.requirement_id::text],
           r.clearance, r.skills, r.headcount
    FROM graph.requirement r
    JOIN tree ON r.parent_id = tree.requirement_id AND tree.level < 8
    WHERE r.tenant_id = :tenant_id
)
SELECT level, path, clearance, skills, headcount
FROM tree
ORDER BY place
