"""The console script `planner`: parses, loads the settings once, runs one command, turns errors into one line."""

import asyncio
import inspect
import logging
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import cyclopts
from cyclopts import App, Parameter

from consumer import settings as configuration
from consumer.cli import AWAY, FAILED, MISUSED, Flag
from consumer.errors import Misconfigured, PlannerError, Unreachable

INTERRUPTED = 130  # what a shell reports of a program that SIGINT ended

COMMANDS = {
    "demo": "Show it: a stack of its own, sample data, real questions, their answers.",
    "dev": "A stack to work against: Kafka, Postgres, worker and sink, until Ctrl-C.",
    "ask": "Publish one question to Kafka and print its answer.",
    "explain": "What would be asked of whom, without Kafka or database.",
    "worker": "Answer questions, until stopped.",
    "sink": "Store audit events in Postgres, until stopped.",
    "migrate": "Bring the database's schema, roles and policies up to date.",
    "topics": "Create the topics that are missing.",
    "load": "Load files of awards, opportunities, people, documents.",
    "registry": "The closed list of prepared queries.",
    "bench": "Publish the counts of staff that may be shown.",
    "audit": "Verify and follow the audit log.",
    "dlq": "Read and replay the dead letter topic.",
    "console": "A read only page on loopback: ask, and see why.",
    "doctor": "Check Kafka, topics, Postgres, roles, registry, inference.",
    "eval": "Score labelled cases.",
    "asyncapi": "Print the AsyncAPI document of the topics.",
    "completion": "Print the completion script of a shell.",
}
GROUPS = ("registry", "bench", "audit", "dlq")


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 quick help

    return version("planner")


app = App(
    name="planner",
    help="Answers a government contractor's compound questions over Kafka, with prepared queries only.",
    version=_version,
    default_parameter=Parameter(show_default=True),
)
for name, text in COMMANDS.items():
    app.command(f"consumer.cli.{name}:{'app' if name in GROUPS else name}", name=name, help=text)


@app.meta.default
def launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    env_file: Path | None = None,
    debug: Annotated[bool, Flag] = False,
    help_config: Annotated[bool, Flag] = False,
) -> int:
    """Runs the command that `tokens` name.

    Parameters
    ----------
    env_file
        A file of PLANNER_NAME=value lines; the environment wins over it.
    debug
        Show the traceback of an error.
    help_config
        List every setting with its default, and exit.
    """
    del debug  # read by main, which also reports what fails before this line
    if help_config:
        return _print_settings()
    command, bound, injected = app.parse_args(tokens, exit_on_error=False, print_error=False)
    if "settings" in injected:
        bound.arguments["settings"] = configuration.load(env_file=env_file)
    return _run(command, *bound.args, **bound.kwargs)


def main() -> None:
    """The entry point of the console script."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    if not debug:  # a broker that is away is our one line, not the library's own
        logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    try:
        code = app.meta(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except cyclopts.CycloptsError as error:
        code = _fail(MISUSED, _usage(error, arguments), debug)
    except Misconfigured as error:
        code = _fail(MISUSED, str(error), debug)
    except Unreachable as error:
        code = _fail(AWAY, str(error), debug)
    except PlannerError as error:
        code = _fail(FAILED, str(error), debug)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # `planner … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except Exception as error:  # noqa: BLE001 the outermost frame: a person gets one line, --debug the traceback
        code = _fail(FAILED, f"{type(error).__name__}: {error}; run again with --debug for the traceback", debug)
    sys.exit(code if isinstance(code, int) else 0)


def _run(command: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    result = command(*args, **kwargs)
    if inspect.iscoroutine(result):
        result = _loop(result)
    return result if isinstance(result, int) else 0


def _loop(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        import uvloop  # noqa: PLC0415 quick help
    except ImportError:  # Windows
        return asyncio.run(work)
    return uvloop.run(work)


def _usage(error: cyclopts.CycloptsError, tokens: list[str]) -> str:
    if isinstance(error, cyclopts.UnknownCommandError):  # its own text imports every command to find a like name
        return f"there is no command {next(iter(tokens), '')}; planner --help lists them"
    return " ".join(str(error).split())


def _fail(code: int, line: str, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print("planner:", " ".join(line.split()), file=sys.stderr)
    return code


def _print_settings() -> int:
    from consumer.cli import output  # noqa: PLC0415 quick help

    output.settings(configuration.describe())
    return 0


if __name__ == "__main__":
    main()
