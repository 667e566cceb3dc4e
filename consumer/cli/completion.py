"""`planner completion`: the script that lets a shell complete commands and options."""

from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Prints the completion script of a shell.

    Parameters
    ----------
    shell
        For bash: source <(planner completion bash)
    """
    from consumer.__main__ import app  # noqa: PLC0415 it imports this package

    print(app.generate_completion(shell=shell))
