/*---
name = "market.opportunity"
plane = "market"
description = "The market behind a notice: its agency, code and set aside, and the award and incumbent known under its solicitation."
heading = "The market behind the opportunity"
noun = ["opportunity", "award"]
definition = """
A notice of SAM.gov by its id. The incumbent is the vendor of an award that carries the notice's solicitation number
or award number, hyphens and spaces aside; a notice whose number no known award carries has none, which is usual for
work that is solicited anew. Several awards under one number are several rows.
"""
words = ["incumbent", "opportunity", "notice", "solicitation", "behind", "market of"]
phrases = [
  "who is the incumbent on opportunity",
  "incumbent of the opportunity",
  "who holds the work behind the notice",
  "market of the opportunity",
  "which contract is the opportunity a follow on of",
]
row_cap = 20

[[params]]
name = "opportunity"
kind = "uuid"
role = "opportunity"

[[columns]]
name = "title"
type = "text"
label = "Title"
untrusted = true
words = ["title"]

[[columns]]
name = "agency"
type = "entity"
label = "Agency"
bindable = true
words = ["agency", "office"]

[[columns]]
name = "naics"
type = "id"
label = "NAICS code"
bindable = true
words = ["NAICS", "code"]

[[columns]]
name = "set_aside"
type = "enum"
label = "Set aside"
words = ["set aside", "set asides"]

[[columns]]
name = "solicitation"
type = "id"
label = "Solicitation"
words = ["solicitation"]

[[columns]]
name = "award"
type = "id"
label = "Award"
key = true
words = ["award", "contract", "order", "piid"]

[[columns]]
name = "incumbent"
type = "entity"
label = "Incumbent"
words = ["incumbent", "vendor", "holder"]

[[columns]]
name = "incumbent_uei"
type = "id"
label = "UEI of the incumbent"
bindable = true
words = ["UEI"]

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
---*/
SELECT o.title, coalesce(o.subagency, o.agency) AS agency, o.naics, o.set_aside, o.solicitation,
       a.piid AS award, a.vendor AS incumbent, a.uei AS incumbent_uei, a.current_end, a.potential_end
FROM market.opportunity o
LEFT JOIN market.known_award a
       ON a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (a.solicitation_key = o.solicitation_key OR a.piid = upper(replace(o.award_number, '-', '')))
WHERE o.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
  AND o.opportunity_id = :opportunity
ORDER BY a.potential_end DESC NULLS LAST, a.award_key
