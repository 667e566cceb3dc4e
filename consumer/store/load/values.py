"""Cells of real files: text in, what Postgres takes out, or None for an empty cell.

Each function raises `ValueError` that says what is wrong with the cell; the row is then rejected with that reason.
"""

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from uuid import UUID, uuid5

Clean = Callable[[str], str | None]

NAME_CHARACTERS = 300
KEY_CHARACTERS = 120
TEXT_CHARACTERS = 4_000
"""Longest name, key (both stand in an index) and free text, which is cut."""
MEMO_VALUES = 50_000

_PLAIN_MONEY = re.compile(r"-?\d{1,18}(?:\.\d+)?")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ].*)?|(\d{4})(\d{2})(\d{2})", re.DOTALL)
_AMERICAN_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?: .*)?")
_NAICS = re.compile(r"(\d{2,6})(?:\.0*)?")
_COUNT = re.compile(r"(\d{1,9})(?:\.0*)?")
_UEI = re.compile(r"[A-Z0-9]{12}")
_NOTICES = UUID("6f9c1f0a-6b1d-5a3e-9f0e-6d6a3a1c2b77")
"""Namespace of the ids of notices whose own id is no UUID."""


class Memo(dict[str, str | None]):
    """A clean function that remembers: columns of a few thousand values cost one look-up a cell."""

    def __init__(self, clean: Clean) -> None:
        super().__init__()
        self._clean = clean

    def __missing__(self, cell: str) -> str | None:
        if len(self) >= MEMO_VALUES:
            self.clear()
        value = self[cell] = self._clean(cell)
        return value


def _line(cell: str) -> str:
    if "\0" in cell:
        raise ValueError("holds a null byte")
    return " ".join(cell.split())


def name(cell: str) -> str | None:
    """A short text on one line."""
    value = _line(cell)
    if len(value) > NAME_CHARACTERS:
        raise ValueError(f"is longer than {NAME_CHARACTERS} characters")
    return value or None


def key(cell: str) -> str | None:
    value = _line(cell)
    if len(value) > KEY_CHARACTERS:
        raise ValueError(f"is longer than {KEY_CHARACTERS} characters")
    return value or None


def text(cell: str) -> str | None:
    """Free text on one line, cut at `TEXT_CHARACTERS`."""
    return _line(cell)[:TEXT_CHARACTERS] or None


def money(cell: str) -> str | None:
    """Dollars: `1234.5`, `$1,234.50`, `-$5`, and `($1234.5)` or `(5)` for what is below zero."""
    if _PLAIN_MONEY.fullmatch(cell):
        return cell
    value = cell.strip()
    if not value:
        return None
    bare = value.translate(_MONEY_MARKS)
    if value[0] == "(" and value[-1] == ")":
        bare = f"-{bare}"
    try:
        amount = Decimal(bare)
    except InvalidOperation:
        raise ValueError(f"{_shown(value)} is no amount") from None
    if not amount.is_finite() or abs(amount) >= Decimal(10) ** 18:
        raise ValueError(f"{_shown(value)} is no amount")
    return format(amount, "f")


_MONEY_MARKS = str.maketrans("", "", "$,() ")


def day(cell: str) -> str | None:
    """A date, with or without a time of day behind it: `2026-09-30`, `2026-09-30 00:00:00`, `09/30/2026`."""
    value = cell.strip()
    if not value:
        return None
    if found := _DATE.fullmatch(value):
        year, month, day_of_month = found.group(1, 2, 3) if found[1] else found.group(4, 5, 6)
    elif found := _AMERICAN_DATE.fullmatch(value):
        month, day_of_month, year = found.groups()
    else:
        raise ValueError(f"{_shown(value)} is no date")
    try:
        return date(int(year), int(month), int(day_of_month)).isoformat()
    except ValueError:
        raise ValueError(f"{_shown(value)} is no date") from None


def moment(cell: str) -> str | None:
    """A moment with its offset; None for a cell that holds a day alone or names no offset."""
    value = cell.strip()
    if len(value) <= 10:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{_shown(value)} is no time") from None
    return read.isoformat() if read.tzinfo else None


def naics(cell: str) -> str | None:
    """A NAICS code of 2 to 6 digits; a spreadsheet's `541519.0` is one. Retired codes stand in real awards."""
    value = cell.strip()
    if not value:
        return None
    found = _NAICS.fullmatch(value)
    if not found:
        raise ValueError(f"{_shown(value)} is no NAICS code")
    return found[1]


def count(cell: str) -> str | None:
    value = cell.strip()
    if not value:
        return None
    found = _COUNT.fullmatch(value)
    if not found:
        raise ValueError(f"{_shown(value)} is no whole number")
    return found[1]


def uei(cell: str) -> str | None:
    """A unique entity id. Its check digit is not asked for: old awards carry ids that SAM.gov assigned in bulk."""
    value = cell.strip().upper()
    if not value:
        return None
    if not _UEI.fullmatch(value):
        raise ValueError(f"{_shown(value)} is no UEI of 12 letters and digits")
    return value


def uuid(cell: str) -> str | None:
    value = cell.strip()
    if not value:
        return None
    try:
        return str(UUID(value))
    except ValueError:
        raise ValueError(f"{_shown(value)} is no UUID") from None


def notice_uuid(cell: str) -> str | None:
    """SAM.gov's notice id is a UUID without hyphens; another kind of id gets a UUID made from it."""
    value = cell.strip()
    try:
        return str(UUID(value)) if value else None
    except ValueError:
        return str(uuid5(_NOTICES, value))


def words(cell: str) -> str:
    """A list split by `;`, as a Postgres array; an empty cell is an empty list."""
    parts = dict.fromkeys(part for raw in cell.split(";") if (part := name(raw)))
    quoted = (part.replace("\\", "\\\\").replace('"', '\\"') for part in parts)
    return "{" + ",".join(f'"{part}"' for part in quoted) + "}"


def yes(cell: str) -> str | None:
    value = cell.strip().lower()
    if value not in _YES:
        raise ValueError(f"{_shown(value)} is neither yes nor no")
    return _YES[value]


_YES: dict[str, str | None] = {
    "": None,
    **dict.fromkeys(("yes", "y", "true", "t", "1"), "t"),
    **dict.fromkeys(("no", "n", "false", "f", "0"), "f"),
}


def _shown(value: str) -> str:
    return value if len(value) <= 40 else value[:40] + "…"
