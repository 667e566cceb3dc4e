/*---
name = "bench.availability"
plane = "bench"
description = "How many of our own people become available within 3, 6 and 12 months, for a clearance or labor category if asked."
heading = "Availability of the bench"
noun = ["window"]
definition = """
Counts come from the tenant's roster on the day of the snapshot. holders have exactly this clearance, holders_or_above
this one or a higher one on the ladder NONE, PUBLIC_TRUST, CONFIDENTIAL, SECRET, TS, TS_SCI; DOE access stands beside
it. A window maps up to 3, 6 or 12 months after the snapshot, a longer one to no limit at all. A count is withheld whatever
the reason: nobody, fewer than the threshold, or because other counts would give it away.
Each window counts from the snapshot and holds the shorter ones.
"""
words = ["available", "availability", "free", "bench", "staff", "people", "roll off", "when"]
phrases = [
  "who becomes available on the bench in the next months",
  "availability of our cleared staff",
  "how many people roll off within six months",
  "when do our secret people come free",
  "bench availability by month",
]
row_cap = 4

[[params]]
name = "clearance"
kind = "clearance"
required = false

[[params]]
name = "labor_category"
kind = "labor_category"
required = false

[[columns]]
name = "availability"
type = "enum"
label = "Available"
key = true
words = ["available", "availability"]

[[columns]]
name = "clearance"
type = "enum"
key = true
words = ["clearance", "level", "cleared"]
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
name = "labor_category"
type = "enum"
label = "Labor category"
key = true
words = ["labor category", "category"]

[[columns]]
name = "holders"
type = "count"
unit = "people"
label = "At this level"
sensitive = true
words = ["holders", "people", "staff", "hold", "at this level"]

[[columns]]
name = "holders_or_above"
type = "count"
unit = "people"
label = "Higher levels included"
sensitive = true
words = ["or above", "at least", "or higher"]

[[columns]]
name = "snapshot"
type = "date"
label = "Counted on"
words = ["counted on", "snapshot", "as of"]
---*/
WITH asked AS (
    SELECT slot.within_months,
           slot.place,
           coalesce(:clearance::text, 'ANY') AS clearance,
           coalesce(:labor_category::text, '') AS labor_category
    FROM unnest(ARRAY[3, 6, 12, 0]) WITH ORDINALITY AS slot (within_months, place)
)
SELECT CASE asked.within_months WHEN 0 THEN 'regardless of date' ELSE concat('within ', asked.within_months, ' months') END AS availability,
       asked.clearance,
       nullif(asked.labor_category, '') AS labor_category,
       cell.holders,
       cell.or_above AS holders_or_above,
       everyone.snapshot
FROM asked
LEFT JOIN bench.cell AS cell
       ON cell.tenant_id = :tenant_id
      AND cell.clearance = asked.clearance
      AND cell.compartments = ''
      AND cell.within_months = asked.within_months
      AND lower(cell.labor_category) = lower(asked.labor_category)
LEFT JOIN bench.cell AS everyone
       ON everyone.tenant_id = :tenant_id
      AND everyone.clearance = 'ANY'
      AND everyone.compartments = ''
      AND everyone.within_months = 0
      AND everyone.labor_category = ''
ORDER BY asked.place
