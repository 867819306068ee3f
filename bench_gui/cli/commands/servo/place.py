"""Place drive/backdrive points by hand and store them in a session.

The servo holds a motor torque while you look for the lowest and highest angle at which the pendulum rests. On a
simulated servo a virtual hand does it.
"""

from __future__ import annotations

import argparse
import math
import select
import sys
from typing import TYPE_CHECKING, TextIO

from bench_gui.cli.arguments import add_pendulum, bench_from, list_of_numbers, model_from, positive_float, positive_int
from bench_gui.cli.terminal import add_json, add_progress, print_json, print_table
from core.base.errors import InputError, ServoBenchError
from core.base.words import counted

if TYPE_CHECKING:
    from bench_gui.headless.place.measuring import PlacementPlan
    from bench_gui.headless.place.rests import Falls, Rest, Target

LINE_PERIOD = 0.2
"""Update period of the line with the angle [s]; faster ones are unreadable."""

EXAMPLES = """\
examples:
  bench place --servo simulated:xl330 --fast -o session
  bench place --torques 0.3:0.9:0.1 --repeats 2 --mass 1 -o session
  bench place --servo simulated:mx106 --fast --backlash --repeats 3"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench place`."""
    parser.add_argument(
        "--servo",
        default="simulated:mx106",
        metavar="ADDRESS",
        help="address of the servo, e.g. simulated:xl330 or simulated:my.toml (default: %(default)s)",
    )
    parser.add_argument(
        "--torques",
        metavar="N·M,…",
        help="motor torques to hold, e.g. 0.3,0.6, or FROM:TO:STEP, e.g. 0.3:0.9:0.1 (default: chosen for the bench)",
    )
    parser.add_argument(
        "--repeats",
        type=positive_int,
        default=1,
        metavar="N",
        help="repetitions of each extreme (default: %(default)s)",
    )
    parser.add_argument(
        "--steady",
        type=positive_float,
        default=0.6,
        metavar="S",
        help="minimum duration of a rest (default: %(default)s)",
    )
    parser.add_argument(
        "--rate", type=positive_float, default=200.0, metavar="HZ", help="sample rate (default: %(default)g)"
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="model to compare with (default: the richest shipped model of the servo)"
    )
    add_pendulum(parser)
    parser.add_argument("--fast", action="store_true", help="run a simulated servo faster than real time")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-o", "--output", metavar="SESSION", help="session folder, created if needed")
    what.add_argument(
        "--backlash",
        action="store_true",
        help="measure the backlash instead: push the load both ways with --torques below the friction of the gears",
    )
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, store and print the extremes, beside those of the model; return 1 if one was not placed."""
    from bench_gui.headless.place.measuring import PlacementPlan, known_model, place_points, summary
    from bench_gui.headless.place.torques import torques_from

    torques = torques_from(list_of_numbers(arguments.torques)) if arguments.torques else None
    if isinstance(torques, str):
        raise InputError(f"--torques: {torques}")
    plan = PlacementPlan(
        servo=arguments.servo,
        bench=bench_from(arguments),
        torques=torques,
        repeats=arguments.repeats,
        steady_time=arguments.steady,
        rate=arguments.rate,
        fast=arguments.fast,
    )
    quiet = arguments.quiet or arguments.json
    if arguments.backlash:
        return _measure_backlash(plan, quiet, arguments.json)

    def show(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    missing: list[str] = []

    def missed(text: str) -> None:
        missing.append(text)
        print(text, file=sys.stderr)

    points = place_points(plan, arguments.output, lambda step, time: PromptedHand(step, time, sys.stdin), show, missed)
    if not points:
        raise InputError("no extreme was placed; hold larger torques or hang more mass on the rod")
    model = model_from(arguments.model) if arguments.model else known_model(points[0].servo)
    lines = summary(points, model)
    if arguments.json:
        found = {"unit": "N·m, rad", "model": model.title if model else None, "points": lines, "missing": missing}
        print_json(found)
        return 1 if missing else 0
    headings = ["motor torque/N·m", "repeat", "lowest/°", "highest/°", "drive/N·m", "backdrive/N·m"]
    columns = ["motor_torque", "repeat", "lowest", "highest", "drive", "backdrive"]
    if model is not None:
        headings += [f"drive of {model.friction.upper()}", f"backdrive of {model.friction.upper()}"]
        columns += ["model_drive", "model_backdrive"]
    print_table(headings, [[_shown(name, line[name]) for name in columns] for line in lines])
    if model is not None and model.values.get("load_memory"):
        print(
            "friction of this model has a memory of the load: if the pendulum was let go at once, the limits are up to "
            "a quarter narrower than the model's",
            file=sys.stderr,
        )
    if missing:
        print(f"{counted(len(missing), 'extreme')} not placed, see above", file=sys.stderr)
    return 1 if missing else 0


def _measure_backlash(plan: PlacementPlan, quiet: bool, as_json: bool) -> int:
    """Measure and print the backlash."""
    from bench_gui.headless.place.pushes import statement
    from bench_gui.headless.place.pushing import push_both_ways
    from core.base.json_fields import plain

    def show(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    found, pushes = push_both_ways(plan, lambda step, time: PromptedPusher(step, time, sys.stdin), show)
    if as_json:
        print_json({"unit": "N·m, rad", **plain(found), "pushes": plain(pushes)})
        return 0
    print(f"Backlash: {statement(found)}")
    if found.compliance * max(push.torque for push in pushes) > found.error:
        print(f"What yields between motor and load: {1.0 / found.compliance:.3g} N·m/rad")
    return 0


def _shown(name: str, value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return math.degrees(value) if name in ("lowest", "highest") else value


class PromptedPusher:
    """The user at the bench, prompted on the terminal: Enter captures the angle of a pushed load."""

    def __init__(self, position_step: float, time: float, answers: TextIO) -> None:
        """Prompt a user; arguments as for `PromptedHand`."""
        from bench_gui.headless.place.rests import RestFinder

        self._finder = RestFinder(position_step, time)
        self._answers = answers

    def push(self, torque: float) -> None:
        """Ask the user to push."""
        way = "larger" if torque > 0.0 else "smaller"
        self._finder.restart()
        _say(
            f"\nPush the load gently towards {way} angles, against the teeth, and hold it there. Enter: capture the "
            "angle. q, Enter: quit.\n"
        )

    def captured(self, time: float, position: float) -> float | None:
        """Return the angle once the user pressed Enter and the load rests [rad]."""
        self._finder.feed(time, position, True)
        answer = _answer(self._answers)
        if answer is None:
            return None
        if answer.strip().lower() == "q":
            raise ServoBenchError("ended by the user")
        if self._finder.steadiness.steady:
            return self._finder.steadiness.angle
        _say("\nNot captured: the load still moves. Hold it still.\n")
        return None


class PromptedHand:
    """The user at the bench, prompted on the terminal: Enter captures a rest, n goes on, q quits."""

    def __init__(self, position_step: float, time: float, answers: TextIO) -> None:
        """Prompt a user.

        Args:
            position_step: Resolution of the encoder [rad].
            time: Minimum duration of a rest [s].
            answers: Stream of the user's answers.
        """
        from bench_gui.headless.place.rests import RestFinder

        self._falls: Falls | None = None
        self._finder = RestFinder(position_step, time)
        self._answers = answers
        self._shown_at = -math.inf
        self._target: Target | None = None
        self.best: Rest | None = None
        self.done = True

    def steady(self, torque: float) -> None:
        """Warn that the servo is about to apply torque."""
        _say(f"\nSteady the pendulum with your hand while the servo builds up {torque:g} N·m, then let it rest.\n")

    @property
    def fell(self) -> float | None:
        """Nearest angle beyond the best rest from which the pendulum fell [rad]; None if it did not fall."""
        return None if self.best is None or self._falls is None else self._falls.beyond(self.best.angle)

    def seek(self, target: Target) -> None:
        """Ask the user for an extreme."""
        from bench_gui.headless.place.rests import Falls

        self._target, self.best, self.done = target, None, False
        self._falls = Falls(target)
        self._finder.restart()
        way = "down" if target.place == "lowest" else "up"
        _say(
            f"\nThe servo holds {target.torque:g} N·m. Move the pendulum {way} a little at a time and let go, "
            f"until it falls.\nEnter: capture the rest. n, Enter: next extreme. q, Enter: quit.\n"
        )

    def look(self, time: float, position: float) -> None:
        """Show the angle and process answers."""
        rest = self._finder.feed(time, position, True)
        if rest is not None and self._falls is not None and self._falls.note(rest, self._finder.steadiness.band):
            _say("\nIt fell.\n")
        if time - self._shown_at >= LINE_PERIOD:
            self._shown_at = time
            best = "none" if self.best is None else f"{math.degrees(self.best.angle):.2f}°"
            word = "steady" if self._finder.steadiness.steady else "moving"
            _say(f"\r{math.degrees(position):8.2f}°  {word}  best {best}   ")
        answer = _answer(self._answers)
        if answer is not None:
            self._heed(answer.strip().lower())

    def _heed(self, answer: str) -> None:
        rest = self._finder.now()
        if answer == "n":
            self.done = True
        elif answer == "q":
            raise ServoBenchError("ended by the user; the points placed so far are kept")
        elif rest is None:
            _say("\nNot captured: the pendulum still moves. Wait until it rests.\n")
        elif self._further(rest):
            self.best = rest
            _say(f"\nCaptured {math.degrees(rest.angle):.2f}°.\n")
        else:
            _say("\nNot captured: an earlier rest was further out and stays.\n")

    def _further(self, rest: Rest) -> bool:
        if self.best is None or self._target is None:
            return True
        return self._target.outwards * (rest.angle - self.best.angle) > 0.0


def _answer(answers: TextIO) -> str | None:
    """Return a completed line of the user, None while there is none."""
    if not select.select([answers], [], [], 0.0)[0]:
        return None
    line = answers.readline()
    if not line:
        raise ServoBenchError("standard input is closed; run this command on a terminal")
    return line


def _say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
