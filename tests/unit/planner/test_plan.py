"""Binding, edges and validation over a small registry: nothing is guessed, wrong values bind nothing, six at most."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import registry
from consumer.planner.extract import Extracted, Status
from consumer.planner.plan import MAX_NODES, Bound, bind, bindable, run_order, validate
from registry import Edge, Intent, Registry
from schemas.answer import Dropped, DropReason

BUILT_IN = registry.load()
ALL = frozenset(plane.scope for plane in BUILT_IN.planes)
NAMES = tuple(BUILT_IN.by_name)
ID = "5d1c7a90-2f4b-4e83-9b16-c0a7d2e8f431"
OTHER = "a90e6b12-7c35-4d48-8f21-1b6f0c9d7e54"
KINDS = (*sorted(BUILT_IN.kinds), "fiscal_year")
NAVY = "Department of the Navy"

VALUES: dict[str, Any] = {
    "agency": NAVY,
    "naics": "541512",
    "uuid": ID,
    "uei": "K7MDPQ4WX2R8",
    "clearance": "TS_SCI",
    "compartments": ("SI", "TK"),
    "window_months": 18,
    "labor_category": "Systems Engineer",
    "polygraph": "CI",
    "set_aside": "HUBZone",
}


def ok(value: Any, role: str | None = None, **by_role: Any) -> Extracted:
    return Extracted(Status.OK, value, ((0, 1),), role=role, by_role=by_role)


def params(**found: Extracted) -> dict[str, Extracted]:
    return {kind: found.get(kind, Extracted(Status.MISSING)) for kind in KINDS}


def given_kinds(kinds: Iterable[str]) -> dict[str, Extracted]:
    return params(**{kind: ok(VALUES[kind]) for kind in kinds})


def bound(name: str, **found: Extracted) -> dict[str, Any] | set[str]:
    """The arguments, or the kinds that are lacking."""
    made = bind(BUILT_IN.by_name[name], params(**found))
    return made.arguments if isinstance(made, Bound) else {need.kind for need in made}


WRONG = Extracted(Status.AMBIGUOUS, None, ((0, 1),), "two of them")


@pytest.mark.parametrize(
    ("name", "found", "expected"),
    [
        ("market.competitors", {"agency": ok(NAVY)}, {"agency": NAVY, "naics": None, "window_months": 36}),
        ("market.competitors", {"naics": ok("541512")}, {"agency": None, "naics": "541512", "window_months": 36}),
        ("market.competitors", {}, {"agency", "naics"}),
        ("market.competitors", {"agency": ok(NAVY), "naics": WRONG}, {"naics"}),
        ("market.competitors", {"naics": ok("541512"), "agency": WRONG}, {"agency"}),
        ("market.competitors", {"naics": ok("541512"), "window_months": WRONG}, {"window_months"}),
        # a window that looks ahead says nothing of the past
        (
            "market.competitors",
            {"agency": ok(NAVY), "window_months": ok(18, "ahead")},
            {"agency": NAVY, "naics": None, "window_months": 36},
        ),
        (
            "market.recompetes",
            {"agency": ok(NAVY), "window_months": ok(18, "ahead")},
            {"agency": NAVY, "naics": None, "window_months": 18},
        ),
        (
            "market.recompetes",
            {"agency": ok(NAVY), "window_months": ok((24, 9), back=24, ahead=9)},
            {"agency": NAVY, "naics": None, "window_months": 9},
        ),
        # clamped to the intent's limits
        (
            "market.recompetes",
            {"agency": ok(NAVY), "window_months": ok(400)},
            {"agency": NAVY, "naics": None, "window_months": 60},
        ),
        # a fiscal year is no window, and no default takes its place
        ("market.recompetes", {"agency": ok(NAVY), "fiscal_year": ok(2026)}, {"window_months"}),
        ("market.vendor_profile", {}, {"uei"}),
        ("market.opportunity", {"uuid": ok(ID)}, {"opportunity": UUID(ID)}),
        ("market.opportunity", {"uuid": ok(ID, "opportunity")}, {"opportunity": UUID(ID)}),
        ("market.opportunity", {"uuid": ok(ID, "requirement")}, {"uuid"}),
        (
            "market.opportunity",
            {"uuid": ok((ID, OTHER), requirement=ID, opportunity=OTHER)},
            {"opportunity": UUID(OTHER)},
        ),
        ("graph.requirements", {"uuid": ok(ID, "requirement")}, {"subject": UUID(ID)}),
        ("graph.partners", {}, {"set_aside": None}),
        ("graph.partners", {"set_aside": WRONG}, {"set_aside"}),
    ],
)
def test_a_parameter_takes_the_value_of_its_kind_or_leaves_the_intent_unbound(
    name: str, found: dict[str, Extracted], expected: Any
) -> None:
    assert bound(name, **found) == expected


def test_lists_are_bound_as_lists_and_missing_options_as_null() -> None:
    arguments = bound("bench.cleared_count", clearance=ok("TS_SCI"), compartments=ok(("SI", "TK")))
    assert isinstance(arguments, dict)
    assert (arguments["compartments"], arguments["polygraph"]) == (["SI", "TK"], None)


@pytest.mark.parametrize("intent", BUILT_IN.intents, ids=lambda intent: intent.name)
def test_every_intent_of_the_registry_binds_from_what_it_asks_for(intent: Intent) -> None:
    made = bind(intent, given_kinds(VALUES))
    assert isinstance(made, Bound)
    assert made.arguments.keys() == {param.name for param in intent.params}
    for needed in intent.required:
        assert not isinstance(bind(intent, given_kinds(VALUES.keys() - {needed.kind})), Bound)


@given(st.sets(st.sampled_from(sorted(VALUES))), st.sets(st.sampled_from(sorted(ALL))))
def test_what_can_bind_is_what_validates(kinds: set[str], scopes: set[str]) -> None:
    found, held = given_kinds(kinds), frozenset(scopes)
    offered = {intent.name for intent in bindable(BUILT_IN, found, held)}
    for name in NAMES:
        plan = validate([name], BUILT_IN, found, held)
        assert (name in plan.names) == (name in offered)


@given(
    st.lists(st.sampled_from((*NAMES, "market.nope", "'; DROP TABLE award; --")), max_size=12),
    st.sets(st.sampled_from(sorted(VALUES))),
    st.sets(st.sampled_from(sorted(ALL))),
)
def test_a_plan_holds_allowed_names_in_registry_order_and_six_at_most(
    names: list[str], kinds: set[str], scopes: set[str]
) -> None:
    found, held = given_kinds(kinds), frozenset(scopes)
    plan = validate(names, BUILT_IN, found, held)
    assert len(plan.nodes) <= MAX_NODES
    assert list(plan.names) == [name for name in NAMES if name in plan.names]
    assert all(BUILT_IN.plane(node.intent.plane).scope in held for node in plan.nodes)
    assert {one.intent for one in plan.dropped} | set(plan.names) >= set(names) & set(NAMES)
    assert not {one.intent for one in plan.dropped} & set(plan.names)
    assert plan == validate(reversed(names), BUILT_IN, found, held)
    ran: set[str] = set()
    for node in run_order(plan.nodes):
        assert {edge.source for edge in node.edges} <= ran
        ran.add(node.intent.name)


def test_an_edge_brings_what_the_question_lacks_and_its_source_with_it() -> None:
    found = params(uuid=ok(ID, "opportunity"))
    plan = validate(["market.vendor_profile"], BUILT_IN, found, ALL)
    assert plan.names == ("market.opportunity", "market.vendor_profile")
    assert plan.nodes[1].edges == (Edge(param="uei", source="market.opportunity", column="incumbent_uei"),)
    assert plan.nodes[1].arguments["uei"] is None
    assert plan.kinds == ("uei", "uuid", "window_months")


@pytest.mark.parametrize(
    "found",
    [
        params(uuid=ok(ID, "opportunity"), uei=ok(VALUES["uei"])),  # the question gives it
        params(uuid=ok(ID, "opportunity"), uei=WRONG),  # it gives it wrongly: nothing may take its place
        params(uuid=ok(ID, "requirement")),  # the source does not bind
    ],
)
def test_an_edge_never_takes_the_place_of_a_value(found: dict[str, Extracted]) -> None:
    plan = validate(["market.vendor_profile"], BUILT_IN, found, ALL)
    assert all(not node.edges for node in plan.nodes)
    assert "market.opportunity" not in plan.names


def test_an_edge_needs_the_scope_of_its_source() -> None:
    found = params(uuid=ok(ID, "opportunity"))
    plan = validate(["graph.vendor_parents"], BUILT_IN, found, frozenset({"graph:read"}))
    assert (plan.names, plan.dropped) == ((), (Dropped(intent="graph.vendor_parents", reason=DropReason.UNBOUND),))


def test_reasons_are_given_for_what_is_left_out() -> None:
    plan = validate(
        ["bench.cleared_count", "market.vendor_profile", "market.competitors"],
        BUILT_IN,
        params(agency=ok(NAVY)),
        frozenset({"market:read"}),
    )
    assert plan.names == ("market.competitors",)
    assert {(one.intent, one.reason.value) for one in plan.dropped} == {
        ("bench.cleared_count", "unauthorized"),
        ("market.vendor_profile", "unbound"),
    }


def test_no_column_of_a_suppressed_plane_feeds_an_edge() -> None:
    for intent in BUILT_IN.intents:
        for edge in intent.edges:
            assert not BUILT_IN.plane(BUILT_IN.by_name[edge.source].plane).suppressed


def test_another_registry_is_planned_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "intents" / "sea").mkdir(parents=True)
    (tmp_path / "planes.toml").write_text('[[planes]]\nname = "sea"\nscope = "sea:read"\nschemas = ["market"]\n')
    (tmp_path / "intents" / "sea" / "ships.sql").write_text(
        '/*---\nname = "sea.ships"\nplane = "sea"\ndescription = "Ships."\nheading = "Ships"\nnoun = ["ship"]\n'
        'words = ["ships"]\n[[columns]]\nname = "vendor"\ntype = "entity"\n---*/\n'
        "SELECT a.vendor FROM market.award AS a WHERE a.tenant_id = :tenant_id ORDER BY a.vendor\n"
    )
    other: Registry = registry.load(str(tmp_path))
    assert [i.name for i in bindable(other, {}, frozenset({"sea:read"}))] == ["sea.ships"]
    assert validate(["sea.ships"], other, {}, frozenset()).dropped[0].reason is DropReason.UNAUTHORIZED
