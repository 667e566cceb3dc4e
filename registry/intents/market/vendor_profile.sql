/*---
name = "market.vendor_profile"
plane = "market"
description = "What one vendor, by UEI, won in the window, from which agencies and under which codes."
heading = "Vendor profile"
noun = ["vendor"]
definition = """
Contracts and orders of one UEI; vehicles are not spending, their orders are. Money counts in the month it was
obligated, amounts taken back included; an award known by its summary alone counts with its total in the month of its
latest action. A window of N months reaches back to the first day of the month N months ago; awards are those with an
action in it. Agencies and codes stand in the order of their obligations, the largest five.
"""
words = ["vendor", "profile", "history", "won", "awarded", "uei", "who is"]
phrases = [
  "vendor profile",
  "profile of the vendor",
  "what has the vendor with UEI won",
  "what did they win and from whom",
  "history of the vendor",
  "tell me about the vendor",
  "history of the firm",
  "what did the company win",
  "what else do they hold",
]
row_cap = 1

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
words = ["UEI", "unique entity id"]

[[columns]]
name = "parent"
type = "entity"
label = "Parent"
words = ["parent", "owned by"]

[[columns]]
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

[[columns]]
name = "awards"
type = "count"
unit = "awards"
label = "Awards"
additive = true
words = ["awards", "contracts", "orders"]

[[columns]]
name = "agencies"
type = "entity"
label = "Agencies"
plural = true
words = ["agencies", "from", "buyers"]

[[columns]]
name = "codes"
type = "id"
label = "NAICS codes"
plural = true
words = ["NAICS", "codes"]

[[columns]]
name = "latest_action"
type = "date"
label = "Latest action"
words = ["latest action", "last action"]

[[columns]]
name = "business_size"
type = "enum"
label = "Business size"
words = ["business size"]
[columns.aliases]
"small" = ["small business"]
"other than small" = ["large business"]

[[edges]]
param = "uei"
source = "market.opportunity"
column = "incumbent_uei"
---*/
WITH won AS (
    SELECT m.vendor, m.obligated, m.awards, m.month, m.naics, coalesce(m.subagency, m.agency) AS agency
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND m.vendor_key = :uei
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
), by_agency AS (
    SELECT agency, row_number() OVER (ORDER BY sum(obligated) DESC, agency) AS place
    FROM won
    WHERE agency IS NOT NULL
    GROUP BY agency
), by_code AS (
    SELECT naics, row_number() OVER (ORDER BY sum(obligated) DESC, naics) AS place
    FROM won
    WHERE naics IS NOT NULL
    GROUP BY naics
), latest AS (
    SELECT a.parent_vendor, a.business_size, a.latest_date
    FROM market.known_award a
    WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND a.vendor_key = :uei
      AND a.latest_date >= (SELECT max(month) FROM won)
    ORDER BY a.latest_date DESC, a.award_key
    LIMIT 1
)
SELECT max(won.vendor) AS vendor, :uei::text AS uei, (SELECT parent_vendor FROM latest) AS parent, sum(won.obligated) AS obligated,
       sum(won.awards)::bigint AS awards,
       (SELECT array_agg(agency ORDER BY place) FROM by_agency WHERE place <= 5) AS agencies,
       (SELECT array_agg(naics ORDER BY place) FROM by_code WHERE place <= 5) AS codes,
       (SELECT latest_date FROM latest) AS latest_action, (SELECT business_size FROM latest) AS business_size
FROM won
HAVING count(*) > 0
