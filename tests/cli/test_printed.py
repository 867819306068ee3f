"""What people read: each number in its own column, in the unit of its heading, from inputs that are all unlike."""

from __future__ import annotations

import argparse
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace as Of
from typing import Any

import numpy as np
import pytest

from bench_gui.cli import build_parser, main
from bench_gui.cli.session_runs import say_damage
from bench_gui.cli.terminal import Visible, duration, milliradians, print_columns, print_json, print_table
from core.identification.evaluate import Evaluation, RunScore
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.catalogue import servos
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from sessions import Annotation, Session


@pytest.fixture
def printed(capsys):
    """Lines that were printed, each as its cells."""

    def lines() -> list[list[str]]:
        captured = capsys.readouterr()
        return [re.split(r"\s{2,}", line.strip()) for line in captured.out.splitlines()]

    return lines


@pytest.fixture
def machines(bench):
    """The JSON that a command prints for machines."""
    return lambda *words: bench(*words, "--json").data


@pytest.fixture
def stub(monkeypatch):
    """Replaces a function by one that returns this."""

    def put(target: str, result: Any) -> None:
        monkeypatch.setattr(target, lambda *_, **__: result)

    return put


def asked(*words: str) -> Any:
    return build_parser().parse_args(list(words))


def run(*words: object, code: int = 0) -> None:
    assert main([str(word) for word in words]) == code


def motion(time: np.ndarray) -> dict[str, np.ndarray]:
    goal, position = np.sin(3.0 * time), 0.9 * np.sin(3.0 * time - 0.1)
    return {"time": time, "goal_position": goal, "torque_enable": np.ones(len(time), np.uint8), "position": position}


@pytest.fixture
def session(tmp_path) -> str:
    """Two runs of 0.3 kg and one of 0.4 kg, in which no two conditions are alike."""
    home = Session.create(tmp_path / "s")
    for mass, kp, name in ((0.3, 100.0, "sin_sin"), (0.3, 200.0, "half_sine"), (0.4, 300.0, "steps")):
        time = 0.01 * np.arange(int(kp / 10))
        home.add(
            Recording(
                id="x",
                trajectory=name,
                bench=Bench(mass=mass, length=0.12, arm_mass=0.05),
                settings=ServoSettings(servo="xl330", kp=kp, supply_voltage=7.4),
                channels=motion(time),
            )
        )
    return str(home.path)


def test_a_table_has_numbers_to_the_right_and_a_dash_for_none(capsys) -> None:
    print_table(["name", "x/m"], [["a", 1.23456789], ["long name", None], ["b", 12]])
    assert capsys.readouterr().out == "name          x/m\na          1.2346\nlong name       –\nb              12\n"
    print_json({"a": [float("nan"), 1.5, float("inf")], "ü": (1,)})
    assert capsys.readouterr().out == '{\n  "a": [\n    null,\n    1.5,\n    null\n  ],\n  "ü": [\n    1\n  ]\n}\n'
    print_columns(["a", "bbb", "c"], width=12)
    assert capsys.readouterr().out == "  a     bbb\n  c\n"
    assert [duration(s) for s in (8.4, 59.6, 200.0)] == ["8 s", "1 min 0 s", "3 min 20 s"]
    assert [milliradians(x) for x in (0.002, -0.0123, None, np.inf)] == ["2.00", "−12.3", "–", "diverges"]


def test_runs(printed, session, capsys) -> None:
    first, second, third = (r.id for r in Session.open(session).runs())
    home = Session.open(session)
    home.annotate(first, Annotation(note="n" * 60, tags=("a", "b"), trim_begin=0.02, trim_end=0.05))
    home.annotate(second, Annotation(excluded=True, reason="slipped"))
    home.annotate(third, Annotation(note="third", tags=("c",), trim_end=0.1))
    run("runs", session)
    heads, *rows = printed()
    assert heads == ["id", "trajectory", "kp", "mass/kg", "length/m", "supply/V", "duration/s", "samples", "status",
                     "tags", "use", "note"]  # fmt: skip
    assert rows[0] == [first, "sin_sin", "100", "0.3", "0.12", "7.4", "0.09", "10", "success", "a, b",
                       "from 0.02 s to 0.05 s", "n" * 47 + "…"]  # fmt: skip
    assert rows[1] == [second, "half_sine", "200", "0.3", "0.12", "7.4", "0.19", "20", "success", "excluded: slipped"]
    assert rows[2][-3:] == ["c", "to 0.1 s", "third"]
    run("runs", session, "--tag", "c,d")
    assert [row[0] for row in printed()[1:]] == [third]
    (home.path / "annotations.json").write_text("{")
    run("runs", session)
    assert printed()[-1][0].startswith("note: ")
    run("runs", session, "--json")
    told = capsys.readouterr()
    assert [row["id"] for row in json.loads(told.out)] == [first, second, third]
    needed = {"trajectory": "sin_sin", "duration": 0.09, "samples": 10, "mass": 0.3, "length": 0.12, "kp": 100.0}
    assert json.loads(told.out)[0].items() >= needed.items()
    assert told.err.startswith("note: ")


SCORES = (
    RunScore(id="0001_sin_sin_kp100", mae=0.001, rmse=0.004, samples=11),
    RunScore(id="0002_half_sine_kp200", mae=0.003, rmse=0.007, samples=12),
    RunScore(id="0003_steps_kp300", mae=0.009, rmse=0.016, samples=13),
)


