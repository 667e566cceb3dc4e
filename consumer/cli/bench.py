"""`planner bench`: publish the counts of staff that may be shown, and attack them."""

import json as jsonlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import asyncpg
from cyclopts import App, Parameter
from msgspec.structs import asdict
from rich.console import Console
from rich.progress import Progress

from consumer.bench.attack import Arm, Outcome
from consumer.bench.attack import run as run_attack
from consumer.bench.lattice import Vocabulary, lattice
from consumer.bench.publish import Rule
from consumer.bench.snapshot import publish_tenant, remove_people, tenants
from consumer.cli import FAILED, Configured, Flag, output
from consumer.errors import Misconfigured, PlannerError, Unreachable
from consumer.settings import Settings

CONNECT_SECONDS = 10.0

app = App(name="bench", help="Publish the counts of staff that may be shown.")


@app.command
async def publish(
    *,
    tenant: UUID | None = None,
    all: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> None:
    """Publishes a snapshot of the counts that may be shown. Run it on a schedule: a load publishes by itself only
    when at least PLANNER_BENCH_K people have changed.

    Parameters
    ----------
    tenant
        The UUID of the tenant.
    all
        Every tenant that has a roster.
    json
        Print one JSON document.
    """
    if (tenant is None) is not all:
        raise Misconfigured("say whose counts to publish: --tenant UUID or --all")
    today = datetime.now(UTC).date()
    made = lattice(Vocabulary())
    rows: list[tuple[UUID, int]] = []
    async with _connected(settings) as connection:
        for whose in await tenants(connection) if tenant is None else [tenant]:
            try:
                rows.append((whose, await publish_tenant(connection, whose, made, _rule(settings), today)))
            except LookupError as error:
                raise PlannerError(str(error)) from None
    if json:
        published = [{"tenant_id": str(w), "snapshot": today.isoformat(), "groups": n} for w, n in rows]
        print(jsonlib.dumps({"lattice": len(made.groups), "published": published}))
    else:
        shown = [(str(whose), today.isoformat(), f"{n} of {len(made.groups)}") for whose, n in rows]
        output.table(("tenant", "snapshot", "groups with a count"), shown, right=frozenset({2}))


@app.command
async def remove(
    person_ref: Annotated[list[str], Parameter(negative="")], /, *, tenant: UUID, settings: Configured
) -> None:
    """Takes people who left off a roster. The published counts follow with the next snapshot.

    Parameters
    ----------
    person_ref
        Their references, as loaded.
    tenant
        The UUID of the tenant.
    """
    async with _connected(settings) as connection:
        gone = await remove_people(connection, tenant, person_ref)
    output.console().print(f"{gone} of {len(person_ref)} removed")


@app.command
def attack(*, benches: int = 30, seed: int = 1, json: Annotated[bool, Flag] = False, settings: Configured) -> int:
    """Attacks the published counts of made up benches, and a plain threshold on the same ones. Exit 1 if any group
    below the threshold is recovered or pinned, or if the plain threshold withstands (then the attack proves nothing).

    Parameters
    ----------
    benches
        How many benches, of 40 to 2,000 people each.
    seed
        Of the first bench; the same seed gives the same figures.
    json
        Print one JSON document.
    """
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("benches", total=benches)
        outcome = run_attack(
            lattice(Vocabulary()), _rule(settings), benches, seed, lambda n: progress.update(task, completed=n)
        )
    if json:
        print(
            jsonlib.dumps(
                {"benches": benches, "lattice": asdict(outcome.lattice), "threshold": asdict(outcome.threshold)}
            )
        )
    else:
        _print_outcome(outcome, settings)
    return 0 if outcome.lattice.leaking == 0 and outcome.threshold.leaking else FAILED


def _print_outcome(outcome: Outcome, settings: Settings) -> None:
    def row(name: str, arm: Arm) -> tuple[str, ...]:
        figures = (arm.answered, arm.targets, arm.recovered, arm.pinned, arm.subtracted)
        return (name, *(f"{n:,}" for n in figures), f"{arm.leaking} of {outcome.benches}")

    titles = ("rule", "answers", "targets", "recovered", "pinned", "subtracted", "leaking")
    rows = (row("lattice", outcome.lattice), row("threshold", outcome.threshold))
    output.table(titles, rows, right=frozenset(range(1, len(titles))))
    output.console().print(
        f"{outcome.benches} benches, {outcome.lattice.questions:,} questions each way, threshold {settings.bench_k}; "
        f"targets are groups of 1 to {settings.bench_k - 1} people; subtracted fell to a total less its parts",
        style="dim",
    )


def _rule(settings: Settings) -> Rule:
    return Rule(k=settings.bench_k, round=settings.bench_round)


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncGenerator[asyncpg.Connection]:
    if not settings.admin_database_url:
        raise Misconfigured("PLANNER_ADMIN_DATABASE_URL is not set; `planner bench publish` writes through it")
    try:
        connection = await asyncpg.connect(settings.admin_database_url, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        raise Unreachable(
            f"Postgres of PLANNER_ADMIN_DATABASE_URL: {type(error).__name__}; is it up, is the URL right?"
        ) from None
    try:
        yield connection
    finally:
        await connection.close(timeout=CONNECT_SECONDS)
