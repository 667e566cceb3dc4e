"""Names and codes as the market knows them, whichever of its files they come from.

USAspending writes `Department of the Navy`, SAM.gov `DEPT OF THE NAVY` and `VETERANS AFFAIRS, DEPARTMENT OF`: one
spelling, so that one question finds both. Codes of FPDS and SAM.gov become the words that an answer shows.
"""

import re

from consumer.store.load.values import name

_INVERTED = re.compile(r"(?P<what>.+), (?P<body>DEPARTMENT|DEPT|OFFICE|BUREAU) OF(?P<the> THE)?", re.IGNORECASE)
_OFFICIAL = {"U.S. TRANSPORTATION COMMAND": "USTRANSCOM"}  # USAspending's own name of it
_SMALL = re.compile(r"(?<=\s)(Of|The|And|For|On|In|To|At|By)(?=\s)")


def agency(cell: str) -> str | None:
    """The official spelling of a department, agency or office of it."""
    value = name(cell)
    if value is None:
        return None
    value = re.sub(r" \([A-Z]{2,}\)$", "", value)
    value = re.sub(r", THE$", "", value)
    if inverted := _INVERTED.fullmatch(value):
        value = f"{inverted['body']} OF{inverted['the'] or ''} {inverted['what']}"
    value = re.sub(r"\bDEPT\.? OF\b", "DEPARTMENT OF", value, flags=re.IGNORECASE)
    value = re.sub(r"^(?:US|U\. ?S\.?) ", "U.S. ", value)
    value = _OFFICIAL.get(value.upper(), value)
    if value.isupper() and " " in value:
        value = _titled(value)
    return _SMALL.sub(lambda word: word[0].lower(), value)


def _titled(value: str) -> str:
    return re.sub(r"[A-Z]+", lambda word: word[0].capitalize(), value).replace("U.s.", "U.S.").replace("'S ", "'s ")


def set_aside(cell: str) -> str | None:
    """A set aside by its code or by its words in FPDS or SAM.gov; words that are not listed stay as they are."""
    return _coded(cell, SET_ASIDES)


def extent(cell: str) -> str | None:
    """The extent competed, by its code or by its words in FPDS."""
    return _coded(cell, EXTENTS)


def size(cell: str) -> str | None:
    return _coded(cell, SIZES)


def _coded(cell: str, table: dict[str, str]) -> str | None:
    value = name(cell)
    return None if value is None else table.get(_folded(value), value)


def _folded(value: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", value.upper())


def _table(rows: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {_folded(spelling): shown for shown, spellings in rows.items() for spelling in (shown, *spellings)}


SET_ASIDES = _table(
    {
        "No set aside": ("NONE", "NO SET ASIDE USED."),
        "Total small business": (
            "SBA",
            "SMALL BUSINESS SET ASIDE - TOTAL",
            "Total Small Business Set-Aside (FAR 19.5)",
        ),
        "Partial small business": (
            "SBP",
            "SMALL BUSINESS SET ASIDE - PARTIAL",
            "Partial Small Business Set-Aside (FAR 19.5)",
        ),
        "Reserved for small business": ("RSB",),
        "8(a) competed": ("8A", "8A COMPETED", "8(a) Set-Aside (FAR 19.8)"),
        "8(a) sole source": ("8AN", "8(a) Sole Source (FAR 19.8)"),
        "HUBZone": ("HZC", "HUBZONE SET-ASIDE", "Historically Underutilized Business (HUBZone) Set-Aside (FAR 19.13)"),
        "HUBZone sole source": ("HZS", "Historically Underutilized Business (HUBZone) Sole Source (FAR 19.13)"),
        "SDVOSB": (
            "SDVOSBC",
            "SERVICE DISABLED VETERAN OWNED SMALL BUSINESS SET-ASIDE",
            "Service-Disabled Veteran-Owned Small Business (SDVOSB) Set-Aside (FAR 19.14)",
        ),
        "SDVOSB sole source": (
            "SDVOSBS",
            "Service-Disabled Veteran-Owned Small Business (SDVOSB) Sole Source (FAR 19.14)",
        ),
        "WOSB": (
            "WOMEN OWNED SMALL BUSINESS",
            "Women-Owned Small Business (WOSB) Program Set-Aside (FAR 19.15)",
        ),
        "WOSB sole source": (
            "WOSBSS",
            "WOMEN OWNED SMALL BUSINESS SOLE SOURCE",
            "Women-Owned Small Business (WOSB) Program Sole Source (FAR 19.15)",
        ),
        "EDWOSB": (
            "ECONOMICALLY DISADVANTAGED WOMEN OWNED SMALL BUSINESS",
            "Economically Disadvantaged WOSB (EDWOSB) Program Set-Aside (FAR 19.15)",
        ),
        "EDWOSB sole source": (
            "EDWOSBSS",
            "ECONOMICALLY DISADVANTAGED WOMEN OWNED SMALL BUSINESS SOLE SOURCE",
            "Economically Disadvantaged WOSB (EDWOSB) Program Sole Source (FAR 19.15)",
        ),
        "VOSB": ("VSA", "VETERAN SET ASIDE"),
        "VOSB sole source": ("VSS", "VETERAN SOLE SOURCE"),
        "Local area": ("LAS", "Local Area Set-Aside (FAR 26.2)"),
    }
)
EXTENTS = _table(
    {
        "Full and open competition": ("A",),
        "Not available for competition": ("B",),
        "Not competed": ("C",),
        "Full and open competition after exclusion of sources": ("D",),
        "Follow on to competed action": ("E",),
        "Competed under simplified acquisition": ("F", "COMPETED UNDER SAP"),
        "Not competed under simplified acquisition": ("G", "NOT COMPETED UNDER SAP"),
        "Competitive delivery order": ("CDO",),
        "Noncompetitive delivery order": ("NDO", "NON-COMPETITIVE DELIVERY ORDER"),
        "Competed": (),
    }
)
SIZES = _table({"small": ("S", "SMALL BUSINESS"), "other than small": ("O", "OTHER THAN SMALL BUSINESS")})
