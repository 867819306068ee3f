"""`bench place`: a virtual hand finds the true boundaries; a person on the terminal is asked and heeded."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import numpy as np
import pytest

from bench_gui.cli.commands.servo.place import PromptedHand, PromptedPusher
from bench_gui.headless.place.measuring import PlacementPlan, place_points
from bench_gui.headless.place.rests import Target
from bench_gui.headless.place.torques import MOST_TORQUES, torques_from
from core.base.errors import ServoBenchError
from core.practice.placement import expected_angles, placement_residuals, points_from_json, suggest_torques
from core.servo.catalogue import load_servo, servos
from core.servo.parameters import Parameter, ParameterSet
from core.servo.shipped import load_model, shipped_models
from drivers.simulated.servo import starting_bench
from sessions import Session

SHIPPED = [name for name in servos() if "m6" in shipped_models(name)]
QUICK = ("mx106", "mx64")
MORE = pytest.mark.exhaustive("the other servos; one of each sign stays")
ANGLE_TOLERANCE, STEPS_TOLERANCE = 5e-3, 4.0
"""A hand finds an edge within this angle [rad] or so many encoder steps, whichever is more."""


def nobody(position_step, time):
    raise AssertionError("a simulated servo needs no person")


@pytest.mark.parametrize("servo", [pytest.param(s, marks=() if s in QUICK else MORE) for s in SHIPPED])
def test_the_virtual_hand_finds_the_true_boundaries(servo, tmp_path):
    model, spec = load_model(servo, "m6"), load_servo(servo)
    bench = starting_bench(spec)
    torques = suggest_torques(model, bench).torques
    # One way or the other, servo by servo.
    held = -torques[-2] if SHIPPED.index(servo) % 2 else torques[0]
    plan = PlacementPlan(servo=f"simulated:{servo}", bench=bench, torques=(held,), fast=True)
    points = place_points(plan, tmp_path / "s", nobody, lambda text: None)
    assert [(p.motor_torque, p.side) for p in points] == [(held, "drive"), (held, "backdrive")]
    tolerance = bench.gravity_torque * max(ANGLE_TOLERANCE, STEPS_TOLERANCE * spec.encoder_step)
    if "load_memory" in model.values:
        # Let go at once, friction has not followed the load yet: the limits are narrower.
        found = np.array([abs(bench.external_torque(p.angle + model.values["q_offset"])) for p in points])
        assert np.all(np.abs(placement_residuals(model, points)) < 0.3 * found)
        return
    assert placement_residuals(model, points) == pytest.approx([0.0] * 2, abs=tolerance)
    kept = points_from_json(Session.open(tmp_path / "s").document("placed_points"))
    assert kept == tuple(points)
    for point, truth in zip(points, expected_angles(model, bench, held), strict=True):
        assert point.fell is not None
        inner, outer = sorted((point.angle, point.fell))
        fine = tolerance / bench.gravity_torque
        assert inner - fine < truth < outer + fine


def test_the_command_prints_and_stores_what_was_found(bench, tmp_path):
    words = ("place", "--fast", "--mass", "1.7", "--length", "0.1", "--torques", "0.4,0.6", "-o", tmp_path / "s")
    found = bench(*words, "--json").data
    assert found["unit"] == "N·m, rad"
    assert [line["motor_torque"] for line in found["points"]] == [0.4, 0.6]
    for line in found["points"]:
        assert 0.0 < line["lowest"] < line["highest"] < 0.5 * math.pi
        assert line["drive"] == pytest.approx(line["model_drive"], abs=0.012)
        assert line["backdrive"] == pytest.approx(line["model_backdrive"], abs=0.012)
    # One torque once more: the same extremes are replaced, not added.
    table = bench(*words, "--torques", "0.6", "--quiet").out.splitlines()
    assert table[0].split()[:2] == ["motor", "torque/N·m"]
    assert len(table) == 2
    assert len(points_from_json(Session.open(tmp_path / "s").document("placed_points"))) == 4


@pytest.mark.parametrize(
    ("name", "degrees"), [("mx106", 0.0), ("mx106", 0.5), ("mx106", 1.0), ("mx106", 2.0), ("xl330", 2.0)]
)
def test_planted_backlash_is_measured_within_a_tenth(bench, tmp_path, name, degrees):
    model = load_model(name, "m6")
    term = replace(Parameter.of_term("backlash"), value=math.radians(degrees))
    planted = replace(model, parameters=ParameterSet([*model.parameters.values(), term]))
    (tmp_path / "true.json").write_text(planted.to_json_text(), "utf-8")

    servo = f"simulated:{name}?model={tmp_path / 'true.json'}"
    # The load weighs more than its gears hold, so the hand bears it.
    pushed = ("place", "--servo", servo, "--mass", "1.5", "--fast", "--backlash")
    found = bench(*pushed, "--repeats", "2", "--json").data

    assert math.degrees(found["backlash"]) == pytest.approx(degrees, rel=0.1, abs=0.03)
    assert len(found["pushes"]) == 8
    assert "Backlash: " in bench(*pushed).out


def test_a_user_is_asked_to_push_both_ways(capsys):
    read, write = os.pipe()
    with os.fdopen(read) as answers, os.fdopen(write, "w") as keys:
        user = PromptedPusher(1e-3, 0.1, answers)
        user.push(-1.0)
        assert "towards smaller angles" in capsys.readouterr().err
        assert user.captured(0.0, 0.2) is None
        print("", file=keys, flush=True)
        assert user.captured(0.05, 0.2) is None
        assert "still moves" in capsys.readouterr().err
        print("", file=keys, flush=True)
        assert user.captured(0.2, 0.2) == 0.2


def test_repeats_are_kept_apart(tmp_path):
    bench = starting_bench(load_servo("mx106"))
    plan = PlacementPlan(servo="simulated:mx106", bench=bench, torques=(0.5,), repeats=2, fast=True)
    points = place_points(plan, tmp_path / "s", nobody, lambda text: None)
    assert [p.repeat for p in points] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--torques", "much"], "much is not a torque"),
        (["--mass", "0.05", "--length", "0.05"], "hang more mass"),
        (["--servo", "nowhere:1"], "no family"),
    ],
)
def test_what_cannot_be_placed_is_said_in_one_line(fails, tmp_path, extra, message):
    words = ("place", "--fast", "--quiet", "--mass", "1.7", "--length", "0.1", *extra, "-o", tmp_path / "s")
    assert message in fails(*words)


def test_a_torque_that_friction_holds_has_no_lowest_extreme(bench, tmp_path):
    """At 0.02 N·m the M6 of the MX-106 does not move its unloaded shaft: there is no drive torque to find."""
    words = ("place", "--fast", "--mass", "1.7", "--length", "0.1", "--torques", "0.02", "-o", tmp_path / "s")
    found = bench(*words, "--json", code=1).data
    (line,), (reason,) = found["points"], found["missing"]
    assert "0.02 N·m: no lowest: it rests on the other side" in reason
    assert line["drive"] is None
    assert line["model_drive"] is None
    assert line["backdrive"] == pytest.approx(line["model_backdrive"], abs=0.012)
    for quiet in ((), ("--quiet",)):
        said = bench(*words, *quiet, code=1)
        assert reason in said.err.splitlines()
        assert "1 extreme not placed" in said.err
        assert len(said.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "torques"),
    [
        ("0.3, 0.6", (0.3, 0.6)),
        ("0.3:0.9:0.2", (0.3, 0.5, 0.7, 0.9)),
        ("−0.3; 0.3, 0.3", (-0.3, 0.3)),
        ("-0.2:-0.6:-0.2", (-0.2, -0.4, -0.6)),
        ("", ()),
    ],
)
def test_torques_as_typed(text, torques):
    assert torques_from(text) == pytest.approx(torques)


@pytest.mark.parametrize("text", ["a", "0", "0.1:0.5", "0.1:0.5:-0.1", "0.1:100:0.001", "nan", "1:2:0"])
def test_torques_that_are_none_are_refused_in_words(text):
    assert isinstance(torques_from(text), str)


def test_as_many_torques_as_can_be_placed_and_one_more():
    assert len(torques_from("1:60:1")) == MOST_TORQUES == 60
    assert torques_from(",".join(map(str, range(1, 62)))).startswith("61 torques are too many")
    assert torques_from("1:61:1").startswith("61 torques are too many")
    assert torques_from("1:62:1") == "1:62:1: a step of 1 does not lead from 1 to 62 N·m"
    assert torques_from("0.3, 0") == "0 N·m has no drive direction; remove it"


# A person on the terminal.


class Terminal:
    """A hand at the bench and its owner's answers, typed through a pipe as on a terminal."""

    def __init__(self):
        here, there = os.pipe()
        self.reader, self._writer = os.fdopen(here), os.fdopen(there, "w", buffering=1)
        self.hand = PromptedHand(0.0015, 0.5, self.reader)
        self._now = 0.0

    def type(self, text):
        self._writer.write(text + "\n")
        self._writer.flush()
        self._look(self._position)

    def rest(self, position):
        for _ in range(120):
            self._look(position)

    def _look(self, position):
        self._now += 0.005
        self._position = position
        self.hand.look(self._now, position)

    def hang_up(self):
        self._writer.close()
        self._look(self._position)


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made._writer.close()
    made.reader.close()


