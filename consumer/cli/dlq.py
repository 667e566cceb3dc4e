"""`planner dlq`: what could not be answered, why, and back on the questions topic once it can be."""

import base64
import json as json_text
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from consumer.cli import Configured, Flag, output
from consumer.errors import DeadLetterReason, Misconfigured, PlannerError
from consumer.settings import Settings
from consumer.stream import dead_letters
from consumer.stream.dead_letters import Choice, Letter

NAME = re.compile(r"(\d+):(\d+)")
Names = Annotated[tuple[str, ...], Parameter(negative_iterable="")]
Reasons = Annotated[tuple[DeadLetterReason, ...], Parameter(negative_iterable="")]

app = App(name="dlq", help="Read and replay the dead letter topic.")


@app.command(name="list")
async def list_(
    *,
    reason: Reasons = (),
    waiting: Annotated[bool, Flag] = False,
    limit: int = 100,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> None:
    """Lists dead letters: where each is, why, where it came from. Never what it says: that is `planner dlq show`.

    Parameters
    ----------
    reason
        Only those of this reason; give it once for each.
    waiting
        Only those that were not replayed yet.
    limit
        How many at most, the newest of each partition last.
    json
        Print JSON Lines.
    """
    found = await _found(settings, Choice(reasons=frozenset(reason), replayed=not waiting))
    shown = found[:limit]
    if json:
        for letter in shown:
            print(json_text.dumps(_line(letter)))
        return
    output.table(
        ("letter", "at", "reason", "from", "bytes", ""),
        [
            (letter.name, f"{letter.at:%Y-%m-%d %H:%M:%S}", letter.reason or "not ours", _origin(letter),
             str(len(letter.value or b"")), "replayed" if letter.replayed else "")
            for letter in shown
        ],
        right=frozenset({4}),
    )  # fmt: skip
    rest = len(found) - len(shown)
    print(f"{len(found)} dead letters" + (f", {rest} not shown: give a larger --limit" if rest else ""))


@app.command
async def show(letter: str, /, *, json: Annotated[bool, Flag] = False, settings: Configured) -> None:
    """Prints one dead letter whole, its value too.

    Parameters
    ----------
    letter
        Its name in `planner dlq list`, PARTITION:OFFSET.
    json
        Print one JSON document.
    """
    found = await _found(settings, Choice(names=_names((letter,))))
    if not found:
        raise PlannerError(f"there is no dead letter {letter}; `planner dlq list` names those that are there")
    one = found[0]
    whole = {
        **_line(one),
        "key": _text(one.key),
        "headers": [[name, _text(value)] for name, value in one.headers],
        "value": _text(one.value),
    }
    if json:
        print(json_text.dumps(whole))
        return
    output.pairs({name: value if isinstance(value, str) else json_text.dumps(value) for name, value in whole.items()})


@app.command
async def replay(
    letters: Names = (),
    /,
    *,
    reason: Reasons = (),
    everything: Annotated[bool, Parameter("--all", negative="")] = False,
    again: Annotated[bool, Flag] = False,
    dry_run: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> None:
    """Puts dead letters back on the questions topic, as they first came. What was replayed before is left out.

    Interrupted, it has lost nothing and sent nothing twice: run it again for the rest.

    Parameters
    ----------
    letters
        Their names in `planner dlq list`, PARTITION:OFFSET.
    reason
        Those of this reason; give it once for each.
    everything
        All of them.
    again
        Also those that were replayed before.
    dry_run
        Only say which would go.
    json
        Print one JSON document.
    """
    if not (letters or reason or everything):
        raise Misconfigured("name the letters to replay, or give --reason or --all; `planner dlq list` shows them")
    choice = Choice(names=_names(letters), reasons=frozenset(reason), replayed=again)
    async with dead_letters.opened(settings, to_replay=not dry_run) as box:
        found = [letter async for letter in dead_letters.letters(box, choice)]
        chosen = [letter for letter in found if letter.replayable]
        if not dry_run and chosen:
            with _progress(len(chosen)) as told:
                await dead_letters.replay(box, settings, chosen, told)
    kept = len(found) - len(chosen)
    if json:
        print(json_text.dumps({
            "dry_run": dry_run, "replayed": [] if dry_run else [c.name for c in chosen],
            "chosen": [c.name for c in chosen], "without_value": kept,
        }))  # fmt: skip
        return
    if dry_run:
        output.table(("letter", "reason", "from"), [(c.name, c.reason, _origin(c)) for c in chosen])
    print(f"{len(chosen)} dead letters {'would go' if dry_run else 'went'} back to {settings.topic_questions}")
    if kept:
        print(f"{kept} stay: they hold no value to send (too large to keep, null without a key, or not readable)")


async def _found(settings: Settings, choice: Choice) -> list[Letter]:
    async with dead_letters.opened(settings) as box:
        return [letter async for letter in dead_letters.letters(box, choice)]


def _names(texts: tuple[str, ...]) -> frozenset[tuple[int, int]]:
    names: set[tuple[int, int]] = set()
    for text in texts:
        match = NAME.fullmatch(text)
        if not match:
            raise Misconfigured(f"{text} names no dead letter; a name is PARTITION:OFFSET, such as 0:17")
        names.add((int(match[1]), int(match[2])))
    return frozenset(names)


def _line(letter: Letter) -> dict[str, Any]:
    return {
        "letter": letter.name, "at": letter.at.isoformat(), "reason": letter.reason, "topic": letter.original_topic,
        "partition": letter.original_partition, "offset": letter.original_offset,
        "bytes": len(letter.value or b""), "replayed": letter.replayed,
    }  # fmt: skip


def _origin(letter: Letter) -> str:
    if letter.original_offset is None:
        return ""
    return f"{letter.original_topic} {letter.original_partition}:{letter.original_offset}"


def _text(value: bytes | None) -> str | dict[str, str] | None:
    """As text where it is text that a terminal can take, else in base64."""
    if value is None:
        return None
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    printable = all(character.isprintable() or character in "\n\t" for character in text)
    return text if printable else {"base64": base64.b64encode(value).decode()}


@contextmanager
def _progress(total: int) -> Generator[Callable[[int], None]]:
    """On a terminal's stderr only."""
    bar = Progress(TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True))
    bar.disable = not bar.console.is_terminal
    with bar:
        task = bar.add_task("replaying", total=total)

        def told(done: int) -> None:
            bar.update(task, completed=done)

        yield told
