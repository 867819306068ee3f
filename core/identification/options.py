"""The options of an identification, each declared once: default, flag, title, text, unit and choices.

`IdentificationRequest` adds what is identified, the window's `FitSettings` what only the window chooses. The settings
form, the command line, the commands in reports and JSON follow from the fields here. Nothing here loads numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from core.identification.defaults import DEFAULT_RULE
from core.terms import CONTACT_TITLES, FRICTION_MODELS, Integrator, Metric, QuadraticGate, Supply

COARSEST_GRID = 0.05
"""A servo's motion is not resolved by longer steps [s]."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Presentation of a field in the window, on the command line and in reports."""

    tip: str
    """Meaning, for the window's tool tip and the command's help."""
    title: str = ""
    """Label in the window."""
    section: str = ""
    """Section of the settings form that shows it; "" for one with a place of its own there, or none."""
    automatic: str = ""
    """Word shown for the default, e.g. "automatic"."""
    choices: Mapping[str, str] | None = None
    """Values to their titles."""
    unit: str = ""
    """In the window."""
    scale: float = 1.0
    """Size of the window's unit in SI units."""
    lower: float = 0.0
    """SI units, as upper."""
    upper: float = 1.0
    decimals: int = 3
    step: float = 1.0
    """Step of the window's arrows, in its unit."""
    metavar: str | None = None
    """Name of the value on the command line, where the flag is the field's name."""
    flag_scale: float = 1.0
    """Size of the command line's unit in SI units."""
    reproduces: bool = True
    """False for one that changes no result, so that reports leave it out."""


def option(default: Any, **about: Any) -> Any:
    """Field of a dataclass with its default and its `Option`."""
    return field(default=default, metadata={"option": Option(**about)})