def test_evaluate(printed, stub, session, capsys) -> None:
    stub("core.identification.evaluate.evaluate", Evaluation(mean_mae=0.0125, mean_rmse=0.0375, runs=SCORES))
    stub("core.identification.evidence.extrapolation.used_beyond", "beyond what was seen")
    words = ["evaluate", session, "--model", "xl330:m2"]
    run(*words)
    heads, *rows = printed()
    assert heads == ["run", "MAE/mrad", "RMSE/mrad", "samples"]
    assert [row[1:] for row in rows[:3]] == [["1", "4", "11"], ["3", "7", "12"], ["9", "16", "13"]]
    assert rows[3][0].endswith("mean MAE 12.50 mrad, mean RMSE 37.50 mrad, all 3 runs")
    assert rows[4] == ["warning: beyond what was seen"]
    run(*words, "--by", "mass,length")
    assert printed()[:3] == [
        ["mass", "length", "runs", "MAE/mrad", "RMSE/mrad"],
        ["0.3", "0.12", "2", "2", "5.5"],
        ["0.4", "0.12", "1", "9", "16"],
    ]
    run(*words, "--by", "mass", "--json")
    data = json.loads(capsys.readouterr().out)
    assert data["by"] == ["mass"]
    assert [(g["mass"], g["runs"]) for g in data["groups"]] == [(0.3, 2), (0.4, 1)]
    assert [(g["mean_mae"], g["mean_rmse"]) for g in data["groups"]] == [
        (pytest.approx(0.002), pytest.approx(0.0055)), (pytest.approx(0.009), pytest.approx(0.016)),
    ]  # fmt: skip


def test_coverage(printed, stub, session) -> None:
    cell = Of(trajectory="sin_sin", mass=0.3, length=0.12, kp=9.0, supply_voltage=11.0, count=5)
    seen = Of(run="r1", speed_share=0.41, load_share=0.52, reversals=6, breakaways=7, saturated_share=0.083,
              released_share=0.09)  # fmt: skip
    timing = Of(step=0.005, command_lag=0.031)
    silent = Of(step=0.004, command_lag=float("nan"))
    floor = Of(trajectory="sin_sin", repetitions=2, runs=7, floor=0.003)
    stub(
        "core.identification.coverage.report.coverage",
        Of(grid=Of(cells=[cell]), excitation=[seen, seen], timing=[timing, silent], repeatability=[floor], findings=(),
           terms=[Of(symbol="K_v", verdict="open", text="no speed")]),
    )  # fmt: skip
    run("coverage", session)
    lines = printed()
    assert lines[:2] == [["trajectory", "mass/kg", "length/m", "kp", "supply/V", "runs"],
                         ["sin_sin", "0.3", "0.12", "9", "11", "5"]]  # fmt: skip
    assert lines[3:6] == [
        ["run", "speed/%", "load/%", "reversals", "breakaways", "saturated/%", "released/%", "step/ms", "lag/ms"],
        ["r1", "41", "52", "6", "7", "8.3", "9", "5", "31"],
        ["r1", "41", "52", "6", "7", "8.3", "9", "4", "–"],
    ]
    assert lines[7:9] == [["term", "verdict", "why"], ["K_v", "open", "no speed"]]
    assert lines[10:12] == [["repeated", "sets", "runs", "floor/mrad"], ["sin_sin", "2", "7", "3"]]
    assert lines[-1] == ["no problems found in these recordings"]


def test_crossvalidate(printed, stub, session) -> None:
    def number(mean: float, error: float = 0.0) -> Of:
        return Of(mean=mean, standard_error=error)

    variants = [Of(name="M1"), Of(name="M2")]
    shift = {"M1": 0.1, "M2": 0.2}
    found = Of(
        variants=variants,
        folds=[Of(label="kp 1"), Of(label="kp 2")],
        skipped=[("mass", "one mass")],
        stopped=True,
        choice=Of(
            best=variants[1],
            text="M2 it is",
            chosen=Of(friction="m2", contact="rigid", command_path=("command_delay",)),
        ),
        error=lambda v: number(0.001 + shift[v.name], 0.002 + shift[v.name]),
        difference=lambda v, best: number(0.003 + shift[v.name] - shift[best.name], 0.004 + shift[v.name]),
        fit=lambda v, fold: number((0.005 if fold.label == "kp 1" else 0.006) + shift[v.name]),
    )
    transfer = Of(condition="kp", labels=["1", "2"], errors=[[0.011, 0.012], [0.013, float("nan")]], text="transfers")
    kept = Of(
        found=found,
        transfers=[transfer],
        terms=Of(terms=[Of(term=Of(title="delay"), training=0.021, held_out=number(0.022, 0.023))], text="terms"),
        floors=[Of(trajectory="", repetitions=3, floor=0.031, error=0.032, ratio=1.26)],
        floors_text="floors",
    )
    stub("sessions.results.crossvalidating.run_crossvalidation", kept)
    run("crossvalidate", session)
    lines = [line for line in printed() if line != [""]]
    assert lines[:-2] == [
        ["held out, mrad", "mean", "±", "to best", "±", "kp 1", "kp 2"],
        ["M1", "101.0", "102.0", "−97.0", "104.0", "105.0", "106.0"],
        ["M2", "201.0", "202.0", "3.00", "204.0", "205.0", "206.0"],
        ["M2 it is"],
        ["mass was not held out: one mass"],
        ["stopped early; the conditions above are complete"],
        ["fitted to \\ on, kp", "1", "2"],
        ["1", "11.0", "12.0"],
        ["2", "13.0", "–"],
        ["transfers"],
        ["without", "training/mrad", "held out/mrad", "±"],
        ["delay", "21.0", "22.0", "23.0"],
        ["terms"],
        ["repetitions of", "sets", "floor/mrad", "model/mrad", "times the floor"],
        ["all", "3", "31.0", "32.0", "1.3"],
        ["floors"],
    ]
    following = f"next: bench identify {session} --models m2"
    assert lines[-2] == [f"{following} --command-path --contact rigid --validation none -o RESULT"]
    found.choice.chosen.command_path = ()
    run("crossvalidate", session)
    assert printed()[-2] == [f"{following} --no-command-path --contact rigid --validation none -o RESULT"]


