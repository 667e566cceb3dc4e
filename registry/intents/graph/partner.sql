/*---
name = "graph.partner"
plane = "graph"
description = "One partner by UEI: its capabilities and set asides."
heading = "Partner"
noun = ["partner"]
definition = """
The tenant's own list of partners.
"""
words = ["partner", "capabilities", "capability", "certifications", "certification", "teammate"]
phrases = [
  "tell me about the partner",
  "capabilities and certifications of the partner",
  "what can the partner do",
  "partner with UEI",
]
row_cap = 1

[[params]]
name = "uei"
kind = "uei"

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
words = ["UEI"]

[[columns]]
name = "capabilities"
type = "enum"
label = "Capabilities"
plural = true
words = ["capability", "capabilities", "skills"]

[[columns]]
name = "set_asides"
type = "enum"
label = "Set asides"
plural = true
words = ["certification", "certifications", "set aside", "set asides"]
---*/
SELECT p.name AS partner, p.uei, p.capabilities, p.set_asides
FROM graph.partner p
WHERE p.tenant_id = :tenant_id
  AND p.uei = :uei
