"""The settings: `PLANNER_*`, read once, validated once, passed down. No other module reads the environment."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from consumer.errors import Misconfigured

PREFIX = "PLANNER_"


def about(text: str, **rules: object) -> Meta:
    """What `planner --help-config` prints of a setting, with the rules its value must keep."""
    return Meta(description=text, **rules)  # pyright: ignore[reportArgumentType, reportCallIssue]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting with its default. The variable of a field is `PLANNER_` and its name in upper case."""

    # Kafka
    kafka_bootstrap: Annotated[str, about("Kafka brokers, host:port, comma separated")] = "localhost:9092"
    kafka_security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], about("how to speak to the brokers")
    ] = "PLAINTEXT"
    kafka_sasl_mechanism: Annotated[Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], about("SASL mechanism")] = (
        "SCRAM-SHA-512"
    )
    kafka_sasl_username: Annotated[str, about("SASL user name")] = ""
    kafka_sasl_password: Annotated[str, about("SASL password; never logged")] = ""
    kafka_ssl_cafile: Annotated[str, about("file of the certificate authorities that signed the brokers")] = ""
    kafka_ssl_certfile: Annotated[str, about("client certificate file for mutual TLS")] = ""
    kafka_ssl_keyfile: Annotated[str, about("client key file for mutual TLS")] = ""
    group: Annotated[str, about("consumer group of the workers", min_length=1)] = "planner"
    topic_questions: Annotated[str, about("topic that questions are read from")] = "planner.questions.v1"
    topic_answers: Annotated[str, about("topic that answers are written to")] = "planner.answers.v1"
    topic_audit: Annotated[str, about("topic of plan_answered events")] = "planner.audit.v1"
    topic_dlt: Annotated[str, about("dead letter topic, at least as many partitions as the questions")] = (
        "planner.questions.v1-dlt"
    )
    topic_partitions: Annotated[int, about("partitions of topics that `planner topics` creates", ge=1)] = 6
    topic_replication: Annotated[
        int, about("replicas of topics that `planner topics` creates; -1 is the broker's default", ge=-1)
    ] = -1
    topic_retention_hours: Annotated[int, about("retention of topics that `planner topics` creates", ge=1)] = 168
    reply_topics: Annotated[
        str, about("topics that a reply header may name: names or globs; empty means the answers topic only")
    ] = ""
    max_question_bytes: Annotated[int, about("largest question record", ge=256, le=1_048_576)] = 65_536
    max_answer_bytes: Annotated[int, about("largest answer record, headers included", ge=4_096)] = 921_600

    # Postgres
    database_url: Annotated[str, about("Postgres as the worker's role planner_worker")] = ""
    sink_database_url: Annotated[str, about("Postgres as the sink's role planner_sink")] = ""
    admin_database_url: Annotated[str, about("Postgres as an owner, for migrate, load and bench publish only")] = ""
    database_pool: Annotated[int, about("connections a worker keeps", ge=1, le=200)] = 8
    statement_cache: Annotated[
        int, about("prepared statements kept a connection; 0 behind pgbouncer before 1.21", ge=0)
    ] = 256
    statement_timeout_ms: Annotated[int, about("longest statement", ge=10)] = 3_000

    # The worker
    concurrency: Annotated[int, about("questions in flight a process", ge=1, le=10_000)] = 32
    in_flight_bytes: Annotated[int, about("bytes of questions held in memory a process", ge=65_536)] = 67_108_864
    commit_interval_ms: Annotated[
        int, about("longest wait of a finished answer for its transaction", ge=1, le=10_000)
    ] = 25
    commit_batch: Annotated[int, about("most answers in one transaction", ge=1, le=10_000)] = 500
    drain_seconds: Annotated[
        float, about("longest wait for questions in flight at a stop or rebalance", ge=0.1, le=600)
    ] = 20.0
    session_timeout_ms: Annotated[int, about("silence after which the group gives partitions to others", ge=6_000)] = (
        30_000
    )
    http_host: Annotated[str, about("address of metrics and health")] = "127.0.0.1"
    http_port: Annotated[int, about("port of metrics and health; 0 picks a free one", ge=0, le=65_535)] = 8_080
    sink_batch: Annotated[int, about("most audit events in one Postgres transaction", ge=1, le=10_000)] = 500

    # Judgement
    registry: Annotated[str, about("folder of another registry; empty means the built in one")] = ""
    default_scopes: Annotated[str, about("scopes of a question without a principal")] = (
        "market:read,graph:read,docs:read"
    )
    inference: Annotated[Literal["embedded", "openai"], about("who proposes intent names and narrates")] = "embedded"
    inference_url: Annotated[str, about("base URL of an OpenAI compatible server, such as http://host/v1")] = ""
    inference_model: Annotated[str, about("model name at that server")] = ""
    inference_api_key: Annotated[str, about("its key; never logged")] = ""
    inference_timeout_ms: Annotated[int, about("longest wait for one model call", ge=50)] = 10_000
    samples: Annotated[int, about("proposals that vote on a plan", ge=1, le=15)] = 3
    plan_cache: Annotated[int, about("plans kept by hash; 0 turns the cache off", ge=0)] = 4_096
    narrate: Annotated[bool, about("let the model write the answer, checked by the gate")] = True

    # Bench
    bench_k: Annotated[int, about("smallest published count of people", ge=2, le=1_000)] = 11
    bench_round: Annotated[int, about("published counts are floored to a multiple of this", ge=1, le=1_000)] = 1

    # Authority
    auth: Annotated[Literal["none", "jwt"], about("jwt: every question carries a signed token")] = "none"
    jwt_jwks: Annotated[str, about("file or URL of the key set that signs tokens")] = ""
    jwt_audience: Annotated[str, about("audience a token must carry")] = "planner"
    jwt_issuer: Annotated[str, about("issuer a token must carry; empty accepts any")] = ""
    jwt_tenant_claim: Annotated[str, about("claim that holds the tenant's UUID")] = "tenant_id"
    jwt_leeway_seconds: Annotated[int, about("clock skew allowed in expiry", ge=0, le=600)] = 30

    # Audit
    audit_signing_key: Annotated[str, about("PEM file with the Ed25519 key that signs checkpoints")] = ""
    topic_checkpoints: Annotated[str, about("topic of signed audit checkpoints; empty publishes none")] = ""
    checkpoint_rows: Annotated[int, about("rows of one chain between checkpoints", ge=1)] = 1_000

    log_level: Annotated[Literal["debug", "info", "warning", "error"], about("least severe log line")] = "info"


