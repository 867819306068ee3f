"""Simulate stiction without chattering: elastoplastic friction by implicit Euler, compared with other methods.

The laws are stribeck and rational (with stiction) and coulomb (without), with published constants. --static,
--coulomb, --speed, --viscous and --alpha change the law; --stiffness, --damping and --timestep change the bristle.
Inconsistent constants are rejected with a suggestion.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_task, not_negative, positive_float
from bench_gui.cli.files import print_written, write_outputs
from bench_gui.cli.terminal import add_json, print_json, print_table

if TYPE_CHECKING:
    from core.contact.laws import FrictionLaw
    from core.studies.stiction.joint import JointMotion

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
    from math import degrees, inf

    from bench_gui.headless.report.stiction import step_figure
    from core.studies.stiction.experiments import (
        INTEGRAL,
        INTEGRAL_DURATION,
        PLAIN,
        PLAIN_DURATION,
        elastoplastic,
        step_response,
    )
    from core.studies.stiction.published import LAWS, SEED_RESTS

    drive = replace(INTEGRAL if arguments.integral else PLAIN, limit=arguments.torque_limit or inf)
    duration = arguments.duration or (INTEGRAL_DURATION if arguments.integral else PLAIN_DURATION)
    stiffness, damping = _bristle_numbers(arguments)
    numbers = _joint_numbers(arguments)
    laws = _laws(arguments, LAWS)
    found = {
        name: step_response(elastoplastic(law, stiffness, damping), drive, duration, **numbers)
        for name, law in laws.items()
    }
    rows = [
        {
            "law": name,
            "last_deg": degrees(response.rest),
            "rest_deg": None if response.stop_time is None else degrees(response.rest),
            "published_rest_deg": SEED_RESTS[name] if _is_published(arguments) else None,
            "stop_time": response.stop_time,
            "held_torque": response.held_torque,
            "slips": len(response.slips),
            "breakaway_torques": list(response.breakaway_torques),
        }
        for name, response in found.items()
    ]
    files = write_outputs(
        arguments, _motion_columns({n: r.motion for n, r in found.items()}), lambda: step_figure(found)
    )
    if arguments.json:
        print_json({**numbers, "integral": arguments.integral, "laws": rows, "files": files})
        return
    print(f"step from 0° to 90°, {'with' if arguments.integral else 'without'} the integral term")
    if arguments.integral:
        headings = ["law", "last angle/°", "slips", "breaks away at/N·m"]
        cells = [[r["law"], r["last_deg"], r["slips"], _range(r["breakaway_torques"])] for r in rows]
    else:
        headings = ["law", "last angle/°", "published/°", "rests after/s", "last torque/N·m"]
        keys = ("law", "last_deg", "published_rest_deg", "stop_time", "held_torque")
        cells = [[row[key] for key in keys] for row in rows]
    print_table(headings, cells)
    moving = [row["law"] for row in rows if row["stop_time"] is None]
    if moving and not arguments.integral:
        print(f"{', '.join(moving)}: still creeping at the end")
    print_written(files)


def _chatter(arguments: argparse.Namespace) -> None:
    from bench_gui.headless.report.stiction import chatter_figure
    from core.studies.stiction.experiments import alternatives, holding
    from core.studies.stiction.published import LAWS

    (law,) = _laws(arguments, LAWS).values()
    numbers = _joint_numbers(arguments)
    found = [
        holding(friction, arguments.torque, **numbers) for friction in alternatives(law, *_bristle_numbers(arguments))
    ]
    rows = [
        {
            "friction": each.friction.name,
            "reversals_per_second": each.reversals,
            "drift": each.drift,
            "ripple": each.ripple,
        }
        for each, _ in found
    ]
    motions = {each.friction.name: motion for each, motion in found}
    files = write_outputs(arguments, _motion_columns(motions), lambda: chatter_figure(found))
    if arguments.json:
        print_json({**numbers, "law": arguments.law, "torque": arguments.torque, "frictions": rows, "files": files})
        return
    print(f"joint at rest under {arguments.torque:g} N·m, F_S = {law.static:g} N·m ({law.title})")
    print_table(
        ["friction", "reversals per s", "drift/(mrad/s)", "largest speed/(mrad/s)"],
        [[r["friction"], r["reversals_per_second"], 1e3 * r["drift"], 1e3 * r["ripple"]] for r in rows],
    )
    print_written(files)


def _stickslip(arguments: argparse.Namespace) -> None:
    from bench_gui.headless.report.stiction import stickslip_figure
    from core.contact.laws import Rational
    from core.studies.stiction.experiments import PULL_SPEED, PULLED, SPRING, STEPS, alternatives, pulled, spread
    from core.studies.stiction.published import LAWS, STEP

    rational = Rational(
        static=PULLED.static, coulomb=PULLED.coulomb, breakaway_speed=PULLED.breakaway_speed, viscous=PULLED.viscous
    )
    base = {"stribeck": PULLED, "rational": rational, "coulomb": LAWS["coulomb"]}
    (law,) = _laws(arguments, base).values()
    ours, naive = alternatives(law, *_bristle_numbers(arguments))[:2]
    inertia = _inertia(arguments)
    runs = [pulled(friction, step=step, inertia=inertia) for friction in (ours, naive) for step in STEPS]
    found = [each for each, _ in runs]
    motions = {each.friction.name: motion for each, motion in runs if each.step == STEP}
    spreads = {f.name: spread([each for each in found if each.friction is f]) for f in (ours, naive)}
    files = write_outputs(arguments, _motion_columns(motions), lambda: stickslip_figure(found, motions, PULL_SPEED))
    rows = [
        {
            "friction": each.friction.name,
            "step": each.step,
            "frequency": each.frequency,
            "reversals_per_second": each.reversals,
        }
        for each in found
    ]
    if arguments.json:
        print_json({"law": arguments.law, "inertia": inertia, "runs": rows, "spread": spreads, "files": files})
        return
    print(f"{SPRING:g} N·m/rad pulled at {PULL_SPEED:g} rad/s ({law.title})")
    print_table(
        ["friction", "time step/ms", "slips per s", "reversals per s"],
        [[r["friction"], 1e3 * r["step"], r["frequency"], r["reversals_per_second"]] for r in rows],
    )
    for name, share in spreads.items():
        print(f"{name}: slips per second differ by {100.0 * share:.1f} % between the time steps")
    print_written(files)


def _hold(arguments: argparse.Namespace) -> None:
    from bench_gui.headless.report.stiction import hold_figure
    from core.studies.stiction.experiments import HOUR, alternatives, elastoplastic, hold_for, holding
    from core.studies.stiction.published import LAWS

    laws, numbers = _laws(arguments, LAWS), _joint_numbers(arguments)
    bristle = _bristle_numbers(arguments)
    found = {
        name: hold_for(elastoplastic(law, *bristle), arguments.torque, HOUR * arguments.hours, **numbers)
        for name, law in laws.items()
    }
    shown = alternatives(next(iter(laws.values())), *bristle) if arguments.csv or arguments.figure else ()
    motions = {f.name: holding(f, arguments.torque, duration=SHORT_HOLD, **numbers)[1] for f in shown}
    files = write_outputs(arguments, _motion_columns(motions), lambda: hold_figure(motions))
    rows = [{"law": name, "displacement": at, "change": change} for name, (at, change) in found.items()]
    if arguments.json:
        print_json({**numbers, "torque": arguments.torque, "hours": arguments.hours, "laws": rows, "files": files})
        return
    print(f"joint held under {arguments.torque:g} N·m for {arguments.hours:g} h")
    print_table(["law", "displacement/rad", "change/rad"], [[r["law"], r["displacement"], r["change"]] for r in rows])
    print_written(files)


def _curves(arguments: argparse.Namespace) -> None:
    import numpy as np

    from bench_gui.headless.report.stiction import curves_figure
    from core.contact.bristle import Bristle, examine, transformed
    from core.studies.stiction.published import LAWS, STEP

    laws = _laws(arguments, LAWS)
    stiffness, damping = _bristle_numbers(arguments)
    bristle = Bristle(stiffness=stiffness, damping=damping, step=arguments.timestep or STEP)
    verdicts = {name: examine(law, bristle) for name, law in laws.items()}
    columns: dict[str, Any] = {}
    for name, law in laws.items():
        wished, torque = transformed(law, bristle, arguments.fastest)
        v = np.linspace(-arguments.fastest, arguments.fastest, len(wished))
        columns |= {
            f"{name}: v": v,
            f"{name}: friction": law.friction(v),
            f"{name}: v*": wished,
            f"{name}: implicit friction": torque,
        }
    files = write_outputs(arguments, columns, lambda: curves_figure(laws, bristle, arguments.fastest))
    if arguments.json:
        rows = [
            {
                "law": name,
                "sound": verdict.sound,
                "steepest_fall": verdict.descent,
                "one_over_z": verdict.allowed,
                "remedies": [remedy.text for remedy in verdict.remedies],
            }
            for name, verdict in verdicts.items()
        ]
        print_json({"laws": rows, "least_inertia": bristle.least_inertia, "files": files})
        return
    for name, verdict in verdicts.items():
        print(f"{name}: {verdict.text}")
    print(f"a joint on this bristle needs more than {bristle.least_inertia:.4g} kg·m² to come to rest")
    print_written(files)


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.3f} … {max(values):.3f}" if values else "–"


def _motion_columns(motions: Mapping[str, JointMotion]) -> dict[str, Any]:
    """Return the time of the first motion, then position, velocity, torque and friction of each."""
    columns: dict[str, Any] = {}
    for name, motion in motions.items():
        columns.setdefault("time", motion.time)
        columns |= {
            f"{name}: position": motion.position,
            f"{name}: velocity": motion.velocity,
            f"{name}: torque": motion.torque,
            f"{name}: friction": motion.friction,
        }
    return columns
