/*---
name = "bench.cleared_count"
plane = "bench"
description = "How many of our own people hold a clearance, with compartments, labor category and availability if asked."
heading = "Cleared people on the bench"
noun = ["clearance level"]
definition = """
Counts come from the tenant's roster on the day of the snapshot. holders have exactly this clearance, holders_or_above
this one or a higher one on the ladder NONE, PUBLIC_TRUST, CONFIDENTIAL, SECRET, TS, TS_SCI; DOE access stands beside
it. A window maps up to 3, 6 or 12 months after the snapshot, a longer one to no limit at all. A count is withheld whatever
the reason: nobody, fewer than the threshold, or because other counts would give it away.
With compartments it counts people who hold at least those asked; who holds SI-G holds SI, listed or not, and TS means
TS_SCI.
No polygraph is recorded, so a count by polygraph is always withheld. Without a clearance there is a row for every
level from SECRET up. wider_group is the smallest published group that holds this one and more people.
"""
words = ["cleared", "clearance", "clearances", "holders", "holder", "headcount", "number", "anyone", "people", "bench", "staff",
         "read in", "poly", "polygraph", "indoctrinated"]
phrases = [
  "how many ts sci people do we have",
  "do we have secret cleared analysts on the bench",
  "how many holders are read in to si and tk",
  "headcount with ts sci and a poly",
  "do we have enough people cleared to that level",
  "and our ts bench",
  "staff with a top secret clearance available within six months",
  "have we got cleared people for it",
]
row_cap = 8

[[params]]
name = "clearance"
kind = "clearance"
required = false

[[params]]
name = "compartments"
kind = "compartments"
required = false

[[params]]
name = "window_months"
kind = "window_months"
role = "ahead"
required = false

[[params]]
name = "labor_category"
kind = "labor_category"
required = false

[[params]]
name = "polygraph"
kind = "polygraph"
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
name = "compartments"
type = "enum"
label = "Compartments"
key = true
words = ["compartments", "read in", "compartment"]

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
    SELECT level.clearance,
           level.place,
           coalesce((SELECT string_agg(DISTINCT held.name, '/' ORDER BY held.name)
                     FROM unnest(:compartments::text[]) AS held (name)), '') AS compartments,
           CASE WHEN :window_months::int <= 3 THEN 3 WHEN :window_months::int <= 6 THEN 6
                WHEN :window_months::int <= 12 THEN 12 ELSE 0 END AS within_months,
           coalesce(:labor_category::text, '') AS labor_category
    FROM unnest(ARRAY['NONE', 'PUBLIC_TRUST', 'CONFIDENTIAL', 'SECRET', 'TS', 'TS_SCI', 'DOE_L', 'DOE_Q'])
         WITH ORDINALITY AS level (clearance, place)
    WHERE CASE WHEN cardinality(:compartments::text[]) > 0 AND coalesce(:clearance::text, 'TS') = 'TS'
               THEN level.clearance = 'TS_SCI'
               WHEN :clearance::text IS NULL THEN level.clearance IN ('SECRET', 'TS', 'TS_SCI')
               ELSE level.clearance = :clearance::text END
)
SELECT asked.clearance,
       nullif(asked.compartments, '') AS compartments,
       nullif(asked.labor_category, '') AS labor_category,
       CASE WHEN :window_months::int IS NULL THEN NULL WHEN asked.within_months = 0 THEN 'regardless of date' ELSE concat('within ', asked.within_months, ' months') END AS availability,
       CASE WHEN :polygraph::text IS NULL THEN cell.holders END AS holders,
       CASE WHEN :polygraph::text IS NULL THEN cell.or_above END AS holders_or_above,
       coalesce(cell.wider_group, 'everyone') AS wider_group,
       CASE WHEN cell.wider_group IS NULL THEN everyone.holders ELSE cell.wider_count END AS wider_count,
       everyone.snapshot
FROM asked
LEFT JOIN bench.cell AS cell
       ON cell.tenant_id = :tenant_id
      AND cell.clearance = asked.clearance
      AND cell.compartments = asked.compartments
      AND cell.within_months = asked.within_months
      AND lower(cell.labor_category) = lower(asked.labor_category)
LEFT JOIN bench.cell AS everyone
       ON everyone.tenant_id = :tenant_id
      AND everyone.clearance = 'ANY'
      AND everyone.compartments = ''
      AND everyone.within_months = 0
      AND everyone.labor_category = ''
ORDER BY asked.place
