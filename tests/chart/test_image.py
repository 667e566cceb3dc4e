"""The image, built by buildah without an engine on a base made of Debian's packages, and run against real parts.

`make chart-e2e`: it needs buildah and mmdebstrap, and takes minutes.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from consumer import topics
from consumer.stack import embedded_stack
from consumer.stack.local import variables
from tests import databases
from tests.support import ROOT

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(2_000),
    pytest.mark.skipif(
        not (shutil.which("buildah") and shutil.which("mmdebstrap")), reason="buildah or mmdebstrap is not installed"
    ),
]

SHIPPED = ("Dockerfile", "pyproject.toml", "README.md", "schemas", "registry", "consumer")
BASE, IMAGE = "localhost/planner-base:test", "localhost/planner:test"
POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'
COMMAND_SECONDS = 900


def context(folder: Path) -> Path:
    """What the image is built from, with wheels beside it, as for a build without a network."""
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    wheels = (sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(folder / "wheels"))
    called(*wheels, f"{folder}[publisher,tracing]", "hatchling")
    return folder


def called(*command: str, **variables: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False, env=os.environ | variables
    )
    assert done.returncode == 0, (command[:3], done.stdout[-2_000:], done.stderr[-2_000:])
    return done.stdout


class Buildah:
    """buildah with its storage in a folder of the test, no daemon and no registry."""

    def __init__(self, folder: Path) -> None:
        self.policy = folder / "policy.json"
        self.policy.write_text(POLICY)
        self.stored = ("--root", str(folder / "storage"), "--runroot", str(folder / "run"), "--storage-driver", "vfs")

    def __call__(self, command: str, *arguments: str) -> str:
        policed = ("--signature-policy", str(self.policy)) if command in ("from", "bud", "commit") else ()
        return called("buildah", *self.stored, command, *policed, *arguments).strip()

    def run(self, container: str, *command: str, given: Mapping[str, str] | None = None) -> str:
        passed = [f"--env={name}={value}" for name, value in (given or {}).items()]
        return self("run", "--isolation", "chroot", *passed, container, "--", *command)


def image(folder: Path) -> tuple[Buildah, str]:
    """A container of the built image."""
    buildah = Buildah(folder)
    packages = "--include=python3,python3-venv,ca-certificates"
    called("mmdebstrap", "--mode=root", "--variant=minbase", packages, "bookworm", str(folder / "base.tar"))
    scratch = buildah("from", "scratch")
    buildah("add", scratch, str(folder / "base.tar"), "/")
    buildah("commit", scratch, BASE)
    built = context(folder / "context")
    buildah("bud", "--isolation", "chroot", "--build-arg", f"BASE={BASE}", "--tag", IMAGE, str(built))
    return buildah, buildah("from", IMAGE)


async def test_the_image_runs_as_nobody_special_and_finds_its_parts(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if not request.config.getoption("--chart-e2e"):
        pytest.skip("with --chart-e2e")
    (tmp_path / "context").mkdir()
    buildah, container = await asyncio.to_thread(image, tmp_path)
    assert buildah.run(container, "id", "-u") == "10001"
    assert buildah.run(container, "planner", "--version")
    assert "/opt/planner/bin/pip" not in buildah.run(container, "find", "/opt/planner/bin", "-name", "pip*")
    async with embedded_stack() as stack:
        database = await databases.fresh(stack.postgres_url)
        settings = database.settings(stack.kafka_bootstrap)
        await topics.create_missing(settings)
        said = await asyncio.to_thread(buildah.run, container, "planner", "doctor", given=variables(settings))
    assert "tenancy" in said, said
