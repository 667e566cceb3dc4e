-- One row of market.award for each award that the staged actions belong to, from all of its known actions. A column
-- takes the latest action's value that is not empty. Where a summary is known its own values stand, and the actions
-- only fill what it leaves empty.
WITH touched AS (
    SELECT DISTINCT award_key FROM stage
), ordered AS (
    SELECT a.*, w.summary_date,
           row_number() OVER (
               PARTITION BY a.award_key
               ORDER BY a.action_date DESC, a.modification COLLATE "C" DESC NULLS LAST,
                        a.transaction_number COLLATE "C" DESC NULLS LAST, a.transaction_key COLLATE "C" DESC
           ) AS place
    FROM touched
    CROSS JOIN LATERAL (
        SELECT * FROM market.action x WHERE x.tenant_id = $1 AND x.award_key = touched.award_key OFFSET 0
    ) a
    LEFT JOIN LATERAL (
        SELECT summary_date FROM market.award x WHERE x.tenant_id = $1 AND x.award_key = touched.award_key OFFSET 0
    ) w ON true
), known AS (
    SELECT award_key,
           (array_agg(piid            ORDER BY place) FILTER (WHERE piid            IS NOT NULL))[1] AS piid,
           (array_agg(parent_piid     ORDER BY place) FILTER (WHERE parent_piid     IS NOT NULL))[1] AS parent_piid,
           (array_agg(award_type      ORDER BY place) FILTER (WHERE award_type      IS NOT NULL))[1] AS award_type,
           (array_agg(agency          ORDER BY place) FILTER (WHERE agency          IS NOT NULL))[1] AS agency,
           (array_agg(subagency       ORDER BY place) FILTER (WHERE subagency       IS NOT NULL))[1] AS subagency,
           (array_agg(office          ORDER BY place) FILTER (WHERE office          IS NOT NULL))[1] AS office,
           (array_agg(vendor          ORDER BY place) FILTER (WHERE vendor          IS NOT NULL))[1] AS vendor,
           (array_agg(uei             ORDER BY place) FILTER (WHERE uei             IS NOT NULL))[1] AS uei,
           (array_agg(parent_uei      ORDER BY place) FILTER (WHERE parent_uei      IS NOT NULL))[1] AS parent_uei,
           (array_agg(parent_vendor   ORDER BY place) FILTER (WHERE parent_vendor   IS NOT NULL))[1] AS parent_vendor,
           (array_agg(naics           ORDER BY place) FILTER (WHERE naics           IS NOT NULL))[1] AS naics,
           (array_agg(psc             ORDER BY place) FILTER (WHERE psc             IS NOT NULL))[1] AS psc,
           (array_agg(pricing         ORDER BY place) FILTER (WHERE pricing         IS NOT NULL))[1] AS pricing,
           (array_agg(set_aside       ORDER BY place) FILTER (WHERE set_aside       IS NOT NULL))[1] AS set_aside,
           (array_agg(extent_competed ORDER BY place) FILTER (WHERE extent_competed IS NOT NULL))[1] AS extent_competed,
           (array_agg(offers          ORDER BY place) FILTER (WHERE offers          IS NOT NULL))[1] AS offers,
           (array_agg(business_size   ORDER BY place) FILTER (WHERE business_size   IS NOT NULL))[1] AS business_size,
           (array_agg(state           ORDER BY place) FILTER (WHERE state           IS NOT NULL))[1] AS state,
           (array_agg(solicitation    ORDER BY place) FILTER (WHERE solicitation    IS NOT NULL))[1] AS solicitation,
           (array_agg(description     ORDER BY place) FILTER (WHERE description     IS NOT NULL))[1] AS description,
           (array_agg(total_obligated ORDER BY place) FILTER (WHERE total_obligated IS NOT NULL))[1] AS total_obligated,
           (array_agg(potential_value ORDER BY place) FILTER (WHERE potential_value IS NOT NULL))[1] AS potential_value,
           (array_agg(start_date      ORDER BY place) FILTER (WHERE start_date      IS NOT NULL))[1] AS start_date,
           (array_agg(current_end     ORDER BY place) FILTER (WHERE current_end     IS NOT NULL))[1] AS current_end,
           (array_agg(potential_end   ORDER BY place) FILTER (WHERE potential_end   IS NOT NULL))[1] AS potential_end,
           sum(obligated) AS actions_obligated,
           min(action_date) FILTER (WHERE modification = '0') AS base_date,
           max(action_date) AS last_action,
           bool_or(coalesce(action_type IN (
               'CLOSE OUT', 'LEGAL CONTRACT CANCELLATION', 'TERMINATE FOR CONVENIENCE (COMPLETE OR PARTIAL)',
               'TERMINATE FOR DEFAULT (COMPLETE OR PARTIAL)', 'TERMINATE FOR CAUSE'), false)) AS closed,
           coalesce(sum(obligated) FILTER (WHERE action_date <= summary_date), 0) AS explained
    FROM ordered
    GROUP BY award_key
)
INSERT INTO market.award AS w (
    tenant_id, award_key, piid, parent_piid, award_type, agency, subagency, office, vendor, uei, parent_uei, parent_vendor,
    naics, psc, pricing, set_aside, extent_competed, offers, business_size, state, solicitation, description, obligated,
    potential_value, start_date, current_end, potential_end, base_date, last_action, closed, explained)
