"""Header of a run, known before its first sample; shared by the window and `bench record`."""

from __future__ import annotations

from core.motion.recording import RunHeader
from core.motion.trajectories import Trajectory
from core.servo.bench import Bench
from core.servo.catalogue import servo_provenance
from core.servo.settings import ServoSettings

DIRECTIONS = {1: "counter-clockwise", -1: "clockwise"}
"""Direction in which the pendulum turns, as seen by the user, when the servo's angle increases."""


def run_header(
    trajectory: Trajectory, bench: Bench, settings: ServoSettings, rate: float, address: str, direction: int = 1
) -> RunHeader:
    """Return the header of a run; address: that of the servo, direction: one of DIRECTIONS."""
    return RunHeader(
        trajectory=trajectory.name,
        bench=bench,
        settings=settings,
        rate=rate,
        provenance={
            "servo_address": address,
            "positive_direction": DIRECTIONS[direction],
            "trajectory_parameters": trajectory.parameters.numbers(),
            "trajectory_duration": trajectory.duration,
            **servo_provenance(settings.servo),
        },
    )