def test_identify(printed, tmp_path) -> None:
    from bench_gui.cli.commands.model import identify as identify_command
    from core.identification.identify import IdentificationRequest, identify

    home = Session.create(tmp_path / "s")
    for k in range(3):
        time = 0.01 * np.arange(100)
        home.add(
            Recording(
                id="x", trajectory="sin_sin", bench=Bench(mass=0.3, length=0.12),
                settings=ServoSettings(servo="xl330", kp=400.0 + k, supply_voltage=7.4),
                channels=motion(time),
            )
        )  # fmt: skip
    request = IdentificationRequest(
        servo="xl330", models=("m1",), trials=20, repeats=2, polish=False, validation="kp=401", threads=1, substeps=1
    )
    found = identify(request, home.load_all())
    [result] = found.results
    identify_command._print_verdict(found, tmp_path, asked("identify", "s", "-o", "r"))
    heads, row = printed()[:2]
    assert heads == ["model", "training/mrad", "held out/mrad", "spread/mrad", "evaluations", "time/s"]
    errors = [result.train_mae, result.validation_mae, result.spread]
    assert row[0] == "M1"
    assert [float(cell) for cell in row[1:4]] == [
        pytest.approx(1e3 * float(x or 0), rel=5e-3, abs=5e-3) for x in errors
    ]
    assert row[4] == str(result.evaluations)
    assert float(row[5]) == pytest.approx(result.wall_seconds, abs=0.05)


def test_feedforward(printed, stub, tmp_path) -> None:
    def one(title: str, shift: float) -> Of:
        motion = Of(time=np.array([0.0, 0.5]), position=np.array([1.25, 1.5]) + shift)
        return Of(title=title, mode="m", rms_mrad=11.0 + shift, mean_mrad=12.0 + shift, worst_mrad=13.0 + shift,
                  saturated_share=0.14 + shift, goal=np.array([2.25, 2.5]) + shift, motion=motion,
                  model=Of(friction="m1"))  # fmt: skip

    stub("core.practice.feedforward.compensation_experiment", [one("without", 0.0), one("with", 0.5)])
    run("feedforward", "mx106:m1", "--trajectory", "sin_sin", "--csv", tmp_path / "f.csv")
    assert printed()[:3] == [
        ["trajectory", "compensated", "rms/mrad", "mean/mrad", "worst/mrad", "beyond the servo/%"],
        ["sin_sin", "without", "11", "12", "13", "14"],
        ["sin_sin", "with", "11.5", "12.5", "13.5", "64"],
    ]
    assert (tmp_path / "f.csv").read_text("utf-8").splitlines() == [
        "trajectory,time,wanted,goal: without,position: without,goal: with,position: with",
        "sin_sin,0,2.25,2.25,1.25,2.75,1.75",
        "sin_sin,0.5,2.5,2.5,1.5,3,2",
    ]


LAW = Of(static=1.5, title="Law")


def moved(shift: float = 0.0) -> Of:
    return Of(time=np.array([0.0, 0.5]), position=np.array([1.0, 2.0]) + shift, velocity=np.array([3.0, 4.0]) + shift,
              torque=np.array([5.0, 6.0]) + shift, friction=np.array([7.0, 8.0]) + shift)  # fmt: skip


def test_stiction(printed, machines, stub, tmp_path) -> None:
    response = Of(rest=0.5, stop_time=0.6, held_torque=0.7, slips=[1, 2, 3], breakaway_torques=(0.81, 0.92),
                  motion=moved())  # fmt: skip
    stub("core.studies.stiction.experiments.step_response", response)
    run("stiction", "step", "--law", "stribeck", "--static", "2", "--csv", tmp_path / "s.csv")
    lines = printed()
    assert lines[1:3] == [["law", "last angle/°", "published/°", "rests after/s", "last torque/N·m"],
                          ["stribeck", "28.648", "–", "0.6", "0.7"]]  # fmt: skip
    assert (tmp_path / "s.csv").read_text("utf-8").splitlines() == [
        "time,stribeck: position,stribeck: velocity,stribeck: torque,stribeck: friction", "0,1,3,5,7", "0.5,2,4,6,8",
    ]  # fmt: skip
    run("stiction", "step", "--law", "stribeck", "--integral")
    assert printed()[1:3] == [["law", "last angle/°", "slips", "breaks away at/N·m"],
                              ["stribeck", "28.648", "3", "0.810 … 0.920"]]  # fmt: skip
    (law,) = machines("stiction", "step", "--law", "stribeck", "--static", "2")["laws"]
    assert law == {
        "law": "stribeck", "last_deg": pytest.approx(28.648, abs=1e-3), "rest_deg": law["last_deg"],
        "published_rest_deg": None, "stop_time": 0.6, "held_torque": 0.7, "slips": 3,
        "breakaway_torques": [0.81, 0.92],
    }  # fmt: skip
    friction = Of(name="naive")
    stub(
        "core.studies.stiction.experiments.holding",
        (Of(friction=friction, reversals=3.0, drift=0.004, ripple=0.005), moved()),
    )
    run("stiction", "chatter")
    assert printed()[1:3] == [["friction", "reversals per s", "drift/(mrad/s)", "largest speed/(mrad/s)"],
                              ["naive", "3", "4", "5"]]  # fmt: skip
    rows = machines("stiction", "chatter")["frictions"]
    assert rows[0] == {"friction": "naive", "reversals_per_second": 3.0, "drift": 0.004, "ripple": 0.005}
    pulled = Of(friction=friction, step=0.002, frequency=3.5, reversals=4.5)
    stub("core.studies.stiction.experiments.pulled", (pulled, moved()))
    stub("core.studies.stiction.experiments.spread", 0.125)
    run("stiction", "stickslip")
    lines = printed()
    assert lines[1:3] == [["friction", "time step/ms", "slips per s", "reversals per s"], ["naive", "2", "3.5", "4.5"]]
    assert lines[-1][0].endswith("slips per second differ by 12.5 % between the time steps")
    rows = machines("stiction", "stickslip")["runs"]
    assert rows[0] == {"friction": "naive", "step": 0.002, "frequency": 3.5, "reversals_per_second": 4.5}
    stub("core.studies.stiction.experiments.hold_for", (0.25, 0.125))
    run("stiction", "hold", "--law", "coulomb", "--hours", "2")
    assert printed() == [["joint held under 0.9 N·m for 2 h"], ["law", "displacement/rad", "change/rad"],
                         ["coulomb", "0.25", "0.125"]]  # fmt: skip
    rows = machines("stiction", "hold", "--law", "coulomb")["laws"]
    assert rows == [{"law": "coulomb", "displacement": 0.25, "change": 0.125}]
    stub("core.studies.stiction.documents.transformed", (np.array([3.0, 4.0]), np.array([5.0, 6.0])))
    run("stiction", "curves", "--law", "coulomb", "--coulomb", "2", "--fastest", "0.5", "--csv", tmp_path / "k.csv")
    heads, first, second = (tmp_path / "k.csv").read_text("utf-8").splitlines()
    assert heads == "coulomb: v,coulomb: friction,coulomb: v*,coulomb: implicit friction"
    assert [[float(cell) for cell in row.split(",")] for row in (first, second)] == [
        [-0.5, -4.25, 3.0, 5.0],
        [0.5, 4.25, 4.0, 6.0],
    ]