def variable(field: str) -> str:
    return PREFIX + field.upper()


def load(environ: Mapping[str, str] | None = None, env_file: Path | None = None) -> Settings:
    """Reads the environment, over `env_file` where one is given.

    Raises `Misconfigured` that names the variable: one that is unknown or whose value breaks its rule.
    """
    values = {**(_read(env_file) if env_file else {}), **(os.environ if environ is None else environ)}
    given = {
        name: value
        for name, value in values.items()
        if name.startswith(PREFIX) and not name.startswith(PREFIX + "TEST_")
    }
    known = {variable(f): f for f in Settings.__struct_fields__}
    if unknown := sorted(given.keys() - known.keys()):
        raise Misconfigured(f"{unknown[0]} is not a setting; `planner --help-config` lists them")
    try:
        return msgspec.convert({known[n]: v for n, v in given.items()}, Settings, strict=False)
    except msgspec.ValidationError as error:
        rule, _, path = str(error).partition(" - at `$.")
        raise Misconfigured(f"{variable(path.rstrip('`'))}: {rule[:1].lower()}{rule[1:]}") from None


def _read(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Misconfigured(f"the settings file {path} can't be read: {error.strerror}") from None
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip().removeprefix("export ")
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise Misconfigured(f"{path} line {number} is not NAME=value")
        pairs[name.strip()] = value.strip().strip("'\"")
    return pairs


def describe() -> list[tuple[str, str, str]]:
    """(variable, default, what it is) of every setting, in order."""
    rows: list[tuple[str, str, str]] = []
    for field in msgspec.structs.fields(Settings):
        meta = [m for m in getattr(field.type, "__metadata__", ()) if isinstance(m, Meta)]
        default = "" if field.default is msgspec.NODEFAULT else str(field.default)
        rows.append((variable(field.name), default, meta[0].description or "" if meta else ""))
    return rows
