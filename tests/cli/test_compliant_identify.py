"""`bench compliant identify`: from a session to values, a file, and what else takes that file."""

import json
from dataclasses import replace
from functools import partial

import pytest

from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.studies.compliant.elastic import Sea
from core.studies.compliant.files import CompliantUnit, read_unit, write_unit
from drivers.recorder.planned import RecordingPlan, record_plan
from sessions import Session

TRUTH = CompliantUnit(actuator=Sea(stiffness=24.0))
FAST = ("--trials", "24", "--threads", "1", "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sessions "sea", of a SEA whose file is "truth.json", and "servo"."""
    home = tmp_path_factory.mktemp("home")
    write_unit(home / "truth.json", TRUTH)
    plan = RecordingPlan(
        servo=f"simulated:mx106?actuator={home / 'truth.json'}",
        trajectories=(make_trajectory("sin_time_square", 2.0), make_trajectory("lift_and_drop", 2.0, lift_time=1.0)),
        bench=Bench(mass=0.2, length=0.1),
        rate=50.0,
        fast=True,
    )
    for bench in (plan.bench, Bench(mass=0.4, length=0.1)):
        runs = record_plan(
            replace(plan, bench=bench), partial(Session.open_or_create, home / "sea"), lambda share, text: None
        )
        assert [run.exit_status for run in runs] == ["success"] * 2
    record_plan(
        replace(plan, servo="simulated:mx106"),
        partial(Session.open_or_create, home / "servo"),
        lambda share, text: None,
    )
    return home


def test_springs_come_out_and_their_file_goes_on(folder, tmp_path, bench):
    result = bench("compliant", "identify", folder / "sea", *FAST, "--json", "-o", tmp_path / "found").data
    assert result["actuator"] == "sea"
    assert result["parameters"]["stiffness"] == pytest.approx(24.0, rel=0.05)
    assert result["validation_mae"] < 1e-3 < result["rigid_m1"]["validation_mae"]
    assert json.loads((tmp_path / "found" / "result.json").read_text()).items() <= result.items()

    file = tmp_path / "found" / "actuator.json"
    assert result["files"] == [str(file), str(tmp_path / "found" / "result.json")]
    assert read_unit(file).actuator.stiffness == result["parameters"]["stiffness"]
    assert bench("compliant", "curve", "--actuator", file, "--json").data["parameters"] == result["parameters"]
    # A search may begin there, and stays.
    begin = ("--actuator", file, "--frozen", "link_friction=0.025", "--validation", "none")
    again = bench("compliant", "identify", folder / "sea", *FAST, *begin, "--json").data
    assert again["parameters"]["stiffness"] == pytest.approx(24.0, rel=0.05)
    assert (again["link"]["friction"], again["validation_mae"]) == (0.025, None)


def test_the_tables_name_values_intervals_and_a_servo_model(folder, bench):
    text = bench("compliant", "identify", folder / "sea", *FAST, "--motor", "--frozen", "motor_kp=125").out
    assert "SEA, mode 6: 3 runs" in text
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert float(rows["k"][1]) == pytest.approx(24.0, rel=0.1)
    assert rows["k"][-1] == "stiffness"
    assert (rows["k_p"][2], rows["φ_max"][2]) == ("fixed", "fixed")
    assert float(rows["J"][1]) == pytest.approx(TRUTH.motor.inertia, rel=0.1)
    assert float(rows["servo"][-1]) > 3.0 * float(rows["SEA"][-1])


@pytest.mark.parametrize(
    ("session", "options", "reason"),
    [
        ("servo", (), "not of a compliant actuator but of a servo; use bench identify"),
        ("sea", ("--actuator", "qbmove"), "of a sea, not of a qbmove"),
        ("sea", ("--actuator", "nowhere.json"), "nowhere.json: cannot be read"),
        ("sea", ("--frozen", "stiffness"), "expected NAME=NUMBER"),
        ("sea", ("--free", "weight"), "no number 'weight' to free"),
    ],
)
def test_what_is_not_possible_is_said_in_one_line(folder, fails, session, options, reason):
    assert reason in fails("compliant", "identify", folder / session, *FAST, *options)


def test_bench_identify_refuses_these_runs(folder, tmp_path, fails):
    said = fails("identify", folder / "sea", "-o", tmp_path / "r", "--quiet")
    assert "is of the actuator sea, not of the mx106's own motor (3 more runs like it)" in said


def test_an_address_may_be_that_of_an_identified_actuator(folder):
    assert {run.settings.actuator for run in Session.open(folder / "sea").load_for_fit()} == {"sea"}
