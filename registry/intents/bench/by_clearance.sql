/*---
name = "bench.by_clearance"
plane = "bench"
description = "How our own people spread over the clearance levels, for a labor category or a window of availability if asked."
heading = "The bench by clearance"
noun = ["clearance level"]
definition = """
Counts come from the tenant's roster on the day of the snapshot. holders have exactly this clearance, holders_or_above
this one or a higher one on the ladder NONE, PUBLIC_TRUST, CONFIDENTIAL, SECRET, TS, TS_SCI; DOE access stands beside
it. A window maps up to 3, 6 or 12 months after the snapshot, a longer one to no limit at all. A count is withheld whatever
the reason: nobody, fewer than the threshold, or because other counts would give it away.
"""
words = ["clearance", "clearances", "clearance levels", "breakdown", "distribution", "bench", "staff", "people", "mix"]
phrases = [
  "break the bench down by clearance",
  "what clearances do our people hold",
  "bench by clearance level",
  "clearance mix of our staff",
  "how many people at each clearance",
]
row_cap = 8

[[params]]
name = "window_months"
kind = "window_months"
role = "ahead"
required = false

[[params]]
name = "labor_category"
kind = "labor_category"
required = false

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
name = "availability"
type = "enum"
label = "Available"
key = true
words = ["available", "availability"]

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
    SELECT level.clearance,
           level.place,
           CASE WHEN :window_months::int <= 3 THEN 3 WHEN :window_months::int <= 6 THEN 6
                WHEN :window_months::int <= 12 THEN 12 ELSE 0 END AS within_months,
           coalesce(:labor_category::text, '') AS labor_category
    FROM unnest(ARRAY['NONE', 'PUBLIC_TRUST', 'CONFIDENTIAL', 'SECRET', 'TS', 'TS_SCI', 'DOE_L', 'DOE_Q'])
         WITH ORDINALITY AS level (clearance, place)
)
SELECT asked.clearance,
       nullif(asked.labor_category, '') AS labor_category,
       CASE WHEN :window_months::int IS NULL THEN NULL WHEN asked.within_months = 0 THEN 'regardless of date' ELSE concat('within ', asked.within_months, ' months') END AS availability,
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
