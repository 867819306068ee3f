"""Simulate stiction without chattering: elastoplastic friction by implicit Euler, compared with other methods.

The laws are stribeck and rational (with stiction) and coulomb (without), with published constants. --static,
--coulomb, --speed, --viscous and --alpha change the law; --stiffness, --damping and --timestep change the bristle.
Inconsistent constants are rejected with a suggestion.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_task, not_negative, positive_float
from bench_gui.cli.terminal import add_json
from bench_gui.render.terminal import show

if TYPE_CHECKING:
    from core.contact.laws import FrictionLaw

STRIBECK = "stribeck"
LAW_CHOICES = (STRIBECK, "rational", "coulomb")
SHORT_HOLD = 60.0
"""Duration of the figure and the table of a hold [s]."""
FIELDS = {
    "static": "static",
    "coulomb": "coulomb",
    "speed": "breakaway_speed",
    "viscous": "viscous",
    "alpha": "exponent",
}
"""Argument → field of the law."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench stiction`."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    step = add_task(tasks, "step", "simulate a step of a joint to 90°, which stops short or keeps slipping")
    _add_common(step)
    _add_timestep(step)
    step.add_argument("--integral", action="store_true", help="use a controller with integral term")
    step.add_argument(
        "--torque-limit", type=positive_float, metavar="T", help="torque limit of the controller [N·m] (default: none)"
    )
    step.add_argument(
        "--duration", type=positive_float, metavar="S", help="simulated time (default: 6, or 60 with --integral)"
    )
    step.set_defaults(run_task=_step)

    chatter = add_task(tasks, "chatter", "compare friction models on a joint at rest under a torque")
    _add_common(chatter, default=STRIBECK)
    _add_timestep(chatter)
    _add_torque(chatter)
    chatter.set_defaults(run_task=_chatter)

    slip = add_task(tasks, "stickslip", "count the slips of a joint pulled by a spring, by time step")
    _add_common(slip, default=STRIBECK, laws=LAW_CHOICES[:2])
    slip.set_defaults(run_task=_stickslip)

    hold = add_task(tasks, "hold", "measure the drift of a held joint over an hour")
    _add_common(hold)
    _add_timestep(hold)
    _add_torque(hold)
    hold.add_argument(
        "--hours", type=positive_float, default=1.0, metavar="H", help="simulated time [h] (default: %(default)g)"
    )
    hold.set_defaults(run_task=_hold)

    curves = add_task(tasks, "curves", "compute friction over velocity and its implicit form, and check the constants")
    _add_common(curves)
    _add_timestep(curves)
    curves.add_argument(
        "--fastest",
        type=positive_float,
        default=0.3,
        metavar="V",
        help="largest velocity [rad/s] (default: %(default)s)",
    )
    curves.set_defaults(run_task=_curves)


def run(arguments: argparse.Namespace) -> int:
    """Run the task."""
    return int(arguments.run_task(arguments) or 0)


def _add_common(
    parser: argparse.ArgumentParser, *, default: str | None = None, laws: Sequence[str] = LAW_CHOICES
) -> None:
    """Add the options of all tasks; default: the law, or None for all of them."""
    parser.add_argument("--law", choices=laws, default=default, help=f"friction law (default: {default or 'all'})")
    parser.add_argument("--static", type=not_negative, metavar="F_S", help="friction at rest [N·m]")
    parser.add_argument("--coulomb", type=not_negative, metavar="F_C", help="friction in motion [N·m]")
    parser.add_argument("--speed", type=positive_float, metavar="V_S", help="breakaway speed [rad/s]")
    parser.add_argument("--viscous", type=not_negative, metavar="D", help="viscous friction [N·m·s/rad]")
    parser.add_argument("--alpha", type=positive_float, metavar="A", help="exponent of stribeck, 1 or more")
    parser.add_argument(
        "--stiffness", type=positive_float, metavar="K", help="stiffness of the bristle [N·m/rad] (default: 5000)"
    )
    parser.add_argument(
        "--damping", type=positive_float, metavar="B", help="damping of the bristle [N·m·s/rad] (default: 50)"
    )
    parser.add_argument(
        "--inertia", type=positive_float, metavar="M", help="inertia of the joint [kg·m²] (default: 0.185)"
    )
    parser.add_argument(
        "--rotor-inertia",
        type=positive_float,
        metavar="J_R",
        help="inertia of the rotor [kg·m²]; adds N²·J_R to --inertia",
    )
    parser.add_argument("--ratio", type=positive_float, metavar="N", help="gear ratio between rotor and joint")
    parser.add_argument("--csv", metavar="FILE", help="write curves or motions to a CSV file")
    parser.add_argument("--figure", metavar="FILE", help="write a figure (.svg, .png, .pdf)")
    add_json(parser)


def _add_timestep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timestep", type=positive_float, metavar="T", help="time step [s] (default: 0.001)")


def _add_torque(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--torque", type=positive_float, default=0.9, metavar="TAU", help="applied torque [N·m] (default: %(default)s)"
    )


def _laws(arguments: argparse.Namespace, base: Mapping[str, FrictionLaw]) -> dict[str, FrictionLaw]:
    """Return the selected laws with their changes; raise InputError for a change that applies to none of them."""
    from dataclasses import fields, replace

    from core.base.errors import InputError

    names = (arguments.law,) if arguments.law else tuple(base)
    changes = {field: getattr(arguments, name) for name, field in FIELDS.items()}
    asked = {field: value for field, value in changes.items() if value is not None}
    laws, known = {}, set()
    for name in names:
        mine = {field.name for field in fields(base[name])}
        known |= mine
        laws[name] = replace(base[name], **{field: value for field, value in asked.items() if field in mine})
    for name, field in FIELDS.items():
        if field in asked and field not in known:
            raise InputError(f"--{name} does not apply to {' and '.join(names)}; omit it or choose another --law")
    return laws


