"""How every Kafka client of ours connects: the settings as aiokafka's arguments."""

import ssl
from typing import Any

from aiokafka.helpers import create_ssl_context

from consumer.errors import Misconfigured
from consumer.settings import Settings

METADATA_MAX_AGE_MS = 30_000
"""How soon a client notices new partitions and moved leaders; aiokafka's five minutes is an outage long."""


def client_options(settings: Settings) -> dict[str, Any]:
    """Arguments that AIOKafkaConsumer, AIOKafkaProducer and the admin client share.

    Raises Misconfigured when a certificate file can't be read.
    """
    options: dict[str, Any] = {
        "bootstrap_servers": settings.kafka_bootstrap,
        "security_protocol": settings.kafka_security_protocol,
        "metadata_max_age_ms": METADATA_MAX_AGE_MS,
    }
    if settings.kafka_security_protocol.startswith("SASL"):
        options |= {
            "sasl_mechanism": settings.kafka_sasl_mechanism,
            "sasl_plain_username": settings.kafka_sasl_username,
            "sasl_plain_password": settings.kafka_sasl_password,
        }
    if settings.kafka_security_protocol.endswith("SSL"):
        options["ssl_context"] = _context(settings)
    return options


def _context(settings: Settings) -> ssl.SSLContext:
    try:
        return create_ssl_context(
            cafile=settings.kafka_ssl_cafile or None,
            certfile=settings.kafka_ssl_certfile or None,
            keyfile=settings.kafka_ssl_keyfile or None,
        )
    except OSError as error:
        raise Misconfigured(f"the files of PLANNER_KAFKA_SSL_* can't be read: {error.strerror or error}") from None
