/*---
name = "bench.capture_picture"
plane = "bench"
description = "One line that puts a requirement, its market (agency and NAICS), partners and cleared bench side by side."
heading = "Capture picture"
noun = ["requirement"]
definition = """
The market is all obligations of contracts and orders under the NAICS code at the agency in the last 36 months, money
taken back subtracted; leader_share is the largest vendor's part of it. recompetes are awards whose current end lies in
the window from today. partners are those of the tenant with at least one capability that the requirement names as a
skill. holders_or_above counts the tenant's roster on the day of the snapshot: people with this clearance or a higher
one on the ladder NONE, PUBLIC_TRUST, CONFIDENTIAL, SECRET, TS, TS_SCI; DOE access stands beside it. A count is
withheld whatever the reason: nobody, fewer than the threshold, or because other counts would give it away.
The counts stand side by side; nothing is scored, matched or recommended.
"""
words = ["picture", "capture", "overview", "summary"]
phrases = [
  "give me the capture picture for the requirement",
  "capture overview for requirement at agency under naics",
  "the whole picture requirement market and bench",
]
row_cap = 50

[[params]]
name = "requirement"
kind = "uuid"
role = "requirement"

[[params]]
name = "agency"
kind = "agency"

[[params]]
name = "naics"
kind = "naics"

[[params]]
name = "window_months"
kind = "window_months"
role = "ahead"
default = 18
minimum = 1
maximum = 120

[[columns]]
name = "requirement"
type = "text"
key = true
untrusted = true
words = ["requirement"]

[[columns]]
name = "clearance"
type = "enum"
label = "Clearance needed"
words = ["clearance", "needs", "requires", "required", "needed"]
[columns.aliases]
ANY = ["any clearance", "everyone"]
NONE = ["no clearance"]
PUBLIC_TRUST = ["Public Trust"]
CONFIDENTIAL = ["Confidential"]
SECRET = ["Secret"]
TS = ["Top Secret"]
TS_SCI = ["TS/SCI"]
DOE_L = ["DOE L"]
DOE_Q = ["DOE Q"]

[[columns]]
name = "headcount"
type = "count"
unit = "people"
label = "Headcount needed"
words = ["headcount", "people needed", "positions"]

[[columns]]
name = "holders_or_above"
type = "count"
unit = "people"
label = "People cleared, higher levels included"
sensitive = true
words = ["holders", "people", "cleared", "or above", "on the bench"]

[[columns]]
name = "partners"
type = "count"
unit = "partners"
label = "Partners with one of its skills"
words = ["partners"]

[[columns]]
name = "vendors"
type = "count"
unit = "vendors"
label = "Vendors"
words = ["vendors", "competitors", "compete"]

[[columns]]
name = "obligated"
type = "money"
label = "Market obligations"
words = ["obligated", "market", "spent"]

[[columns]]
name = "leader"
type = "entity"
label = "Largest vendor"
words = ["largest vendor", "leader"]

[[columns]]
name = "leader_share"
type = "percent"
label = "Its share"
words = ["share", "holds"]

[[columns]]
name = "recompetes"
type = "count"
unit = "awards"
label = "Recompetes"
words = ["recompetes", "awards that end", "up for recompete"]

[[columns]]
name = "snapshot"
type = "date"
label = "Counted on"
words = ["counted on", "snapshot", "as of"]
---*/
WITH vendors AS (
    SELECT o.vendor_key,
           max(o.vendor) AS vendor,
           sum(o.obligated) AS obligated
    FROM market.obligation AS o
    WHERE o.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (o.agency_key = upper(:agency) OR o.subagency_key = upper(:agency))
      AND o.naics = :naics
      AND o.action_date > :as_of::date - make_interval(months => 36)
      AND o.action_date <= :as_of::date
    GROUP BY o.vendor_key
),
market_size AS (
    SELECT count(*) AS vendors, coalesce(sum(vendors.obligated), 0) AS obligated FROM vendors
),
leader AS (
    SELECT vendors.vendor, vendors.obligated
    FROM vendors
    WHERE vendors.obligated > 0
    ORDER BY vendors.obligated DESC, vendors.vendor_key
    LIMIT 1
),
ending AS (
    SELECT count(*) AS recompetes
    FROM market.known_award AS a
    WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
      AND (a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
      AND a.naics = :naics
      AND NOT a.closed
      AND a.current_end >= :as_of::date
      AND a.current_end <= :as_of::date + make_interval(months => :window_months::int)
)
SELECT requirement.title AS requirement,
       coalesce(requirement.clearance, 'ANY') AS clearance,
       requirement.headcount,
       cell.or_above AS holders_or_above,
       (SELECT count(*)
        FROM graph.partner AS partner
        WHERE partner.tenant_id = :tenant_id
          AND EXISTS (SELECT 1
                      FROM unnest(partner.capabilities) AS can (name)
                      JOIN unnest(requirement.skills) AS must (name) ON lower(must.name) = lower(can.name))) AS partners,
       market_size.vendors,
       market_size.obligated,
       leader.vendor AS leader,
       CASE WHEN market_size.obligated > 0 THEN round(100 * leader.obligated / market_size.obligated, 1) END AS leader_share,
       ending.recompetes,
       everyone.snapshot
FROM graph.requirement AS requirement
CROSS JOIN market_size
CROSS JOIN ending
LEFT JOIN leader ON true
LEFT JOIN bench.cell AS cell
       ON cell.tenant_id = :tenant_id
      AND cell.clearance = coalesce(requirement.clearance, 'ANY')
      AND cell.compartments = ''
      AND cell.within_months = 0
      AND cell.labor_category = ''
LEFT JOIN bench.cell AS everyone
       ON everyone.tenant_id = :tenant_id
      AND everyone.clearance = 'ANY'
      AND everyone.compartments = ''
      AND everyone.within_months = 0
      AND everyone.labor_category = ''
WHERE requirement.tenant_id = :tenant_id
  AND (requirement.requirement_id = :requirement OR requirement.opportunity_id = :requirement)
ORDER BY requirement.title, requirement.requirement_id