SOFT = Of(title="soft one", name="soft", actuator=Of(title="QB", name="qbmove"))


def test_compliant(printed, machines, stub, tmp_path) -> None:
    motion = Of(time=np.array([0.0, 0.5]), position=np.array([1.0, 2.0]), link_torque=np.array([3.0, 4.0]))
    one = Of(behaviour=SOFT, final_error=0.001, overshoot=0.002, settling_time=0.3, worst_error=0.004, motion=motion,
             wanted=np.array([5.0, 6.0]), link_equilibrium=np.array([7.0, 8.0]))  # fmt: skip
    stub("core.studies.compliant.experiments.step_responses", [one])
    run("compliant", "step", "--csv", tmp_path / "s.csv")
    assert printed()[:2] == [["actuator", "behaviour", "final error/mrad", "overshoot/mrad", "settled after/s"],
                             ["QB", "soft one", "1", "2", "0.3"]]  # fmt: skip
    assert (tmp_path / "s.csv").read_text("utf-8").splitlines() == [
        'time,wanted,"link, qbmove, soft","link equilibrium, qbmove, soft","spring torque, qbmove, soft"',
        "0,5,1,7,3", "0.5,6,2,8,4",
    ]  # fmt: skip
    assert machines("compliant", "step")["runs"] == [
        {"actuator": "qbmove", "behaviour": "soft one", "final_error": 0.001, "overshoot": 0.002, "settling_time": 0.3}
    ]
    stub("core.studies.compliant.experiments.sinusoid_runs", [one])
    run("compliant", "sine")
    assert printed()[:2] == [["behaviour", "largest error/mrad"], ["soft one", "4"]]
    assert machines("compliant", "sine")["runs"] == [{"behaviour": "soft one", "worst_error": 0.004}]
    response = Of(run=one, bandwidth=3.25, frequency=np.array([0.5, 6.0]), magnitude=np.array([0.9, 0.4]),
                  phase=np.array([0.1, 0.2]))  # fmt: skip
    stub("core.studies.compliant.experiments.frequency_responses", [response])
    run("compliant", "chirp", "--csv", tmp_path / "c.csv")
    assert printed()[:2] == [["behaviour", "magnitude at 0.5 Hz", "magnitude at 6 Hz", "bandwidth/Hz"],
                             ["soft one", "0.9", "0.4", "3.25"]]  # fmt: skip
    assert machines("compliant", "chirp")["responses"] == [
        {"behaviour": "soft one", "bandwidth": 3.25, "first_magnitude": 0.9, "last_magnitude": 0.4,
         "frequency": [0.5, 6.0], "magnitude": [0.9, 0.4], "phase": [0.1, 0.2]}
    ]  # fmt: skip
    assert (tmp_path / "c.csv").read_text("utf-8").splitlines() == [
        'frequency,"magnitude, soft","phase, soft",time,wanted,"link, qbmove, soft","link equilibrium, qbmove, soft",'
        '"spring torque, qbmove, soft"', "0.5,0.9,0.1,0,5,1,7,3", "6,0.4,0.2,0.5,6,2,8,4",
    ]  # fmt: skip
    pair = Of(time=np.array([0.0]), position=np.array([[1.0, 2.0]]), equilibrium=np.array([[3.0, 4.0]]))
    longer = Of(**{name: np.repeat(value, 2, 0) for name, value in vars(pair).items()})
    arm = {"behaviour": SOFT, "final_error": np.array([0.001, 0.002]), "worst": np.array([0.005, 0.006]),
           "turns": np.array([3, 4])}  # fmt: skip
    held, norm = np.array([[5.0, 6.0]]), np.array([7.0])
    stub(
        "core.studies.compliant.experiments.arm_steps", [Of(**arm, motion=pair, link_equilibrium=held, error_norm=norm)]
    )
    twice = {"link_equilibrium": np.repeat(held, 2, 0), "error_norm": np.repeat(norm, 2)}
    stub("core.studies.compliant.experiments.arm_sinusoids", [Of(**arm, motion=longer, **twice)])
    run("compliant", "arm", "--csv", tmp_path / "a.csv")
    lines = printed()
    assert lines[:2] == [["horizontal step", "end/mrad of joint 1", "turns of joint 1", "end/mrad of joint 2",
                          "turns of joint 2"], ["soft one", "1", "3", "2", "4"]]  # fmt: skip
    assert lines[3:5] == [["vertical sinusoid", "largest error of joint 1/mrad", "largest error of joint 2/mrad"],
                          ["soft one", "5", "6"]]  # fmt: skip
    heads, first, second = (tmp_path / "a.csv").read_text("utf-8").splitlines()
    assert heads.startswith('time of the step,step: wanted_1,step: wanted_2,"step: link, soft, joint 1"')
    assert (first, second) == ("0,3,4,1,2,5,6,7,0,3,4,1,2,5,6,7", ",,,,,,,,0,3,4,1,2,5,6,7")
    boxed = Of(behaviour=SOFT, pushed=0.001, short=0.002, motion=Of(time=[0.0], tip_force=np.array([7.0, 3.0]),
               box=[0.5]), tip=np.array([[0.1, 0.2]]), way=np.array([[0.3, 0.4]]))  # fmt: skip
    stub("core.studies.compliant.experiments.box_runs", [boxed])
    run("compliant", "box")
    heads = ["behaviour", "box moved/mm", "tip short of its goal/mm", "largest push/N", "last push/N"]
    assert printed()[1:3] == [heads,
                              ["soft one", "1", "2", "7", "3"]]  # fmt: skip
    (row,) = machines("compliant", "box")["runs"]
    assert row == {"behaviour": "soft one", "pushed": 0.001, "short": 0.002, "largest_push": 7.0, "last_push": 3.0}
    each = Of(number=1, worst=np.array([0.001, 0.003]), root_mean_square=np.array([0.002, 0.004]),
              equilibrium=np.zeros((2, 2)), position=np.zeros((2, 2)), link_equilibrium=np.zeros((2, 2)),
              error_norm=np.array([0.005, 0.004]))  # fmt: skip
    stub(
        "core.studies.compliant.learning.learn", Of(iterations=[each], best=each, converged=False, warning="too stiff")
    )
    run("compliant", "learn")
    heads = ["iteration", "joint 1: largest/mrad", "rms/mrad", "joint 2: largest/mrad", "rms/mrad"]
    assert printed()[:3] == [
        [*heads, "largest ‖q̂−q‖₂/mrad"],
        ["1", "1", "2", "3", "4", "5"],
        ["warning: too stiff"],
    ]
    found = machines("compliant", "learn")
    assert (found["converged"], found["warning"], found["best"]) == (False, "too stiff", 1)
    assert found["iterations"] == [
        {"iteration": 1, "worst_error": [0.001, 0.003], "rms_error": [0.002, 0.004], "largest_norm": 0.005}
    ]


