/*---
name = "market.spend_trend"
plane = "market"
description = "Obligations by fiscal year at an agency or under a NAICS code, with the change from year to year."
heading = "Spend by fiscal year"
noun = ["fiscal year"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or
of both; vehicles such as schedules are not spending, their orders are. Money counts in the month it was obligated,
amounts taken back included; an award known by its summary alone counts with its total in the month of its latest
action. A window of N months reaches back to the first day of the month N months ago; awards are those with an action
in it.
Fiscal years start in October and are named for the year they end in. The window is widened to whole fiscal years at
its start; the year in progress is marked. The change is of the obligations on the fiscal year before, where that one
is above zero.
"""
words = ["trend", "develop", "spend", "spending", "year", "years", "growth", "grown", "budget", "history", "fiscal"]
phrases = [
  "spend trend",
  "spending over time",
  "obligations by fiscal year",
  "is spending growing",
  "how much does the agency spend",
  "trend for the last five years",
  "yearly spend",
]
row_cap = 15
order_by = ["fiscal_year", "asc"]
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
default = 60
minimum = 1
maximum = 120

[[columns]]
name = "fiscal_year"
type = "enum"
label = "Fiscal year"
key = true
words = ["fiscal year", "year"]

[[columns]]
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

[[columns]]
name = "change"
type = "percent"
label = "Change on the year before"
words = ["change", "growth", "grew", "fell", "rose"]

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

[[columns]]
name = "status"
type = "enum"
label = "Status"
words = ["status"]
[columns.aliases]
"in progress" = ["so far", "to date"]
"complete" = []

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
WITH dated AS (
    SELECT extract(YEAR FROM m.month + make_interval(0, 3))::int AS year, m.obligated, m.awards, m.vendor_key
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR m.agency_key = upper(:agency) OR m.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR m.naics = :naics)
      AND m.month >= (date_trunc('year', :as_of::date - make_interval(0, :window_months) + make_interval(0, 3))
                            - make_interval(0, 3))::date
      AND m.month <= :as_of::date
), yearly AS (
    SELECT year, sum(obligated) AS obligated, sum(awards)::bigint AS awards,
           count(DISTINCT vendor_key) AS vendors
    FROM dated
    GROUP BY year
    HAVING sum(awards) <> 0 OR sum(obligated) <> 0
), compared AS (
    SELECT year, obligated, awards, vendors,
           CASE WHEN lag(year) OVER (ORDER BY year) = year - 1 AND lag(obligated) OVER (ORDER BY year) > 0
                THEN lag(obligated) OVER (ORDER BY year) END AS before
    FROM yearly
)
SELECT concat('FY', year) AS fiscal_year, obligated, round(100 * (obligated - before) / before, 1) AS change, awards, vendors,
       CASE WHEN year = extract(YEAR FROM :as_of::date + make_interval(0, 3))::int THEN 'in progress'
            ELSE 'complete' END AS status
FROM compared
ORDER BY year
