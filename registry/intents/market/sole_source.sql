/*---
name = "market.sole_source"
plane = "market"
description = "Which awards were not competed, with vendor, amount and reason."
heading = "Awards that were not competed"
noun = ["award"]
definition = """
The list holds contracts and orders, and vehicles marked as such, of an agency (a department or an office of it that
awards), of a NAICS code, or of both. An award is sole source when its extent competed is not competed, not available
for competition, not competed under simplified acquisition, or a noncompetitive delivery order, and it had an action
in the window. Obligated is the award's total to date.
"""
words = ["sole source", "noncompetitive", "not competed", "uncompeted", "single source", "directed"]
phrases = [
  "sole source awards",
  "list sole source awards",
  "awards made without competition",
  "what was not competed",
  "without competition",
  "noncompetitive awards",
]
row_cap = 50
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
name = "award"
type = "id"
label = "Award"
key = true
words = ["award", "contract", "order", "piid"]

[[columns]]
name = "vendor"
type = "entity"
label = "Vendor"
words = ["vendor", "firm", "company", "contractor"]

[[columns]]
name = "uei"
type = "id"
label = "UEI"
bindable = true
words = ["UEI", "unique entity id"]

[[columns]]
name = "agency"
type = "entity"
label = "Agency"
words = ["agency", "office", "buyer"]

[[columns]]
name = "kind"
type = "enum"
label = "Kind"
words = ["kind"]
[columns.aliases]
"contract" = ["contract", "order"]
"vehicle" = ["vehicle", "IDIQ", "schedule"]

[[columns]]
name = "extent"
type = "enum"
label = "Extent competed"
words = ["extent", "competed"]

[[columns]]
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

[[columns]]
name = "latest_action"
type = "date"
label = "Latest action"
words = ["latest action", "last action", "awarded"]

[[columns]]
name = "current_end"
type = "date"
label = "Current end"
words = ["current end", "ends", "ending", "expires"]

[[columns]]
name = "set_aside"
type = "enum"
label = "Set aside"
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
SELECT a.piid AS award, a.vendor, a.uei, coalesce(a.subagency, a.agency) AS agency, a.kind, a.extent_competed AS extent,
       a.obligated, a.latest_date AS latest_action, a.current_end, a.set_aside
FROM market.known_award a
WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
  AND (:agency::text IS NULL OR a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
  AND (:naics::text IS NULL OR a.naics = :naics)
  AND a.latest_date >= (:as_of::date - make_interval(0, :window_months))::date
  AND a.latest_date <= :as_of::date
  AND a.competed = false
ORDER BY a.obligated DESC NULLS LAST, a.award_key
