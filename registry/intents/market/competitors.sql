/*---
name = "market.competitors"
plane = "market"
description = "Who holds the market: vendors by their share of obligations at an agency or under a NAICS code."
heading = "Competitors by share of obligations"
noun = ["vendor", "competitor"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or of both; vehicles such as schedules are not spending, their orders are. Money counts on the day it was obligated, amounts taken back included; an award known by its summary alone counts with its total on the day of its latest action, so a window holds what had an action in it.
A vendor is a UEI, and a name where a record has no UEI. Vendors whose actions in the window net to zero or less have no share; a share is of what the others hold together.
"""
words = ["competitor", "competitors", "competes", "compete", "competing", "competition", "rivals", "share", "vendors", "leaders", "top", "win"]
phrases = [
  "who competes for",
  "who are our biggest competitors",
  "top vendors at",
  "which firms win",
  "share of obligations by vendor",
  "who gained share",
  "likely competitors",
  "who holds the market",
  "who wins the work",
  "did a vendor win there",
  "who do we compete with",
  "who wins the most",
  "take the largest share",
]
row_cap = 20
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
name = "rank"
type = "rank"
label = "Rank"
words = ["rank", "place"]

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
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

[[columns]]
name = "share"
type = "percent"
label = "Share"
additive = true
words = ["share", "percent", "of obligations"]

[[columns]]
name = "awards"
type = "count"
unit = "awards"
label = "Awards"
additive = true
words = ["awards", "contracts", "orders"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
WITH held AS (
    SELECT max(o.vendor) AS vendor, max(o.uei) AS uei, sum(o.obligated) AS obligated,
           count(DISTINCT o.award_key) AS awards
    FROM market.obligation o
    WHERE o.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR o.agency_key = upper(:agency) OR o.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR o.naics = :naics)
      AND o.action_date >= (:as_of::date - make_interval(0, :window_months))::date
      AND o.action_date <= :as_of::date
    GROUP BY o.vendor_key
    HAVING sum(o.obligated) > 0
)
SELECT rank() OVER (ORDER BY obligated DESC) AS rank, vendor, uei, obligated,
       round(100 * obligated / sum(obligated) OVER (), 1) AS share, awards
FROM held
ORDER BY obligated DESC, vendor, uei