def test_compliant_springs_and_joints(printed, machines, stub) -> None:
    run("compliant", "curve", "--actuator", "qbmove", "--presets", "0.3,0.6")
    _, heads, *rows = printed()
    assert heads == ["preset/rad", "stiffness/(N·m/rad)", "rests at/rad", "torque within ±0.8 rad/(N·m)"]
    found = machines("compliant", "curve", "--actuator", "qbmove", "--presets", "0.3,0.6")["presets"]
    keys = ("preset", "stiffness_at_rest", "rests_at", "largest_torque")
    assert [[float(cell) for cell in row] for row in rows] == [
        [pytest.approx(row[key], rel=1e-3, abs=1e-9) for key in keys] for row in found
    ]
    state = Of(position=np.array([[9.0, 9.0], [1.0, 2.0]]), effort=np.array([[9.0, 9.0], [3.0, 4.0]]))
    motion = Of(robot_state=state, stiffness=np.array([[9.0, 9.0], [5.0, np.inf]]))
    stub("core.studies.compliant.array.simulate_array", motion)
    stub("bench_gui.cli.commands.studies.compliant_move._columns", {})
    run("compliant", "move", "--mode", "5,6", "--first", "0.1,0.2")
    assert printed() == [
        ["joint", "mode", "first command", "second command", "link/rad", "torque/(N·m)", "stiffness/(N·m/rad)"],
        ["joint_1", "5", "reference_1", "reference_2", "1", "3", "5"],
        ["joint_2", "6", "equilibrium_position", "stiffness_preset", "2", "4", "–"],
    ]
    first, _ = machines("compliant", "move", "--mode", "5,6", "--first", "0.1,0.2")["joints"]
    assert first == {
        "joint": "joint_1", "mode": 5, "topics": ["joint_1/reference_1", "joint_1/reference_2"],
        "last_position": 1.0, "last_effort": 3.0, "last_stiffness": 5.0,
    }  # fmt: skip


def test_compliant_identify(printed) -> None:
    from bench_gui.cli.commands.studies import compliant_identify

    def number(**more: Any) -> Of:
        facts = {"symbol": "k", "value": 1.5, "frozen": False, "grade": Of(figure="1.5", width="0.25"), "unit": "N",
                 "initial": 2.503, "half_width": 0.25, "name": "k1"}  # fmt: skip
        return Of(**{**facts, **more})

    found = Of(
        unit=Of(actuator=Of(title="QB")), request=Of(mode=6), split=Of(train=["a", "b"]), evaluations=7,
        train_mae=0.001, validation_mae=0.002, stopped=False,
        evidence=Of(
            parameters=[number(), number(frozen=True, half_width=np.nan), number(grade=Of(figure="≤ 2", width="–"))],
            warnings=["mind"],
        ),
    )  # fmt: skip
    compliant_identify._print(found, (0.003, 0.004))  # type: ignore[arg-type]
    assert printed() == [
        ["QB, mode 6: 2 runs, 7 trials"],
        ["parameter", "value", "± (95 %)", "unit", "start value"],
        ["k", "1.5", "0.25", "N", "2.50", "k1"],
        ["k", "1.5", "fixed", "N", "2.503", "k1"],
        ["k", "≤ 2", "–", "N", "2.50", "k1"],
        ["model", "training/mrad", "validation/mrad"],
        ["QB", "1.00", "2.00"],
        ["servo model M1", "3.00", "4.00"],
        ["mind"],
    ]


