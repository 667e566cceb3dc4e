/*---
name = "market.duration"
plane = "market"
description = "How long contracts of the market run, as planned with all options and as exercised."
heading = "How long contracts run"
noun = ["market"]
definition = """
All known contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or of
both, with a start and an end; vehicles are not counted. A length is from the start of performance to the potential
end, or to the current end where no potential end is known, in months of 30.4375 days, rounded. A quarter of the
contracts runs no longer than the short quarter and a quarter runs longer than the long quarter.
"""
words = ["long", "last", "length", "duration", "typical", "usually", "run", "term"]
phrases = [
  "how long do contracts last",
  "how long do contracts usually run",
  "typical length",
  "average duration",
  "contract term",
  "usual period of performance",
]
row_cap = 10
order_by = ["contracts", "desc"]
one_of = ["agency", "naics"]

[[params]]
name = "agency"
kind = "agency"
required = false

[[params]]
name = "naics"
kind = "naics"
required = false

[[columns]]
name = "award_type"
type = "enum"
label = "Type"
key = true
words = ["type"]

[[columns]]
name = "contracts"
type = "count"
unit = "contracts"
label = "Contracts"
additive = true
words = ["contracts", "awards", "orders"]

[[columns]]
name = "median_months"
type = "duration"
unit = "months"
label = "Middle length"
words = ["middle length", "usually", "typically", "last", "run"]

[[columns]]
name = "short_quarter_months"
type = "duration"
unit = "months"
label = "Short quarter"
words = ["short quarter"]

[[columns]]
name = "long_quarter_months"
type = "duration"
unit = "months"
label = "Long quarter"
words = ["long quarter"]

[[columns]]
name = "exercised_months"
type = "duration"
unit = "months"
label = "Middle length as exercised"
words = ["as exercised"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
WITH lasting AS (
    SELECT coalesce(lower(a.award_type), 'not reported') AS award_type,
           round((coalesce(a.potential_end, a.current_end) - a.start_date) / 30.4375)::int AS planned,
           round((a.current_end - a.start_date) / 30.4375)::int AS exercised
    FROM market.known_award a
    WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR a.naics = :naics)
      AND a.kind = 'contract'
      AND coalesce(a.potential_end, a.current_end) > a.start_date
)
SELECT award_type, count(*) AS contracts,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY planned) AS median_months,
       percentile_disc(0.25) WITHIN GROUP (ORDER BY planned) AS short_quarter_months,
       percentile_disc(0.75) WITHIN GROUP (ORDER BY planned) AS long_quarter_months,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY exercised) AS exercised_months
FROM lasting
GROUP BY award_type
ORDER BY count(*) DESC, award_type
