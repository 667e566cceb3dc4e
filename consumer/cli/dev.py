"""`planner dev`: a planner to work against."""

import asyncio
import shlex
from pathlib import Path
from typing import Annotated

from consumer.cli import Configured, Flag, output
from consumer.settings import Settings
from consumer.stack import local, sample

FOLDER = Path(".planner")
ENV_FILE = "dev.env"


async def dev(*, empty: Annotated[bool, Flag] = False, folder: Path = FOLDER, settings: Configured) -> None:
    """Starts Kafka, Postgres, a worker and a sink, and keeps them until Ctrl-C. Not for production.

    Kafka and Postgres are embedded unless PLANNER_KAFKA_BOOTSTRAP or the three database URLs name others. The data
    stay in the folder for the next start. Prints `ready` when questions are answered.

    Parameters
    ----------
    empty
        Load no sample data.
    folder
        Where data, logs and dev.env go, the file that connects other commands (--env-file).
    """
    local.cancel_on_stop()
    try:
        await _serve(settings, folder, empty)
    except asyncio.CancelledError:  # the signal: every part has been drained and stopped on the way here
        print("stopped", flush=True)


async def _serve(settings: Settings, folder: Path, empty: bool) -> None:
    async with local.parts(settings, folder) as (connected, home):
        if not empty:
            await sample.load(connected)
        async with local.services(connected, home) as (worker, sink):
            file = folder / ENV_FILE
            file.touch(mode=0o600)  # passwords of parts that the settings name stand in it
            file.write_text("".join(f"{name}={value}\n" for name, value in local.variables(connected).items()))
            output.pairs(
                {
                    "Kafka": connected.kafka_bootstrap,
                    "Postgres": connected.admin_database_url,
                    "worker": f"{worker.url}/metrics",
                    "sink": f"{sink.url}/metrics",
                    "settings": str(file),
                    "logs": str(folder / "*.log"),
                }
            )
            if not empty:
                print(
                    f"\nplanner ask {shlex.quote(sample.QUESTIONS[0].text)} --tenant {sample.TENANT} --env-file {file}"
                )
            print("ready", flush=True)
            await local.first_end(worker, sink)
