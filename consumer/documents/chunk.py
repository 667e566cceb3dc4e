"""Text of a document into passages that keep their section, as it stands and without the furniture of its pages.

Pages repeat banners and numbers, PDF text wraps lines and solicitations number their headings (`2.1.1 Scheduled
Treatment. The contractor shall ...`). What is kept is word for word; only line wraps become spaces. Nothing here reads
meaning: an instruction in a document is text like any other.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CHUNK_CHARACTERS = 1_200
"""A passage ends with the sentence that reaches this."""
SENTENCE_CHARACTERS = 1_000
"""Longest sentence; a longer run of text without an end is cut between words."""
ABBREVIATION_CHARACTERS = 12
EDGE_LINES = 8
"""How far from the top or bottom of a page a banner can stand."""
HEADING_CHARACTERS = 120
LABEL = 0
WRAPPED = 0.6
"""A line at least this part of the usual width was wrapped: the next one goes on with it."""

_PAGE = re.compile(r"^\s*-*\s*page\s+\d+(\s+of\s+\d+)?\s*-*\s*$|\f", re.IGNORECASE)
_PAGE_NUMBER = re.compile(r"^\s*(page\s+)?\d{1,4}(\s+of\s+\d{1,4})?\s*$", re.IGNORECASE)
_CONTENTS = re.compile(r"\.{4,}\s*\d+\s*$")
_NUMBERED = re.compile(r"^(?P<number>[A-Z]?\.?\d{1,3}(?:\.\d{1,3})+|\d{1,3}\.)\s+(?P<rest>[A-Z(].*)$")
_MARKDOWN = re.compile(r"^(?P<level>#{1,6})\s+(?P<rest>.+?)\s*#*$")
_LABELLED = re.compile(
    r"^(?:section|article|part|attachment|appendix|exhibit|annex)\s+[A-Z0-9]{1,4}\b.{0,80}$", re.IGNORECASE
)
_LABEL = re.compile(r"^[A-Z][\w/-]*(?: (?:[A-Z][\w/-]*|#\d+|of|and|for|the))*:$")
_RUN_IN = re.compile(r"^(?P<title>[A-Z][\w/,&’'() -]{2,80}?)\.\s+(?P<body>[A-Z].*)$")
_KIND_OF_PART = re.compile(r"\s*[-–—]?\s*\b(?:sub)?section\s*$", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[•▪◦●○■*·-]|\(?[a-z0-9]{1,3}\))\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“(]?[A-Z0-9])")
_ABBREVIATIONS = re.compile(
    r"(?:\b(?:No|Nos|Dr|Jr|Sr|Mr|Mrs|Ms|Inc|Co|Corp|Ltd|Sec|Fig|Art|Para|vs|approx|est|St|Ft|Gen|Lt|Col|e\.g|i\.e|U\.S|a\.m|p\.m)"
    r"|\b[A-Z])\.$"
)


class Chunk(NamedTuple):
    """One passage: the section that a person would cite, all headings above it and its sentences word for word."""

    section: str
    headings: str
    sentences: tuple[str, ...]

    @property
    def words(self) -> int:
        return sum(len(sentence.split()) for sentence in self.sentences)


class _Heading(NamedTuple):
    """`depth` counts from 1; a LABEL takes the place of a run in heading, or stands below any other."""

    number: tuple[int, ...]
    depth: int
    text: str
    run_in: bool = False


def decode(raw: bytes) -> str:
    """Text of a file: UTF-8 with or without a mark, UTF-16 with one, else cp1252. Raises `ValueError` for a file that
    is no text."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", errors="replace")
    elif b"\0" in raw:
        raise ValueError("is no text file; save it as .txt or .md")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", errors="replace")
    return "".join(c for c in text if c in "\n\r\t\f" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))


def chunks(text: str) -> Iterator[Chunk]:
    """The passages of a document in order."""
    path: list[_Heading] = []
    held: list[str] = []
    for heading, unit in _units(_without_banners(_pages(text))):
        if heading is not None:
            yield from _chunk(path, held)
            path, held = _under(path, heading), []
        else:
            held.extend(sentences(unit))
    yield from _chunk(path, held)


def sentences(text: str) -> list[str]:
    """Sentences of a paragraph. An abbreviation ends none."""
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if not _ABBREVIATIONS.search(text[max(start, end.start() - ABBREVIATION_CHARACTERS) : end.start()]):
            found.append(text[start : end.end()].strip())
            start = end.end()
    found.append(text[start:].strip())
    return [piece for sentence in found if sentence for piece in _cut(sentence)]


def _cut(sentence: str) -> Iterator[str]:
    while len(sentence) > SENTENCE_CHARACTERS:
        space = sentence.rfind(" ", 1, SENTENCE_CHARACTERS)
        at = space if space > 0 else SENTENCE_CHARACTERS
        yield sentence[:at].strip()
        sentence = sentence[at:].strip()
    if sentence:
        yield sentence


def _pages(text: str) -> list[list[str]]:
    pages: list[list[str]] = [[]]
    for line in text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\f\n").split("\n"):
        if _PAGE.match(line):
            pages.append([])
        else:
            pages[-1].append(" ".join(line.split()))
    return [page for page in pages if any(page)]


