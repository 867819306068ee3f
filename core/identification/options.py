"""Options of an identification, each declared once: default, flag, title, text, unit and choices.

`IdentificationRequest` adds the servo and the data, the window's `FitSettings` adds options of the window alone. The
settings form, the command line, the commands in reports and JSON all derive from these fields. This module does not
load numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from core.identification.defaults import DEFAULT_RULE
from core.servo.terms import AUTOMATIC, CONTACT_TITLES, FRICTION_MODELS, Integrator, Metric, QuadraticGate, Supply

COARSEST_GRID = 0.05
"""Longest time between samples that resolves a servo's motion [s]."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Presentation of a field in the window, on the command line and in reports."""

    tip: str
    """Help text, for the window's tooltip and the command line."""
    title: str = ""
    """Label in the window."""
    section: str = ""
    """Section of the settings form; "" if the form shows it elsewhere or not at all."""
    automatic: str = ""
    """Word displayed for the default, e.g. "automatic"."""
    choices: Mapping[str, str] | None = None
    """Titles by value."""
    unit: str = ""
    """Unit in the window."""
    scale: float = 1.0
    """Size of the window's unit in SI units."""
    lower: float = 0.0
    """Lowest value, in SI units like `upper`."""
    upper: float = 1.0
    decimals: int = 3
    step: float = 1.0
    """Increment of the window's arrows, in the window's unit."""
    metavar: str | None = None
    """Name of the value on the command line; the flag is the field's name."""
    flag_scale: float = 1.0
    """Size of the command line's unit in SI units."""
    reproduces: bool = True
    """False for an option that does not change results; reports leave it out."""


def option(default: Any, **about: Any) -> Any:
    """Return a dataclass field with its default and its `Option`."""
    return field(default=default, metadata={"option": Option(**about)})


