/*---
name = "market.competition"
plane = "market"
description = "How awards were competed: extent of competition, offers received, awards with one offer."
heading = "How awards were competed"
noun = ["way of competing"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or
of both; vehicles such as schedules are not spending, their orders are. Money counts in the month it was obligated,
amounts taken back included; an award known by its summary alone counts with its total in the month of its latest
action. A window of N months reaches back to the first day of the month N months ago; awards are those with an action
in it.
Offers are those of the award, as last reported; an award that reports no number counts in neither column. Shares are
of all obligations in the window.
"""
words = ["competed", "offers", "bids", "bidders", "competition", "single offer", "competitive", "sole source"]
phrases = [
  "how many offers do they receive",
  "how competitive are awards",
  "number of bids",
  "extent of competition",
  "to what extent",
  "how much is competed",
  "awards with a single offer",
  "how much is sole source",
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
name = "extent"
type = "enum"
label = "Extent competed"
key = true
words = ["extent", "competed", "competition"]

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
name = "single_offer"
type = "count"
unit = "awards"
label = "Awards with one offer"
additive = true
words = ["one offer", "single offer", "one bid"]

[[columns]]
name = "several_offers"
type = "count"
unit = "awards"
label = "Awards with several offers"
additive = true
words = ["several offers", "more than one offer"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
WITH competed AS (
    SELECT coalesce(m.extent_competed, 'Not reported') AS extent, sum(m.awards)::bigint AS awards,
           sum(m.obligated) AS obligated, sum(m.single_offers)::bigint AS single_offer,
           sum(m.several_offers)::bigint AS several_offers
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR m.agency_key = upper(:agency) OR m.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR m.naics = :naics)
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
    GROUP BY coalesce(m.extent_competed, 'Not reported')
    HAVING sum(m.awards) <> 0 OR sum(m.obligated) <> 0
)
SELECT extent, awards, obligated, round(100 * obligated / nullif(sum(obligated) OVER (), 0), 1) AS share,
       single_offer, several_offers
FROM competed
ORDER BY obligated DESC, extent
