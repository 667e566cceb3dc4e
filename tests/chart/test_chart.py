"""The chart renders strictly valid objects for every way it is deployed, and refuses a misspelt value."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

CHART = Path(__file__).parents[2] / "helm" / "planner"
VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
KUBERNETES = "1.34.0"
HELM = shutil.which("helm")

pytestmark = pytest.mark.skipif(HELM is None, reason="helm is not installed")


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert HELM
    return subprocess.run(
        [HELM, *arguments, "--kube-version", KUBERNETES], capture_output=True, text=True, timeout=60, check=False
    )


def rendered(values: Path, *more: str) -> list[dict[str, Any]]:
    done = helm("template", "release", str(CHART), "-f", str(values), *more)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def pods(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pod specs of all objects."""
    found = []
    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] == "Pod":
            found.append(spec)
        elif document["kind"] == "CronJob":
            found.append(spec["jobTemplate"]["spec"]["template"]["spec"])
        elif "template" in spec:
            found.append(spec["template"]["spec"])
    return found


@pytest.mark.parametrize("values", VALUES, ids=lambda f: f.stem)
def test_the_chart_lints_and_its_objects_are_strictly_valid(values: Path) -> None:
    done = helm("lint", "--strict", str(CHART), "-f", str(values))
    assert done.returncode == 0, done.stdout
    for document in rendered(values):
        try:
            kubernetes_validate.validate(document, "1.34", strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            assert "." in document["apiVersion"].split("/")[0], "only custom resources have no schema"


@pytest.mark.parametrize("values", VALUES, ids=lambda f: f.stem)
def test_every_pod_meets_the_restricted_standard(values: Path) -> None:
    specs = pods(rendered(values))
    assert len(specs) >= 5
    for spec in specs:
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"]["drop"] == ["ALL"]


TYPOS = [
    ("kafka.bootstrapServer=x", "at '/kafka'"),
    ("worker.replica=2", "at '/worker'"),
    ("autoscaling.mode=kda", "at '/autoscaling/mode'"),
    ("image.digest=sha256:12", "at '/image/digest'"),
    ("settings.Concurrency=8", "'Concurrency' does not match"),
]


@pytest.mark.parametrize(("value", "path"), TYPOS)
def test_a_misspelt_value_is_refused_with_its_path(value: str, path: str) -> None:
    done = helm("template", "release", str(CHART), "--set", "kafka.bootstrap=k:9092", "--set", value)
    assert done.returncode != 0
    assert path in done.stderr


def test_no_credential_stands_in_a_rendered_object() -> None:
    for values in VALUES:
        for spec in pods(rendered(values)):
            for variable in spec["containers"][0]["env"]:
                secret = any(word in variable["name"] for word in ("PASSWORD", "API_KEY", "DATABASE_URL"))
                assert not (secret and "value" in variable), variable["name"]


def test_workers_never_outnumber_partitions() -> None:
    keda = rendered(CHART / "ci" / "keda-values.yaml")
    scaled = next(d for d in keda if d["kind"] == "ScaledObject")
    assert scaled["spec"]["maxReplicaCount"] == 12
    assert scaled["spec"]["triggers"][0]["metadata"]["offsetResetPolicy"] == "earliest"


def test_a_pod_may_take_its_whole_drain_to_stop() -> None:
    plain = rendered(CHART / "ci" / "plain-values.yaml", "--set", "worker.drainSeconds=100")
    worker = next(d for d in plain if d["kind"] == "Deployment" and d["metadata"]["name"].endswith("worker"))
    assert worker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 125
