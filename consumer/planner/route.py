"""Which way a question goes: one intent, a plan, the tenant's documents, or back to the asker for what is missing.

Conservative: a question that one intent answers takes the single path, untouched by the planner. Nothing is ever
defaulted that the asker did not say.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from consumer.planner.classify import Fit, Vocabulary
from consumer.planner.extract import Params, Status
from consumer.planner.plan import Bound, Need, bind_with_edges, spans_taken
from consumer.planner.propose import masked
from registry import Registry
from schemas.answer import Route

_OF_DOCUMENTS = re.compile(
    r"\b(?:documents?|statement of work|sow|pws|proposals?|templates?|attachments?|appendix|paragraphs?|sections?"
    r"|volumes?|deliverables?|says? about|described?|describes|summari[sz]e)\b",
    re.IGNORECASE,
)
"""Words that ask for what is written somewhere; beside a value of an intent they say nothing."""
STRONG = 2.0
"""A score that only an intent's own words reach: below it a document may know better."""


class Decision(Struct, frozen=True):
    """The route with its reason in words. `wanted` are the intents that the question asks for, whether or not they
    can be bound, in Registry order; `needs` what to tell the asker on route `clarify`."""

    route: Route
    reason: str
    wanted: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


def route(
    question: str, named: str | None, params: Params, registry: Registry, vocabulary: Vocabulary, scopes: frozenset[str]
) -> Decision:
    """Decides for a cleaned question. `named` is the intent that the asker named, if any."""
    if named is not None:
        return _named(named, params, registry, scopes)
    kinds = {kind for kind, found in params.items() if found.usable}
    # all planes, whatever the asker may read: a part of the question that may not run is said, not lost
    fits = vocabulary.fits(masked(question, spans_taken(params, registry)), kinds, registry.plane_names)
    wanted = _ordered([f.intent for f in fits], registry)
    if not kinds & registry.kinds and _OF_DOCUMENTS.search(question):
        return Decision(Route.RAG, "the question speaks of documents and gives no value to ask an intent with", wanted)
    invalid = tuple(
        Need(kind, found.note or f"give the {kind}") for kind, found in params.items() if found.status is Status.INVALID
    )
    if invalid:
        return Decision(Route.CLARIFY, "a value that the question gives is invalid", wanted, invalid)
    if not wanted:
        return _unasked(question, params, registry)
    return _asked(wanted, fits, params, registry, scopes)


def _unasked(question: str, params: Params, registry: Registry) -> Decision:
    """For a question that no intent's words are in: documents, unless it gives what nothing takes, or nothing."""
    if not any(letter.isalnum() for letter in question):
        return Decision(Route.CLARIFY, "the question holds no word")
    unused = tuple(
        Need(kind, found.note)
        for kind, found in params.items()
        if found.usable and found.note and kind not in registry.kinds
    )
    if unused:
        return Decision(Route.CLARIFY, "no intent takes the value that the question gives", (), unused)
    return Decision(Route.RAG, "no intent's words are in the question")


def _asked(
    wanted: tuple[str, ...], fits: Sequence[Fit], params: Params, registry: Registry, scopes: frozenset[str]
) -> Decision:
    """For a question that asks for intents: one or several of them, if they may run and their values are there."""
    planes = registry.planes_for(scopes)
    allowed = [name for name in wanted if registry.by_name[name].plane in planes]
    if not allowed:
        needed = dict.fromkeys(registry.plane(registry.by_name[name].plane).scope for name in wanted)
        needs = tuple(Need("scope", f"this needs the scope {scope}") for scope in needed)
        return Decision(Route.CLARIFY, "the asker may not run what the question asks for", wanted, needs)
    bindings = {n: bind_with_edges(registry.by_name[n], params, registry, scopes) for n in allowed}
    bound = [name for name, binding in bindings.items() if isinstance(binding, Bound)]
    needs = _needs(bindings.values())
    wrong = tuple(n for n in needs if n.kind in params and params[n.kind].status is not Status.MISSING)
    if not bound or wrong:
        needs = wrong or needs
        if not wrong and _is_vague(fits, params):
            return Decision(Route.RAG, "no value to ask an intent with, and only weak signs of one", wanted)
        return Decision(Route.CLARIFY, "a value is missing, ambiguous or invalid", wanted, needs)
    if len(wanted) == 1:
        return Decision(Route.INTENT, f"exactly one intent is asked for and bound: {wanted[0]}", wanted)
    named = dict.fromkeys(registry.by_name[n].plane for n in wanted)
    return Decision(Route.PLAN, f"{len(wanted)} intents of {', '.join(named)} are asked for", wanted)


def _named(name: str, params: Params, registry: Registry, scopes: frozenset[str]) -> Decision:
    intent = registry.by_name.get(name)
    if intent is None:
        return Decision(
            Route.CLARIFY,
            "the named intent is not in the Registry",
            (),
            (Need("intent", "name an intent of the Registry"),),
        )
    if registry.plane(intent.plane).scope not in scopes:
        need = Need("scope", f"this needs the scope {registry.plane(intent.plane).scope}")
        return Decision(Route.CLARIFY, "the asker may not run the named intent", (name,), (need,))
    binding = bind_with_edges(intent, params, registry, scopes)
    if isinstance(binding, Bound):
        return Decision(Route.INTENT, "the asker named the intent", (name,))
    return Decision(Route.CLARIFY, "a value of the named intent is missing, ambiguous or invalid", (name,), binding)


def _ordered(names: Sequence[str], registry: Registry) -> tuple[str, ...]:
    chosen = set(names)
    return tuple(intent.name for intent in registry.intents if intent.name in chosen)


def _needs(bindings: Iterable[Bound | tuple[Need, ...]]) -> tuple[Need, ...]:
    """What to ask for, each kind once."""
    needs: dict[str, Need] = {}
    for binding in bindings:
        if not isinstance(binding, Bound):
            needs |= {need.kind: need for need in binding if need.kind not in needs}
    return tuple(needs.values())


def _is_vague(fits: Sequence[Fit], params: Params) -> bool:
    """Whether the question holds no value at all and only weak signs of an intent: words that documents share."""
    return max(f.score for f in fits) < STRONG and all(p.status is Status.MISSING for p in params.values())
