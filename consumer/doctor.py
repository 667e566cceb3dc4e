"""What a deployment needs, looked at from where the service runs: each check says what is well, or what to do."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from urllib.parse import urlsplit

import asyncpg
import httpx
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from msgspec import Struct

from consumer import topics
from consumer.errors import Misconfigured, PlannerError, Unreachable
from consumer.kafka import client_options
from consumer.settings import Settings, variable
from consumer.store.migrate import migrations
from consumer.store.preflight import preflight, schemas_of
from registry.catalog import InvalidRegistry
from registry.catalog import load as load_registry

CHECK_SECONDS = 15.0


class Verdict(StrEnum):
    OK = "ok"
    FAIL = "fail"
    SKIP = "skip"


class Finding(Struct, frozen=True, kw_only=True):
    """One line: what was looked at, how it stands, and the remedy where it is not well."""

    check: str
    verdict: Verdict
    detail: str
    hint: str = ""


Check = Callable[[Settings], Awaitable[Finding]]


async def examine(settings: Settings) -> list[Finding]:
    """All findings, in the order in which to repair them. A check that can't run is a failed one, never an error."""
    return list(await asyncio.gather(*(_run(name, check, settings) for name, check in CHECKS.items())))


async def _run(name: str, check: Check, settings: Settings) -> Finding:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check(settings)
    except TimeoutError:
        return _fail(name, f"no answer within {CHECK_SECONDS:g} s", "is it up, and is nothing between it and us?")
    except PlannerError as error:
        return _fail(name, str(error), "")


async def _kafka(settings: Settings) -> Finding:
    async with topics.admin(settings) as client:
        cluster = await client.describe_cluster()
    count = len(cluster["brokers"])
    return _ok("kafka", f"{count} broker{'' if count == 1 else 's'} at {settings.kafka_bootstrap}")


async def _topics(settings: Settings) -> Finding:
    async with topics.admin(settings) as client:
        found = await topics.standing(client, settings)
    have = {one.topic for one in found}
    if missing := [topic.name for topic in topics.wanted(settings) if topic.name not in have]:
        return _fail("topics", f"missing: {', '.join(missing)}", "run `planner topics`")
    if short := [one for one in found if one.done is topics.Done.SHORT]:
        return _fail("topics", f"{short[0].topic} has fewer partitions than the questions", "run `planner topics`")
    return _ok("topics", ", ".join(f"{one.topic} ({one.partitions})" for one in found))


async def _transactions(settings: Settings) -> Finding:
    """Begins a transaction and aborts it: the right to use transactional ids under the group's name, and a coordinator
    that answers."""
    name = f"{settings.group}.doctor"
    producer = AIOKafkaProducer(**client_options(settings), transactional_id=name)
    try:
        await producer.start()
        async with producer.transaction():
            pass
    except KafkaError as error:
        return _fail(
            "transactions",
            f"the transactional id {name} was refused: {type(error).__name__}",
            f"allow Write and Describe on transactional ids that start with {settings.group}.",
        )
    finally:
        await producer.stop()
    return _ok("transactions", f"ids under {settings.group} are allowed")


async def _worker_role(settings: Settings) -> Finding:
    return await _role("worker role", settings.database_url, "database_url", "planner_worker")


async def _sink_role(settings: Settings) -> Finding:
    return await _role("sink role", settings.sink_database_url, "sink_database_url", "planner_sink")


async def _role(check: str, url: str, field: str, expected: str) -> Finding:
    """That the role can do no more than it should: no superuser, no bypass of row security, owner of nothing."""
    connection = await _connected(url, field)
    try:
        row = await connection.fetchrow(ROLE)
    finally:
        await connection.close(timeout=5)
    assert row is not None
    hint = f"connect as {expected}, the role that `planner migrate` makes"
    if row["rolsuper"] or row["rolbypassrls"]:
        return _fail(check, f"{row['rolname']} is above row security", hint)
    if row["owned"]:
        return _fail(check, f"{row['rolname']} owns {row['owned']} tables", hint)
    if not row["migrated"]:
        return _fail(check, "the database has no schema of ours", "run `planner migrate`")
    if row["open_tables"]:
        return _fail(check, f"row security is not forced on {', '.join(row['open_tables'])}", "run `planner migrate`")
    return _ok(check, f"{row['rolname']} at {urlsplit(url).hostname}, PostgreSQL {row['version']}, row security forced")


