"""Parsers fuzzed one after the other, each in a process of its own, by processor time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.fuzz.parser import FINDINGS
from tests.fuzz.worker import ROOT

KEPT = ROOT / "build" / "fuzz"
"""Corpora and logs; a later run goes on from them."""
SHORTEST_LIFE = 2.0
MOST_DEATHS = 40
"""A process that dies so often within so many seconds of processor time each cannot be fuzzed."""
_COVERAGE = re.compile(rb"(INITED)?\s+cov: (\d+)")
_DEADLY = ("crash-*", "timeout-*", "oom-*", "current")


@dataclass(frozen=True)
class Outcome:
    """What came of one parser."""

    parser: str
    minutes: float
    """Processor time, user and system, of all its processes."""
    executions: int
    accepted: int
    first_coverage: int
    """Of the seeds; 0 when the search was not guided."""
    last_coverage: int
    findings: tuple[str, ...]


def fuzz(names: Sequence[str], minutes: float, jobs: int, guided: bool) -> list[Outcome]:
    """Fuzz parsers by name; prints each outcome when it is there."""

    def one(name: str) -> Outcome:
        outcome = fuzz_one(name, 60.0 * minutes, guided)
        print(row(outcome), flush=True)
        return outcome

    print(HEAD, flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, names))


def fuzz_one(name: str, seconds: float, guided: bool = True) -> Outcome:
    """Fuzz one parser for so much processor time, whatever its processes die of."""
    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    used, executions, accepted, deaths = 0.0, 0, 0, 0
    first = last = 0
    findings: set[str] = set()
    while used < seconds and deaths < MOST_DEATHS:
        (folder / "report.json").unlink(missing_ok=True)
        with (folder / "log").open("wb") as log:
            command = [sys.executable, "-m", "tests.fuzz.worker", name, str(folder), str(seconds - used)]
            process = subprocess.Popen(
                command if guided else [*command, "--blind"],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        life = usage.ru_utime + usage.ru_stime
        used += life
        report = _report(folder / "report.json")
        executions += report.get("executions", 0)
        accepted += report.get("accepted", 0)
        findings |= set(report.get("findings", ()))
        covered = _coverage((folder / "log").read_bytes())
        first, last = first or covered[0], max(last, covered[1])
        if process.returncode != 0:
            deaths += life < SHORTEST_LIFE
            findings |= _deadly_inputs(name, folder)
    outcome = Outcome(name, used / 60.0, executions, accepted, first, last, tuple(sorted(findings)))
    (folder / "outcome.json").write_text(json.dumps(asdict(outcome), indent=1))
    return outcome


def outcomes() -> list[Outcome]:
    """Those on record, by parser."""
    found = [json.loads(file.read_text()) for file in sorted(KEPT.glob("*/outcome.json"))]
    return [Outcome(**{**data, "findings": tuple(data["findings"])}) for data in found]


HEAD = f"{'parser':28} {'CPU min':>8} {'executions':>11} {'accepted':>9} {'coverage':>14} findings"


def row(outcome: Outcome) -> str:
    """One line of the table."""
    share = outcome.accepted / max(1, outcome.executions)
    coverage = f"{outcome.first_coverage} → {outcome.last_coverage}" if outcome.last_coverage else "unguided"
    found = f"{len(outcome.findings)}: {', '.join(outcome.findings)}" if outcome.findings else "none"
    return f"{outcome.parser:28} {outcome.minutes:8.1f} {outcome.executions:11,} {share:9.1%} {coverage:>14} {found}"


def _report(file: Path) -> dict:
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def _coverage(log: bytes) -> tuple[int, int]:
    """Of the seeds and at the end."""
    found = _COVERAGE.findall(log)
    first = next((int(count) for inited, count in found if inited), 0)
    return first, int(found[-1][1]) if found else 0


def _deadly_inputs(name: str, folder: Path) -> set[str]:
    """Move inputs that ended a process to the findings; returns their names."""
    files = [file for pattern in _DEADLY for file in folder.glob(pattern)]
    if not files:
        # Nothing says which input it was: the log has to.
        shutil.copy(folder / "log", folder / "log-of-a-death")
        return {"death-without-input"}
    place = FINDINGS / name
    place.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.move(file, place / file.name)
    shutil.copy(folder / "log", folder / f"log-of-{files[0].name}")
    return {file.name for file in files}
