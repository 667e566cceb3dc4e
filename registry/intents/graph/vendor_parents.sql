/*---
name = "graph.vendor_parents"
plane = "graph"
description = "Who owns a vendor, by UEI, and which other vendors the same parent owns."
heading = "Parent and sister firms"
noun = ["vendor"]
definition = """
Parents as the records of awards name them. The relation says what a vendor is to the one that was asked about:
itself, its sister under one parent, or its subsidiary.
"""
words = ["parent", "owns", "owned", "ownership", "subsidiary", "subsidiaries", "sister", "affiliates", "family"]
phrases = [
  "who owns the vendor",
  "parent of the vendor",
  "subsidiaries of",
  "sister firms of the vendor",
  "parent company",
  "sister companies",
  "corporate family of UEI",
]
row_cap = 50

[[params]]
name = "uei"
kind = "uei"

[[columns]]
name = "vendor"
type = "entity"
label = "Vendor"
key = true
words = ["vendor", "firm"]

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
words = ["parent", "owner", "owned by"]

[[columns]]
name = "parent_uei"
type = "id"
label = "UEI of the parent"
bindable = true
words = ["UEI"]

[[columns]]
name = "relation"
type = "enum"
label = "Relation"
words = ["relation"]
[columns.aliases]
"itself" = []
"sister" = ["sister firm"]
"subsidiary" = []

[[edges]]
param = "uei"
source = "market.opportunity"
column = "incumbent_uei"
---*/
WITH asked AS (
    SELECT v.parent_uei
    FROM graph.vendor_parent v
    WHERE v.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND v.vendor_key = :uei
    UNION
    SELECT :uei::text
)
SELECT max(v.vendor) AS vendor, v.uei, max(v.parent_vendor) AS parent, v.parent_uei,
       CASE WHEN v.uei = :uei THEN 'itself' WHEN v.parent_uei = :uei THEN 'subsidiary' ELSE 'sister' END AS relation
FROM graph.vendor_parent v
JOIN asked ON asked.parent_uei = v.parent_uei
WHERE v.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
GROUP BY v.uei, v.parent_uei
ORDER BY CASE WHEN v.uei = :uei THEN 0 ELSE 1 END, max(v.vendor), v.uei, v.parent_uei
