"""`planner audit`: prove that the stored trail is what was stored, and follow it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import asyncpg
from cyclopts import App
from rich.table import Table

from consumer.audit.append import Connection
from consumer.audit.checkpoint import Checkpoint, open_note, parse, read_public_key
from consumer.audit.retain import Retired
from consumer.audit.retain import retain as detach
from consumer.audit.verify import Proof
from consumer.audit.verify import verify as prove
from consumer.cli import Configured, Flag, output
from consumer.errors import Misconfigured, PlannerError, Unreachable
from consumer.settings import Settings
from consumer.store.migrate import keep_ahead

CONNECT_SECONDS = 10.0
QUERY_SECONDS = 600.0
FOLLOW_SECONDS = 1.0
TRAIL = """
SELECT recorded_at, chain_id, seq, event_id, tenant_id, occurred_at, intents, param_kinds, node_count, suppressed_cells,
       faithfulness, outcome, registry_digest
FROM audit.trail WHERE recorded_at > $1 ORDER BY recorded_at DESC, chain_id, seq DESC LIMIT $2
"""
START = "SELECT 'epoch'::timestamptz"

app = App(name="audit", help="Verify, follow and retain the audit log.")


@app.command
async def verify(
    *,
    anchor: Sequence[Path] = (),
    public_key: Path | None = None,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> int:
    """Recomputes every hash and link; exit 1 names the first broken link of each chain.

    Parameters
    ----------
    anchor
        Files of signed checkpoints kept outside the database (from the checkpoints topic or the log). Without one, a
        trail that was cut or rebuilt whole by an owner of the database can't be told from a true one.
    public_key
        The Ed25519 public key, in PEM, that the anchors must be signed with.
    json
        Print one JSON document.
    """
    anchors = _anchors(anchor, public_key)
    async with _auditor(settings) as connection, asyncio.timeout(QUERY_SECONDS):
        proofs = await prove(connection, anchors)
    if json:
        _print_json(proofs)
    else:
        _print_table(proofs, anchors)
    return 1 if any(p.broken for p in proofs) else 0


@app.command
async def tail(
    *, lines: int = 20, follow: Annotated[bool, Flag] = False, json: Annotated[bool, Flag] = False, settings: Configured
) -> None:
    """Prints the newest audit events, oldest first.

    Parameters
    ----------
    lines
        How many.
    follow
        Go on with what arrives, until Ctrl-C.
    json
        Print JSON Lines.
    """
    async with _auditor(settings) as connection:
        since = await connection.fetchval(START)
        while True:
            rows = await connection.fetch(TRAIL, since, lines, timeout=QUERY_SECONDS)
            for row in reversed(rows):
                _print_event(row, json)
            if not follow:
                return
            since = rows[0]["recorded_at"] if rows else since
            await asyncio.sleep(FOLLOW_SECONDS)


@app.command
async def retain(*, older_than: int | None = None, json: Annotated[bool, Flag] = False, settings: Configured) -> None:
    """Keeps room for rows to come, and detaches ranges of rows that are old enough. Verification still holds.

    Parameters
    ----------
    older_than
        Days that every row of a range must be old. Without it nothing is detached.
    json
        Print one JSON document.
    """
    if older_than is not None and older_than < 0:
        raise Misconfigured("--older-than is a number of days, 0 or more")
    async with _connected(settings) as connection, asyncio.timeout(QUERY_SECONDS):
        made = await keep_ahead(connection)
        cutoff = None if older_than is None else datetime.now(UTC) - timedelta(days=older_than)
        retired = [] if cutoff is None else await detach(connection, cutoff)
    if json:
        _print_retired_json(made, retired)
        return
    output.console().print(f"{made} ranges made for rows to come, {len(retired)} detached")
    for one in retired:
        print(f"rows {one.range.first} to {one.range.end - 1} of every chain are in audit.{one.kept} now")


def _anchors(files: Sequence[Path], public_key: Path | None) -> list[Checkpoint]:
    """The checkpoints of the files; several notes may follow each other in one file."""
    key = read_public_key(str(public_key)) if public_key else None
    found: list[Checkpoint] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Misconfigured(f"the anchor file {file} can't be read: {type(error).__name__}") from None
        for note in _notes(text):
            try:
                found.append(open_note(note, key) if key else parse(note))
            except ValueError as error:
                raise PlannerError(f"{file}: {error}") from None
    return found


def _notes(text: str) -> list[str]:
    """A note is its text, an empty line and its signature lines."""
    blocks = [b for b in text.strip("\n").split("\n\n") if b]
    return [f"{body}\n\n{signature}\n" for body, signature in zip(blocks[::2], [*blocks[1::2], ""], strict=False)]


@contextlib.asynccontextmanager
async def _connected(settings: Settings) -> AsyncGenerator[Connection, None]:
    if not settings.admin_database_url:
        raise Misconfigured("PLANNER_ADMIN_DATABASE_URL is not set; the audit trail is read and retained through it")
    try:
        connection = await asyncpg.connect(settings.admin_database_url, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        raise Unreachable(f"Postgres of PLANNER_ADMIN_DATABASE_URL: {type(error).__name__}; is it up?") from None
    try:
        yield connection
    except (asyncpg.UndefinedTableError, asyncpg.UndefinedFunctionError):
        raise PlannerError("the database has no audit trail; run `planner migrate`") from None
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


@contextlib.asynccontextmanager
async def _auditor(settings: Settings) -> AsyncGenerator[Connection, None]:
    async with _connected(settings) as connection:
        await connection.execute("SET ROLE planner_auditor")
        yield connection


def _print_retired_json(made: int, retired: Sequence[Retired]) -> None:
    ranges = [{"first": r.range.first, "end": r.range.end, "table": f"audit.{r.kept}"} for r in retired]
    print(json.dumps({"ranges_made": made, "detached": ranges}))


def _print_json(proofs: Sequence[Proof]) -> None:
    chains = [
        {
            "chain": p.chain_id,
            "rows": p.rows,
            "root": p.root.hex(),
            "broken": {"seq": p.broken.seq, "fault": p.broken.fault.value} if p.broken else None,
        }
        for p in proofs
    ]
    print(
        json.dumps({"ok": all(p.broken is None for p in proofs), "rows": sum(p.rows for p in proofs), "chains": chains})
    )


def _print_table(proofs: Sequence[Proof], anchors: Sequence[Checkpoint]) -> None:
    table = Table("chain", "rows", "verdict", "root", box=None, pad_edge=False)
    for proof in proofs:
        verdict = f"{proof.broken.fault.value} at {proof.broken.seq}" if proof.broken else "ok"
        table.add_row(str(proof.chain_id), str(proof.rows), verdict, proof.root.hex()[:16])
    console = output.console()
    console.print(table)
    broken = sum(p.broken is not None for p in proofs)
    console.print(
        f"{sum(p.rows for p in proofs)} rows, {broken} broken chain(s)."
        if broken
        else f"{sum(p.rows for p in proofs)} rows, all links hold."
    )
    if not anchors:
        console.print("No anchor was given: a cut or rebuilt trail needs one to show (see --help).")


def _print_event(row: asyncpg.Record, as_json: bool) -> None:
    fields = dict(row)
    if as_json:
        print(json.dumps(fields, default=str), flush=True)
        return
    withheld = f", {fields['suppressed_cells']} withheld" if fields["suppressed_cells"] else ""
    print(
        f"{fields['recorded_at']:%Y-%m-%d %H:%M:%S} chain {fields['chain_id']} row {fields['seq']}: "
        f"{', '.join(fields['intents']) or 'no intent ran'} ({fields['outcome']}, {fields['faithfulness']}{withheld})",
        flush=True,
    )
