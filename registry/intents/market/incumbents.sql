/*---
name = "market.incumbents"
plane = "market"
description = "Which awards are being performed today, by whom, and when they end with and without options."
heading = "Incumbents"
noun = ["award"]
definition = """
The list holds contracts and orders, and vehicles marked as such, of an agency (a department or an office of it that
awards), of a NAICS code, or of both. An award is active while its current end lies ahead; one without a current end,
while its potential end does. Awards that an action closed out, cancelled or terminated are not listed. Obligated is
the award's total to date.
"""
words = ["incumbent", "incumbents", "holds", "hold", "holder", "current", "today", "active", "contract holder", "option"]
phrases = [
  "who holds the work today",
  "who is the incumbent",
  "current contract holders",
  "when does their last option end",
  "active awards",
  "which firms hold",
  "who performs it now",
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

[[columns]]
name = "award"
type = "id"
label = "Award"
key = true
words = ["award", "contract", "order", "piid"]

[[columns]]
name = "vendor"
type = "entity"
label = "Vendor"
words = ["vendor", "firm", "company", "contractor"]

[[columns]]
name = "uei"
type = "id"
label = "UEI"
bindable = true
words = ["UEI", "unique entity id"]

[[columns]]
name = "agency"
type = "entity"
label = "Agency"
words = ["agency", "office", "buyer"]

[[columns]]
name = "kind"
type = "enum"
label = "Kind"
words = ["kind"]
[columns.aliases]
"contract" = ["contract", "order"]
"vehicle" = ["vehicle", "IDIQ", "schedule"]

[[columns]]
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

[[columns]]
name = "current_end"
type = "date"
label = "Current end"
words = ["current end", "ends", "ending", "expires"]

[[columns]]
name = "potential_end"
type = "date"
label = "Potential end"
words = ["potential end", "last option", "with all options"]

[[columns]]
name = "set_aside"
type = "enum"
label = "Set aside"
words = ["set aside", "set asides"]

[[edges]]
param = "agency"
source = "market.opportunity"
column = "agency"

[[edges]]
param = "naics"
source = "market.opportunity"
column = "naics"
---*/
SELECT a.piid AS award, a.vendor, a.uei, coalesce(a.subagency, a.agency) AS agency, a.kind, a.obligated,
       a.current_end, a.potential_end, a.set_aside
FROM market.known_award a
WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
  AND (:agency::text IS NULL OR a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
  AND (:naics::text IS NULL OR a.naics = :naics)
  AND a.last_end >= :as_of::date
  AND coalesce(a.current_end, a.potential_end) >= :as_of::date
  AND NOT a.closed
ORDER BY a.obligated DESC NULLS LAST, a.award_key
