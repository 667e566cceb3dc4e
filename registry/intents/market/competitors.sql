/*---
name = "market.competitors"
plane = "market"
description = "Who holds the market: vendors by their share of obligations at an agency or under a NAICS code."
heading = "Competitors by share of obligations"
noun = ["vendor", "competitor"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or
of both; vehicles such as schedules are not spending, their orders are. Money counts in the month it was obligated,
amounts taken back included; an award known by its summary alone counts with its total in the month of its latest
action. A window of N months reaches back to the first day of the month N months ago; awards are those with an action
in it.
A vendor is a UEI, and a name where a record has no UEI. Vendors whose actions in the window net to zero or less have
no share; a share is of what the others hold together.
"""
words = ["competitor", "competitors", "competes", "compete", "competing", "rivals", "share", "vendors", "leaders", "top", "win"]
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
    SELECT max(m.vendor) AS vendor, max(m.uei) AS uei, sum(m.obligated) AS obligated,
           sum(m.awards)::bigint AS awards
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR m.agency_key = upper(:agency) OR m.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR m.naics = :naics)
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
    GROUP BY m.vendor_key
    HAVING sum(m.obligated) > 0
)
SELECT rank() OVER (ORDER BY obligated DESC) AS rank, vendor, uei, obligated,
       round(100 * obligated / sum(obligated) OVER (), 1) AS share, awards
FROM held
ORDER BY obligated DESC, vendor, uei
