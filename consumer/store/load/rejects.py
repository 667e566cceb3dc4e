"""The rows that a load did not take, in a CSV that can be mended and loaded again."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

REASON, LINE = "reason", "line"


class Rejects:
    """Writes `FILE.rejected.csv` with the first rejected row: `reason`, `line`, then the file's own columns.

    It stands beside the file, or in the working directory when the file's folder takes no new file. One left there by
    an earlier load of the same file is replaced, or removed when nothing is rejected any more.
    """

    def __init__(self, path: Path) -> None:
        self.path = place(path)
        self.count = 0
        self._file: TextIO | None = None
        self._header: Sequence[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file:
            self._file.close()
        elif kind is None and _is_ours(self.path):
            self.path.unlink()

    def add(self, header: Sequence[str], reason: str, line: int, cells: Sequence[str]) -> None:
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8", newline="")
        writer = csv.writer(self._file)
        if header != self._header:  # a ZIP may hold files of different columns
            writer.writerow([REASON, LINE, *header])
            self._header = header
        writer.writerow([reason, line, *cells])
        self.count += 1


def place(path: Path) -> Path:
    name = f"{path.name}.rejected.csv"
    return path.parent / name if _takes_files(path.parent) else Path.cwd() / name


def _takes_files(folder: Path) -> bool:
    """A folder that nobody may write to is left alone by root as well, whom the system would let."""
    return bool(folder.stat().st_mode & 0o222) and os.access(folder, os.W_OK)


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().startswith(f"{REASON},{LINE},")
