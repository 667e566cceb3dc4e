/*---
name = "market.set_asides"
plane = "market"
description = "How much of the market goes through which set aside: 8(a), SDVOSB, HUBZone, WOSB, small business or none."
heading = "Set aside mix"
noun = ["set aside"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or
of both; vehicles such as schedules are not spending, their orders are. Money counts in the month it was obligated,
amounts taken back included; an award known by its summary alone counts with its total in the month of its latest
action. A window of N months reaches back to the first day of the month N months ago; awards are those with an action
in it.
A set aside is what the record of the award says; awards that report none are shown as not reported.
"""
words = ["set aside", "set asides", "small business", "8(a)", "sdvosb", "hubzone", "wosb", "woman owned", "mix"]
phrases = [
  "set aside mix",
  "how much is set aside",
  "share of small business set asides",
  "what is set aside for SDVOSB",
  "small business share",
  "which SDVOSB and woman owned firms",
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
name = "set_aside"
type = "enum"
label = "Set aside"
key = true
words = ["set aside", "set asides"]

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

[[columns]]
name = "vendors"
type = "count"
unit = "vendors"
label = "Vendors"
words = ["vendors", "firms"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
WITH mix AS (
    SELECT coalesce(m.set_aside, 'Not reported') AS set_aside, sum(m.obligated) AS obligated,
           sum(m.awards)::bigint AS awards, count(DISTINCT m.vendor_key) AS vendors
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR m.agency_key = upper(:agency) OR m.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR m.naics = :naics)
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
    GROUP BY coalesce(m.set_aside, 'Not reported')
    HAVING sum(m.awards) <> 0 OR sum(m.obligated) <> 0
)
SELECT set_aside, obligated,
       round(100 * obligated / nullif(sum(obligated) OVER (), 0), 1) AS share, awards, vendors
FROM mix
ORDER BY obligated DESC, set_aside
