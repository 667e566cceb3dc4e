/*---
name = "market.concentration"
plane = "market"
description = "How concentrated the market is: HHI and the shares of the largest vendors."
heading = "Concentration of the market"
noun = ["market"]
definition = """
The market is the contracts and orders of an agency (a department or an office of it that awards), of a NAICS code, or
of both; vehicles such as schedules are not spending, their orders are. Money counts in the month it was obligated,
amounts taken back included; an award known by its summary alone counts with its total in the month of its latest
action. A window of N months reaches back to the first day of the month N months ago; awards are those with an action
in it.
The HHI is the sum of the squared shares in points, from near 0 to 10,000. Above 1,800 counts as highly concentrated,
from 1,000 as moderately concentrated (Merger Guidelines of 2023). Vendors whose actions net to zero or less have no
share.
"""
words = ["concentrated", "concentration", "hhi", "open", "dominated", "handful", "few", "fragmented", "monopoly"]
phrases = [
  "is the market concentrated",
  "concentrated in a few vendors or open",
  "how concentrated is",
  "HHI of the market",
  "top three share",
  "open to newcomers",
  "how much do the largest hold",
]
row_cap = 1
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
name = "band"
type = "enum"
label = "Concentration"
key = true
words = ["concentration", "concentrated"]
[columns.aliases]
"highly concentrated" = ["concentrated"]
"moderately concentrated" = []
"unconcentrated" = ["not concentrated", "open"]

[[columns]]
name = "hhi"
type = "count"
unit = "points"
label = "HHI"
words = ["HHI", "Herfindahl index", "points"]

[[columns]]
name = "vendors"
type = "count"
unit = "vendors"
label = "Vendors"
words = ["vendors", "firms"]

[[columns]]
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

[[columns]]
name = "top_vendor"
type = "entity"
label = "Largest vendor"
words = ["largest vendor", "leader", "leading vendor"]

[[columns]]
name = "top_share"
type = "percent"
label = "Largest share"
words = ["largest share", "top share"]

[[columns]]
name = "top_three_share"
type = "percent"
label = "Top three share"
words = ["top three", "three largest"]

[[columns]]
name = "top_ten_share"
type = "percent"
label = "Top ten share"
words = ["top ten", "ten largest"]

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
    SELECT max(m.vendor) AS vendor, sum(m.obligated) AS obligated
    FROM market.monthly m
    WHERE m.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR m.agency_key = upper(:agency) OR m.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR m.naics = :naics)
      AND m.month >= date_trunc('month', :as_of::date - make_interval(0, :window_months))::date
      AND m.month <= :as_of::date
    GROUP BY m.vendor_key
    HAVING sum(m.obligated) > 0
), shared AS (
    SELECT vendor, obligated, 100 * obligated / sum(obligated) OVER () AS share,
           row_number() OVER (ORDER BY obligated DESC, vendor) AS place
    FROM held
), summed AS (
    SELECT round(sum(share * share))::int AS hhi, count(*) AS vendors, sum(obligated) AS obligated,
           max(vendor) FILTER (WHERE place = 1) AS top_vendor,
           round(sum(share) FILTER (WHERE place = 1), 1) AS top_share,
           round(sum(share) FILTER (WHERE place <= 3), 1) AS top_three_share,
           round(sum(share) FILTER (WHERE place <= 10), 1) AS top_ten_share
    FROM shared
    HAVING count(*) > 0
)
SELECT CASE WHEN hhi > 1800 THEN 'highly concentrated'
            WHEN hhi >= 1000 THEN 'moderately concentrated'
            ELSE 'unconcentrated' END AS band,
       hhi, vendors, obligated, top_vendor, top_share, top_three_share, top_ten_share
FROM summed