SELECT $1, award_key, piid, parent_piid, award_type, agency, subagency, office, vendor, uei, parent_uei, parent_vendor,
       naics, psc, pricing, set_aside, extent_competed, offers, business_size, state, solicitation, description,
       coalesce(total_obligated, actions_obligated),
       potential_value, start_date, current_end, potential_end, base_date, last_action, closed, explained
FROM known
ON CONFLICT (tenant_id, award_key) DO UPDATE SET
    (piid, parent_piid, award_type, agency, subagency, office, vendor, uei, parent_uei, parent_vendor,
     naics, psc, pricing, set_aside, extent_competed, offers, business_size, state, solicitation, description, obligated,
     potential_value, start_date, current_end, potential_end, base_date, last_action, closed, explained)
    = (SELECT
        CASE WHEN w.summary_date IS NULL THEN excluded.piid            ELSE coalesce(w.piid,            excluded.piid) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.parent_piid     ELSE coalesce(w.parent_piid,     excluded.parent_piid) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.award_type      ELSE coalesce(w.award_type,      excluded.award_type) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.agency          ELSE coalesce(w.agency,          excluded.agency) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.subagency       ELSE coalesce(w.subagency,       excluded.subagency) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.office          ELSE coalesce(w.office,          excluded.office) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.vendor          ELSE coalesce(w.vendor,          excluded.vendor) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.uei             ELSE coalesce(w.uei,             excluded.uei) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.parent_uei      ELSE coalesce(w.parent_uei,      excluded.parent_uei) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.parent_vendor   ELSE coalesce(w.parent_vendor,   excluded.parent_vendor) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.naics           ELSE coalesce(w.naics,           excluded.naics) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.psc             ELSE coalesce(w.psc,             excluded.psc) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.pricing         ELSE coalesce(w.pricing,         excluded.pricing) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.set_aside       ELSE coalesce(w.set_aside,       excluded.set_aside) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.extent_competed ELSE coalesce(w.extent_competed, excluded.extent_competed) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.offers          ELSE coalesce(w.offers,          excluded.offers) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.business_size   ELSE coalesce(w.business_size,   excluded.business_size) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.state           ELSE coalesce(w.state,           excluded.state) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.solicitation    ELSE coalesce(w.solicitation,    excluded.solicitation) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.description     ELSE coalesce(w.description,     excluded.description) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.obligated       ELSE coalesce(w.obligated,       excluded.obligated) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.potential_value ELSE coalesce(w.potential_value, excluded.potential_value) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.start_date      ELSE coalesce(w.start_date,      excluded.start_date) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.current_end     ELSE coalesce(w.current_end,     excluded.current_end) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.potential_end   ELSE coalesce(w.potential_end,   excluded.potential_end) END,
        CASE WHEN w.summary_date IS NULL THEN excluded.base_date       ELSE coalesce(w.base_date,       excluded.base_date) END,
        excluded.last_action, excluded.closed, excluded.explained)
