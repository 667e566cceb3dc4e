"""A real Kubernetes API server without a cluster: kube-apiserver and kubectl built from their Go modules, and etcd.

Building takes minutes and is kept in the user's cache folder. Needs `go` and `etcd` on the path.
"""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

VERSION = "1.34.4"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "planner" / f"kubernetes-{VERSION}"
PROGRAMS = ("kube-apiserver", "kubectl")
BUILD_SECONDS = 1_800
TOKEN = "planner-test"


def programs() -> tuple[Path, Path]:
    """Paths of kube-apiserver and kubectl, built where they are not yet. Raises `AssertionError` with what go said."""
    found = tuple(CACHE / name for name in PROGRAMS)
    if not all(one.exists() for one in found):
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "go.mod").write_text(_module())
        (CACHE / "tools.go").write_text(
            "//go:build tools\n\npackage tools\n\n"
            + "".join(f'import _ "k8s.io/kubernetes/cmd/{name}"\n' for name in PROGRAMS)
        )
        _go("mod", "tidy")
        major, minor, _ = VERSION.split(".")
        stamped = {"gitVersion": f"v{VERSION}", "gitMajor": major, "gitMinor": minor}
        flags = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamped.items())
        for name in PROGRAMS:
            _go("build", "-ldflags", flags, "-o", str(CACHE / name), f"k8s.io/kubernetes/cmd/{name}")
    return found[0], found[1]


def _module() -> str:
    """kubernetes names its own parts by a version that only its workspace knows, so each is replaced."""
    asked = _go("mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}", cwd=Path("/"))
    text = Path(json.loads(asked)["GoMod"]).read_text()
    staged = sorted(set(re.findall(r"^\s*(?:require )?(k8s\.io/[\w.-]+) v0\.0\.0$", text, re.MULTILINE)))
    of_parts = f"v0.{VERSION.partition('.')[2]}"
    return (
        f"module planner.test/kubernetes\n\ngo {re.findall(r'^go (.+)$', text, re.MULTILINE)[0]}\n\n"
        f"require k8s.io/kubernetes v{VERSION}\n\n"
        + "".join(f"replace {name} => {name} {of_parts}\n" for name in staged)
    )


def _go(*arguments: str, cwd: Path = CACHE) -> str:
    done = subprocess.run(
        ["go", *arguments], cwd=cwd, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False,
        env=os.environ | {"GOFLAGS": "-mod=mod"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


def etcd_command(folder: Path, client: int, peer: int) -> Sequence[str]:
    url, other = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return (
        "--data-dir", str(folder / "etcd"), "--listen-client-urls", url, "--advertise-client-urls", url,
        "--listen-peer-urls", other, "--initial-advertise-peer-urls", other, "--initial-cluster", f"default={other}",
    )  # fmt: skip


def server_command(folder: Path, etcd: int, port: int) -> Sequence[str]:
    """Arguments of kube-apiserver. Writes the key of service accounts and the one token into `folder`."""
    key = folder / "sa.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True, timeout=60)
    tokens = folder / "tokens.csv"
    tokens.write_text(f"{TOKEN},admin,1,system:masters\n")
    return (
        f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}",
        f"--cert-dir={folder / 'certs'}", "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.96.0.0/16", f"--token-auth-file={tokens}", "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
        "--advertise-address=127.0.0.1",
    )  # fmt: skip
