"""KIND `partners`: the firms that a tenant teams with."""

from consumer.store.load.csvkind import CsvLoader
from consumer.store.load.kind import Tenancy
from consumer.store.load.layout import Field, Layout, Table
from consumer.store.load.values import name, uei, words

LAYOUT = Layout(
    name="partners",
    table=Table(name="graph.partner", key=("uei",)),
    fields=(
        Field("uei", ("uei",), uei, required=True),
        Field("name", ("name",), name, required=True),
        Field("capabilities", ("capabilities",), words),
        Field("set_asides", ("set_asides",), words),
    ),
    needs=("uei", "name", "capabilities", "set_asides"),
)

LOADER = CsvLoader(kind="partners", tenancy=Tenancy.PRIVATE, layouts=(LAYOUT,), tables=("graph.partner",))
