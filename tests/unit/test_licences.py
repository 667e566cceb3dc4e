"""What ships is free of the GPL: every package that the image installs says its licence."""

import re
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

EXTRAS = ("", "publisher", "tracing")
"""What the image installs."""
NOT_SHIPPED = re.compile(r"\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)


def shipped() -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    waiting = [("planner", extra) for extra in EXTRAS]
    while waiting:
        name, extra = waiting.pop()
        found[name] = distribution(name)
        for line in found[name].requires or ():
            needed = Requirement(line)
            if needed.marker and not needed.marker.evaluate({"extra": extra}):
                continue
            key = needed.name.lower().replace("_", "-")
            if key not in found:
                waiting += [(key, asked) for asked in ("", *needed.extras)]
    return found


def licence(one: Distribution) -> str:
    meta = one.metadata
    said = [meta.get("License-Expression") or "", (meta.get("License") or "").splitlines()[:1]]
    said += [value for value in meta.get_all("Classifier") or () if value.startswith("License")]
    return " ".join(map(str, said))


def test_nothing_that_ships_is_under_the_gpl() -> None:
    packages = shipped()
    assert len(packages) > 20
    for name, one in packages.items():
        assert re.search(r"\w", licence(one)), f"{name} names no licence"
        assert not NOT_SHIPPED.search(licence(one).replace("LGPL", "")), f"{name}: {licence(one)}"
