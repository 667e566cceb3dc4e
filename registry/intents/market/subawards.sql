/*---
name = "market.subawards"
plane = "market"
description = "Who subs to whom: primes and their first tier subcontractors at an agency, under a NAICS code, or of one vendor."
heading = "Primes and their subcontractors"
noun = ["subcontractor"]
definition = """
Subawards that primes report of their first tier, by the agency and NAICS code of the prime award, or by a UEI that is
the prime or the subcontractor; counted on the day of the subaward, amounts taken back included. Reporting starts at
30,000 dollars and lags, so the window reaches back ten years unless the question says otherwise.
"""
words = ["subaward", "subawards", "subs", "subcontractor", "subcontractors", "subcontracts", "primes", "prime", "teams", "teaming", "small subs"]
phrases = [
  "who subs to whom",
  "which primes use small subs",
  "subcontractors of",
  "subawards under",
  "who are the subs",
  "which primes subcontract",
]
row_cap = 50
order_by = ["amount", "desc"]
one_of = ["agency", "naics", "uei"]

[[params]]
name = "agency"
kind = "agency"
required = false

[[params]]
name = "naics"
kind = "naics"
required = false

[[params]]
name = "uei"
kind = "uei"
required = false

[[params]]
name = "window_months"
kind = "window_months"
role = "back"
required = false
default = 120
minimum = 1
maximum = 120

[[columns]]
name = "prime"
type = "entity"
label = "Prime"
key = true
words = ["prime", "primes", "prime contractor"]

[[columns]]
name = "prime_uei"
type = "id"
label = "UEI of the prime"
bindable = true
words = ["UEI"]

[[columns]]
name = "sub"
type = "entity"
label = "Subcontractor"
key = true
words = ["sub", "subs", "subcontractor"]

[[columns]]
name = "sub_uei"
type = "id"
label = "UEI of the subcontractor"
bindable = true
words = ["UEI"]

[[columns]]
name = "amount"
type = "money"
unit = "USD"
label = "Amount"
additive = true
words = ["amount", "subawarded", "worth"]

[[columns]]
name = "subawards"
type = "count"
unit = "subawards"
label = "Subawards"
additive = true
words = ["subawards"]

[[columns]]
name = "latest"
type = "date"
label = "Latest"
words = ["latest", "last"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
SELECT max(s.prime_vendor) AS prime, s.prime_uei, max(s.sub_vendor) AS sub, s.sub_uei, sum(s.amount) AS amount,
       count(*) AS subawards, max(s.action_date) AS latest
FROM market.subaward s
WHERE s.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
  AND (:agency::text IS NULL OR s.agency_key = upper(:agency) OR s.subagency_key = upper(:agency))
  AND (:naics::text IS NULL OR s.naics = :naics)
  AND (:uei::text IS NULL OR s.prime_uei = :uei OR s.sub_uei = :uei)
  AND s.action_date >= (:as_of::date - make_interval(0, :window_months))::date
  AND s.action_date <= :as_of::date
GROUP BY coalesce(s.prime_uei, s.prime_vendor), s.prime_uei, coalesce(s.sub_uei, s.sub_vendor), s.sub_uei
ORDER BY sum(s.amount) DESC, max(s.prime_vendor), max(s.sub_vendor)
