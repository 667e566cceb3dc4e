"""`planner eval`: scores labelled cases."""

import json as jsonlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import msgspec
from rich.markup import escape

from consumer import evaluate, service
from consumer.cli import Configured, Flag, output

SHOWN_FAILURES = 40


async def eval(
    file: Path,
    /,
    *,
    gate: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> int:
    """Scores labelled questions, or with --gate sentences against their evidence. Needs no Kafka and no database.

    Exit code 0 whatever the scores; 2 when the file holds no cases.

    Parameters
    ----------
    file
        JSON Lines, one labelled case each.
    gate
        The cases are sentences with evidence: score the faithfulness gate.
    json
        Print one JSON document.
    """
    if gate:
        made = msgspec.to_builtins(import_module("consumer.planner.gate").evaluate(file))
        show = _show_gate
    else:
        cases = evaluate.read_cases(file)
        async with service.judge(settings) as judge:
            made = evaluate.report([one async for one in evaluate.evaluate(cases, judge)])
        show = _show
    if json:
        print(jsonlib.dumps(made, ensure_ascii=False))
    else:
        show(made)
    return 0


def _show(made: Mapping[str, Any]) -> None:
    total, labelled = made["cases"], made["labelled"]
    scores = (
        ("exact set of intents", "exact_intents", "intents"),
        ("exact parameters", "exact_params", "params"),
        ("exact planes", "exact_planes", "planes"),
        ("as expected", "as_expected", "expect"),
    )
    rows = [
        *((title, _of(made[name] - total + labelled[of], labelled[of])) for title, name, of in scores if labelled[of]),
        ("guard misses", str(made["guard_misses"])),
        ("false refusals", str(made["false_refusals"])),
        *(
            (f"{kind} {measure}", f"{made[kind][measure]:.3f}")
            for kind in ("intents", "params")
            for measure in ("precision", "recall")
        ),
    ]
    output.table((f"{total} cases", ""), rows, right=frozenset({1}))
    if len(made["by_type"]) > 1:
        columns = ("cases", "passed", "exact_intents", "exact_params")
        groups = [(name, *(str(group[c]) for c in columns)) for name, group in made["by_type"].items()]
        output.console().print()
        output.table(("type", "cases", "passed", "intents", "parameters"), groups, right=frozenset({1, 2, 3, 4}))
    _show_failures(made["failures"])


def _of(count: int, total: int) -> str:
    return f"{count} of {total} ({100 * count / total:.1f} %)"


def _show_failures(failures: list[dict[str, Any]]) -> None:
    out = output.console()
    for failure in failures[:SHOWN_FAILURES]:
        out.print(f"\n[red]{escape(failure['id'])}[/]  {escape(failure.get('question', ''))}", soft_wrap=True)
        for side in ("expected", "got"):
            text = jsonlib.dumps(failure[side], ensure_ascii=False)
            out.print(f"  [dim]{side:<8}[/]  {escape(text)}", soft_wrap=True)
    if len(failures) > SHOWN_FAILURES:
        out.print(f"\n{len(failures) - SHOWN_FAILURES} more failures; --json lists all")


def _show_gate(made: Mapping[str, Any]) -> None:
    output.pairs({name: str(value) for name, value in made.items() if name != "failures"})
    out = output.console()
    for failure in made["failures"][:SHOWN_FAILURES]:
        out.print(f"  {escape(jsonlib.dumps(failure, ensure_ascii=False))}", soft_wrap=True)