def test_fleet(printed, capsys) -> None:
    from bench_gui.cli.commands.fleet import fleet as fleet_command

    best = Of(model=Of(friction="m2"), train_mae=0.001, validation_mae=0.002)
    units = [
        Of(facts=Of(name="u1", runs=[1, 2, 3]), done=4, tasks=5, best=best),
        Of(facts=Of(name="u2", runs=[1]), done=0, tasks=6, best=None),
    ]
    transfer = Of(units=["u2", "u1"], received=np.array([0.007, 0.008]), own=np.array([0.01]),
                  elsewhere=np.array([0.02]), friction="m2")  # fmt: skip
    result = Of(units=units, transfer=transfer, problems={"u3": "gone"}, models=["m2"], complete=False, choice="M2.")
    fleet_command._show(result, Path("f"), False)  # type: ignore[arg-type]
    assert printed() == [
        ["unit", "runs", "fits", "best", "training/mrad", "validation/mrad", "others' models/mrad"],
        ["u1", "3", "4/5", "M2", "1.00", "2.00", "8.00"],
        ["u2", "1", "0/6", "–", "–", "–", "7.00"],
        ["u3 cannot be fitted: gone"],
        ["some fits are missing; run the same command again to compute them"],
        ["All units: M2."],
        ["One unit's M2 has an error of 10.00 mrad there and 20.00 mrad on the others."],
        ["models are in f/units"],
    ]
    facts = [Of(name=name, to_json=lambda name=name: {"name": name}) for name in ("u1", "u2")]
    kt = Of(name="kt", standard_error=0.3)
    fit = Of(train_mae=0.001, validation_mae=0.002, model=Of(friction="m2", values={"kt": 1.5}),
             evidence=Of(parameters=[kt]))  # fmt: skip
    for unit, known in zip(units, facts, strict=True):
        unit.facts, unit.results = known, {"m2": fit} if known.name == "u1" else {}
    transfer.to_json = lambda: {"of": "all"}
    result.plan, result.done, result.recommended = Of(tasks=11), 4, "m2"
    fleet_command._show(result, Path("f"), True, 3)  # type: ignore[arg-type]
    found = json.loads(capsys.readouterr().out)
    assert {name: found[name] for name in ("folder", "tasks", "done", "computed", "recommended", "problems")} == {
        "folder": "f", "tasks": 11, "done": 4, "computed": 3, "recommended": "m2", "problems": {"u3": "gone"},
    }  # fmt: skip
    first, second = found["units"]
    assert (second["name"], second["tasks"], second["done"], second["best"]) == ("u2", 6, 0, None)
    assert first["models"]["m2"] == {
        "train_mae": 0.001, "validation_mae": 0.002, "parameters": {"kt": 1.5}, "standard_errors": {"kt": 0.3},
    }  # fmt: skip
    step = fleet_command._say_effort
    from core.fleet.driver import FleetProgress

    made = FleetProgress.__new__(FleetProgress)
    for name, value in {"done": 9, "computed": 3, "seconds": 75.0}.items():
        object.__setattr__(made, name, value)
    step(Of(tasks=12, units=[1, 2]), made, False)  # type: ignore[arg-type]
    assert printed() == [["12 fits of 2 units: 3 tasks computed in 1 min 15 s, 6 already there"]]


def test_spread(printed) -> None:
    from bench_gui.cli.commands.fleet import spread as spread_command

    parameter = Of(
        name="kt", centre=1.2513, centre_error=0.05, unit="N·m/A",
        determined=np.array([True, True, False, False]), values=np.array([1.0, 1.2, 1.3, 1.5]),
        between=0.1, between_interval=(0.2, 0.3), uncertainty=0.4, differs=True, known=True,
        in_words=lambda value: f"{100 * value:.0f} %", half_width=lambda error: 2 * error,
    )  # fmt: skip
    open_one = Of(**{**vars(parameter), "name": "R", "known": False, "centre_error": np.inf})
    population = Of(parameters=[parameter, open_one], servo="mx106", friction="m2", units=[1, 2, 3],
                    strongest=[("kt", "R", -0.5), ("R", "J", 0.05)])  # fmt: skip
    spread = Of(population=population, errors=Of(text="errors"))
    spread_command._print(spread, Of(found=[], note=""), "")  # type: ignore[arg-type]
    assert printed() == [
        ["mx106 M2, 3 units"],
        ["parameter", "centre", "unit", "units", "range", "between units", "95 %", "uncertainty", "differ"],
        ["kt", "1.25", "N·m/A", "2", "1.00 … 1.50", "10 %", "20 % … 30 %", "40 %", "yes"],
        ["R", "1.3", "N·m/A", "2", "1.00 … 1.50", "–", "–", "–", "–"],
        ["vary together: kt and R -0.50"],
        ["errors"],
        ["no unit is an outlier"],
    ]
    parameter.differs = False
    outliers = Of(found=[Of(text="u1 is unlike"), Of(text="u2 too")], note="")
    spread_command._print(spread, outliers, "a note")  # type: ignore[arg-type]
    lines = printed()
    assert lines[2][-1] == "no"
    assert lines[-3:] == [["a note"], ["outlier: u1 is unlike"], ["outlier: u2 too"]]