def _bristle_numbers(arguments: argparse.Namespace) -> tuple[float, float]:
    from core.studies.stiction.published import DAMPING, STIFFNESS

    return arguments.stiffness or STIFFNESS, arguments.damping or DAMPING


def _inertia(arguments: argparse.Namespace) -> float:
    """Return the inertia of the joint, including its rotor's N²·J_R [kg·m²]."""
    from core.base.errors import InputError
    from core.studies.stiction.published import INERTIA

    if (arguments.rotor_inertia is None) != (arguments.ratio is None):
        raise InputError("--rotor-inertia and --ratio belong together; give both")
    if arguments.rotor_inertia is None:
        return arguments.inertia or INERTIA
    return (arguments.inertia or 0.0) + arguments.ratio**2 * arguments.rotor_inertia


def _joint_numbers(arguments: argparse.Namespace) -> dict[str, float]:
    from core.studies.stiction.published import STEP

    return {"inertia": _inertia(arguments), "step": arguments.timestep or STEP}


def _is_published(arguments: argparse.Namespace) -> bool:
    """Return whether no constant of joint, bristle and controller differs from the published ones."""
    own = ("stiffness", "damping", "inertia", "rotor_inertia", "timestep", "duration", "torque_limit", *FIELDS)
    return not arguments.integral and all(getattr(arguments, name) is None for name in own)


def _step(arguments: argparse.Namespace) -> None:
    from dataclasses import replace
    from math import inf

    from core.studies.stiction.documents import step_document
    from core.studies.stiction.experiments import (
        INTEGRAL,
        INTEGRAL_DURATION,
        PLAIN,
        PLAIN_DURATION,
        elastoplastic,
        step_response,
    )
    from core.studies.stiction.published import LAWS

    integral: bool = arguments.integral
    drive = replace(INTEGRAL if integral else PLAIN, limit=arguments.torque_limit or inf)
    duration = arguments.duration or (INTEGRAL_DURATION if integral else PLAIN_DURATION)
    bristle, numbers = _bristle_numbers(arguments), _joint_numbers(arguments)
    found = {
        name: step_response(elastoplastic(law, *bristle), drive, duration, **numbers)
        for name, law in _laws(arguments, LAWS).items()
    }
    settings = {**numbers, "integral": integral}
    show(step_document(found, settings, published=_is_published(arguments)), arguments)


def _chatter(arguments: argparse.Namespace) -> None:
    from core.studies.stiction.documents import chatter_document
    from core.studies.stiction.experiments import alternatives, holding
    from core.studies.stiction.published import LAWS

    (law,) = _laws(arguments, LAWS).values()
    numbers, torque = _joint_numbers(arguments), arguments.torque
    found = [holding(friction, torque, **numbers) for friction in alternatives(law, *_bristle_numbers(arguments))]
    show(chatter_document(found, law, {**numbers, "law": arguments.law, "torque": torque}), arguments)


def _stickslip(arguments: argparse.Namespace) -> None:
    from core.contact.laws import Rational
    from core.studies.stiction.documents import stickslip_document
    from core.studies.stiction.experiments import PULL_SPEED, PULLED, SPRING, STEPS, alternatives, pulled, spread
    from core.studies.stiction.published import LAWS

    rational = Rational(
        static=PULLED.static, coulomb=PULLED.coulomb, breakaway_speed=PULLED.breakaway_speed, viscous=PULLED.viscous
    )
    base = {"stribeck": PULLED, "rational": rational, "coulomb": LAWS["coulomb"]}
    (law,) = _laws(arguments, base).values()
    ours, naive = alternatives(law, *_bristle_numbers(arguments))[:2]
    inertia = _inertia(arguments)
    runs = [pulled(friction, step=step, inertia=inertia) for friction in (ours, naive) for step in STEPS]
    spreads = {f.name: spread([each for each, _ in runs if each.friction is f]) for f in (ours, naive)}
    settings = {"law": arguments.law, "inertia": inertia}
    show(stickslip_document(runs, law, spreads, (SPRING, PULL_SPEED), settings), arguments)


def _hold(arguments: argparse.Namespace) -> None:
    from core.studies.stiction.documents import hold_document
    from core.studies.stiction.experiments import HOUR, alternatives, elastoplastic, hold_for, holding
    from core.studies.stiction.published import LAWS

    laws, numbers = _laws(arguments, LAWS), _joint_numbers(arguments)
    bristle, torque = _bristle_numbers(arguments), arguments.torque
    found = {
        name: hold_for(elastoplastic(law, *bristle), torque, HOUR * arguments.hours, **numbers)
        for name, law in laws.items()
    }
    shown = alternatives(next(iter(laws.values())), *bristle) if arguments.csv or arguments.figure else ()
    motions = {f.name: holding(f, torque, duration=SHORT_HOLD, **numbers)[1] for f in shown}
    show(hold_document(found, motions, {**numbers, "torque": torque, "hours": arguments.hours}), arguments)


def _curves(arguments: argparse.Namespace) -> None:
    from core.contact.bristle import Bristle
    from core.studies.stiction.documents import curves_document
    from core.studies.stiction.published import LAWS, STEP

    stiffness, damping = _bristle_numbers(arguments)
    bristle = Bristle(stiffness=stiffness, damping=damping, step=arguments.timestep or STEP)
    show(curves_document(_laws(arguments, LAWS), bristle, arguments.fastest), arguments)
