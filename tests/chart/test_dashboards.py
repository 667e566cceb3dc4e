"""Dashboards, alerts and metrics name the same things, and Prometheus can read them."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import promql_parser
import pytest
import yaml

from consumer.observe import metrics

HELM = Path(__file__).parents[2] / "helm"
RULES = HELM / "planner" / "rules" / "planner.yaml"
FILES = sorted((HELM / "planner" / "dashboards").glob("*.json"))
NAME = re.compile(r"\bplanner_[a-z_]+")
# a person looks these up when a panel raises the question
NOT_SHOWN = {"planner_build"}


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dashboards", HELM / "dashboards.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def families() -> set[str]:
    return {family.name for family in metrics.REGISTRY.collect()}


def family(name: str) -> str:
    return re.sub(r"_(total|bucket|sum|count|info)$", "", name)


def panels(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text())["panels"]


def expressions() -> list[str]:
    return [target["expr"] for file in FILES for panel in panels(file) for target in panel["targets"]]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_the_committed_dashboard_is_what_the_code_writes(file: Path) -> None:
    assert file.read_text() == generator().build(file.stem)


def test_there_are_four_dashboards_with_distinct_uids() -> None:
    assert len({json.loads(f.read_text())["uid"] for f in FILES}) == len(FILES) == 4


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_every_panel_says_what_it_shows(file: Path) -> None:
    for panel in panels(file):
        assert panel["title"] and panel["description"], panel
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            assert 'job=~"$job"' in target["expr"]
            if "rate(" in target["expr"]:
                assert "$__rate_interval" in target["expr"]


def test_every_expression_parses() -> None:
    for expression in expressions():
        promql_parser.parse(expression.replace("$__rate_interval", "5m"))
    for rule in rules():
        promql_parser.parse(rule["expr"])


def test_every_metric_named_exists_and_every_metric_is_shown() -> None:
    named = {family(n) for text in [*expressions(), *(r["expr"] for r in rules())] for n in NAME.findall(text)}
    recorded = {family(r["record"].split(":")[1]) for r in rules() if "record" in r}
    known = families()
    assert named - known - recorded == set()
    assert known - {family(n) for text in expressions() for n in NAME.findall(text)} - NOT_SHOWN == set()


def test_no_label_is_a_tenant() -> None:
    for collector in metrics.REGISTRY._collector_to_names:  # type: ignore[attr-defined]
        assert "tenant" not in getattr(collector, "_labelnames", ())


def test_every_alert_says_what_to_do() -> None:
    page = (HELM / "planner" / "README.md").read_text()
    for rule in rules():
        if "alert" not in rule:
            continue
        notes = rule["annotations"]
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert notes["summary"] and notes["description"]
        anchor = notes["runbook_url"].partition("#")[2]
        assert anchor == rule["alert"].lower()
        assert f"### {rule['alert']}\n" in page


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
@pytest.mark.parametrize("arguments", [["check", "rules", str(RULES)], ["test", "rules", "rules_test.yaml"]])
def test_promtool_accepts_the_rules(arguments: list[str]) -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
