/*---
name = "graph.opportunity"
plane = "graph"
description = "When a response is due, the set aside, type and office of one opportunity."
heading = "Opportunity"
noun = ["opportunity"]
definition = """
A notice of SAM.gov by its id. The due date is the day in the office's own time zone.
"""
words = ["opportunity", "due", "deadline", "response", "respond", "set aside", "notice", "solicitation", "office", "posted"]
phrases = [
  "when is the response due",
  "due date of the opportunity",
  "what set aside is it",
  "which office issued the opportunity",
  "deadline of the notice",
]
row_cap = 1

[[params]]
name = "opportunity"
kind = "uuid"
role = "opportunity"

[[columns]]
name = "title"
type = "text"
label = "Title"
key = true
untrusted = true
words = ["title"]

[[columns]]
name = "due_date"
type = "date"
label = "Response due"
words = ["due", "response due", "deadline"]

[[columns]]
name = "set_aside"
type = "enum"
label = "Set aside"
words = ["set aside", "set asides"]

[[columns]]
name = "notice_type"
type = "enum"
label = "Type"
words = ["type"]

[[columns]]
name = "agency"
type = "entity"
label = "Agency"
words = ["agency"]

[[columns]]
name = "office"
type = "entity"
label = "Office"
words = ["office"]

[[columns]]
name = "solicitation"
type = "id"
label = "Solicitation"
words = ["solicitation"]

[[columns]]
name = "naics"
type = "id"
label = "NAICS code"
words = ["NAICS", "code"]

[[columns]]
name = "posted"
type = "date"
label = "Posted"
words = ["posted"]

[[columns]]
name = "active"
type = "bool"
label = "Active"
words = ["active", "closed"]
---*/
SELECT o.title, o.due_date, o.set_aside, o.notice_type, coalesce(o.subagency, o.agency) AS agency, o.office,
       o.solicitation, o.naics, o.posted_date AS posted, o.active
FROM graph.opportunity o
WHERE o.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
  AND o.opportunity_id = :opportunity
