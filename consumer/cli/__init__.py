"""The commands of `planner`, one file each, thin: read arguments, call the service, print, return an exit code.

How a command is written. Its file holds one function of the command's name, or, for a group such as `dlq list`, an
`app = cyclopts.App(name="dlq", help="…")` with its functions registered by `@app.command`. `consumer/__main__.py`
names it by path ("consumer.cli.ask:ask") and imports it only when it runs, so `planner --help` stays quick.

    async def ask(question: str, /, *, tenant: UUID, json: bool = False, settings: Configured) -> int:
        \"\"\"Publishes one question to Kafka and waits for its answer.

        Parameters
        ----------
        question
            What to ask, in plain words.
        tenant
            The tenant's UUID.
        \"\"\"

`settings: Configured` is given by `__main__` from the environment and `--env-file`; it is no option of the command.
The function may be async (it runs under uvloop) or not. Its docstring is its help (numpydoc parameters). It returns
its exit code, or None for 0. It prints nothing for an error: it raises `Misconfigured` (exit 2), `Unreachable` (5),
another `PlannerError` (1), and `__main__` prints that as one line on stderr, with the traceback under `--debug`.
`--json` prints one JSON document (JSON Lines for streams) on stdout and nothing else goes there; what a person reads is
built with `consumer.cli.output`. Flags that have no opposite say so: `Annotated[bool, Flag]`.
"""

from typing import Annotated

from cyclopts import Parameter

from consumer.settings import Settings

Configured = Annotated[Settings, Parameter(parse=False)]
"""The settings of this run, injected by `__main__`."""

Flag = Parameter(negative="")
"""A flag that is given or not: no `--no-…` beside it."""

ANSWERED, FAILED, MISUSED, REFUSED, SILENT, AWAY = range(6)
"""The exit codes: 0 success, 1 a failed operation, 2 bad usage or configuration, 3 refused, 4 no answer in time,
5 Kafka or Postgres can't be reached."""
