"""`planner migrate`: bring the database up to date."""

import json as json_text
from typing import Annotated
from urllib.parse import unquote, urlsplit

from consumer.cli import Configured, Flag, output
from consumer.errors import Misconfigured
from consumer.settings import Settings
from consumer.store import migrate as store

ROLES = {"database_url": "planner_worker", "sink_database_url": "planner_sink"}
"""The settings whose URL may carry the password that a role is to have."""


async def migrate(*, json: Annotated[bool, Flag] = False, settings: Configured) -> None:
    """Brings the database's schema, roles and policies up to date. Safe to run again, and by two at once.

    Connects as PLANNER_ADMIN_DATABASE_URL. Where PLANNER_DATABASE_URL and PLANNER_SINK_DATABASE_URL carry a password
    for planner_worker and planner_sink, those roles get it.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    if not settings.admin_database_url:
        raise Misconfigured("PLANNER_ADMIN_DATABASE_URL is not set; migrations run as an owner of the database")
    applied = await store.migrate(settings.admin_database_url, passwords(settings))
    total = len(store.migrations())
    if json:
        print(json_text.dumps({"applied": applied, "total": total}))
    elif applied:
        output.table(("applied",), [(name,) for name in applied])
    else:
        output.console().print(f"up to date: all {total} migrations are applied")


def passwords(settings: Settings) -> dict[str, str]:
    """The password of each role whose URL names it with one."""
    found: dict[str, str] = {}
    for field, role in ROLES.items():
        url = urlsplit(getattr(settings, field))
        if url.username == role and url.password:
            found[role] = unquote(url.password)
    return found