@dataclass(frozen=True, kw_only=True)
class IdentificationOptions:
    """Settings of an identification; values in SI units."""

    models: tuple[str, ...] = option(
        FRICTION_MODELS, title="Friction models",
        tip="Friction models m1 … m6, several with commas, or all", automatic="all", metavar="M,…",
    )  # fmt: skip
    """Friction models, fitted in nested order whatever order they are given in."""
    trials: int | None = option(
        None, title="Evaluations", section="Budget",
        tip="Evaluations for each model and repeat; automatic: 1000 for each parameter", automatic="automatic",
        upper=10_000_000, step=500, metavar="N",
    )  # fmt: skip
    """None: TRIALS_PER_PARAMETER per free parameter."""
    repeats: int = option(
        1, title="Repeats", section="Search", tip="Searches for each model; their spread tells how sure it is",
        lower=1, upper=50, metavar="K",
    )  # fmt: skip
    seed: int = option(
        0, title="Seed", section="Budget", tip="The same seed gives the same result", upper=2_000_000_000, metavar="S",
    )  # fmt: skip
    validation: str = option(
        DEFAULT_RULE, title="Hold out",
        tip='Runs held out to judge the models: a share ("25%"), a condition ("kp=200") or "none"; the models are '
        "fitted to all others",
        metavar="V",
    )  # fmt: skip
    """See `split_recordings`."""
    metric: Metric = option(
        "mae", title="Metric", section="Error and simulation", tip="What the search makes small",
        choices={"mae": "mean |error|", "rmse": "root mean square", "mae_velocity": "position and velocity"},
    )  # fmt: skip
    """Mean absolute error of the angle, its root mean square, or the former plus a share of the velocity's."""
    polish: bool = option(True, tip="Move the end of the search to the nearby minimum of a smooth loss")
    """See `polish`."""
    contact: str = option(
        "rigid", title="Contact", section="Friction models",
        tip="How friction acts before it slips: rigid takes what it needs up to its budget; elastoplastic gives first, "
        "by a spring and a damper that are identified too, and neither drifts nor chatters",
        choices=CONTACT_TITLES,
    )  # fmt: skip
    """How friction acts before it slips, the same for all models, see `core.terms.CONTACTS`."""
    integrator: Integrator = option(
        "leapfrog", title="Integrator", section="Error and simulation",
        tip="Leapfrog is of second order. For comparisons: the paper's Algorithm 1 and the order of update of "
        "Rhoban/bam, both of first order, whose values hold for their step only",
        choices={"leapfrog": "leapfrog", "algorithm1": "Algorithm 1", "bam": "as Rhoban/bam"},
    )  # fmt: skip
    dt: float | None = option(
        None, title="Sample time", section="Error and simulation",
        tip="Recordings are resampled at this interval; automatic: a regular recording's own, for others their median, "
        "5 ms at least",
        automatic="automatic", unit="ms", scale=1e-3, upper=COARSEST_GRID, decimals=2, metavar="S",
    )  # fmt: skip
    """Time between samples [s]; None: a regular recording's own, see `sampling_step` for others."""
    substeps: int | None = option(
        None, title="Substeps", section="Error and simulation",
        tip="Simulation steps between two samples; automatic: as many as the fit needs, so that the step costs a small "
        "share of its error",
        automatic="automatic", upper=100, metavar="N",
    )  # fmt: skip
    """None: as many as the fit needs, see `core.identification.search.timestep`, or one with a first-order
    integrator."""
    run_offsets: bool = option(
        False, title="Offsets of each run", section="Error and simulation",
        tip="The values are polished with an angle and a supply voltage of its own for each run, so that they do not "
        "make up for a horn that was put on anew; placed points cannot join",
    )  # fmt: skip
    """See `with_offsets`."""
    quadratic_gate: QuadraticGate = option(
        "larger_torque", title="Quadratic term", section="Error and simulation",
        tip="When M6's quadratic friction acts",
        choices={"larger_torque": "larger torque", "opposing": "opposing torques"},
    )  # fmt: skip
    supply: Supply = option(
        "logged", title="Supply voltage", section="Error and simulation",
        tip="The voltage measured during the run where there is one, or the nominal one",
        choices={"logged": "as logged", "header": "nominal"},
    )  # fmt: skip
    """"logged": the measured supply voltage where there is one; "header": the nominal one."""
    frozen: tuple[tuple[str, float], ...] = option(
        (), tip="Hold a parameter at a value; may be repeated", metavar="NAME=VALUE"
    )  # fmt: skip
    """Parameters held at a value, by name, SI units."""
    bounds: tuple[tuple[str, float, float], ...] = option(
        (), tip="Search a parameter between these; may be repeated", metavar="NAME=LOW:HIGH"
    )  # fmt: skip
    """Parameters searched between other bounds than the catalogue's: name, lowest, highest, SI units."""
    start: tuple[tuple[str, float], ...] = option(
        (), title="Start from",
        tip="A model that is known, e.g. of an earlier unit of the servo: the search begins there too, and finds a "
        "similar unit sooner",
        metavar="MODEL|NAME=VALUE",
    )  # fmt: skip
    """A known model of the servo by parameter name, SI units: each search begins there too, see `started`."""
    prior: float = option(
        0.0, title="Prior", section="Parameters",
        tip="Cost of a value that lies a whole catalogue interval from where its search begins; 10 to 30 for few runs "
        "or one gain: what they leave open stays there",
        automatic="none", unit="mrad", scale=1e-3, upper=1.0, decimals=1, step=5.0, metavar="MRAD", flag_scale=1e-3,
    )  # fmt: skip
    """What it costs, in a run's mean error [rad], when a parameter lies a whole catalogue interval from where its
    search begins, see `Prior`; 0: nothing."""
    threads: int | None = option(
        None, title="Threads", section="Budget",
        tip="Processors that work on it; automatic: all. The result is the same", automatic="automatic", upper=256,
        metavar="N", reproduces=False,
    )  # fmt: skip


def options_of(data: Any) -> dict[str, tuple[Field[Any], Option]]:
    """Options of a dataclass by name, in order."""
    return {each.name: (each, each.metadata["option"]) for each in fields(data) if "option" in each.metadata}


CHOICES = {name: tuple(o.choices) for name, (_, o) in options_of(IdentificationOptions).items() if o.choices}
"""Possible values of the options that are choices."""
