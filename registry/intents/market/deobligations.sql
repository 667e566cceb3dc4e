/*---
name = "market.deobligations"
plane = "market"
description = "Which vendors had money taken back, how much and when."
heading = "Money taken back"
noun = ["vendor"]
definition = """
Actions below zero of contracts, orders and vehicles inside the window, at an agency (a department or an office of it
that awards), under a NAICS code, or both. Taken back is their sum, shown above zero; it says nothing of why. Only
actions show it: an award known by its summary alone shows none.
"""
words = ["deobligation", "deobligations", "taken back", "reduced", "cut", "cuts", "withdrawn", "clawed back", "lost funding"]
phrases = [
  "money taken back",
  "saw money taken back",
  "deobligations in the last months",
  "which vendors lost funding",
  "funds withdrawn",
  "negative obligations",
]
row_cap = 25
order_by = ["taken_back", "desc"]
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
name = "taken_back"
type = "money"
unit = "USD"
label = "Taken back"
additive = true
words = ["taken back", "deobligated", "withdrawn"]

[[columns]]
name = "actions"
type = "count"
unit = "actions"
label = "Actions"
additive = true
words = ["actions", "modifications"]

[[columns]]
name = "awards"
type = "count"
unit = "awards"
label = "Awards"
additive = true
words = ["awards", "contracts", "orders"]

[[columns]]
name = "latest_action"
type = "date"
label = "Latest"
words = ["latest", "last"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
SELECT max(t.vendor) AS vendor, max(t.uei) AS uei, sum(0 - t.obligated) AS taken_back, count(*) AS actions,
       count(DISTINCT t.award_key) AS awards, max(t.action_date) AS latest_action
FROM market.known_action t
WHERE t.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
  AND (:agency::text IS NULL OR t.agency_key = upper(:agency) OR t.subagency_key = upper(:agency))
  AND (:naics::text IS NULL OR t.naics = :naics)
  AND t.action_date >= (:as_of::date - make_interval(0, :window_months))::date
  AND t.action_date <= :as_of::date
  AND t.obligated < 0
GROUP BY t.vendor_key
ORDER BY sum(0 - t.obligated) DESC, max(t.vendor), max(t.uei)