def test_enter_captures_a_rest_and_the_outermost_one_stays(terminal, capsys):
    terminal.hand.seek(Target(0.4, 1, "drive"))
    terminal.rest(0.20)
    terminal.type("")
    assert terminal.hand.best.angle == pytest.approx(0.20)
    terminal.rest(0.12)
    terminal.type("")
    terminal.rest(0.15)
    terminal.type("")
    assert terminal.hand.best.angle == pytest.approx(0.12)
    assert not terminal.hand.done
    terminal.type("n")
    assert terminal.hand.done
    shown = capsys.readouterr().err
    assert "down" in shown
    assert "stays" in shown


def test_a_moving_pendulum_is_not_captured(terminal, capsys):
    terminal.hand.seek(Target(0.4, 1, "backdrive"))
    for step in range(40):
        terminal._look(0.01 * step)
    terminal.type("")
    assert terminal.hand.best is None
    assert "still moves" in capsys.readouterr().err


def test_giving_up_ends_the_measurement_in_words(terminal):
    terminal.hand.seek(Target(0.4, 1, "drive"))
    terminal.rest(0.1)
    with pytest.raises(ServoBenchError, match="points placed so far are kept"):
        terminal.type("q")
    with pytest.raises(ServoBenchError, match="standard input is closed"):
        terminal.hang_up()
