"""Every option of a command reaches what computes, with its own value and in its own place."""

from __future__ import annotations

import argparse
import importlib
import inspect
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import servobench as sb
from bench_gui.cli import build_parser, main
from bench_gui.cli.arguments import (
    add_several,
    bounds_of,
    friction_models,
    frozen_value,
    not_negative,
    numbers,
    options_from,
    positive_float,
    positive_int,
)
from core.base.errors import IdentificationError
from core.identification.options import IdentificationOptions, options_of
from core.identification.request import IdentificationRequest
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from core.servo.terms import FRICTION_MODELS
from sessions import Annotation, Session
from sessions.folders import example_session

RUNS = ("0001_lift_and_drop_kp100", "0003_sin_sin_kp100")
TAGGED = "0003_sin_sin_kp100"
PENDULUM = ["--mass", "0.3", "--arm-mass", "0.04", "--length", "0.2"]
BENCH = Bench(mass=0.3, arm_mass=0.04, length=0.2)
LAW = ["--kp", "9", "--ki", "0.5", "--kd", "0.25", "--supply-voltage", "11", "--damping", "0.75"]
SETTINGS: dict[str, Any] = {"kp": 9.0, "ki": 0.5, "kd": 0.25, "supply_voltage": 11.0, "damping": 0.75}
CHOSEN = ["--runs", ",".join(RUNS), "--tag", "kept", "--sample", "1", "--sample-seed", "4", "--dt", "0.004",
          "--supply", "header", "--threads", "3"]  # fmt: skip
SAID = {"help", "json", "quiet", "output", "csv", "figure", "plot", "all", "input"}
"""What is printed and written has tests of its own."""


