"""The dashboard and the alert rules name only what a service has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.service.cli.running import serving
from tests.service.metrics.scraping import scraped
from tests.service.metrics.test_served import BEARER, TOKEN, command, eventually, tenant

ROOT = Path(__file__).parents[3]
RULES = ROOT / "operations" / "alerts.yml"
RULE_TESTS = ROOT / "operations" / "alerts.test.yml"
DASHBOARD = ROOT / "operations" / "grafana-dashboard.json"
PAGE = ROOT / "docs" / "metrics.md"
PROMTOOL = shutil.which("promtool")


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\bmasthead_[a-z_]+", text))


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_metric_of_the_dashboard_the_rules_and_the_docs_exists(tmp_path: Path) -> None:
    tenant(tmp_path / "data")
    invite = ("owner", "invite", "--tenant", "acme", "--email", "new@example.com")
    command(tmp_path / "data", *invite)
    with serving(tmp_path / "data", MASTHEAD_METRICS=f"token:{TOKEN}") as running:
        found = eventually(
            # The first look counts itself in the second.
            lambda: scraped(running.address, **BEARER),
            lambda each: {"masthead_jobs_total", "masthead_requests_total"} <= each.names,
        )
    families = {re.sub(r"_(bucket|count|sum)$", "", each) for each in found.names}
    assert names_in("\n".join(expressions())) <= found.names
    assert names_in(RULES.read_text()) <= found.names
    assert names_in(RULE_TESTS.read_text()) <= found.names
    # `_created` says when the process began to count.
    counted = {each for each in families if not each.endswith("_created")}
    standard = set(re.findall(r"\b(?:process|python)_[a-z_]+", PAGE.read_text()))
    assert names_in(PAGE.read_text()) | standard == counted


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {re.sub(r"_bucket$", "", each) for each in names_in("\n".join(expressions()))}
    assert shown == names_in(PAGE.read_text())


def test_every_rule_has_a_test() -> None:
    rules = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    assert rules == set(re.findall(r"alertname: (\w+)", RULE_TESTS.read_text()))


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is missing: install prometheus")
@pytest.mark.parametrize(
    "arguments", [("check", "rules", str(RULES)), ("test", "rules", str(RULE_TESTS))]
)
def test_promtool_agrees(arguments: tuple[str, ...]) -> None:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
