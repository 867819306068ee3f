"""Recording several runs one after the other: what `bench record` and the demo do with a servo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_gui.interrupt import Interrupt
from core.bench import Bench
from core.catalogue import load_servo
from core.errors import InputError
from core.recording import RunHeader, ServoSettings
from core.trajectories import Trajectory
from drivers.recorder import Recorder, RunResult, record_inline
from drivers.registry import ServoAddress, open_servo
from sessions import Session

FAST_OPTION = ("clock", "virtual")


@dataclass(frozen=True, kw_only=True)
class RecordingPlan:
    """Trajectories with one bench and one set of gains; None stands for the catalogue's value."""

    servo: str
    """Address, e.g. "simulated:mx106"."""
    trajectories: tuple[Trajectory, ...]
    bench: Bench
    kp: float | None = None
    ki: float = 0.0
    kd: float = 0.0
    supply_voltage: float | None = None
    damping: float | None = None
    rate: float = 200.0
    """[Hz]"""
    fast: bool = False
    """As fast as possible, in this process: simulated servos only."""

    def settings(self, servo: str) -> ServoSettings:
        """What is written into a servo of the catalogue."""
        spec = load_servo(servo)
        return ServoSettings(
            servo=spec.name,
            kp=spec.default_kp if self.kp is None else self.kp,
            ki=self.ki,
            kd=self.kd,
            supply_voltage=self.supply_voltage or spec.supply_voltage,
            damping=self.damping,
        )


@dataclass(frozen=True)
class RecordedRun:
    """How one run ended."""

    id: str
    trajectory: str
    exit_status: str
    reason: str
    samples: int
    skipped_cycles: int

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dict(self.__dict__)


def record_plan(plan: RecordingPlan, session_path: str | Path, show: Callable[[float, str], None]) -> list[RecordedRun]:
    """Record every trajectory of a plan and return how each run ended; show: share done, text.

    Stops at the first run that does not end well, and on an interrupt: what was recorded is kept. Raises
    ServoBenchError.
    """
    address = ServoAddress.parse(plan.servo)
    if plan.fast and address.family != "simulated":
        raise InputError("only a simulated servo can be recorded faster than real time")
    if plan.fast:
        return _record_fast(plan, replace(address, options=(*address.options, FAST_OPTION)), session_path, show)
    return _record_live(plan, session_path, show)


def _header(plan: RecordingPlan, servo: str, trajectory: Trajectory) -> RunHeader:
    return RunHeader(trajectory=trajectory.name, bench=plan.bench, settings=plan.settings(servo), rate=plan.rate)


def _recorded(trajectory: Trajectory, result: RunResult) -> RecordedRun:
    return RecordedRun(
        result.id, trajectory.name, result.exit_status, result.reason, result.samples, result.skipped_cycles
    )


def _record_fast(
    plan: RecordingPlan, address: ServoAddress, session_path: str | Path, show: Callable[[float, str], None]
) -> list[RecordedRun]:
    runs: list[RecordedRun] = []
    servo = open_servo(address.source())
    try:
        identity = servo.connect()
        session = Session.open_or_create(session_path)
        for number, trajectory in enumerate(plan.trajectories):
            show(number / len(plan.trajectories), trajectory.title)
            header = _header(plan, identity.model, trajectory)
            runs.append(_recorded(trajectory, record_inline(servo, trajectory, header, session.sink())))
            if runs[-1].exit_status != "success":
                break
    finally:
        servo.close()
    return runs


def _record_live(
    plan: RecordingPlan, session_path: str | Path, show: Callable[[float, str], None]
) -> list[RecordedRun]:
    runs: list[RecordedRun] = []
    with Recorder(plan.servo) as recorder, Interrupt() as interrupt:
        identity = recorder.start()
        session = Session.open_or_create(session_path)
        for number, trajectory in enumerate(plan.trajectories):
            recorder.record(trajectory, _header(plan, identity.model, trajectory), session.sink())

            def look(status: Any, number: int = number, trajectory: Trajectory = trajectory) -> None:
                share = status.done / max(status.length, 1)
                show((number + share) / len(plan.trajectories), f"{trajectory.title}: {status.phase.name.lower()}")
                if interrupt.news():
                    recorder.abort()

            runs.append(_recorded(trajectory, recorder.wait(progress=look)))
            if interrupt.asked or runs[-1].exit_status != "success":
                break
    return runs
