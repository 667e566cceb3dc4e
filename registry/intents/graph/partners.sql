/*---
name = "graph.partners"
plane = "graph"
description = "Our partners by set aside: 8(a), SDVOSB, HUBZone, WOSB and what each can do."
heading = "Partners by set aside"
noun = ["partner"]
definition = """
The tenant's own list of partners, in the order of their first set aside and then of their name; those that hold the set
aside that the question names, where it names one.
"""
words = ["partners", "partner", "sdvosb", "8(a)", "hubzone", "wosb", "small business partners", "teammates", "fit"]
phrases = [
  "which of our partners",
  "our SDVOSB partners",
  "partners by set aside",
  "which of our partners fit",
  "8(a) partners",
  "list our partners",
]
row_cap = 200

[[params]]
name = "set_aside"
kind = "set_aside"
required = false

[[columns]]
name = "partner"
type = "entity"
label = "Partner"
key = true
words = ["partner", "firm"]

[[columns]]
name = "uei"
type = "id"
label = "UEI"
bindable = true
words = ["UEI"]

[[columns]]
name = "set_asides"
type = "enum"
label = "Set asides"
plural = true
words = ["certification", "certifications", "set aside", "set asides"]

[[columns]]
name = "capabilities"
type = "enum"
label = "Capabilities"
plural = true
words = ["capability", "capabilities", "skills"]
---*/
SELECT p.name AS partner, p.uei, p.set_asides, p.capabilities
FROM graph.partner p
WHERE p.tenant_id = :tenant_id
  AND (:set_aside::text IS NULL OR :set_aside = ANY (p.set_asides))
ORDER BY p.set_asides, p.name, p.uei