@dataclass(frozen=True, kw_only=True)
class IdentificationOptions:
    """Settings of an identification; values in SI units."""

    models: tuple[str, ...] = option(
        FRICTION_MODELS, title="Friction models",
        tip="Friction models to fit, m1 to m6, separated by commas", automatic="all", metavar="M,…",
    )  # fmt: skip
    """Friction models; they are always fitted in nested order."""
    trials: int | None = option(
        None, title="Evaluations", section="Budget",
        tip="Evaluations per model and repeat; automatic: 1000 per free parameter", automatic="automatic",
        upper=10_000_000, step=500, metavar="N",
    )  # fmt: skip
    """None: TRIALS_PER_PARAMETER per free parameter."""
    repeats: int = option(
        1, title="Repeats", section="Search", tip="Independent searches per model; their spread shows the convergence",
        lower=1, upper=50, metavar="K",
    )  # fmt: skip
    seed: int = option(
        0, title="Seed", section="Budget", tip="Random seed", upper=2_000_000_000, metavar="S",
    )  # fmt: skip
    validation: str = option(
        DEFAULT_RULE, title="Hold out",
        tip='Runs to hold out for scoring the models: a share ("25%"), a condition ("kp=200") or "none"',
        metavar="V",
    )  # fmt: skip
    """See `split_recordings`."""
    metric: Metric = option(
        "mae", title="Metric", section="Error and simulation", tip="Error that the search minimises",
        choices={"mae": "mean |error|", "rmse": "root mean square", "mae_velocity": "position and velocity"},
    )  # fmt: skip
    """Mean absolute error of the angle, root mean square error, or the former plus a share of the velocity error."""
    polish: bool = option(True, tip="Polish the result of the search: descend to the nearby minimum of a smooth loss")
    """See `polish`."""
    contact: str = option(
        AUTOMATIC, title="Contact", section="Friction models",
        tip="Friction before slip: rigid holds the shaft up to its budget; elastoplastic yields by a spring and a "
        "damper, which are also identified, and neither drifts nor chatters; automatic: rigid, unless the rational "
        "elastoplastic one follows the training runs better, and with offset of the output and memory of the load if "
        "they show them",
        choices={AUTOMATIC: "Automatic", **CONTACT_TITLES},
    )  # fmt: skip
    """Friction before slip, the same for all models, see `core.servo.terms.CONTACTS`.

    Only an automatic one also tries `CHOSEN_TERMS`, see `friction_choice`.
    """
    integrator: Integrator = option(
        "leapfrog", title="Integrator", section="Error and simulation",
        tip="Integrator of the simulation: leapfrog is of second order; Algorithm 1 of the paper and that of "
        "Rhoban/bam are of first order, and their values are valid for one time step only",
        choices={"leapfrog": "leapfrog", "algorithm1": "Algorithm 1", "bam": "as Rhoban/bam"},
    )  # fmt: skip
    dt: float | None = option(
        None, title="Sample time", section="Error and simulation",
        tip="Time between samples, to which recordings are resampled; automatic: that of a regular recording, else "
        "the median, at least 5 ms",
        automatic="automatic", unit="ms", scale=1e-3, upper=COARSEST_GRID, decimals=2, metavar="S",
    )  # fmt: skip
    """Time between samples [s]; None: that of the recording, see `sampling_step`."""
    substeps: int | None = option(
        None, title="Substeps", section="Error and simulation",
        tip="Time steps of the simulation between two samples; automatic: enough that the time step adds only a small "
        "share to the error of the fit",
        automatic="automatic", upper=100, metavar="N",
    )  # fmt: skip
    """None: as many as the fit needs, see `core.identification.search.timestep`; one with a first-order integrator."""
    run_offsets: bool = option(
        False, title="Offsets of each run", section="Error and simulation",
        tip="Fit an angle offset, a supply voltage offset and a delay of the commands for each run, so that the values "
        "do not absorb a remounted horn (not with placed points)",
    )  # fmt: skip
    """See `with_offsets`."""
    quadratic_gate: QuadraticGate = option(
        "larger_torque", title="Quadratic term", section="Error and simulation",
        tip="Condition for the quadratic friction of M6",
        choices={"larger_torque": "larger torque", "opposing": "opposing torques"},
    )  # fmt: skip
    supply: Supply = option(
        "logged", title="Supply voltage", section="Error and simulation",
        tip="Supply voltage of the simulation: the one logged during the run, if there is one, or the nominal one",
        choices={"logged": "as logged", "header": "nominal"},
    )  # fmt: skip
    """"logged": the measured supply voltage where there is one; "header": the nominal one."""
    drive_from: str = option(
        "", title="Drive from", section="Error and simulation",
        tip="Command of the simulation: that of the runs, or the measured duty cycle or current, which needs no "
        "control law and finds inertia and friction of a servo whose law is unknown",
        choices={"": "the command", "duty_cycle": "measured duty cycle", "current": "measured current"},
        metavar="CHANNEL",
    )  # fmt: skip
    """Measured channel that replaces the command; "" for the command itself."""
    frozen: tuple[tuple[str, float], ...] = option(
        (), tip="Hold a parameter at a value (repeatable)", metavar="NAME=VALUE"
    )  # fmt: skip
    """Parameters held at a value: name, value [SI units]."""
    bounds: tuple[tuple[str, float, float], ...] = option(
        (), tip="Search a parameter between these bounds (repeatable)", metavar="NAME=LOW:HIGH"
    )  # fmt: skip
    """Bounds that replace the catalogue's: name, lowest, highest value [SI units]."""
    start: tuple[tuple[str, float], ...] = option(
        (), title="Start from",
        tip="Known model, e.g. of an earlier unit of the servo: the search also starts there and finds the values of "
        "a similar unit sooner",
        metavar="MODEL|NAME=VALUE",
    )  # fmt: skip
    """Known model of the servo: name, value [SI units]. Each search also starts there, see `started`."""
    prior: float = option(
        0.0, title="Prior", section="Parameters",
        tip="Further penalty for a value that lies one whole catalogue interval from its start value; every fit has a "
        "weak one that runs outweigh. Use 10 to 30 if the start is a unit you know",
        automatic="weak", unit="mrad", scale=1e-3, upper=1.0, decimals=1, step=5.0, metavar="MRAD", flag_scale=1e-3,
    )  # fmt: skip
    """Penalty, added to a run's mean error [rad], of a parameter that lies one whole catalogue interval from its start
    value, see `Prior`; 0 for the weak prior of every fit only."""
    threads: int | None = option(
        None, title="Threads", section="Budget",
        tip="Number of threads, without effect on the result; automatic: all processors", automatic="automatic",
        upper=256, metavar="N", reproduces=False,
    )  # fmt: skip


def options_of(data: Any) -> dict[str, tuple[Field[Any], Option]]:
    """Return the options of a dataclass by name, in order."""
    return {each.name: (each, each.metadata["option"]) for each in fields(data) if "option" in each.metadata}


CHOICES = {name: tuple(o.choices) for name, (_, o) in options_of(IdentificationOptions).items() if o.choices}
"""Possible values of the options that are choices."""
