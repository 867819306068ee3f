"""Tests in a network of their own: raw sockets without privileges, equal interface names without clashes.

A test marked `@pytest.mark.own_network` runs in another pytest, started under `unshare` once for all selected tests of
its module, and reports here as if it had run here. A folder offers the mark by importing the hooks into its conftest:

    from tests.drivers.own_network import pytest_configure, pytest_runtest_logreport, pytest_runtest_protocol
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

MARK = "own_network"
_REPORTS = "SERVOBENCH_OWN_NETWORK"
"""Set where the tests really run: the file their reports go to."""
_WAYS = (["unshare", "-n"], ["unshare", "-Urn"])
"""As root, and as anybody where the kernel lets users have namespaces."""
_PROOF = ["ip", "link", "add", "proof0", "type", "veth", "peer", "name", "proof1"]

_reports = pytest.StashKey[dict[Path, dict[str, list[pytest.TestReport]]]]()
_here: list[pytest.Config] = []
"""What the hook that has no other access to it needs."""


def pytest_configure(config):
    config.addinivalue_line("markers", f"{MARK}: runs in a network namespace of its own, see tests/drivers/own_network")
    _here[:] = [config]


def pytest_runtest_logreport(report):
    if _REPORTS not in os.environ:
        return
    config = _here[0]
    data = config.hook.pytest_report_to_serializable(config=config, report=report)
    with Path(os.environ[_REPORTS]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(data) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if _REPORTS in os.environ or item.get_closest_marker(MARK) is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports_of(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    # What the test before left set up for its folder is not left to one that may be somewhere else.
    item.session._setupstate.teardown_exact(nextitem)
    return True


@cache
def way() -> tuple[str, ...]:
    """The command that gives what follows it a network of its own; empty when none is allowed here."""
    for words in _WAYS:
        try:
            done = subprocess.run([*words, *_PROOF], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return tuple(words)
    return ()


def _reports_of(item: pytest.Item) -> list[pytest.TestReport]:
    if not way():
        reason = "no network of its own: `unshare` or `ip` is missing, or the kernel refuses both `-n` and `-Urn`"
        return [_report(item, "setup", "skipped", (str(item.path), 0, f"Skipped: {reason}"))]
    modules = item.session.stash.setdefault(_reports, {})
    if item.path not in modules:
        modules[item.path] = _run(item)
    return modules[item.path][item.nodeid]


def _run(first: pytest.Item) -> dict[str, list[pytest.TestReport]]:
    """Run the selected tests of a module and return the reports of each."""
    config = first.config
    items = [item for item in first.session.items if item.path == first.path and item.get_closest_marker(MARK)]
    reports: dict[str, list[pytest.TestReport]] = {item.nodeid: [] for item in items}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "reports")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            [*way(), sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *reports],
            cwd=config.rootpath,
            env=environment | {_REPORTS: str(file)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
    for line in lines:
        report = config.hook.pytest_report_from_serializable(config=config, data=json.loads(line))
        if isinstance(report.longrepr, list):
            report.longrepr = tuple(report.longrepr)  # where it was skipped, and why
        if report.nodeid in reports:
            reports[report.nodeid].append(report)
    for item in items:
        if not any(report.when == "teardown" for report in reports[item.nodeid]):
            reports[item.nodeid].append(_report(item, "call", "failed", done.stdout))
    return reports


def _report(item: pytest.Item, when, outcome, explanation) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome=outcome,
        longrepr=explanation,
        when=when,
    )