def test_next(printed) -> None:
    from bench_gui.cli.commands.session import next as next_command

    cell = Of(trajectory="sin_sin", mass=0.3, length=0.12, kp=9.0)
    found = Of(proposals=[Of(cell=cell, factor=2.5, words="pins down kt")], basis="basis")
    next_command._show(asked("next", "my place"), found)  # type: ignore[arg-type]
    assert printed() == [
        ["trajectory", "mass/kg", "length/m", "gain", "volume", "effect"],
        ["sin_sin", "0.3", "0.12", "9", "÷ 2.5", "pins down kt"],
        ["basis"],
        ["the first: bench record --trajectory sin_sin --mass 0.3 --length 0.12 --kp 9 -o 'my place'"],
    ]


def test_certainty(printed) -> None:
    from bench_gui.cli.commands.model import certainty as certainty_command

    def parameter(**more: Any) -> Of:
        facts = {"name": "kt", "grade": Of(figure="1.5", width="0.25"), "unit": "N", "remarks": ("one", "two")}
        facts |= {"profile": Of(text="a profile"), "spread": Of(text="a bootstrap")}
        return Of(**{**facts, **more})

    bare = parameter(grade=Of(figure="1.5", width="∞"), profile=None, spread=None, remarks=("none",))
    made = Of(draws=7, parameters=[parameter(), bare], notes=["note"], friction="m2", stopped=True)
    certainty_command._print(made)  # type: ignore[arg-type]
    assert printed() == [
        ["parameter", "value", "unit", "± 95 %", "profile 95 %", "bootstrap, 7 draws", "remarks"],
        ["kt", "1.5", "N", "0.25", "a profile", "a bootstrap", "one; two"],
        ["kt", "1.5", "N", "∞", "–", "–", "none"],
        ["M2: note"],
        ["stopped early; complete results are kept"],
    ]


def test_webots(printed) -> None:
    from bench_gui.cli.commands.studies.webots import traces_csv
    from bench_gui.render.terminal import print_document
    from core.studies.webots.documents import loss_document, motion_document, summary

    fields = Of(units={"position": "rad", "velocity": "rad/s", "force": "N·m", "acceleration": "rad/s²"})
    from core.studies.webots.trace import COLUMNS

    values = {name: np.array([10.0 * k, 10.0 * k + 1.0]) for k, name in enumerate(COLUMNS)}
    trace = Of(name="motor", fields=fields, **values)
    trace.position, trace.force = np.array([-3.0, 2.0]), np.array([np.nan, -5.0])
    trace.motor_force = np.array([4.0, 99.0])
    print_document(motion_document([trace], {}), (), as_json=False)  # type: ignore[list-item]
    assert printed() == [
        ["servo", "steps", "lowest", "highest", "last", "unit", "largest force", "unit"],
        ["motor", "2", "−3", "2", "2", "rad", "5", "N·m"],
    ]
    trace.position = np.array([7.0, 6.5])
    row = summary(trace)  # type: ignore[arg-type]
    assert [row[name] for name in ("lowest", "highest", "last")] == [6.5, 7.0, 6.5]
    trace.position = np.array([-3.0, 2.0])
    heads, first, _ = traces_csv([trace]).splitlines()  # type: ignore[list-item]
    units = {"target": "rad", "position": "rad", "velocity": "rad/s", "wanted_velocity": "rad/s"}
    names = [name for name in COLUMNS if name != "time"]
    assert heads.split(",") == ["time [s]", *(f"motor.{name} [{units.get(name, 'N·m')}]" for name in names)]
    assert first.split(",") == [repr(float(getattr(trace, name)[0])) for name in ("time", *names)]
    number = Of(name="max_force", value=1.5, unit="N·m", interval=(1.25, 1.75), determined=True, remark="its limit")
    row = Of(name="M2", train_mae=0.003, validation_mae=None)
    found = Of(title="a servo", kp=9.0, numbers=[number], train_mae=0.001, validation_mae=0.002, rows=[row],
               lost=lambda _: -0.004)  # fmt: skip
    print_document(loss_document(found, {}), (), as_json=False)  # type: ignore[arg-type]
    assert printed() == [
        ["Webots Servo fitted to a servo; controlP at gain 9"],
        ["field", "value", "unit", "95 % from", "to", "remark"],
        ["maxForce", "1.5", "N·m", "1.25", "1.75", "its limit"],
        ["model", "fitted runs/mrad", "held out/mrad", "lost by the node/mrad"],
        ["Webots Servo", "1", "2", "–"],
        ["M2", "3", "–", "−4"],
    ]


def test_drive_backdrive(printed, stub) -> None:
    diagram = Of(motor_torque=np.array([-1.0, 1.0]), velocity=np.array([0.0, 2.0]),
                 drive=np.array([[3.0, 4.0], [5, 6]]),
                 backdrive=np.array([[7.0, 8.0], [9, 10]]), self_locking=np.array([True]))  # fmt: skip
    stub("core.practice.diagram.drive_backdrive_diagram", diagram)
    run("drive-backdrive", "--model", "mx106:m2")
    assert printed() == [
        ["motor torque/N·m", "drive at 0 rad/s", "backdrive at 0 rad/s", "drive at 2 rad/s", "backdrive at 2 rad/s"],
        ["−1", "3", "7", "4", "8"],
        ["1", "5", "9", "6", "10"],
        ["self-locking: no external torque backdrives it"],
    ]


def test_place(printed, stub, tmp_path) -> None:
    line = {"motor_torque": 0.3, "repeat": 1, "lowest": 0.5, "highest": 0.75, "drive": 0.1, "backdrive": 0.2,
            "model_drive": 0.4, "model_backdrive": float("nan")}  # fmt: skip
    stub("bench_gui.headless.place.measuring.place_points", [Of(servo="mx106")])
    stub("bench_gui.headless.place.measuring.summary", [line])
    run("place", "--model", "mx106:m2", "-o", tmp_path)
    assert printed() == [
        ["motor torque/N·m", "repeat", "lowest/°", "highest/°", "drive/N·m", "backdrive/N·m", "drive of M2",
         "backdrive of M2"],
        ["0.3", "1", "28.648", "42.972", "0.1", "0.2", "0.4", "–"],
    ]  # fmt: skip


