"""`planner doctor`: what is well, and what to do about the rest."""

import json as json_text
from collections.abc import Sequence
from typing import Annotated

import msgspec
from rich.markup import escape

from consumer import doctor as surgery
from consumer.cli import Configured, Flag, output
from consumer.doctor import Finding, Verdict


async def doctor(*, json: Annotated[bool, Flag] = False, settings: Configured) -> int:
    """Checks Kafka, topics, transactions, Postgres, roles and row security, the registry and inference.

    Exit code 1 when one of them fails. Changes nothing.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    findings = await surgery.examine(settings)
    failed = surgery.failed(findings)
    if json:
        print(json_text.dumps({"ok": not failed, "checks": msgspec.to_builtins(findings)}))
    else:
        _print(findings)
    return 1 if failed else 0


def _print(found: Sequence[Finding]) -> None:
    """A line for each check, and its remedy below it where there is one."""
    width = max(len(one.check) for one in found)
    styles = {Verdict.OK: "green", Verdict.FAIL: "bold red", Verdict.SKIP: "dim"}
    for one in found:
        word = f"[{styles[one.verdict]}]{one.verdict.value:<4}[/]"
        output.console().print(f"{word}  {one.check:<{width}}  {escape(one.detail)}", soft_wrap=True)
        if one.hint:
            output.console().print(f"{'':<{width + 8}}{escape(one.hint)}", style="dim", soft_wrap=True)
