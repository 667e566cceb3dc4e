"""`planner doctor` on real parts: a healthy deployment passes, and each way to be ill is named with its remedy."""

import uuid

import msgspec
import pytest

from consumer import doctor, topics
from consumer.doctor import Verdict
from consumer.settings import Settings
from tests.databases import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def settings(kafka_bootstrap: str, module_database: Database) -> Settings:
    stem = f"t{uuid.uuid4().hex[:10]}"
    return Settings(
        kafka_bootstrap=kafka_bootstrap,
        group=stem,
        topic_questions=f"{stem}.q",
        topic_answers=f"{stem}.a",
        topic_audit=f"{stem}.u",
        topic_dlt=f"{stem}.q-dlt",
        topic_partitions=2,
        database_url=module_database.worker_url,
        sink_database_url=module_database.sink_url,
        admin_database_url=module_database.admin_url,
    )


async def test_a_healthy_deployment_passes_every_check(settings: Settings) -> None:
    await topics.create_missing(settings)
    findings = await doctor.examine(settings)
    assert [(one.check, one.detail, one.hint) for one in findings if one.verdict is not Verdict.OK] == []
    assert [one.check for one in findings] == list(doctor.CHECKS)


ILL = [
    # the check that fails, the setting that is wrong, its value (a role's URL by name), what the line says
    ("kafka", "kafka_bootstrap", "127.0.0.1:9", "no Kafka broker answers at 127.0.0.1:9"),
    ("topics", "topic_answers", "not.there", "missing: not.there"),
    ("worker role", "database_url", "", "PLANNER_DATABASE_URL is not set"),
    ("worker role", "database_url", "postgresql://nobody@127.0.0.1:9/x", "Postgres of PLANNER_DATABASE_URL"),
    ("worker role", "database_url", "postgresql://a b:c", "Postgres of PLANNER_DATABASE_URL"),
    ("worker role", "database_url", "admin_url", "is above row security"),
    ("tenancy", "database_url", "sink_url", "the service must connect as planner_worker"),
    ("migrations", "admin_database_url", "server", "not applied"),
    ("registry", "registry", "/nowhere", "/nowhere"),
    ("inference", "inference_url", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
]


@pytest.mark.parametrize(("check", "field", "value", "says"), ILL)
async def test_what_is_ill_is_named(
    settings: Settings, module_database: Database, postgres_url: str, check: str, field: str, value: str, says: str
) -> None:
    known = {"admin_url": module_database.admin_url, "sink_url": module_database.sink_url, "server": postgres_url}
    changed: dict[str, str] = {field: known.get(value, value)}
    if check == "inference":
        changed["inference"] = "openai"
    await topics.create_missing(settings)
    findings = {one.check: one for one in await doctor.examine(msgspec.structs.replace(settings, **changed))}
    assert findings[check].verdict is Verdict.FAIL
    assert says in findings[check].detail
    assert doctor.failed(list(findings.values()))
