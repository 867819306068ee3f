"""The command lines that repeat a result."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from core.identification.request import IdentificationRequest


def identify_command(
    session: Path, request: IdentificationRequest, runs: Sequence[str] | None = None, output: str = "RESULT"
) -> str:
    """`bench identify` as it was asked for; runs: None for all that are in use."""
    every = IdentificationRequest(servo=request.servo)
    words = ["bench", "identify", str(session), "--model", ",".join(request.models)]
    if runs is not None:
        words += ["--runs", ",".join(runs)]
    words += ["--terms", ",".join(request.command_path)] if request.command_path else ["--no-command-path"]
    words += ["--seed", str(request.seed), "--validation", request.validation]
    words += _given("--trials", request.trials) + _given("--dt", request.dt)
    for option, value, usual in (
        ("--repeats", request.repeats, every.repeats),
        ("--metric", request.metric, every.metric),
        ("--contact", request.contact, every.contact),
        ("--gate", request.quadratic_gate, every.quadratic_gate),
        ("--integrator", request.integrator, every.integrator),
        ("--substeps", request.substeps, every.substeps),
        ("--supply", request.supply, every.supply),
    ):
        words += _given(option, None if value == usual else value)
    words += _each("--fix", (f"{name}={value!r}" for name, value in request.frozen))
    words += _each("--bounds", (f"{name}={low!r}:{high!r}" for name, low, high in request.bounds))
    words += _each("--start", (f"{name}={value!r}" for name, value in request.start))
    words += ["--points"] if request.points else []
    words += _given("--prior", f"{1e3 * request.prior:.10g}" if request.prior else None)
    words += ["--run-offsets"] if request.run_offsets else []
    words += [] if request.polish else ["--no-polish"]
    return shlex.join([*words, "-o", output])


def _given(option: str, value: object) -> list[str]:
    return [] if value is None else [option, str(value)]


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
