"""The questions to measure with: half one intent, two fifths a plan of two or three, a tenth refused.

Markets are drawn as the awards are, so large ones are asked about more often. For the programs that plan nothing the
statements of every question are worked out beforehand, by the planner's own stages.
"""

import pickle
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from bench.awards import Market, Shape
from consumer import service
from consumer.deadline import Deadline
from consumer.settings import Settings
from consumer.stack.sample import SCOPES, TENANT
from registry.statement import Statement

SINGLE = (
    'Who competes for {naics} at "{agency}"?',
    'How concentrated is the market of {naics} at "{agency}"?',
    'Which contracts in {naics} at "{agency}" are up for recompete in 18 months?',
    'What is the set aside mix of {naics} at "{agency}"?',
    'Who is the incumbent in {naics} at "{agency}"?',
)
COMPOUND = (
    'Who competes for {naics} at "{agency}", what is up for recompete in 18 months, and do we have TS/SCI people?',
    'Who competes for {naics} at "{agency}", and how concentrated is the market?',
    'What is up for recompete in {naics} at "{agency}" in 12 months, and how much of it is sole source?',
    'How many TS/SCI people do we have, and who are the incumbents in {naics} at "{agency}"?',
)
REFUSED = (
    "How many women over fifty hold a Secret clearance?",
    "Which of our cleared people are veterans?",
    "List the cleared engineers who are native speakers of Korean.",
)
KINDS = (SINGLE, COMPOUND, REFUSED)
WEIGHTS = (50, 40, 10)
TENANTS = 10
NAMESPACE = UUID("6f4f7a8e-52f7-4b63-9d0c-2f5f6f0f3a11")


class Asked(NamedTuple):
    """A question and the tenant that asks it."""

    tenant_id: UUID
    text: str


class Call(NamedTuple):
    """A statement of the Registry with its arguments by place; `...` stands where the tenant goes."""

    statement: str
    arguments: tuple[Any, ...]


Calls = dict[str, tuple[Call, ...]]
"""The statements that answer a question, by its text; none for one that is refused."""


def tenants() -> list[UUID]:
    """The sample's own tenant, who has a bench, and others who read the public market alone."""
    return [TENANT, *(uuid5(NAMESPACE, str(number)) for number in range(1, TENANTS))]


def questions(shape: Shape, count: int, seed: int) -> Iterator[Asked]:
    draw = random.Random(seed)
    asking = tenants()
    for _ in range(count):
        (kind,) = draw.choices(KINDS, WEIGHTS)
        market = Market(shape.offices[shape.rank(len(shape.offices))][0], shape.codes[shape.rank(len(shape.codes))])
        yield Asked(draw.choice(asking), draw.choice(kind).format(agency=market.agency, naics=market.naics))


async def calls(asked: Sequence[Asked]) -> Calls:
    """What the planner would run for each question."""
    today = datetime.now(UTC).date()
    found: Calls = {}
    async with service.judge(Settings()) as judge:
        for text in {one.text for one in asked}:
            judged = await judge.judge(text, None, frozenset(SCOPES), Deadline.after(5))
            found[text] = tuple(
                _call(judge.registry.statements[node.intent.name], {"as_of": today, **node.arguments})
                for node in judged.plan.nodes
            )
    return found


def _call(statement: Statement, given: Mapping[str, Any]) -> Call:
    return Call(statement.text, tuple(... if name == "tenant_id" else given[name] for name in statement.parameters))


def write(path: Path, planned: Calls) -> None:
    path.write_bytes(pickle.dumps(planned))


def read(path: Path) -> Calls:
    return pickle.loads(path.read_bytes())
