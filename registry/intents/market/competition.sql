/*---
name = "market.competition"
plane = "market"
description = "How awards were competed: extent of competition, offers received, awards with one offer."
heading = "How awards were competed"
noun = ["way of competing"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or of both; vehicles such as schedules are not spending, their orders are. Money counts on the day it was obligated, amounts taken back included; an award known by its summary alone counts with its total on the day of its latest action, so a window holds what had an action in it.
Offers are those of the award, as last reported; 999 stands for 999 or more, so the middle value is shown and no mean. An award that reports no number counts in neither the middle value nor the single offers.
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
name = "median_offers"
type = "count"
unit = "offers"
label = "Middle number of offers"
words = ["offers", "bids", "middle number"]

[[columns]]
name = "single_offer"
type = "count"
unit = "awards"
label = "Awards with one offer"
additive = true
words = ["one offer", "single offer"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
WITH award AS (
    SELECT coalesce(max(o.extent_competed), 'Not reported') AS extent, max(o.offers) AS offers, sum(o.obligated) AS obligated
    FROM market.obligation o
    WHERE o.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR o.agency_key = upper(:agency) OR o.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR o.naics = :naics)
      AND o.action_date >= (:as_of::date - make_interval(0, :window_months))::date
      AND o.action_date <= :as_of::date
    GROUP BY o.award_key
)
SELECT extent, count(*) AS awards, sum(obligated) AS obligated,
       round(100 * sum(obligated) / nullif(sum(sum(obligated)) OVER (), 0), 1) AS share,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY offers) AS median_offers,
       count(*) FILTER (WHERE offers = 1) AS single_offer
FROM award
GROUP BY extent
ORDER BY sum(obligated) DESC, extent
