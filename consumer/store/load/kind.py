"""What a KIND of `planner load` is, and what a load reports."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Protocol
from uuid import UUID

import asyncpg
from msgspec import Struct

PUBLIC = UUID(int=0)
"""The tenant of public rows: everybody reads them."""

Connection = asyncpg.Connection
Progress = Callable[[Path, int, int], None]
"""`progress(path, done, total)`, in bytes of the file."""


class Tenancy(StrEnum):
    """Whose rows a kind's files hold."""

    PUBLIC = "public"
    EITHER = "either"
    PRIVATE = "private"


class Counts(Struct, frozen=True, kw_only=True):
    """Rows of a file by what became of them. A row that the database holds already, as it stands, is unchanged, and
    so is one that the file repeats."""

    loaded: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            loaded=self.loaded + other.loaded,
            updated=self.updated + other.updated,
            unchanged=self.unchanged + other.unchanged,
            rejected=self.rejected + other.rejected,
        )


class FileReport(Struct, frozen=True, kw_only=True):
    """What one file came to. `rejects` is the file that holds the rejected rows, if any."""

    path: Path
    counts: Counts
    rejects: Path | None = None


class LoadReport(Struct, frozen=True, kw_only=True):
    """What a load came to, file by file."""

    kind: str
    files: tuple[FileReport, ...]

    @property
    def total(self) -> Counts:
        return sum((f.counts for f in self.files), Counts())


class Loader(Protocol):
    """One KIND. `load` takes one file (or folder, where the kind takes those) in the caller's open transaction, as
    planner_loader, with app.tenant_id set to `tenant`. It raises `Misconfigured` for a file that is not of its kind.
    """

    @property
    def kind(self) -> str: ...

    @property
    def tenancy(self) -> Tenancy: ...

    async def load(self, connection: Connection, path: Path, tenant: UUID, progress: Progress) -> FileReport: ...
