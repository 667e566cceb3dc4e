/*---
name = "market.agency_leaders"
plane = "market"
description = "Which agencies buy most under a NAICS code, and who leads at each."
heading = "Agencies that buy most"
noun = ["agency"]
definition = """
The market is the contracts and orders of a NAICS code; vehicles such as schedules are not spending, their orders are.
Money counts in the month it was obligated, amounts taken back included; an award known by its summary alone counts
with its total in the month of its latest action. A window of N months reaches back to the first day of the month N
months ago; awards are those with an action in it. An agency is the office that awards (USAspending's subtier).
Agencies whose actions net to zero or less are left out, and a share is of what the others spend together. The leader
is the vendor with the largest obligations there.
"""
words = ["agencies", "agency", "buyers", "buys", "buy", "customers", "departments", "who buys", "leaders"]
phrases = [
  "which agencies buy",
  "who buys the most",
  "who spends the most on",
  "top agencies for",
  "biggest customers for",
  "leading agencies under",
  "where is the demand",
  "which departments spend most",
]
row_cap = 20
order_by = ["obligated", "desc"]

[[params]]
name = "naics"
kind = "naics"

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
name = "agency"
type = "entity"
label = "Agency"
key = true
bindable = true
words = ["agency", "buyer"]

[[columns]]
name = "department"
type = "entity"
label = "Department"
words = ["department"]

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

[[columns]]
name = "leader"
type = "entity"
label = "Leading vendor"
words = ["leader", "leading vendor", "largest vendor"]

[[columns]]
name = "leader_uei"
type = "id"
label = "UEI of the leader"
bindable = true
words = ["UEI"]

[[columns]]
name = "leader_obligated"
type = "money"
unit = "USD"
label = "Leader's obligations"
words = ["leader's obligations", "obligated to the leader"]
---*/
WITH sold AS (
    SELECT coalesce(m.subagency, m.agency) AS agency, m.agency AS department, max(m.vendor) AS vendor, max(m.uei) AS uei,
           sum(m.obligated) AS obligated, sum(m.awards)::bigint AS awards
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND m.naics = :naics
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
    GROUP BY coalesce(m.subagency, m.agency), m.agency, m.vendor_key
), placed AS (
    SELECT agency, department, vendor, uei, obligated, awards,
           row_number() OVER (PARTITION BY agency, department ORDER BY obligated DESC, vendor, uei) AS place
    FROM sold
), bought AS (
    SELECT agency, department, sum(obligated) AS obligated, sum(awards)::bigint AS awards, count(*) AS vendors,
           max(vendor) FILTER (WHERE place = 1) AS leader, max(uei) FILTER (WHERE place = 1) AS leader_uei,
           max(obligated) AS leader_obligated
    FROM placed
    GROUP BY agency, department
    HAVING sum(obligated) > 0
)
SELECT rank() OVER (ORDER BY obligated DESC) AS rank, agency, department, obligated,
       round(100 * obligated / sum(obligated) OVER (), 1) AS share, awards, vendors, leader, leader_uei, leader_obligated
FROM bought
ORDER BY obligated DESC, agency, department
