"""The pages as HTML. Everything of the data is escaped here, and only here."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from html import escape
from typing import Any

from consumer.explanation import Explanation
from registry import Intent, Registry
from schemas import Answer, Evidence
from schemas.evidence import WITHHELD, Cell

FIGURES = frozenset({"money", "count", "percent", "rank", "duration"})
SHOWN_ROWS = 25
PAGES = (("/", "Ask"), ("/registry", "Registry"), ("/audit", "Audit"))


def page(title: str, tenant: str, body: str) -> str:
    """A whole document. One style sheet of our own, no script, nothing from elsewhere."""
    links = " · ".join(f'<a href="{path}">{name}</a>' for path, name in PAGES)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · planner</title>"
        '<link rel="stylesheet" href="/style.css"></head><body><header><strong>planner</strong>'
        f'<nav aria-label="Pages">{links}</nav><span class="dim">tenant {escape(tenant)}</span></header>'
        f"<main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )


def ask_form(question: str = "") -> str:
    return (
        '<form method="post" action="/"><label for="question">Question'
        f'<input id="question" name="question" required maxlength="4000" value="{escape(question, quote=True)}" '
        'autocomplete="off"></label><button>Ask</button></form>'
    )


def answered(answer: Answer, explanation: Explanation) -> str:
    """The answer, then why it is what it is, step by step."""
    parts = [
        ask_form(explanation.question),
        f"<pre>{escape(answer.answer)}</pre>",
        _definitions(_outcome(answer)),
        "<h2>Why</h2>",
        _definitions(_judgement(explanation)),
        table("Values found in the question", ("kind", "status", "value", "from", "note"), _params(explanation)),
        table("Proposals that voted", ("sample", "intents"), _samples(explanation)),
    ]
    if answer.plan:
        edges = [(e.source, e.column, e.target, e.param) for e in answer.plan.edges]
        parts.append(table("Edges", ("from", "column", "to", "parameter"), edges))
        parts.append(table("Dropped", ("intent", "reason"), [(d.intent, d.reason.value) for d in answer.plan.dropped]))
    parts.append("<h2>Evidence</h2>" if answer.evidence else "")
    parts += [evidence(item) for item in answer.evidence]
    return "".join(parts)


def _outcome(answer: Answer) -> dict[str, str]:
    said = {
        "status": answer.status.value,
        "route": answer.route.value,
        "words by": answer.rationale_source.value,
        "gate": answer.faithfulness.value.replace("_", " "),
        "withheld cells": str(sum(item.suppressed_cells for item in answer.evidence)),
        "registry": answer.registry_digest,
    }
    if answer.plan:
        agreed = answer.plan.self_consistency
        said["agreement"] = f"{agreed.outcome.value} in {agreed.samples} samples"
    if answer.refusal:
        said["reason"] = answer.refusal.code
    return said


def _judgement(explanation: Explanation) -> dict[str, str]:
    return {
        "guard": explanation.guard.verdict + (f" ({explanation.guard.code})" if explanation.guard.code else ""),
        "route": f"{explanation.route.value}: {explanation.reason}",
        "could run": ", ".join(explanation.bindable) or "nothing",
        "plan": ", ".join(explanation.intents) or "none",
    }


def _params(explanation: Explanation) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for kind, found in explanation.params.items():
        if found.status == "missing":
            continue
        words = explanation.cleaned[found.span[0] : found.span[1]] if found.span else ""
        rows.append((kind.replace("_", " "), found.status, _joined(found.value), words, found.note or ""))
    return rows


def _samples(explanation: Explanation) -> list[tuple[Any, ...]]:
    return [(number, ", ".join(sample) or "nothing") for number, sample in enumerate(explanation.samples, 1)]


def _joined(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple | list) else "" if value is None else str(value)


def evidence(item: Evidence) -> str:
    """One piece of evidence; a share is drawn beside its figure."""
    share = next((p for p, c in enumerate(item.columns) if c.type == "percent"), None)
    cut = "" if item.complete else ", cut at the row limit"
    caption = f"{item.id} {item.intent}: {len(item.rows)} rows, {item.suppressed_cells} withheld{cut}"
    head = "".join(_head(c.name.replace("_", " "), c.type in FIGURES) for c in item.columns)
    rows = "".join(
        f"<tr>{''.join(_cell(cell, c.type) for cell, c in zip(row, item.columns, strict=True))}{_bar(row, share)}</tr>"
        for row in item.rows[:SHOWN_ROWS]
    )
    bar = _head("", False) if share is not None else ""
    return _scrolling(caption, f"<thead><tr>{head}{bar}</tr></thead><tbody>{rows}</tbody>")


def _head(text: str, figure: bool) -> str:
    return f'<th scope="col"{" class=figure" if figure else ""}>{escape(text) or "&nbsp;"}</th>'


def _cell(cell: Cell, kind: str) -> str:
    if cell == WITHHELD:
        return '<td class="withheld">withheld</td>'
    text = "" if cell is None else _joined(cell)
    if kind == "money" and text:
        text = f"${Decimal(text):,.2f}".replace("$-", "-$")
    style = " class=figure" if kind in FIGURES else " class=date" if kind == "date" else ""
    return f"<td{style}>{escape(text)}</td>"


def _bar(row: Sequence[Cell], share: int | None) -> str:
    if share is None:
        return ""
    value = row[share]
    known = isinstance(value, str) and value != WITHHELD
    drawn = f'<progress max="100" value="{escape(str(value))}" aria-label="share"></progress>' if known else ""
    return f"<td>{drawn}</td>"


def registry_list(registry: Registry) -> str:
    rows = [(intent.name, intent.description, ", ".join(p.name for p in intent.params)) for intent in registry.intents]
    head = "".join(_head(title, False) for title in ("intent", "what it answers", "parameters"))
    body = "".join(
        f'<tr><td><a href="/registry/{name}">{name}</a></td><td>{what}</td><td>{takes}</td></tr>'
        for name, what, takes in (tuple(map(escape, row)) for row in rows)
    )
    caption = f"{len(rows)} intents, {registry.digest}"
    return _scrolling(caption, f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>")


def intent_page(intent: Intent) -> str:
    columns = [(c.name, c.type.value, c.unit or "", ", ".join(c.words)) for c in intent.columns]
    params = [(p.name, p.kind, "yes" if p.required else "no", p.default or "") for p in intent.params]
    return (
        f"<p>{escape(intent.description)}</p><p class=dim>{escape(intent.definition)}</p>"
        + table("Parameters", ("name", "kind", "required", "default"), params)
        + table("Columns", ("name", "type", "unit", "words"), columns)
        + f"<h2>Statement</h2><pre>{escape(intent.sql)}</pre>"
    )


def audit_page(events: Sequence[Mapping[str, Any]], chains: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (e["recorded_at"], e["chain_id"], e["seq"], ", ".join(e["intents"]), ", ".join(e["param_kinds"]),
         e["suppressed_cells"], e["faithfulness"], e["outcome"])
        for e in events
    ]  # fmt: skip
    titles = ("recorded", "chain", "row", "intents", "kinds", "withheld", "gate", "agreement")
    heads = [(c["chain_id"], c["size"], c["head"]) for c in chains]
    return table("Newest events", titles, rows) + table("Chains", ("chain", "rows", "head"), heads)


def table(caption: str, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table, or nothing when there are no rows."""
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(_head(title, False) for title in titles)
    return _scrolling(caption, f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>") if body else ""


def _scrolling(caption: str, inner: str) -> str:
    # a table wider than the window scrolls by itself, by keyboard too
    name = escape(caption, quote=True)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{name}">'
        f"<table><caption>{escape(caption)}</caption>{inner}</table></div>"
    )


def _definitions(pairs: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs.items())
    return f"<dl>{items}</dl>"


def problem(message: str, question: str = "") -> str:
    return f'{ask_form(question)}<p class="bad" role="alert">{escape(message)}</p>'
