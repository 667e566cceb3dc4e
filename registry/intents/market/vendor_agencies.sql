/*---
name = "market.vendor_agencies"
plane = "market"
description = "Which agencies one vendor, by UEI, sells to, and how much of its sales each is."
heading = "Agencies of the vendor"
noun = ["agency"]
definition = """
Contracts and orders of one UEI in the window, as in the vendor's profile. An agency is the office that awards
(USAspending's subtier). Agencies where the actions net to zero or less are left out, and a share is of what the
others obligated together.
"""
words = ["agencies", "agency", "customers", "sells", "vendor", "uei", "bought"]
phrases = [
  "which agencies does the vendor sell to",
  "who buys from the vendor",
  "which agencies buy from it",
  "customers of the vendor",
  "where does the vendor win",
  "agencies of the vendor with UEI",
]
row_cap = 20
order_by = ["obligated", "desc"]

[[params]]
name = "uei"
kind = "uei"

[[params]]
name = "window_months"
kind = "window_months"
role = "back"
required = false
default = 36
minimum = 1
maximum = 120

[[columns]]
name = "agency"
type = "entity"
label = "Agency"
key = true
words = ["agency", "buyer", "customer"]

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
name = "latest_month"
type = "date"
label = "Latest month"
words = ["latest month", "last month"]

[[edges]]
param = "uei"
source = "market.opportunity"
column = "incumbent_uei"
---*/
WITH sold AS (
    SELECT coalesce(m.subagency, m.agency) AS agency, m.agency AS department, sum(m.obligated) AS obligated,
           sum(m.awards)::bigint AS awards, max(m.month) AS latest_month
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND m.vendor_key = :uei
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
    GROUP BY coalesce(m.subagency, m.agency), m.agency
    HAVING sum(m.obligated) > 0
)
SELECT agency, department, obligated, round(100 * obligated / sum(obligated) OVER (), 1) AS share, awards, latest_month
FROM sold
ORDER BY obligated DESC, agency, department
