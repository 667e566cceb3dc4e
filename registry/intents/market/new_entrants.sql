/*---
name = "market.new_entrants"
plane = "market"
description = "Which vendors won their first award in the market inside the window."
heading = "New entrants"
noun = ["vendor", "new entrant"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or
of both; vehicles are not counted. A vendor is new when it had an action in the window and the first of all its known
awards there began inside the window: on the day of its base action, or where that is not known on the start of its
period of performance. A window of N months reaches back to the first day of the month N months ago. Obligated is the
total to date of its awards there.
"""
words = ["new", "entrant", "entrants", "newcomer", "newcomers", "first award", "first time", "emerging", "open"]
phrases = [
  "new entrants",
  "which vendors are new",
  "who broke in",
  "first time winners",
  "open to newcomers",
  "newcomers in the market",
]
row_cap = 25
order_by = ["obligated", "desc"]
one_of = ["agency", "naics"]

[[params]]
name = "agency"
kind = "agency"
required = false

[[params]]
name = "naics"
kind = "naics"
required = false

[[params]]
name = "window_months"
kind = "window_months"
role = "back"
required = false
default = 36
minimum = 1
maximum = 120

[[columns]]
name = "vendor"
type = "entity"
label = "Vendor"
key = true
words = ["vendor", "firm", "company", "contractor"]

[[columns]]
name = "uei"
type = "id"
label = "UEI"
key = true
bindable = true
words = ["UEI", "unique entity id"]

[[columns]]
name = "first_award"
type = "date"
label = "First award"
words = ["first award", "entered", "began", "since"]

[[columns]]
name = "awards"
type = "count"
unit = "awards"
label = "Awards"
additive = true
words = ["awards", "contracts", "orders"]

[[columns]]
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated to date"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

[[columns]]
name = "set_asides"
type = "enum"
label = "Set asides"
plural = true
words = ["set aside", "set asides"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
WITH active AS (
    SELECT DISTINCT m.vendor_key
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR m.agency_key = upper(:agency) OR m.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR m.naics = :naics)
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
), entered AS (
    SELECT active.vendor_key
    FROM active
    WHERE NOT EXISTS (
        SELECT 1
        FROM market.known_award a
        WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
          AND (:agency::text IS NULL OR a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
          AND (:naics::text IS NULL OR a.naics = :naics)
          AND a.vendor_key = active.vendor_key
          AND a.kind = 'contract'
          AND a.first_date < date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
    )
)
SELECT max(a.vendor) AS vendor, max(a.uei) AS uei, min(a.first_date) AS first_award, count(*) AS awards,
       sum(a.obligated) AS obligated,
       array_agg(DISTINCT a.set_aside ORDER BY a.set_aside) FILTER (WHERE a.set_aside <> 'No set aside') AS set_asides
FROM entered
JOIN market.known_award a
  ON a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
 AND a.vendor_key = entered.vendor_key
WHERE (:agency::text IS NULL OR a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
  AND (:naics::text IS NULL OR a.naics = :naics)
  AND a.kind = 'contract'
GROUP BY a.vendor_key
ORDER BY sum(a.obligated) DESC NULLS LAST, max(a.vendor), max(a.uei)
