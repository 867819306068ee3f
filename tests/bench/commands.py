"""Servos that are not commanded by an angle: planted ones are identified again, `python -m tests.bench commands`.

Twenty servos with M4 friction around the shipped values for each kind of command, and as many position-controlled ones
whose measured duty cycle drives the simulation in place of the goal.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.identification.result import ModelResult
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.servo.actuator import COMMANDS
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from tests.bench.printing import line

SERVO, FRICTION = "mx106", "m4"
SEEDS = 20
STEP, DURATION = 0.005, 6.0
FINE = 40
"""Time steps between two samples of the planted truth."""
RATE_OF_LOAD = (0.1, 0.25)
"""Gravity torques of the runs, as shares of the stall torque."""


def planted(kind: str, seed: int) -> ServoModel:
    """Return a servo with values around the shipped ones, commanded by `kind`."""
    random = np.random.default_rng(seed)
    model = build_model(SERVO, FRICTION, command=kind, command_path=("command_delay",))
    known = {n: v for n, v in load_model(SERVO, FRICTION).values.items() if n in model.parameters}
    known |= {n: p.value for n, p in model.parameters.items() if n.startswith("speed_")}
    values = {name: value * random.uniform(0.8, 1.25) for name, value in known.items()}
    values |= {"q_offset": random.uniform(-0.03, 0.03), "command_delay": random.uniform(0.002, 0.02)}
    bounds = {
        name: (min(p.lower, values[name]), max(p.upper, values[name]))
        for name, p in model.parameters.items()
        if name in values
    }
    return model.with_parameters(model.parameters.with_bounds(bounds).with_values(values))


def recorded(model: ServoModel, seed: int) -> list[Recording]:
    """Return the runs of a planted servo: three sums of sines and a growing square wave at each of two loads."""
    random = np.random.default_rng(1000 + seed)
    spec, kind = model.spec, model.control.command
    volts, stall = spec.supply_voltage, model.values["kt"] * spec.supply_voltage / model.values["R"]
    time = np.arange(0.0, DURATION, STEP)
    found: list[Recording] = []
    for share in RATE_OF_LOAD:
        largest = {
            "position": 1.2,
            "velocity": 0.35 * spec.no_load_speed,
            "duty_cycle": 2.2 * share,
            "voltage": 2.2 * share * volts,
            "current": 2.2 * share * volts / model.values["R"],
            "torque": 2.2 * share * stall,
        }[kind]
        for number in range(4):
            frequency, phase = random.uniform(0.2, 1.5, 3), random.uniform(0.0, 2.0 * np.pi, 3)
            size = np.array([0.6, 0.3, 0.15]) * random.uniform(0.7, 1.2, 3)
            wave = (size[:, None] * np.sin(2.0 * np.pi * frequency[:, None] * time + phase[:, None])).sum(axis=0)
            if number == 3:
                wave = np.sign(np.sin(0.8 * np.pi * time)) * np.minimum(1.0, time / 4.0)
            run = Recording(
                id=f"{len(found):04d}",
                trajectory=f"wave {number}",
                bench=Bench(mass=share * stall / (9.80665 * 0.1), length=0.1),
                settings=ServoSettings(servo=SERVO, kp=spec.default_kp, supply_voltage=volts),
                channels={
                    "time": time,
                    COMMANDS[kind].channel: largest * wave,
                    "torque_enable": np.ones(len(time)),
                    "position": np.zeros(len(time)),
                },
            )
            motion = simulate_recording(replace(model, substeps=FINE), run, whole=True)
            noisy = motion.position + random.normal(0.0, spec.encoder_step / 3.0, len(time))
            measured = {
                "position": spec.encoder_step * np.round(noisy / spec.encoder_step),
                "duty_cycle": np.round(motion.duty_cycle, 3),
                "current": np.round(motion.current, 3),
            }
            found.append(replace(run, channels={**run.channels, **measured}))
    return found


def fitted(model: ServoModel, runs: list[Recording], seed: int, drive_from: str = "") -> ModelResult:
    """Return the fit of a planted servo's own friction model to its runs."""
    request = IdentificationRequest(
        servo=SERVO, models=(FRICTION,), command_path=("command_delay",), seed=seed, drive_from=drive_from
    )
    return identify(request, runs).results[0]


def judged(result: ModelResult, truth: dict[str, float]) -> dict[str, bool]:
    """Return for each value that is called good whether the true one lies in its 95 % interval."""
    return {
        p.name: abs(p.value - truth[p.name]) <= p.half_width
        for p in result.evidence.parameters
        if p.name in truth and p.grade.word == "good"
    }


CASES = {
    "voltage": ("voltage", ""),
    "current": ("current", ""),
    "velocity": ("velocity", ""),
    "torque": ("torque", ""),
    "from_duty_cycle": ("position", "duty_cycle"),
    "from_current": ("position", "current"),
}
"""Command of the servos, and the measured channel that takes its place."""


def main() -> None:
    """Print the share of good values whose intervals hold the truth, for the cases named or all."""
    for case in sys.argv[1:] or CASES:
        kind, drive_from = CASES[case]
        inside: list[bool] = []
        missed: list[str] = []
        for seed in range(SEEDS):
            model = planted(kind, seed)
            truth = {n: v for n, v in model.values.items() if not (drive_from and n == "command_delay")}
            found = judged(fitted(model, recorded(model, seed), seed, drive_from), truth)
            inside += found.values()
            missed += [f"{name} {seed}" for name, good in found.items() if not good]
        share = sum(inside) / max(len(inside), 1)
        line(case, f"{100 * share:.1f} % of {len(inside)} good values", "at least 90 % inside their intervals")
        print(f"  outside: {', '.join(missed) or 'none'}", flush=True)


if __name__ == "__main__":
    main()