class Reached(BaseException):
    """What computes was called; nothing catches this on its way to the test."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__()
        self.given = given


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = example_session(tmp_path_factory.mktemp("home"))
    Session.open(place).annotate(TAGGED, Annotation(tags=("kept",)))
    return str(place)


@pytest.fixture
def reach(monkeypatch):
    """Arguments by name with which a function is called by a command, which ends there."""

    def call(target: str, *words: object, but: tuple[str, ...] = ()) -> dict[str, Any]:
        options_are_all_given([str(word) for word in words], but)
        module, _, name = target.rpartition(".")
        place = importlib.import_module(module)
        signature = inspect.signature(getattr(place, name))

        def reached(*arguments: Any, **named: Any) -> None:
            raise Reached(dict(signature.bind(*arguments, **named).arguments))

        with monkeypatch.context() as patch:
            patch.setattr(place, name, reached)
            with pytest.raises(Reached) as caught:
                main([str(word) for word in words])
        return caught.value.given

    return call


def options_are_all_given(words: list[str], but: tuple[str, ...]) -> None:
    """Each option of the command differs from its default, so that a new one has to join these tests."""
    parser: argparse.ArgumentParser = build_parser()
    parsed = parser.parse_args(words)
    for name in (word for word in words if not word.startswith("-")):
        chosen = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not chosen or name not in chosen[0].choices:
            break
        parser = chosen[0].choices[name]
    for action in parser._actions:
        hidden = action.default == argparse.SUPPRESS
        if action.option_strings and not hidden and action.dest not in SAID and action.dest not in but:
            default = action.default
            if isinstance(default, str) and callable(action.type):
                default = action.type(default)
            assert getattr(parsed, action.dest) != default, f"{action.option_strings[0]} is not given"


def differs(made: Any, but: tuple[str, ...] = ()) -> None:
    """No field of a request is what it is without any option."""
    for field in fields(made):
        if field.name not in but and field.default is not inspect.Parameter.empty:
            assert getattr(made, field.name) != field.default, field.name


def test_identify(reach, session, tmp_path) -> None:
    words = ["identify", session, *CHOSEN, "--servo", "mx64", "--models", "m2,m4",
             "--command-path-terms", "command_delay",
             "--trials", "77", "--repeats", "2", "--prior", "30", "--seed", "5", "--validation", "kp=100",
             "--metric", "mae_velocity", "--integrator", "algorithm1", "--substeps", "3",
             "--quadratic-gate", "opposing", "--drive-from", "current",
             "--contact", "elastoplastic", "--frozen", "R=2.5", "--frozen", "armature=0.01", "--bounds", "kt=0.5:1.5",
             "--start", "mx64:m1", "--start", "kt=1.25", "--no-polish", "--resume", "--storage", "sqlite:///x.db",
             "-o", tmp_path / "r"]  # fmt: skip
    target, others = "sessions.results.identifying.run_identification", ("points", "refine", "paper", "command_path")
    given = reach(target, *words, but=(*others, "run_offsets"))
    request = given["request"]
    differs(request, but=("points", "command_path_if_better", "run_offsets", "command"))
    assert request == IdentificationRequest(
        servo="mx64", models=("m2", "m4"), command_path=("command_delay",), trials=77, repeats=2, seed=5,
        validation="kp=100", metric="mae_velocity", polish=False, contact="elastoplastic",
        quadratic_gate="opposing", integrator="algorithm1", substeps=3, dt=0.004, supply="header", drive_from="current",
        frozen=(("R", 2.5), ("armature", 0.01)), bounds=(("kt", 0.5, 1.5),),
        start=tuple((load_model("mx64", "m1").values | {"kt": 1.25}).items()), prior=0.03, threads=3,
        data_hash=Session.open(session).data_hash([TAGGED]),
    )  # fmt: skip
    assert (given["resume"], given["storage"], given["folder"]) == (True, "sqlite:///x.db", tmp_path / "r")
    assert [run.id for run in given["recordings"]] == list(given["selection"].runs) == [TAGGED]
    words[words.index("--no-polish")] = "--run-offsets"
    offsets = reach(target, *words, but=(*others, "polish"))["request"]
    assert (offsets.run_offsets, offsets.polish) == (True, True)
    plain = ["identify", session, "-o", tmp_path / "r"]
    every = tuple(vars(build_parser().parse_args([str(word) for word in plain])))
    for word, tried, terms in ((None, True, 8), ("--command-path", False, 8), ("--no-command-path", False, 0)):
        request = reach(target, *plain, *filter(None, [word]), but=every)["request"]
        assert (request.command_path_if_better, len(request.command_path)) == (tried, terms)


@pytest.fixture
def arm(tmp_path) -> tuple[str, Path]:
    """Session with runs of one joint in two motions, and its robot."""
    robot = tmp_path / "arm.xml"
    robot.write_text('<mujoco><worldbody><body><joint name="a"/><geom size="0.1"/></body></worldbody></mujoco>')
    lab, time = Session.create(tmp_path / "arm"), np.arange(0.0, 2.0, 0.02)
    for motion in ("swing", "kept"):
        run = sb.recording(time, np.sin(time), np.sin(time), servo="mx64", mass=0.0, length=0.0, trajectory=motion)
        lab.add(replace(run, provenance={"joint": "a", "motion": motion}))
    lab.annotate(lab.runs()[1].id, Annotation(tags=("kept",)))
    return str(lab.path), robot


def test_robot_identify(reach, arm, tmp_path) -> None:
    session, robot = arm
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    words = ["robot", "identify", session, "--urdf", robot, "--joints", "a", "--runs",
             ",".join(run.id for run in Session.open(session).runs()), *CHOSEN[2:],
             "--servo", "mx64", "--models", "m2,m4", "--command-path-terms", "command_delay",
             "--trials", "77", "--repeats", "2", "--prior", "30", "--seed", "5", "--validation", "none",
             "--metric", "mae_velocity", "--integrator", "algorithm1", "--substeps", "3",
             "--quadratic-gate", "opposing", "--drive-from", "current", "--contact", "elastoplastic",
             "--frozen", "R=2.5", "--bounds", "kt=0.5:1.5", "--start", "kt=1.25", "--no-polish",
             "--no-share", "-o", tmp_path / "r"]  # fmt: skip
    given = reach("sessions.results.robot.identify_robot", *words, but=("command_path", "run_offsets"))
    assert given["share"] is False
    request = given["request"]
    differs(request, but=("points", "command_path_if_better", "run_offsets", "command", "data_hash"))  # of each joint
    assert str(given["session"].path) == session
    assert (given["robot"], given["folder"]) == (robot, tmp_path / "r")
    assert [motion.id for motion in given["runs"].motions] == ["kept"]
    plain = ["robot", "identify", session, "--urdf", robot, "-o", tmp_path / "r"]
    every = tuple(vars(build_parser().parse_args([str(word) for word in plain])))
    request = reach("sessions.results.robot.identify_robot", *plain, but=every)["request"]
    assert (request.models, request.trials, request.prior) == (("m6",), 2000, 0.02)
    assert dict(request.start) == load_model(request.servo, "m6").values | {"q_offset": 0.0}
    assert (request.command_path_if_better, len(request.command_path)) == (False, 8)


def test_the_papers_protocol_is_one_choice(reach, session, tmp_path) -> None:
    words = ["identify", session, "--paper", "-o", tmp_path]
    every = tuple(vars(build_parser().parse_args([str(word) for word in words])))
    request = reach("sessions.results.identifying.run_identification", *words, but=every)["request"]
    assert (request.integrator, request.trials, request.repeats) == ("algorithm1", 4000, 3)
    assert (request.validation, request.polish, request.command_path) == ("25%", False, ())


def test_crossvalidate(reach, session, tmp_path) -> None:
    words = ["crossvalidate", session, *CHOSEN, "--by", "kp,mass", "--models", "m2,m4", "--command-path", "on",
             "--command-path-terms", "command_delay,supply_sag", "--trials", "77", "--contact", "elastoplastic",
             "--prior", "30", "--seed", "5", "--most-training-runs", "2", "--transfer", "--term-costs",
             "--additions", "output_offset,elastoplastic", "-o", tmp_path]  # fmt: skip
    given = reach("sessions.results.crossvalidating.run_crossvalidation", *words)
    question = given["question"]
    differs(question)
    assert (question.by, question.command_path, question.most_training_runs) == (("kp", "mass"), "on", 2)
    assert question.additions == ("output_offset", "elastoplastic")
    assert question.request == IdentificationRequest(
        servo="xl330", models=("m2", "m4"), command_path=("command_delay", "supply_sag"), contact="elastoplastic",
        trials=77, prior=0.03, seed=5, dt=0.004, supply="header", threads=3,
        data_hash=Session.open(session).data_hash([TAGGED]),
    )  # fmt: skip
    assert (given["folder"], [run.id for run in given["recordings"]]) == (tmp_path, [TAGGED])


def test_learn(reach, session, tmp_path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    words = ["learn", session, *CHOSEN, "--model", "xl330:m2", "--by", "kp,mass,length", "--trials", "77",
             "--seed", "5", "--iterations", "3", "-o", tmp_path]  # fmt: skip
    given = reach("core.learn.learning.learn", *words)
    assert given["request"] == IdentificationRequest(
        servo="xl330", models=("m6",), trials=77, seed=5, dt=0.004, supply="header", threads=3,
        data_hash=Session.open(session).data_hash([TAGGED]),
    )  # fmt: skip
    assert (given["model"].friction, given["by"], given["iterations"]) == ("m2", ("kp", "mass", "length"), 3)
    assert (given["folder"], given["final"]) == (tmp_path / "search", True)
    assert [run.id for run in given["recordings"]] == [TAGGED]


def test_fleet(reach, session, tmp_path) -> None:
    words = ["fleet", session, "--servo", "xl330", "--models", "m2,m4", "--repeats", "2", "--by", "kp",
             "--validation", "kp=100", "--command-path-terms", "command_delay", "--trials", "77", "--seed", "5",
             "--contact", "elastoplastic", "--prior", "30", "--scheduler", "tcp://h:1", "--workers", "3",
             "-o", tmp_path]  # fmt: skip
    given = reach("bench_gui.headless.fleet.job.run_fleet_job", *words, but=("simulated",))
    assert given["plan"].request.by == ("kp",)
    assert given["plan"].request.fit == IdentificationRequest(
        servo="xl330", models=("m2", "m4"), command_path=("command_delay",), trials=77, repeats=2, seed=5,
        validation="kp=100", contact="elastoplastic", prior=0.03,
    )  # fmt: skip
    assert (given["engine"].scheduler, given["engine"].workers) == ("tcp://h:1", 3)


def test_certainty(reach, session, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("sessions.results.folder.result_folder", lambda place, name: Path(place) / "results" / name)
    words = ["certainty", session, "--result", "r1", "--friction-model", "M2", "--profile", "kt,R", "--bootstrap", "7",
             "--seed", "5", "--threads", "3"]  # fmt: skip
    question = reach("sessions.results.certifying.run_certainty", *words)["question"]
    differs(question)
    assert vars(question) == {
        "session": Path(session), "folder": Path(session) / "results" / "r1", "friction": "m2",
        "profiled": ("kt", "R"), "draws": 7, "seed": 5, "threads": 3,
    }  # fmt: skip


def test_next(reach, session) -> None:
    grid = ["--masses", "0.1,0.2", "--lengths", "0.12", "--gains", "150,250", "--trajectories", "sin_sin"]
    common = ["next", session, *CHOSEN, *grid, "--count", "2", "--objective", "widths"]
    given = reach("core.identification.next.design.next_recordings", *common, "--model", "xl330:m2", but=("servo",))
    plan = given.pop("plan")
    assert (plan.masses, plan.lengths, plan.kps, plan.trajectories) == (
        (0.1, 0.2), (0.12,), (150.0, 250.0), ("sin_sin",),
    )  # fmt: skip
    assert given["model"] == load_model("xl330", "m2")
    assert [run.id for run in given["recordings"]] == [TAGGED]
    numbers = {name: given[name] for name in ("count", "objective", "dt", "supply", "threads")}
    assert numbers == {"count": 2, "objective": "widths", "dt": 0.004, "supply": "header", "threads": 3}
    request = reach(
        "core.identification.identify.identify", *common, "--servo", "xl330", but=("model",)
    )["request"]  # fmt: skip
    assert (request.servo, request.dt, request.supply, request.threads) == ("xl330", 0.004, "header", 3)


SIMULATED = ["--integrator", "bam", "--substeps", "3"]


def test_evaluate(reach, session) -> None:
    words = ["evaluate", session, *CHOSEN, "--model", "xl330:m2", *SIMULATED, "--by", "mass", "--adapt", "2"]
    given = reach("core.identification.evidence.adaptation.adapted", *words)
    assert given["first"] == 2
    given = reach("core.identification.evaluate.evaluate", *words)
    assert (given["model"].friction, given["model"].integrator, given["model"].substeps) == ("m2", "bam", 3)
    assert [run.id for run in given["recordings"]] == [TAGGED]
    assert {k: given[k] for k in ("dt", "supply", "threads")} == {"dt": 0.004, "supply": "header", "threads": 3}


def test_simulate(reach, session, tmp_path) -> None:
    words = ["simulate", session, *CHOSEN, "--model", "xl330:m2", *SIMULATED, "-o", tmp_path / "x.npz"]
    given = list(reach("core.motion.simulation.simulate_recording", *words).values())
    assert (given[0].friction, given[0].integrator, given[0].substeps) == ("m2", "bam", 3)
    assert (given[1].id, *given[2:]) == (TAGGED, 0.004, "header")


def test_rollout(reach, tmp_path) -> None:
    words = ["rollout", "--model", "mx106:m2", "--trajectory", "sin_sin", "--duration", "3.5", "--dt", "0.004",
             *PENDULUM, *LAW, *SIMULATED, "-o", tmp_path / "x.npz"]  # fmt: skip
    model, trajectory, bench, settings, dt = reach("core.motion.simulation.simulate_trajectory", *words).values()
    assert (model.friction, model.integrator, model.substeps) == ("m2", "bam", 3)
    assert (trajectory.name, trajectory.duration, bench, dt) == ("sin_sin", 3.5, BENCH, 0.004)
    assert settings == ServoSettings(servo="mx106", **SETTINGS)


def test_feedforward(reach, monkeypatch) -> None:
    simpler = object()
    monkeypatch.setattr("core.export.approximation.approximate", lambda *_: SimpleNamespace(model=simpler))
    words = ["feedforward", "mx106:m2", "--trajectory", "sin_sin", "--dt", "0.004", *PENDULUM, *LAW]
    model, bench, settings, trajectory, dt, other = reach(
        "core.practice.feedforward.compensation_experiment", *words
    ).values()
    assert (model.friction, bench, trajectory.name, dt, other) == ("m2", BENCH, "sin_sin", 0.004, simpler)
    assert settings == ServoSettings(servo="mx106", **SETTINGS)


def test_coverage_and_its_audit(reach, session, monkeypatch) -> None:
    words = ["coverage", session, *CHOSEN, "--model", "xl330:m2"]
    with monkeypatch.context() as patch:
        patch.setattr("core.identification.coverage.report.coverage", lambda *_, **__: None)
        given = reach("core.identification.coverage.headers.audit_headers", *words)
    assert (given["model"].friction, [run.id for run in given["recordings"]]) == ("m2", [TAGGED])
    assert {k: given[k] for k in ("dt", "supply", "threads")} == {"dt": 0.004, "supply": "header", "threads": 3}
    given = reach("core.identification.coverage.report.coverage", *words)
    assert (given["model"].friction, given["threads"], len(given["recordings"])) == ("m2", 3, 1)


def test_record(reach, tmp_path) -> None:
    words = ["record", "--servo", "simulated:mx64", "--trajectory", "sin_sin", "half_sine", "--duration", "3.5",
             "--rate", "125", *PENDULUM, *LAW, "--fast", "-o", tmp_path]  # fmt: skip
    grid = ("plan", "masses", "lengths", "kps", "repetitions")
    given = reach("drivers.recorder.planned.record_plan", *words, but=grid)
    plan = given["plan"]
    differs(plan)
    assert [(t.name, t.duration) for t in plan.trajectories] == [("sin_sin", 3.5), ("half_sine", 3.5)]
    assert {name: getattr(plan, name) for name in SETTINGS} == SETTINGS
    assert (plan.servo, plan.bench, plan.rate, plan.fast) == ("simulated:mx64", BENCH, 125.0, True)
    assert given["open_store"].args == (str(tmp_path),)
    more = ["--plan", "paper", "--masses", "0.1,0.7", "--lengths", "0.12", "--kps", "5,6", "--repetitions", "4"]
    grid = reach("drivers.recorder.planned.record_grid", *words, *more)["grid"]
    assert (grid.masses, grid.lengths, grid.kps, grid.repetitions) == ((0.1, 0.7), (0.12,), (5.0, 6.0), 4)
    assert (grid.trajectories, grid.duration) == (("sin_sin", "half_sine"), 3.5)


def test_place(reach, tmp_path) -> None:
    words = ["place", "--servo", "simulated:mx64", "--torques", "0.3,0.6", "--repeats", "2", "--steady", "0.7",
             "--rate", "125", *PENDULUM, "--fast", "-o", tmp_path]  # fmt: skip
    plan = reach("bench_gui.headless.place.measuring.place_points", *words, but=("model", "backlash"))["plan"]
    differs(plan)
    assert vars(plan) == {
        "servo": "simulated:mx64", "bench": BENCH, "torques": (0.3, 0.6), "repeats": 2, "steady_time": 0.7,
        "rate": 125.0, "fast": True,
    }  # fmt: skip


def test_place_backlash(reach) -> None:
    words = ["place", "--servo", "simulated:mx64", "--torques", "0.3,0.6", "--repeats", "2", "--steady", "0.7",
             "--rate", "125", *PENDULUM, "--fast", "--backlash"]  # fmt: skip
    plan = reach("bench_gui.headless.place.pushing.push_both_ways", *words, but=("model", "output"))["plan"]
    assert vars(plan) == {
        "servo": "simulated:mx64", "bench": BENCH, "torques": (0.3, 0.6), "repeats": 2, "steady_time": 0.7,
        "rate": 125.0, "fast": True,
    }  # fmt: skip


def test_drive_backdrive(reach) -> None:
    words = ["drive-backdrive", "--model", "mx106:m2", "--velocity", "0.5", "1.5", "--torque-max", "2", "--points", "5"]
    model, torques, velocities = reach("core.practice.diagram.drive_backdrive_diagram", *words).values()
    assert (model.friction, list(torques), list(velocities)) == ("m2", [-2.0, -1.0, 0.0, 1.0, 2.0], [0.5, 1.5])


def test_lists_take_commas_and_spaces() -> None:
    parser = argparse.ArgumentParser()
    add_several(parser, "--speeds", numbers)
    for words in (["1,2", "3"], ["1", "2", "3"], ["1,2,3"], ["1,", "2", ",3"], ["1.0;2", "3,0;"]):
        assert parser.parse_args(["--speeds", *words]).speeds == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        (["drive-backdrive", "--model", "mx106:m2"], "--velocity", "1.0,2.0"),
        (["feedforward", "mx106:m2"], "--trajectory", "sin_sin,lift_and_drop"),
        (["record", "-o", "s"], "--trajectory", "sin_sin,lift_and_drop"),
        (["compliant", "step"], "--set", "k1=0.002,k2=0.003"),
    ],
)
def test_each_list_option_takes_commas(command, option, value) -> None:
    parsed = build_parser().parse_args([*command, option, value])
    assert [str(each) for each in getattr(parsed, option.strip("-"))] == value.split(",")


def test_export(reach, tmp_path) -> None:
    words = ["export", "mx106:m2", "--to", "mujoco", "--kp", "9", "--set", "ki=0.5", "--mass", "0.3", "--length", "0.2",
             "--check", "--name", "elbow", "--force", "-o", tmp_path]  # fmt: skip
    given = reach("core.export.export_model", *words)
    options = given.pop("options")
    model, target, folder, name, force = given.values()
    assert (model.friction, target, folder, name, force) == ("m2", "mujoco", str(tmp_path), "elbow", True)
    assert options == {"kp": 9.0, "ki": 0.5, "bench": Bench(mass=0.3, length=0.2)}


def test_import(reach, tmp_path) -> None:
    (tmp_path / "arm.json").write_text('{"elbow": {"range_min": 900, "range_max": 3100}}')
    words = ["import", "a.csv", "--columns", "time=t:ms,goal=g:deg,position=p:deg", "--from-name", "{trajectory}",
             "--servo", "xl330", "--mass", "0.3", "--length", "0.2", "--arm-mass", "0.04", "--angle-offset", "0.1",
             "--kp", "9", "--ki", "0.5", "--kd", "0.25", "--supply-voltage", "6", "--trajectory", "mine",
             "--where", "id=3", "--where", "a=b=c", "--split-by", "episode", "--goal-shift", "-1",
             "--joints", "a=b,c", "--calibration", tmp_path / "arm.json", "-o", tmp_path]  # fmt: skip
    paths, place, _, tables = reach("sessions.importers.import_paths", *words).values()
    assert (paths, place, tables.name_pattern) == (["a.csv"], str(tmp_path), "{trajectory}")
    assert (tables.where, tables.split_by, tables.goal_shift) == ({"id": "3", "a=b": "c"}, "episode", -1)
    assert tables.joints == {"a": "b", "c": "c"}
    assert (tables.calibration["elbow"].unit, tables.calibration["elbow"].scale) == ("counts", 11.0)
    assert tables.facts == {
        "servo": "xl330", "mass": 0.3, "length": 0.2, "arm_mass": 0.04, "angle_offset": 0.1, "kp": 9.0, "ki": 0.5,
        "kd": 0.25, "supply_voltage": 6.0, "trajectory": "mine",
    }  # fmt: skip
    assert {(name, c.name, c.unit) for name, c in tables.columns.items()} == {
        ("time", "t", "ms"), ("goal_position", "g", "deg"), ("position", "p", "deg"),
    }  # fmt: skip


def test_demo(reach, tmp_path) -> None:
    given = reach("bench_gui.headless.demo.run_demo", "demo", "--fast", "--seed", "5", "-o", tmp_path)
    assert (given["output"], given["fast"], given["seed"]) == (str(tmp_path), True, 5)


def test_webots_run_and_fit(reach, session, tmp_path) -> None:
    words = ["webots", "run", "--servo", "motor:maxForce=5,inertia=0.25", "--servo", "last:controlP=20",
             "--servo", "slide:type=linear,on=base,inertia=1,gravity=0.7", "--timestep",
             "4", "--duration", "2.5", *PENDULUM, "c.py"]  # fmt: skip
    job = reach("bench_gui.cli.webots_program.run_in_process", *words, but=("recording", "world"))["job"]
    motor, last, slide = job.servos
    assert (job.program, job.basic_time_step, job.duration) == (Path("c.py"), 4, 2.5)
    assert (motor.name, motor.parent, last.name, last.parent) == ("motor", None, "last", 0)
    assert (slide.parent, slide.fields.type, slide.load.gravity_torque) == (None, "linear", 0.7)
    assert (motor.fields.max_force, last.fields.control_p, motor.load.inertia) == (5.0, 20.0, 0.25)
    words = ["webots", "fit", session, "--models", "m2", *CHOSEN[:8], "--validation", "kp=100", "--dt", "0.004"]
    given = reach("core.studies.webots.loss.loss_on_recordings", *words)
    assert ([run.id for run in given["recordings"]], given["validation"], given["dt"]) == ([TAGGED], "kp=100", 0.004)
    assert {name: model.friction for name, model in given["models"].items()} == {"M2": "m2"}
    words[2] = "mx106:m6"
    given = reach("core.studies.webots.loss.loss_on_model", *words)
    assert (given["model"].friction, given["step"], list(given["models"])) == ("m6", 0.004, ["M2"])


def test_arm(reach, session, tmp_path, monkeypatch) -> None:
    (tmp_path / "l.yml").write_text("m1: 0.4\nm2: 0.3\nl1: 0.2\nl2: 0.15\nr1: 0.1\nr2: 0.1\nI1: 0.006\nI2: 0.004\n")
    words = ["arm", "identify", "a.csv", "--links", tmp_path / "l.yml", "--models", "m2,M4", "--groups", "motor",
             "--windows", "0.2,0.3", "--fit-window", "0.7", "--held-out", "0.4", "--trials", "77",
             "--seed", "5"]  # fmt: skip
    monkeypatch.setattr("core.studies.arm.recording.read_arm_csv", lambda file: file)
    given = reach("core.studies.arm.identification.identify_arm", *words)
    request = given["request"]
    differs(request, but=("dt", "substeps"))
    assert (request.models, request.terms, request.windows) == (("m2", "m4"), ("motor",), (0.2, 0.3))
    assert (request.fitted, request.held_out, request.budget, request.seed) == (0.7, 0.4, 77, 5)
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    own = ["--links", tmp_path / "l.yml", "--joint1", "mx106:m4", "--joint2", "xl330:m2", "--period", "2",
           "--timestep", "0.0005"]  # fmt: skip
    chosen = ["--paths", "square", "--gains", "low", "--models", "m2"]
    given = reach(
        "core.studies.arm.validation.validate_arm", "arm", "validate", *own, *chosen, but=("arm", "recording")
    )
    assert [(model.servo, model.friction) for model in given["truth"]] == [("mx106", "m4"), ("xl330", "m2")]
    assert (given["paths"], given["gains"], given["period"], given["timestep"]) == (["square"], ["low"], 2.0, 0.0005)
    words = ["arm", "simulate", *own, "--path", "square", "--gain", "low", "-o", tmp_path / "x.csv"]
    given = reach("core.studies.arm.simulate.simulate_arm", *words, but=("arm",))
    assert (given["timestep"], len(given["goals"])) == (0.0005, 400)


CHANGED = ["--law", "stribeck", "--static", "2", "--coulomb", "0.5", "--speed", "0.2", "--viscous", "0.3",
           "--alpha", "1.5", "--stiffness", "4000", "--damping", "60", "--inertia", "0.2", "--rotor-inertia", "1e-5",
           "--ratio", "100"]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "target", "more", "expected"),
    [
        ("step", "step_response", ["--integral", "--duration", "9", "--torque-limit", "5"], {"duration": 9.0}),
        ("chatter", "holding", ["--torque", "0.4"], {"torque": 0.4}),
        ("hold", "hold_for", ["--torque", "0.4", "--hours", "0.5"], {"torque": 0.4, "duration": 1800.0}),
    ],
)
def test_stiction(reach, task, target, more, expected) -> None:
    law = (
        CHANGED
        if task != "chatter"
        else ["--law", "rational", *(w for w in CHANGED[2:] if w not in ("--alpha", "1.5"))]
    )
    words = ["stiction", task, *law, "--timestep", "0.0005", *more]
    but = ("alpha",) if task == "chatter" else ()
    given = reach(f"core.studies.stiction.experiments.{target}", *words, but=but)
    friction = given["friction"]
    named = {"static": 2.0, "coulomb": 0.5, "breakaway_speed": 0.2, "viscous": 0.3}
    assert {name: getattr(friction.law, name) for name in named} == named
    assert (friction.stiffness, friction.damping) == (4000.0, 60.0)
    assert given["inertia"] == pytest.approx(0.3)
    assert {name: given[name] for name in ("step", *expected)} == {"step": 0.0005, **expected}
    if task == "step":
        from core.studies.stiction.experiments import INTEGRAL

        assert (given["drive"], friction.law.exponent) == (replace(INTEGRAL, limit=5.0), 1.5)


ACTUATOR = ["--actuator", "qbmove", "--set", "max_deflection=0.7"]
SINE = ["--amplitude", "0.3", "--rate", "1.5", "--duration", "7"]


@pytest.mark.parametrize(
    ("task", "target", "more", "expected"),
    [
        ("step", "step_responses", ["--goal", "0.3", "--duration", "0.7"], {"goal": 0.3, "duration": 0.7}),
        ("chirp", "frequency_responses", ["--amplitude", "0.3", "--band", "1,5", "--duration", "7"],
         {"amplitude": 0.3, "band": (1.0, 5.0), "duration": 7.0}),
        ("sine", "sinusoid_runs", SINE, {"amplitude": 0.3, "rate": 1.5, "duration": 7.0}),
        ("arm", "arm_steps", SINE, {"goal": 0.3}),
        ("box", "box_runs", ["--mass", "3", "--friction", "0.4"], {}),
    ],
)  # fmt: skip
def test_compliant(reach, monkeypatch, task, target, more, expected) -> None:
    words = ["compliant", task, *ACTUATOR, *more]
    given = reach(f"core.studies.compliant.experiments.{target}", *words)
    assert {name: given[name] for name in expected} == expected
    named = (
        given["actuators"][0] if task == "step" else given["arm"].actuators[1] if task == "arm" else given["actuator"]
    )
    assert (named.name, named.parameters()["max_deflection"].value) == ("qbmove", 0.7)
    if task == "box":
        assert (given["box"].mass, given["box"].friction) == (3.0, 0.4)
    if task == "arm":
        monkeypatch.setattr("core.studies.compliant.experiments.arm_steps", lambda *_: [])
        given = reach("core.studies.compliant.experiments.arm_sinusoids", *words)
        assert (given["amplitude"], given["rate"], given["duration"]) == (0.3, 1.5, 7.0)


def test_compliant_learn(reach) -> None:
    words = ["compliant", "learn", "--goal", "0.3,0.4", "--duration", "7", "--gain", "0.6", "--decay", "5",
             "--tolerance", "0.05", "--iterations", "4", "--presets", "0.1,0.3", "--actuator", "sea",
             "--gravity", "3.7", "--load", "0.3", "--load-distance", "0.07"]  # fmt: skip
    arm, reference, law, _ = reach("core.studies.compliant.learning.learn", *words, but=("reference",)).values()
    assert vars(law) == {"gain": 0.6, "decay": 5.0, "tolerance": 0.05, "iterations": 4}
    assert ([a.name for a in arm.actuators], arm.presets) == (["sea", "sea"], (0.1, 0.3))
    assert (arm.links.gravity, arm.links.masses[1], arm.links.centres[1]) == (3.7, 0.3, 0.07)
    assert (reference.time[-1], *reference.angles[-1]) == pytest.approx((7.0, 0.3, 0.4), abs=0.01)


def test_compliant_identify(reach, session, monkeypatch) -> None:
    from core.studies.compliant.elastic import Sea
    from core.studies.compliant.files import CompliantUnit
    from core.studies.compliant.identification import CompliantRequest
    from core.studies.compliant.modes import Mode
    from core.studies.compliant.runs import LINK, MOTOR, SPRINGS

    unit = CompliantUnit(actuator=Sea(stiffness=24.0))
    asked: list[Any] = []
    monkeypatch.setattr(
        "bench_gui.cli.commands.studies.compliant_identify._start", lambda *given: asked.append(given) or unit
    )
    words = ["compliant", "identify", session, "--actuator", "sea", "--motor", "--mode", "3", "--frozen",
             "link_friction=0.025", "--free", "max_deflection", *CHOSEN[:10], "--validation", "kp=100",
             "--trials", "77", "--seed", "5", "--threads", "3"]  # fmt: skip
    given = reach("core.studies.compliant.identification.identify_compliant", *words)
    differs(given["request"])
    assert given["request"] == CompliantRequest(
        start=unit, groups=(SPRINGS, LINK, MOTOR), mode=Mode(3), fixed=(("link_friction", 0.025),),
        freed=("max_deflection",), validation="kp=100", trials=77, seed=5, dt=0.004, threads=3,
    )  # fmt: skip
    assert ([run.id for run in given["recordings"]], asked) == ([TAGGED], [("sea", None)])


def test_compliant_move(reach) -> None:
    words = ["compliant", "move", "--mode", "5,3", "--first", "0.1,0.2", "--second", "0.3,0.4", "--duration", "1.5",
             "--actuator", "sea"]  # fmt: skip
    array, first, second, step = reach(
        "core.studies.compliant.array.simulate_array", *words, but=("references",)
    ).values()
    assert [(int(joint.mode), joint.joint.actuator.name) for joint in array.joints] == [(5, "sea"), (3, "sea")]
    assert (first[0].tolist(), second[-1].tolist()) == ([0.1, 0.2], [0.3, 0.4])
    assert (len(first) - 1) * step == pytest.approx(1.5)


def test_report_and_scan(reach, session, tmp_path) -> None:
    given = reach("bench_gui.headless.report.of_session.report_of", "report", session, tmp_path, "-o", tmp_path / "p")
    assert given == {"session": Path(session), "folder": tmp_path, "path": tmp_path / "p"}
    given = reach("drivers.scan.scan", "scan", "dynamixel", "port=/dev/x", "baud=57600")
    assert (given["family_name"], given["values"]) == ("dynamixel", {"port": "/dev/x", "baud": "57600"})


def test_spread(monkeypatch, tmp_path) -> None:
    from bench_gui.cli.commands.fleet import spread as spread_command

    words = ["spread", "folder", "--friction-model", "m2", "--to", "json", "--draws", "7", "--seed", "5", "--kp", "9",
             "--force", "-o", str(tmp_path)]  # fmt: skip
    options_are_all_given(words, ("to",))
    seen: list[Any] = []

    def write(*given, force):
        seen.extend((*given, force))
        return [], []

    monkeypatch.setattr("bench_gui.cli.commands.fleet.spread.write_spread", write)
    spread_command._write("a spread", build_parser().parse_args(words))  # type: ignore[arg-type]
    spread, to, folder, options = seen[:4]
    assert (spread, to, folder) == ("a spread", ("json",), tmp_path)
    assert (options.draws, options.seed, options.kp, seen[-1]) == (7, 5, 9.0, True)


@pytest.mark.parametrize(("asked", "friction"), [([], "m2"), (["--friction-model", "m1"], "m1")])
def test_outliers_of_a_spread_are_judged_by_the_transfer_of_its_own_model(reach, monkeypatch, asked, friction) -> None:
    transfer = SimpleNamespace(friction="m2")
    result = SimpleNamespace(recommended="m2", transfer=transfer, having=lambda chosen: f"units with {chosen}")
    monkeypatch.setattr("core.fleet.store.FleetStore.result", lambda _: result)
    spread = SimpleNamespace(population="a population")
    monkeypatch.setattr("bench_gui.cli.commands.fleet.spread.judged_spread", lambda *_: (spread, ""))
    every = tuple(vars(build_parser().parse_args(["spread", "folder"])))
    given = tuple(reach("core.fleet.outliers.find_outliers", "spread", "folder", *asked, but=every).values())
    assert given == ("a population", f"units with {friction}", transfer if friction == "m2" else None)


def test_bench_identify_offers_every_option() -> None:
    words = ["identify", "s", "-o", "r"]
    asked = options_from(build_parser().parse_args(words))
    assert [*options_of(IdentificationOptions)] == [field.name for field in fields(IdentificationOptions)]
    assert asked == {field.name: field.default for field in fields(IdentificationOptions)}


@pytest.mark.parametrize(
    ("parser", "taken", "refused"),
    [
        (not_negative, {"0": 0.0, "2.5": 2.5}, ("-0.001", "inf", "nan")),
        (positive_float, {"1e-9": 1e-9, "0.5": 0.5}, ("0", "-1", "inf", "nan")),
        (positive_int, {"1": 1, "12": 12}, ("0", "-1")),
        (friction_models, {"M2, m1": ("m2", "m1"), "all": FRICTION_MODELS}, ("", "m1,all", "m7")),
    ],
)
def test_numbers_and_names_at_the_edge_of_what_an_option_takes(parser, taken, refused) -> None:
    assert {text: parser(text) for text in taken} == taken
    for text in refused:
        with pytest.raises(argparse.ArgumentTypeError):
            parser(text)


ABOVE_ZERO = (
    "--duration --rate --mass --length --supply-voltage --dt --steady --torque-max --speed --alpha --stiffness "
    "--inertia --rotor-inertia --ratio --timestep --torque-limit --torque --hours --fastest --amplitude --decay "
    "--tolerance --load --period --fit-window --repetitions --sample --threads --count --repeats --substeps --trials "
    "--most-training-runs --simulated --workers --draws --points --iterations"
)
FROM_ZERO = "--prior --static --coulomb --viscous --gravity"


def parsers_below(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """A parser and those of its commands and tasks."""
    found = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [below for chosen in action.choices.values() for below in parsers_below(chosen)]
    return found


@pytest.mark.parametrize(("names", "refused"), [(ABOVE_ZERO, ("0", "-1")), (FROM_ZERO, ("-1", "nan", "inf"))])
def test_every_command_refuses_the_same_numbers_of_an_option(names, refused) -> None:
    """`bench import` takes what a file says, and its header is judged as a whole."""
    met = set()
    for parser in parsers_below(build_parser()):
        for action in parser._actions:
            name = next((flag for flag in action.option_strings if flag in names.split()), "")
            if not name or action.nargs == 0 or parser.prog == "bench import":
                continue
            met.add(name)
            assert action.type is not None, (parser.prog, name)
            for text in refused:
                with pytest.raises((argparse.ArgumentTypeError, ValueError)):
                    pytest.fail(f"{parser.prog} {name} {text} gives {action.type(text)}")
    assert met == set(names.split())


def test_bounds_are_given_from_the_lowest_to_the_highest() -> None:
    assert bounds_of("kt=1:2.5") == ("kt", 1.0, 2.5)
    assert frozen_value("kt=2.5") == ("kt", 2.5)
    for text in ("kt", "kt=1", "kt=1:b", "kt=:2"):
        with pytest.raises(IdentificationError, match=f"--bounds {text}: expected NAME=LOW:HIGH"):
            bounds_of(text)