def _without_banners(pages: Sequence[list[str]]) -> list[str]:
    """All lines, without those that stand at the edge of most pages and without page numbers there."""
    if len(pages) < 3:
        return [line for page in pages for line in page]
    seen = Counter(line for page in pages for line in {_masked(page[i]) for i in _edges(page)})
    banners = {line for line, times in seen.items() if line and times * 2 > len(pages)}
    kept: list[str] = []
    for page in pages:
        edges = _edges(page)
        drop = {i for i in edges if _masked(page[i]) in banners or _PAGE_NUMBER.match(page[i])}
        lines = [line for i, line in enumerate(page) if i not in drop]
        filled = [i for i, line in enumerate(lines) if line]
        kept.extend(lines[filled[0] : filled[-1] + 1] if filled else [])  # a paragraph goes on over the page's end
    return kept


def _masked(line: str) -> str:
    return re.sub(r"\d+", "#", line).casefold()


def _edges(page: Sequence[str]) -> set[int]:
    filled = [i for i, line in enumerate(page) if line]
    return {*filled[:EDGE_LINES], *filled[-EDGE_LINES:]}


def _units(lines: Sequence[str]) -> Iterator[tuple[_Heading | None, str]]:
    """Headings, and between them paragraphs: wrapped lines joined, bullets and short lines by themselves."""
    widths = sorted(len(line) for line in lines if line)
    full = widths[len(widths) * 9 // 10] * WRAPPED if widths else 0
    number: tuple[int, ...] = ()
    paragraph, goes_on = "", False
    for line in lines:
        if _CONTENTS.search(line):
            continue
        found = _heading(line, number)
        heading, rest = found or (None, line)
        if paragraph and (heading or not line or _BULLET.match(line) or not (goes_on or line[0].islower())):
            yield None, paragraph
            paragraph = ""
        if heading:
            number = heading.number or number
            yield heading, ""
        if rest:
            paragraph = _joined(paragraph, rest)
        goes_on = bool(rest) and len(line) >= full and not line.endswith(":")
    if paragraph:
        yield None, paragraph


def _joined(before: str, line: str) -> str:
    if not before:
        return line
    if re.search(r"\w-$", before) and line[:1].islower():
        return before + line  # a word that was broken at its own hyphen
    return f"{before} {line}"


def _heading(line: str, last: tuple[int, ...]) -> tuple[_Heading, str] | None:
    """A heading and what follows it on its line."""
    if found := _MARKDOWN.match(line):
        text = _title(found["rest"])
        return _Heading(_number(text), len(found["level"]), text), ""
    if found := _NUMBERED.match(line):
        return _numbered(line, found["number"], found["rest"], last)
    if _LABELLED.match(line) and not line.endswith((".", ",", ";")):
        return _Heading((), 1, _title(line)), ""
    if len(line) <= HEADING_CHARACTERS and _LABEL.match(line):
        return _Heading((), LABEL, line.rstrip(": ")), ""
    return None


def _numbered(line: str, written: str, rest: str, last: tuple[int, ...]) -> tuple[_Heading, str] | None:
    """Numbers must go on from the last heading's: a table that names other sections has no headings in it."""
    number = _number(written)
    if not _follows(number, last):
        return None
    run_in = _RUN_IN.match(rest)
    if run_in is None and (len(line) > HEADING_CHARACTERS or line.endswith((";", ","))):
        return None
    title, body = (run_in["title"], run_in["body"]) if run_in else (rest, "")
    depth = len(number) - (number[-1] == 0 and len(number) > 1)
    return _Heading(number, depth, f"{written} {_title(title)}".strip(), bool(body)), body


def _number(text: str) -> tuple[int, ...]:
    found = re.match(r"[A-Z]?\.?(\d{1,3}(?:\.\d{1,3})*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _follows(number: tuple[int, ...], last: tuple[int, ...]) -> bool:
    """3.2 follows 3.1, 3.1.4, 2.9 and 3; not 3.3, not 7."""
    return not last or (number > last and number[0] <= last[0] + 2)


def _title(text: str) -> str:
    """`1.2 Scope - Subsection` is called `1.2 Scope`."""
    return _KIND_OF_PART.sub("", text.strip().strip("*_").strip()) or text.strip()


def _under(path: Sequence[_Heading], heading: _Heading) -> list[_Heading]:
    if heading.depth == LABEL:
        last = path[-1] if path else None
        heading = heading._replace(depth=1 if last is None else last.depth + (not last.run_in), run_in=True)
    return [*(outer for outer in path if outer.depth < heading.depth), heading]


def _chunk(path: Sequence[_Heading], held: Sequence[str]) -> Iterator[Chunk]:
    section, headings = _cited(path), ", ".join(heading.text for heading in path)
    batch: list[str] = []
    for sentence in held:
        batch.append(sentence)
        if sum(map(len, batch)) >= CHUNK_CHARACTERS:
            yield Chunk(section, headings, tuple(batch))
            batch = []
    if batch:
        yield Chunk(section, headings, tuple(batch))


def _cited(path: Sequence[_Heading]) -> str:
    """The innermost numbered heading and what stands below it, or the innermost of all."""
    numbered = [place for place, heading in enumerate(path) if heading.number]
    return ", ".join(heading.text for heading in path[numbered[-1] if numbered else -1 :])
