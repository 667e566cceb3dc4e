/*---
name = "market.recompetes"
plane = "market"
description = "Which awards end inside the coming months, with the incumbent on each."
heading = "Recompetes"
noun = ["award", "recompete"]
definition = """
The list holds contracts and orders, and vehicles marked as such, of an agency (a department or an office of it that
awards), of a NAICS code, or of both. An award is up when its current end or its potential end lies between today and
the end of the window; ends says which: final when no option is left behind that day, option when one could still
extend it. Awards that an action closed out, cancelled or terminated are not listed. Obligated is the award's total to
date.
"""
words = ["recompete", "recompetes", "expire", "expires", "expiring", "ending", "end", "upcoming", "rebid", "renewal", "follow on"]
phrases = [
  "up for recompete",
  "recompetes coming up",
  "contracts expiring in the next months",
  "which contracts end within",
  "what is ending soon",
  "upcoming recompetes with the incumbent",
  "awards that run out",
]
row_cap = 50
order_by = ["ends_on", "asc"]
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
role = "ahead"
required = false
default = 18
minimum = 1
maximum = 60

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
words = ["vendor", "incumbent", "firm", "company", "contractor"]

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
name = "ends_on"
type = "date"
label = "Ends on"
words = ["ends", "ends on", "up on", "expires"]

[[columns]]
name = "ends"
type = "enum"
label = "Kind of end"
words = ["kind of end"]
[columns.aliases]
"final" = ["final end", "no option left"]
"option" = ["option end", "option left"]

[[columns]]
name = "current_end"
type = "date"
label = "Current end"
words = ["current end"]

[[columns]]
name = "potential_end"
type = "date"
label = "Potential end"
words = ["potential end", "last option", "with all options"]

[[columns]]
name = "obligated"
type = "money"
unit = "USD"
label = "Obligated"
additive = true
words = ["obligated", "obligations", "spend", "dollars", "won"]

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
WITH due AS (
    SELECT a.award_key, a.piid, a.vendor, a.uei, coalesce(a.subagency, a.agency) AS agency, a.kind, a.obligated,
           a.current_end, a.potential_end, a.set_aside, a.last_end,
           CASE WHEN a.current_end >= :as_of::date
                 AND a.current_end <= (:as_of::date + make_interval(0, :window_months))::date
                THEN a.current_end ELSE a.potential_end END AS ends_on
    FROM market.known_award a
    WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (:agency::text IS NULL OR a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
      AND (:naics::text IS NULL OR a.naics = :naics)
      AND NOT a.closed
      AND a.last_end >= :as_of::date
)
SELECT piid AS award, vendor, uei, agency, kind, ends_on,
       CASE WHEN last_end > ends_on THEN 'option' ELSE 'final' END AS ends,
       current_end, potential_end, obligated, set_aside
FROM due
WHERE ends_on >= :as_of::date
  AND ends_on <= (:as_of::date + make_interval(0, :window_months))::date
ORDER BY ends_on, obligated DESC NULLS LAST, award_key
