"""KIND `opportunities`: SAM.gov's contract opportunities. The people that a notice names are not loaded."""

from consumer.store.load.csvkind import CsvLoader
from consumer.store.load.kind import Tenancy
from consumer.store.load.layout import Field, Layout, Table
from consumer.store.load.names import agency, set_aside
from consumer.store.load.values import day, key, moment, money, naics, name, notice_uuid, text, yes

LAYOUT = Layout(
    name="contract opportunities",
    table=Table(name="market.opportunity", key=("opportunity_id",)),
    fields=(
        Field("opportunity_id", ("NoticeId",), notice_uuid, required=True),
        Field("notice_id", ("NoticeId",), key, required=True),
        Field("title", ("Title",), name, required=True),
        Field("solicitation", ("Sol#",), key),
        Field("agency", ("Department/Ind.Agency",), agency, memo=True),
        Field("subagency", ("Sub-Tier",), agency, memo=True),
        Field("office", ("Office",), name, memo=True),
        Field("notice_type", ("Type",), name, memo=True),
        Field("set_aside", ("SetASideCode", "SetASide"), set_aside, memo=True),
        Field("naics", ("NaicsCode",), naics, memo=True),
        Field("psc", ("ClassificationCode",), key, memo=True),
        Field("posted_date", ("PostedDate",), day),
        Field("response_due", ("ResponseDeadLine",), moment),
        Field("due_date", ("ResponseDeadLine",), day),
        Field("archive_date", ("ArchiveDate",), day),
        Field("active", ("Active",), yes, memo=True),
        Field("place", ("PopState", "PopCity"), name, memo=True),
        Field("award_number", ("AwardNumber",), key),
        Field("awardee", ("Awardee",), name),
        Field("award_amount", ("Award$",), money),
        Field("award_date", ("AwardDate",), day),
        Field("description", ("Description",), text),
        Field("link", ("Link",), name),
    ),
    needs=("NoticeId", "Title", "Department/Ind.Agency", "ResponseDeadLine", "NaicsCode"),
)

LOADER = CsvLoader(kind="opportunities", tenancy=Tenancy.PUBLIC, layouts=(LAYOUT,), tables=("market.opportunity",))