async def _tenancy(settings: Settings) -> Finding:
    """What the worker refuses to start on, all of it."""
    try:
        schemas = schemas_of(await asyncio.to_thread(load_registry, settings.registry))
    except InvalidRegistry:
        return _skip("tenancy", "which schemas questions read is not known without a registry")
    connection = await _connected(settings.database_url, "database_url")
    try:
        found = await preflight(connection, schemas)
    except asyncpg.PostgresError as error:
        return _fail("tenancy", f"the catalogs can't be read: {type(error).__name__}", "run `planner migrate`")
    finally:
        await connection.close(timeout=5)
    if found:
        return _fail("tenancy", "; ".join(map(str, found)), "undo the grant or repair the object; see preflight.sql")
    return _ok("tenancy", f"no way is known past the tenant in {', '.join(schemas)}")


async def _migrations(settings: Settings) -> Finding:
    if not settings.admin_database_url:
        return _skip("migrations", f"{variable('admin_database_url')} is not set")
    connection = await _connected(settings.admin_database_url, "admin_database_url")
    try:
        rows = await connection.fetch("select name from planner.migration")
    except asyncpg.UndefinedTableError:
        rows = []
    finally:
        await connection.close(timeout=5)
    missing = migrations().keys() - {row["name"] for row in rows}
    if missing:
        return _fail("migrations", f"{len(missing)} of {len(migrations())} not applied", "run `planner migrate`")
    return _ok("migrations", f"all {len(rows)} applied")


async def _registry(settings: Settings) -> Finding:
    try:
        found = await asyncio.to_thread(load_registry, settings.registry)
    except InvalidRegistry as error:
        return _fail("registry", str(error), "`planner registry check` tells more")
    return _ok("registry", f"{len(found.intents)} intents in {len(found.planes)} planes, {found.digest[:19]}")


async def _inference(settings: Settings) -> Finding:
    if settings.inference == "embedded":
        return _ok("inference", "embedded: no network")
    hint = f"is {variable('inference_url')} right, and the server up?"
    headers = {"Authorization": f"Bearer {settings.inference_api_key}"} if settings.inference_api_key else {}
    try:
        async with httpx.AsyncClient(timeout=CHECK_SECONDS / 2) as client:
            response = await client.get(f"{settings.inference_url.rstrip('/')}/models", headers=headers)
            names = [model["id"] for model in response.raise_for_status().json()["data"]]
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return _fail("inference", f"{settings.inference_url}: {type(error).__name__}", hint)
    except (ValueError, LookupError, TypeError):  # a server without a list of models may still complete chats
        return _ok("inference", f"{settings.inference_url} answers")
    if settings.inference_model not in names:
        return _fail(
            "inference", f"the server has no model {settings.inference_model}", f"it has {', '.join(names[:5])}"
        )
    return _ok("inference", f"{settings.inference_model} at {settings.inference_url}")


async def _connected(url: str, field: str) -> asyncpg.Connection:
    if not url:
        raise Misconfigured(f"{variable(field)} is not set")
    try:
        return await asyncpg.connect(url, timeout=CHECK_SECONDS / 2)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Unreachable(
            f"Postgres of {variable(field)}: {type(error).__name__}; is it up, is the URL right?"
        ) from None


def _ok(check: str, detail: str) -> Finding:
    return Finding(check=check, verdict=Verdict.OK, detail=detail)


def _skip(check: str, detail: str) -> Finding:
    return Finding(check=check, verdict=Verdict.SKIP, detail=detail)


def _fail(check: str, detail: str, hint: str) -> Finding:
    return Finding(check=check, verdict=Verdict.FAIL, detail=detail, hint=hint)


def failed(findings: Sequence[Finding]) -> bool:
    return any(finding.verdict is Verdict.FAIL for finding in findings)


ROLE = """
select r.rolname, r.rolsuper, r.rolbypassrls, current_setting('server_version') as version,
       (select count(*) from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p')) as owned,
       exists (select from pg_namespace where nspname = 'audit') as migrated,
       array(select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where n.nspname in ('market', 'graph', 'bench', 'docs') and c.relkind in ('r', 'p')
                   and not (c.relrowsecurity and c.relforcerowsecurity) order by 1) as open_tables
from pg_roles r where r.rolname = current_user
"""

CHECKS: dict[str, Check] = {
    "kafka": _kafka,
    "topics": _topics,
    "transactions": _transactions,
    "worker role": _worker_role,
    "sink role": _sink_role,
    "tenancy": _tenancy,
    "migrations": _migrations,
    "registry": _registry,
    "inference": _inference,
}