def test_models(printed, machines) -> None:
    run("models", "mx106:m2")
    model = load_model("mx106", "m2")
    lines = printed()
    assert lines[2] == ["parameter", "symbol", "value", "unit", "lower", "upper", "meaning"]
    rows = {row[0]: row for row in lines[3:]}
    for name, p in model.parameters.items():
        assert [float(x.replace("−", "-")) for x in (rows[name][2], *rows[name][-3:-1])] == [
            pytest.approx(x, rel=1e-3) for x in (p.value, p.lower, p.upper)
        ]
        assert rows[name][1] == p.symbol
    run("models")
    heads, *lines = printed()
    assert heads == ["servo", "title", "law", "supply/V", "stall torque/N·m", "models"]
    listed = {line[0]: line for line in lines}
    for spec in servos().values():
        assert listed[spec.name][1:3] == [spec.title, spec.control.law]
        numbers = [spec.supply_voltage, spec.stall_torque]
        assert [float(cell) for cell in listed[spec.name][3:5]] == [pytest.approx(x, rel=1e-3) for x in numbers]
    told = {entry["servo"]: entry for entry in machines("models")}
    for spec in servos().values():
        entry = told[spec.name]
        assert (entry["title"], entry["law"], entry["own"]) == (spec.title, spec.control.law, False)
        assert entry["supply_voltage"] == spec.supply_voltage
        assert (entry["error_gain"], entry["output_limit"]) == (spec.control.error_gain, spec.control.output_limit)


def test_demo_and_benchmark(printed, stub, tmp_path) -> None:
    row = Of(model="m2", train_mrad=1.5, validation_mrad=2.5, truth_mrad=3.5)
    stub("bench_gui.headless.demo.run_demo", Of(rows=[row], choice="M2.", report="r.html", seconds=75.0))
    run("demo", "-o", tmp_path / "d")
    lines = printed()
    assert lines[:2] == [["model", "training/mrad", "validation/mrad", "against the truth/mrad"],
                         ["M2", "1.5", "2.5", "3.5"]]  # fmt: skip
    assert lines[-1] == ["report: r.html (1 min 15 s in all)"]
    stub("core.identification.benchmark.run_benchmark", [Of(name="step", value=1.5, unit="ns")])
    run("benchmark")
    assert printed() == [["figure", "value", "unit"], ["step", "1.5", "ns"]]


def test_arm(printed, stub, tmp_path) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    from bench_gui.cli.commands.studies import arm as arm_command

    candidates = [Of(name="m2"), Of(name="m6")]
    case = Of(title="Circle, high", errors={"m6": Of(mae_mrad=2.5), "m2": Of(mae_mrad=1.5)})
    stub("core.studies.arm.validation.validate_arm", Of(candidates=candidates, cases=[case]))
    stub("core.studies.arm.validation.arm_candidates", candidates)
    run("arm", "validate")
    assert printed()[1:] == [
        ["case", "m2", "m6"], ["Circle, high", "1.5", "2.5"], [arm_command.ASSUMED_LINKS], [arm_command.NOT_REPEATED],
    ]  # fmt: skip
    n = np.arange(2.0)
    pairs = {name: np.stack([10 * k + n, 10 * k + 5 + n], 1) for k, name in
             enumerate(("goal", "position", "velocity", "motor_torque"), 1)}  # fmt: skip
    stub("core.studies.arm.simulate.simulate_arm", Of(time=n, **pairs))
    stub("core.studies.arm.kinematics.tip_positions", np.array([[91.0, 92.0], [93.0, 94.0]]))
    run("arm", "simulate", "-o", tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines() == [
        "time,goal1,goal2,q1,q2,v1,v2,tau1,tau2,x,z",
        "0.0,10.0,15.0,20.0,25.0,30.0,35.0,40.0,45.0,91.0,92.0",
        "1.0,11.0,16.0,21.0,26.0,31.0,36.0,41.0,46.0,93.0,94.0",
    ]
    assert arm_command.TRUTH == "m6"


def test_export(printed, machines, stub, tmp_path) -> None:
    written = Of(files=[Path("a"), Path("b")], notes=["mind"])
    stub("core.export.export_model", written)
    checked = Of(statement="It was run.", figure="f", table="t", mean_mrad=2.5, worst_mrad=3.5, errors={"r": 4.5})
    stub("core.export.check_export", checked)
    words = ("export", "mx106:m1", "--to", "c", "--check", "-o", tmp_path)
    run(*words)
    assert printed() == [
        ["a"], ["b"], ["note: mind"], ["It was run."],
    ]  # fmt: skip
    assert machines(*words) == {
        "files": ["a", "b"], "notes": ["mind"], "checked_mrad": 2.5, "not_checked": None,
        "checked": {"how": "It was run.", "worst_mrad": 3.5, "mrad": {"r": 4.5}},
    }  # fmt: skip


def test_characters_that_steer_a_terminal_are_shown_as_escapes() -> None:
    stream = io.StringIO()
    Visible(stream).write("\x1b[31mred\u202e\tand\n")
    assert stream.getvalue() == "\\u001b[31mred\\u202e\tand\n"


def test_damage_is_said_once_and_ends_the_command_so(capsys) -> None:
    arguments = argparse.Namespace(damage=False)
    say_damage(arguments, "", "0003 damaged", "0003 damaged")
    assert capsys.readouterr().err == "warning: 0003 damaged\n"
    assert arguments.damage
    sound = argparse.Namespace(damage=False)
    say_damage(sound, "", "")
    assert not sound.damage
