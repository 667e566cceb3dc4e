"""Records out of files as they really come: a byte order mark, cp1252 bytes, quoted newlines, a ZIP of CSVs.

Reading streams: a file of any size takes the memory of one record.
"""

import codecs
import csv
import io
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from consumer.errors import Misconfigured

FIELD_CHARACTERS = 1_000_000
"""Longest cell: a quote that is never closed must not swallow the rest of the file into memory."""


class Record(NamedTuple):
    """One record: the line it ends on, its cells, and why it can't be read where it can't."""

    line: int
    cells: list[str]
    fault: str | None = None


class Source(NamedTuple):
    """One CSV: its name for people, its header, its records; `position` and `size` in bytes as it is read."""

    name: str
    header: list[str]
    records: Iterator[Record]
    stream: BinaryIO
    size: int


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no UTF-8 are read as what spreadsheets on Windows write."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("planner_cp1252", _as_cp1252)
csv.field_size_limit(FIELD_CHARACTERS)


@contextmanager
def opened(path: Path) -> Generator[Iterator[Source]]:
    """The CSVs of a file: itself, or the members of a ZIP in the order of their names.

    Raises `Misconfigured` when the file is missing, unreadable, empty, or a ZIP without a CSV.
    """
    if path.is_dir():
        raise Misconfigured(f"{path} is a folder; name its files")
    try:
        with path.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                stream.seek(0)
                yield iter([_source(path.name, stream, path.stat().st_size)])
                return
            stream.seek(0)
            with zipfile.ZipFile(stream) as archive:
                yield _members(path, archive)
    except OSError as error:
        raise Misconfigured(f"{path} can't be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # damaged, encrypted, unknown method
        raise Misconfigured(f"{path} is a ZIP that can't be read: {error}") from None


def _members(path: Path, archive: zipfile.ZipFile) -> Iterator[Source]:
    members = sorted((m for m in archive.infolist() if m.filename.lower().endswith(".csv")), key=lambda m: m.filename)
    if not members:
        raise Misconfigured(f"{path} is a ZIP that holds no .csv file")
    for member in members:
        with archive.open(member) as stream:
            yield _source(f"{path.name}: {member.filename}", stream, member.file_size)  # pyright: ignore[reportArgumentType]


def _source(name: str, stream: BinaryIO, size: int) -> Source:
    first = stream.read(2)
    stream.seek(0)
    encoding = "utf-16" if first in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    lines = io.TextIOWrapper(stream, encoding=encoding, errors="planner_cp1252", newline="")
    reader = csv.reader(lines)
    try:
        header = [cell.strip() for cell in next(reader)]
    except StopIteration:
        raise Misconfigured(f"{name} is empty") from None
    except csv.Error as error:
        raise Misconfigured(f"{name} is no CSV: {error}") from None
    return Source(name, header, _records(reader, len(header), lines), stream, size)


class _Reader(Protocol):
    """What `csv.reader` gives."""

    @property
    def line_num(self) -> int: ...

    def __next__(self) -> list[str]: ...


def _records(reader: _Reader, width: int, held: io.TextIOWrapper) -> Iterator[Record]:
    """`held` keeps the decoder, and with it the file, open while records are read."""
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            held.detach()
            return
        except csv.Error as error:
            yield Record(reader.line_num, [], f"can't be read as CSV: {error}")
            continue
        if len(cells) == width:
            yield Record(reader.line_num, cells)
        elif cells:  # a blank line is no record
            yield _uneven(reader.line_num, cells, width)


def _uneven(line: int, cells: list[str], width: int) -> Record:
    if len(cells) > width and not any(cells[width:]):
        return Record(line, cells[:width])
    return Record(line, cells, f"has {len(cells)} cells where the header has {width}")


def places(header: Sequence[str]) -> dict[str, int]:
    """Where each column stands, by its name in lower case; of two with one name, the first."""
    found: dict[str, int] = {}
    for place, column in enumerate(header):
        found.setdefault(column.lower(), place)
    return found
