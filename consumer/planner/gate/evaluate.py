"""Labelled sentences against evidence: how often the gate is right, and how fast (`planner eval --gate`)."""

import json
import statistics
import time
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from consumer.errors import Misconfigured
from consumer.planner.evidence import SUPPRESSED, Cell, Evidence
from consumer.planner.gate.check import gate
from registry import Column
from registry.intent import ColumnType

CASE_SECONDS = 1.0
"""A machine under load must not turn a right verdict into a late one: latency is reported, not enforced here."""


class Failure(Struct, frozen=True):
    id: str
    expected: str
    got: str
    sentence: str


class Report(Struct, frozen=True):
    """The confusion matrix over the cases; `false_accepts` is the figure that must be zero."""

    cases: int
    true_accepts: int
    false_accepts: int
    true_rejects: int
    false_rejects: int
    p50_ms: float
    p99_ms: float
    failures: tuple[Failure, ...]


def evaluate(path: Path) -> Report:
    """Scores a file of labelled sentences. Raises Misconfigured when it is none."""
    counts = {(label, verdict): 0 for label in (True, False) for verdict in (True, False)}
    failures: list[Failure] = []
    times: list[float] = []
    for case in _cases(path):
        evidence = [evidence_of(item) for item in case["evidence"]]
        if not times:
            gate(case["sentence"], evidence, CASE_SECONDS)  # the first call of a process fills its caches
        started = time.perf_counter()
        verdict = gate(case["sentence"], evidence, CASE_SECONDS)
        times.append((time.perf_counter() - started) * 1_000)
        label = case["label"] == "supported"
        counts[label, verdict.supported] += 1
        if label != verdict.supported:
            failures.append(Failure(str(case.get("id", "")), case["label"], verdict.code.value, case["sentence"]))
    return Report(
        cases=len(times),
        true_accepts=counts[True, True],
        false_accepts=counts[False, True],
        true_rejects=counts[False, False],
        false_rejects=counts[True, False],
        p50_ms=round(statistics.median(times), 3) if times else 0.0,
        p99_ms=round(sorted(times)[int(len(times) * 0.99) - 1 if len(times) > 1 else 0], 3) if times else 0.0,
        failures=tuple(failures),
    )


def _cases(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"the file {path} can't be read: {type(error).__name__}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError:
            raise Misconfigured(f"{path} line {number} is not JSON") from None
        if not isinstance(case, dict) or not {"sentence", "label", "evidence"} <= case.keys():
            raise Misconfigured(f"{path} line {number} has no sentence, label and evidence")
        yield case


def evidence_of(item: Mapping[str, Any]) -> Evidence:
    """Typed evidence from its JSON: strings for money and dates, `{"$suppressed": true}` for a withheld cell."""
    columns = tuple(
        Column(
            name=column["name"],
            type=ColumnType(column["type"]),
            unit=column.get("unit"),
            words=tuple(column.get("words", ())),
            aliases={value: tuple(names) for value, names in column.get("aliases", {}).items()},
            **{flag: column.get(flag, False) for flag in ("additive", "sensitive", "key", "plural", "untrusted")},
        )
        for column in item["columns"]
    )
    return Evidence(
        id=item["id"],
        intent=item["intent"],
        plane=item["plane"],
        heading=item.get("heading", ""),
        noun=tuple(item["noun"]),
        columns=columns,
        rows=tuple(tuple(_cell(cell, c) for cell, c in zip(row, columns, strict=True)) for row in item["rows"]),
        complete=item["complete"],
        total_rows=item.get("total_rows"),
        order_by=tuple(item["order_by"]) if item.get("order_by") else None,
        scope=item.get("scope", {}),
        as_of=date.fromisoformat(item["as_of"]),
        k=item.get("k"),
    )


def _cell(cell: Any, column: Column) -> Cell:
    if isinstance(cell, dict):
        return SUPPRESSED
    if cell is None or isinstance(cell, bool):
        return cell
    match column.type:
        case ColumnType.MONEY | ColumnType.PERCENT:
            return Decimal(cell)
        case ColumnType.COUNT | ColumnType.RANK | ColumnType.DURATION:
            return int(cell)
        case ColumnType.DATE:
            return date.fromisoformat(cell)
        case _:
            return str(cell)
