"""KIND `documents`: text files of a tenant, or a folder of them, as passages that can be searched and quoted."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID, uuid5

from msgspec import Struct

from consumer.documents.chunk import Chunk, chunks, decode
from consumer.errors import Misconfigured
from consumer.store.load.copy import STATEMENT_SECONDS, lock, statement
from consumer.store.load.kind import Connection, Counts, FileReport, Progress, Tenancy
from consumer.store.load.rejects import Rejects

SUFFIXES = (".txt", ".md")
DOCUMENT_BYTES = 32 * 1024 * 1024
"""Largest document: a longer text file is a log, not a solicitation."""
BATCH = 500
_DOCUMENTS = UUID("3b1f64f5-2a53-5c1c-8c49-5d7f1c9a4e10")
"""Namespace of document ids: a document is its tenant and name."""
ADD = "INSERT INTO docs.chunk VALUES ($1, $2, $3, $4, $5, $6, $7)"
FORGET_WORDS = "DELETE FROM docs.word WHERE tenant_id = $1 AND document_id = $2"
FORGET = "DELETE FROM docs.document WHERE tenant_id = $1 AND document_id = $2"
"""Its passages go with a document."""


class Documents(Struct, frozen=True, kw_only=True):
    """The loader. A document is known by its name, below the folder where one is given; loading it again replaces it
    where its bytes have changed."""

    kind: str = "documents"
    tenancy: Tenancy = Tenancy.PRIVATE

    async def load(self, connection: Connection, path: Path, tenant: UUID, progress: Progress) -> FileReport:
        """Raises `Misconfigured` for a file of another suffix and for a folder without documents."""
        files = list(_files(path))
        total = sum(file.stat().st_size for file, _ in files)
        await lock(connection, ("docs.document",))
        counts, done = Counts(), 0
        with Rejects(path) as rejects:
            for file, name in files:
                try:
                    raw = _read(file)
                    counts += await _one(connection, tenant, name, raw, list(chunks(decode(raw))))
                except ValueError as error:
                    rejects.add(("file",), str(error), 0, (name,))
                done += file.stat().st_size
                progress(path, done, total)
        await connection.execute(statement("corpus"), tenant, timeout=STATEMENT_SECONDS)
        rejected = Counts(rejected=rejects.count)
        return FileReport(path=path, counts=counts + rejected, rejects=rejects.path if rejects.count else None)


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Each document with its name."""
    if path.is_dir():
        found = sorted(f for f in path.rglob("*") if f.is_file() and f.suffix.lower() in SUFFIXES)
        if not found:
            raise Misconfigured(f"{path} holds no {' or '.join(SUFFIXES)} file")
        yield from ((file, file.relative_to(path).as_posix()) for file in found)
    elif path.suffix.lower() in SUFFIXES:
        yield path, path.name
    else:
        raise Misconfigured(f"{path} is no {' or '.join(SUFFIXES)} file; save the document as text first")


def _read(file: Path) -> bytes:
    if file.stat().st_size > DOCUMENT_BYTES:
        raise ValueError(f"is larger than {DOCUMENT_BYTES // 2**20} MiB")
    try:
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror}") from None


async def _one(connection: Connection, tenant: UUID, name: str, raw: bytes, passages: Sequence[Chunk]) -> Counts:
    if not passages:
        raise ValueError("holds no text")
    digest = hashlib.sha256(raw).digest()
    document = uuid5(_DOCUMENTS, f"{tenant}/{name}")
    known = await connection.fetchval(
        "SELECT sha256 FROM docs.document WHERE tenant_id = $1 AND document_id = $2", tenant, document
    )
    if known == digest:
        return Counts(unchanged=1)
    await connection.execute(FORGET_WORDS, tenant, document, timeout=STATEMENT_SECONDS)
    await connection.execute(FORGET, tenant, document, timeout=STATEMENT_SECONDS)
    await connection.execute("INSERT INTO docs.document VALUES ($1, $2, $3, $4)", tenant, document, name, digest)
    for start in range(0, len(passages), BATCH):
        batch = [
            (tenant, document, start + i, *passage[:2], list(passage.sentences), passage.words)
            for i, passage in enumerate(passages[start : start + BATCH])
        ]
        await connection.executemany(ADD, batch, timeout=STATEMENT_SECONDS)
    await connection.execute(statement("words"), tenant, document, timeout=STATEMENT_SECONDS)
    return Counts(updated=1) if known else Counts(loaded=1)


LOADER = Documents()
