"""A registry loads whole or not at all; what is wrong is said with its file, and the digest is of the content."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import registry
from registry.catalog import BUILT_IN, InvalidRegistry
from registry.intent import Intent

PLANES = """
[[planes]]
name = "shop"
scope = "shop:read"
schemas = ["shop"]

[[planes]]
name = "staff"
scope = "staff:read"
schemas = ["staff", "shop"]
suppressed = true
"""
ORDER = """/*---
name = "shop.order"
plane = "shop"
description = "The orders of a vendor."
heading = "Orders"
noun = ["order"]
row_cap = 5

[[params]]
name = "uei"
kind = "uei"

[[columns]]
name = "naics"
type = "id"
bindable = true

[[columns]]
name = "amount"
type = "money"

[[edges]]
param = "uei"
source = "shop.vendor"
column = "uei"
---*/
SELECT o.naics, o.amount FROM shop.orders o WHERE o.tenant_id = :tenant_id AND o.uei = :uei
ORDER BY o.amount -- largest last
"""
VENDOR = """/*---
name = "shop.vendor"
plane = "shop"
description = "The vendors of an industry."
heading = "Vendors"
noun = ["vendor"]
one_of = ["naics"]

[[params]]
name = "naics"
kind = "naics"
required = false

[[params]]
name = "window_months"
kind = "window_months"
default = 12
minimum = 1
maximum = 24

[[columns]]
name = "uei"
type = "id"
bindable = true
---*/
SELECT v.uei FROM shop.vendor v
WHERE v.tenant_id = :tenant_id AND v.naics = :naics AND v.since > :as_of::date - make_interval(months => :window_months)
"""
STAFF = """/*---
name = "staff.count"
plane = "staff"
description = "How many."
heading = "Staff"
noun = ["group"]

[[columns]]
name = "people"
type = "count"
sensitive = true
---*/
SELECT c.people FROM staff.cell c WHERE c.tenant_id = :tenant_id
"""
FILES = {
    "planes.toml": PLANES,
    "intents/shop/order.sql": ORDER,
    "intents/shop/vendor.sql": VENDOR,
    "intents/staff/count.sql": STAFF,
}


def change(file: str, old: str, new: str) -> Callable[[dict[str, str]], None]:
    def apply(files: dict[str, str]) -> None:
        assert old in files[file], old
        files[file] = files[file].replace(old, new)

    return apply


def pack(folder: Path, files: dict[str, str]) -> Path:
    """A folder with these files, and the tables of the built in reference."""
    shutil.copytree(BUILT_IN / "reference", folder / "reference")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


ORDERS, VENDORS, COUNTS, TOP = (
    "intents/shop/order.sql",
    "intents/shop/vendor.sql",
    "intents/staff/count.sql",
    "planes.toml",
)
BACK = '[[edges]]\nparam = "naics"\nsource = "shop.order"\ncolumn = "naics"\n---*/'
FAULTS = [
    # file that is named, what is put in for what, the words of the fault
    (ORDERS, 'name = "shop.order"', 'name = "shop.orders"', "its path says shop.order"),
    (ORDERS, 'plane = "shop"', 'plane = "market"', "plane market is not in planes.toml"),
    (ORDERS, 'plane = "shop"', 'plane = "staff"', "its path says shop.order"),
    (ORDERS, "/*---", "/*", "must open with its declaration"),
    (ORDERS, "---*/", "*/", "must open with its declaration"),
    (ORDERS, "row_cap = 5", "row_cap = 0", "row_cap of 1 to 1000"),
    (ORDERS, "row_cap = 5", "row_cap = 100000", "row_cap of 1 to 1000"),
    (ORDERS, "row_cap = 5", 'row_cap = "5"', "Expected `int`"),
    (ORDERS, "row_cap = 5", "colour = 5", "unknown field `colour`"),
    (ORDERS, 'heading = "Orders"', "heading =", "Invalid value"),
    (ORDERS, 'heading = "Orders"', 'heading = " "', "none may be empty"),
    (ORDERS, 'name = "naics"', 'name = "amount"', "column amount is declared twice"),
    (ORDERS, 'name = "naics"', 'name = "Na ics"', "is no name"),
    (ORDERS, 'type = "money"', 'type = "float"', "Invalid enum value"),
    (ORDERS, 'kind = "uei"', 'kind = "password"', "of kind password; known are"),
    (ORDERS, 'name = "uei"\nkind', 'name = "tenant_id"\nkind', "bound by the runner"),
    (ORDERS, ":uei", ":vendor", "uses :vendor, which is not declared"),
    (ORDERS, "o.uei = :uei", "true", "parameter uei is declared and not used"),
    (ORDERS, "o.tenant_id = :tenant_id", "true", "does not filter on :tenant_id"),
    (ORDERS, "o.tenant_id = :tenant_id", "(o.tenant_id = :tenant_id OR true)", "not filtered on :tenant_id"),
    (ORDERS, "shop.orders", "staff.person", "the schema staff is not one that this plane may read (shop)"),
    (ORDERS, "o.amount FROM", "pg_sleep(9) FROM", "the function pg_sleep is not on the allow list"),
    (ORDERS, "largest last", "largest last\nLIMIT 3", "must not have a LIMIT of its own"),
    (ORDERS, 'source = "shop.vendor"', 'source = "shop.nobody"', "there is no intent shop.nobody"),
    (ORDERS, 'column = "uei"', 'column = "name"', "must be declared and bindable"),
    (ORDERS, 'param = "uei"', 'param = "naics"', "has no such parameter"),
    (ORDERS, 'source = "shop.vendor"', 'source = "staff.count"', "a count of people binds no parameter"),
    (ORDERS, 'kind = "uei"', 'kind = "clearance"', "type id binds no parameter of kind clearance"),
    (ORDERS, 'kind = "uei"', 'kind = "agency"', "type id binds no parameter of kind agency"),
    ("intents", "", "", "circle through shop.order, shop.vendor"),
    (VENDORS, "bindable = true", "", "must be declared and bindable"),
    (VENDORS, 'one_of = ["naics"]', 'one_of = ["agency"]', "one_of names agency"),
    (VENDORS, "required = false", "", "one_of names naics"),
    (VENDORS, "default = 12", "default = 36", "outside its limits"),
    (VENDORS, "default = 12", "default = 0", "outside its limits"),
    (VENDORS, "minimum = 1", "minimum = 30", "minimum above its maximum"),
    (COUNTS, "sensitive = true", "bindable = true", "suppressed plane can't be bindable"),
    (COUNTS, 'noun = ["group"]', 'noun = ["group"]\norder_by = ["people", "up"]', "order_by names people up"),
    (TOP, '"shop:read"', '"all:read"', "the scope of plane shop is shop:read"),
    (TOP, 'name = "staff"\nscope = "staff:read"', 'name = "shop"\nscope = "shop:read"', "plane shop is declared twice"),
    (TOP, '["shop"]', '["shop", "eeo"]', "protected data are in no plane"),
    (TOP, '["shop"]', '["shop", "EEO_2026"]', "protected data are in no plane"),
    (TOP, '["shop"]', '["pg_catalog"]', "a schema of the pack"),
    (TOP, '["shop"]', '["information_schema"]', "a schema of the pack"),
    (TOP, "suppressed = true", "suppressed = maybe", "Invalid value"),
]


@pytest.mark.parametrize(("file", "old", "new", "says"), FAULTS)
def test_a_fault_is_named_with_its_file(tmp_path: Path, file: str, old: str, new: str, says: str) -> None:
    files = dict(FILES)
    change(*((VENDORS, "---*/", BACK) if file == "intents" else (file, old, new)))(files)
    with pytest.raises(InvalidRegistry) as error:
        registry.load(str(pack(tmp_path / "pack", files)))
    # a column that lost what an edge needs is named where the edge stands
    assert str(error.value).startswith(
        str(tmp_path / "pack" / (ORDERS if says.startswith("must be declared") else file))
    )
    assert says in str(error.value)


def test_another_pack_loads_and_is_compiled_with_its_bound(tmp_path: Path) -> None:
    loaded = registry.load(str(pack(tmp_path / "pack", FILES)))
    assert [intent.name for intent in loaded.intents] == ["shop.order", "shop.vendor", "staff.count"]
    statement = loaded.statements["shop.order"]
    assert statement.parameters == ("tenant_id", "uei")
    assert statement.text.endswith("-- largest last\nLIMIT 6")
    assert loaded.plane("staff").suppressed
    with pytest.raises(KeyError):
        loaded.plane("market")


def test_the_digest_is_of_the_content_and_not_of_its_layout(tmp_path: Path) -> None:
    digest = registry.load(str(pack(tmp_path / "a", FILES))).digest
    same = dict(FILES)
    change(ORDERS, 'heading = "Orders"\nnoun = ["order"]', '# what it is\nnoun = [ "order" ]\nheading = "Orders"')(same)
    other = [
        (ORDERS, "o.amount FROM", "o.amount  FROM"),
        (ORDERS, "row_cap = 5", "row_cap = 6"),
        (TOP, '["shop"]', '["shop", "x"]'),
    ]
    assert digest == registry.load(str(pack(tmp_path / "b", dict(reversed(same.items()))))).digest
    for number, (file, old, new) in enumerate(other):
        files = dict(FILES)
        change(file, old, new)(files)
        assert registry.load(str(pack(tmp_path / f"c{number}", files))).digest != digest


def test_what_is_no_registry_is_said(tmp_path: Path) -> None:
    for folder, says in (
        (tmp_path / "nowhere", "No such file"),
        (pack(tmp_path / "bare", {TOP: PLANES}), "holds no intent"),
    ):
        with pytest.raises(InvalidRegistry, match=says):
            registry.load(str(folder))
    files = pack(tmp_path / "latin", FILES)
    (files / ORDERS).write_bytes(ORDER.replace("largest", "größte").encode("cp1252"))
    with pytest.raises(InvalidRegistry, match="is not UTF-8"):
        registry.load(str(files))


def test_the_built_in_registry_covers_its_planes_and_never_changes() -> None:
    loaded = registry.load()
    names = {intent.name for intent in loaded.intents}
    assert {i.plane for i in loaded.intents} == {"market", "graph", "bench"}
    assert {"market.competitors", "market.recompetes", "graph.requirement_tree", "bench.cleared_count"} <= names
    assert [i.name for i in loaded.intents] == sorted(
        names, key=lambda n: (["market", "graph", "bench"].index(n.split(".")[0]), n)
    )
    assert loaded.digest == registry.load().digest
    assert all(not c.bindable for i in loaded.intents if loaded.plane(i.plane).suppressed for c in i.columns)
    with pytest.raises(AttributeError):
        loaded.intents[0].row_cap = 9  # pyright: ignore[reportAttributeAccessIssue]
    assert all(isinstance(intent, Intent) for intent in loaded.by_name.values())
