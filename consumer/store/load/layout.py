"""How a CSV becomes rows: which columns it must have, where each cell goes, how it is cleaned.

A `Layout` is data. `Reader` is one layout bound to the header of one file, so that columns may stand in any order and
unknown ones are passed over.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from consumer.errors import Misconfigured
from consumer.store.load.source import Record, Source, places
from consumer.store.load.values import Clean, Memo, text

Row = list[str | None]
Reject = Callable[[str, int, Sequence[str]], None]
"""`reject(reason, line, cells)`."""


class Field(Struct, frozen=True):
    """Column `column` of the table, from the first of `sources` that is not empty. A row without a `required` one is
    rejected. `memo` is for columns of few values."""

    column: str
    sources: tuple[str, ...]
    clean: Clean = text
    required: bool = False
    memo: bool = False


class Table(Struct, frozen=True, kw_only=True):
    """Where rows go. `key` tells rows apart within a tenant. Of two rows with one key the one with the later `version`
    stands, and the later in the file where there is no telling.

    In a `sparse` table an empty cell never erases a known value: a download with fewer columns of the same rows adds
    to them and takes nothing away.
    """

    name: str
    key: tuple[str, ...]
    version: str | None = None
    sparse: bool = False


class Layout(Struct, frozen=True, kw_only=True):
    """One shape of file of a kind. `after` names the statements of `sql/` that run when a batch is in its table.
    `check` sees the cleaned row by column and says what is wrong with it as a whole, if anything is."""

    name: str
    table: Table
    fields: tuple[Field, ...]
    needs: tuple[str, ...]
    after: tuple[str, ...] = ()
    check: Callable[[Mapping[str, str | None]], str | None] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f.column for f in self.fields)

    def missing(self, header: Sequence[str]) -> list[str]:
        """Columns that a file of this layout can't do without and `header` has not."""
        known = places(header)
        return [column for column in self.needs if column.lower() not in known]


def fitting(layouts: Sequence[Layout], source: Source, others: Mapping[str, Sequence[Layout]]) -> Layout:
    """The layout that a file has. `others` are the layouts of other kinds, to hint at a mistaken KIND.

    Raises `Misconfigured` that names the missing columns, or the kind that the file is of.
    """
    for layout in layouts:
        if not layout.missing(source.header):
            return layout
    for kind, candidates in others.items():
        if any(not layout.missing(source.header) for layout in candidates):
            raise Misconfigured(f"{source.name} holds {candidates[0].name}; load it with `planner load {kind}`")
    nearest = min(layouts, key=lambda layout: len(layout.missing(source.header)) / len(layout.needs))
    missing = nearest.missing(source.header)
    raise Misconfigured(f"{source.name} is no file of {nearest.name}: it has no column {', '.join(missing)}")


class Reader:
    """Cleans the records of one file. `rows` gives what may be loaded and hands the rest to `reject`."""

    def __init__(self, layout: Layout, header: Sequence[str]) -> None:
        known = places(header)
        self._reads: list[tuple[int, Clean]] = []
        self._sources: list[str] = []
        self._required: list[tuple[int, str]] = []
        self._others: list[tuple[int, int, Clean]] = []
        self.columns: list[str] = []
        self._check = layout.check
        for field in layout.fields:
            found = [source for source in field.sources if source.lower() in known]
            if not found:
                continue  # the column is not in this file: it stays as it is in the table
            clean = Memo(field.clean).__getitem__ if field.memo else field.clean
            slot = len(self.columns)
            self.columns.append(field.column)
            self._reads.append((known[found[0].lower()], clean))
            self._sources.append(found[0])
            self._others += [(slot, known[other.lower()], clean) for other in found[1:]]
            if field.required:
                self._required.append((slot, found[0]))

    def rows(self, records: Iterator[Record], reject: Reject) -> Iterator[Row]:
        """The cleaned rows, each with its line number before its columns."""
        reads, required, others = self._reads, self._required, self._others
        for record in records:
            cells = record.cells
            if record.fault:
                reject(record.fault, record.line, cells)
                continue
            try:
                row: Row = [clean(cells[place]) for place, clean in reads]
                for slot, place, clean in others:
                    if row[slot] is None:
                        row[slot] = clean(cells[place])
            except ValueError:
                reject(self._fault(cells), record.line, cells)
                continue
            empty = next((source for slot, source in required if row[slot] is None), None)
            if empty:
                reject(f"{empty} is empty", record.line, cells)
                continue
            if self._check and (fault := self._check(dict(zip(self.columns, row, strict=True)))):
                reject(fault, record.line, cells)
                continue
            yield [str(record.line), *row]

    def _fault(self, cells: Sequence[str]) -> str:
        """Which cell is wrong: asked only of a row that is rejected."""
        for (place, clean), source in zip(self._reads, self._sources, strict=True):
            try:
                clean(cells[place])
            except ValueError as error:
                return f"{source}: {error}"
        for slot, place, clean in self._others:
            try:
                clean(cells[place])
            except ValueError as error:
                return f"{self._sources[slot]}: {error}"
        raise AssertionError("a rejected row has a cell that is wrong")
