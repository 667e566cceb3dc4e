/*---
name = "bench.for_requirement"
plane = "bench"
description = "How many of our own people are cleared for a requirement, or for each requirement of an opportunity."
heading = "Cleared people for the requirement"
noun = ["requirement"]
definition = """
Counts come from the tenant's roster on the day of the snapshot. holders have exactly this clearance, holders_or_above
this one or a higher one on the ladder NONE, PUBLIC_TRUST, CONFIDENTIAL, SECRET, TS, TS_SCI; DOE access stands beside
it. A window maps up to 3, 6 or 12 months after the snapshot, a longer one to no limit at all. A count is withheld whatever
the reason: nobody, fewer than the threshold, or because other counts would give it away.
The clearance is the one that the requirement names; people with a higher one on the ladder count too. A requirement
that names none counts everyone. No one is matched to a requirement: this compares two numbers and no people.
"""
words = ["requirement", "cleared", "enough", "staff it", "people", "bench"]
phrases = [
  "do we have the people for requirement",
  "how many people are cleared for this requirement",
  "can we staff the requirement from our bench",
  "bench for requirement",
  "cleared headcount for each requirement",
]
row_cap = 50

[[params]]
name = "requirement"
kind = "uuid"
role = "requirement"

[[params]]
name = "window_months"
kind = "window_months"
role = "ahead"
required = false

[[columns]]
name = "requirement"
type = "text"
key = true
untrusted = true
words = ["requirement"]

[[columns]]
name = "clearance"
type = "enum"
label = "Clearance needed"
words = ["clearance", "needs", "requires", "required", "needed"]
[columns.aliases]
ANY = ["any clearance", "everyone"]
NONE = ["no clearance"]
PUBLIC_TRUST = ["Public Trust"]
CONFIDENTIAL = ["Confidential"]
SECRET = ["Secret"]
TS = ["Top Secret"]
TS_SCI = ["TS/SCI"]
DOE_L = ["DOE L"]
DOE_Q = ["DOE Q"]

[[columns]]
name = "headcount"
type = "count"
unit = "people"
label = "Headcount needed"
words = ["headcount", "people needed", "positions"]

[[columns]]
name = "holders_or_above"
type = "count"
unit = "people"
label = "People cleared, higher levels included"
sensitive = true
words = ["holders", "people", "cleared", "or above", "on the bench"]

[[columns]]
name = "availability"
type = "enum"
label = "Available"
words = ["available", "availability"]

[[columns]]
name = "wider_group"
type = "enum"
label = "Wider group"
words = ["wider group", "out of"]

[[columns]]
name = "wider_count"
type = "count"
unit = "people"
label = "People in the wider group"
sensitive = true
words = ["in the wider group", "in all"]

[[columns]]
name = "snapshot"
type = "date"
label = "Counted on"
words = ["counted on", "snapshot", "as of"]
---*/
WITH asked AS (
    SELECT requirement.requirement_id,
           requirement.title,
           requirement.headcount,
           coalesce(requirement.clearance, 'ANY') AS clearance,
           CASE WHEN :window_months::int <= 3 THEN 3 WHEN :window_months::int <= 6 THEN 6
                WHEN :window_months::int <= 12 THEN 12 ELSE 0 END AS within_months
    FROM graph.requirement AS requirement
    WHERE requirement.tenant_id = :tenant_id
      AND (requirement.requirement_id = :requirement OR requirement.opportunity_id = :requirement)
)
SELECT asked.title AS requirement,
       asked.clearance,
       asked.headcount,
       cell.or_above AS holders_or_above,
       CASE WHEN :window_months::int IS NULL THEN NULL WHEN asked.within_months = 0 THEN 'regardless of date' ELSE concat('within ', asked.within_months, ' months') END AS availability,
       coalesce(cell.wider_group, 'everyone') AS wider_group,
       CASE WHEN cell.wider_group IS NULL THEN everyone.holders ELSE cell.wider_count END AS wider_count,
       everyone.snapshot
FROM asked
LEFT JOIN bench.cell AS cell
       ON cell.tenant_id = :tenant_id
      AND cell.clearance = asked.clearance
      AND cell.compartments = ''
      AND cell.within_months = asked.within_months
      AND cell.labor_category = ''
LEFT JOIN bench.cell AS everyone
       ON everyone.tenant_id = :tenant_id
      AND everyone.clearance = 'ANY'
      AND everyone.compartments = ''
      AND everyone.within_months = 0
      AND everyone.labor_category = ''
ORDER BY asked.title, asked.requirement_id
