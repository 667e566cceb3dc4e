"""What the chart renders, sent to a real API server: fields it does not know and pods that are not restricted.

`make chart-e2e`; the first run builds the server, which takes minutes.
"""

import asyncio
import contextlib
import shutil
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

from consumer.stack import process
from tests.chart import api_server
from tests.chart.test_chart import VALUES, pods, rendered
from tests.support import answers, eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(2_000)]

NAMESPACE = {
    "apiVersion": "v1", "kind": "Namespace",
    "metadata": {"name": "planner", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}  # fmt: skip


class Said(NamedTuple):
    code: int | None
    text: str


class Kubernetes:
    def __init__(self, kubectl: Path, url: str) -> None:
        self.kubectl, self.url = kubectl, url

    async def apply(self, documents: list[dict[str, Any]], *more: str) -> Said:
        """`kubectl apply` on the server's side, where unknown fields and admission are judged."""
        run = await asyncio.create_subprocess_exec(
            str(self.kubectl), f"--server={self.url}", "--insecure-skip-tls-verify", f"--token={api_server.TOKEN}",
            "--namespace=planner", "apply", "--server-side", "--validate=strict", "--filename=-", *more,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        async with asyncio.timeout(60):
            said, _ = await run.communicate(yaml.safe_dump_all(documents).encode())
        return Said(run.returncode, said.decode())


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Kubernetes]:
    etcd = shutil.which("etcd")
    assert etcd, "etcd is not installed"
    server, kubectl = await asyncio.to_thread(api_server.programs)
    client_port, peer_port, port = process.free_ports(3)
    store = await process.start("etcd", (etcd, *api_server.etcd_command(folder, client_port, peer_port)), folder / "e")
    command = (str(server), *api_server.server_command(folder, client_port, port))
    running = await process.start("kube-apiserver", command, folder / "k")
    url = f"https://127.0.0.1:{port}"
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # its certificate is of its own making
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        async with httpx.AsyncClient(verify=unverified, timeout=5) as client:
            await eventually(lambda: answers(client, f"{url}/readyz"), 60)
        yield Kubernetes(kubectl, url)
    finally:
        await running.kill()
        await store.kill()


def known(document: dict[str, Any]) -> bool:
    """Is it of Kubernetes itself? The definitions of custom resources are not installed."""
    group = document["apiVersion"].split("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def pod(number: int, spec: dict[str, Any]) -> dict[str, Any]:
    name = {"name": f"pod-{number}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": name, "spec": spec}


async def test_the_server_takes_every_object_and_the_restricted_standard_every_pod(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if not request.config.getoption("--chart-e2e"):
        pytest.skip("with --chart-e2e")
    async with serving(tmp_path) as kubernetes:
        made = await kubernetes.apply([NAMESPACE])
        assert made.code == 0, made.text
        for values in VALUES:
            documents = rendered(values, "--namespace", "planner")
            taken = await kubernetes.apply([d for d in documents if known(d)], "--dry-run=server")
            assert taken.code == 0, (values.name, taken.text)
            assert "would violate PodSecurity" not in taken.text, (values.name, taken.text)
            specs = pods(documents)
            assert len(specs) >= 5
            taken = await kubernetes.apply([pod(n, spec) for n, spec in enumerate(specs)], "--dry-run=server")
            assert taken.code == 0, (values.name, taken.text)
        loose = {"containers": [{"name": "any", "image": "any"}]}
        refused = await kubernetes.apply([pod(0, loose)], "--dry-run=server")
        assert "violates PodSecurity" in refused.text
        misspelt = pods(rendered(VALUES[0]))[0] | {"restartPolicyy": "Never"}
        wrong = await kubernetes.apply([pod(1, misspelt)], "--dry-run=server")
        assert wrong.code != 0
        assert "restartPolicyy" in wrong.text
