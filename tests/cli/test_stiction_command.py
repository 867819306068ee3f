"""`bench stiction`: the tables, what is written, and what is refused."""

import csv

import numpy as np
import pytest


@pytest.fixture
def asked(bench):
    """The JSON that a task prints for machines."""
    return lambda *words: bench("stiction", *words, "--json").data


def test_step_with_published_numbers(asked, tmp_path):
    """Both laws with stiction rest, Coulomb's creeps. The angles with 0.168 kg·m² are the paper's."""
    said = asked("step", "--inertia", "0.168", "--csv", tmp_path / "a.csv", "--figure", tmp_path / "a.svg")
    laws = {row["law"]: row for row in said["laws"]}

    for name, angle in (("stribeck", 69.9), ("rational", 68.4)):
        assert laws[name]["rest_deg"] == pytest.approx(angle, abs=0.15)
        assert laws[name]["stop_time"] == pytest.approx(2.75, abs=0.05)
    assert laws["coulomb"]["stop_time"] is None
    assert laws["coulomb"]["rest_deg"] is None
    assert said["files"] == [str(tmp_path / "a.csv"), str(tmp_path / "a.svg")]
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6000
    assert np.degrees(float(rows[-1]["rational: position"])) == pytest.approx(laws["rational"]["rest_deg"], abs=1e-3)
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "beside"),
    [
        ([], True),
        (["--stiffness", "9000"], False),
        (["--damping", "60"], False),
        (["--inertia", "5"], False),
        (["--timestep", "0.0005"], False),
        (["--duration", "1"], False),
        (["--torque-limit", "3"], False),
        (["--viscous", "4"], False),
        (["--rotor-inertia", "1e-5", "--ratio", "100"], False),
        (["--integral"], False),
    ],
)
def test_published_angles_stand_beside_published_constants_only(words, beside, asked):
    (row,) = asked("step", "--law", "stribeck", *words)["laws"]
    assert row["published_rest_deg"] == (69.9 if beside else None)


def test_a_joint_that_creeps_does_not_rest(bench):
    """However slow it is after 60 s: more than F drives it on, and nothing stops it."""
    printed = bench("stiction", "step", "--law", "coulomb", "--duration", "60").out
    assert "coulomb: still creeping at the end" in printed
    assert "rests at" not in printed


def test_a_rotor_is_felt_by_the_square_of_its_ratio(asked, fails):
    rotor = ("--rotor-inertia", "1e-5")
    said = asked("hold", "--law", "stribeck", "--hours", "0.001", "--inertia", "0.1", *rotor, "--ratio", "100")
    assert said["inertia"] == pytest.approx(0.1 + 100.0**2 * 1e-5)
    assert "give both" in fails("stiction", "hold", *rotor)


def test_the_step_with_an_integral_breaks_away_at_the_static_friction_each_time(asked):
    (row,) = asked("step", "--integral", "--law", "rational")["laws"]
    assert row["slips"] == len(row["breakaway_torques"]) >= 5
    np.testing.assert_allclose(row["breakaway_torques"], 2.5, rtol=6e-3)


@pytest.mark.parametrize("words", [["chatter"], ["stickslip"], ["hold", "--hours", "0.001", "--law", "stribeck"]])
def test_every_task_has_a_picture(tmp_path, asked, words):
    assert asked(*words, "--figure", tmp_path / "a.svg")["files"] == [str(tmp_path / "a.svg")]
    assert "</svg>" in (tmp_path / "a.svg").read_text()


def test_curves_judge_constants(asked, bench, tmp_path):
    """Unsound ones are told with what would do; the figure shows them all the same."""
    unsound = ("curves", "--law", "stribeck", "--speed", "0.02")
    (row,) = asked(*unsound, "--figure", tmp_path / "a.svg")["laws"]
    assert not row["sound"]
    assert row["remedies"][0] == "raise B to at least 95.5 N·m·s/rad"
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert "stribeck: sound" in bench("stiction", *unsound, "--damping", "95.5").out


def test_what_cannot_be_asked(fails):
    assert "raise B to at least" in fails("stiction", "step", "--speed", "0.01")
    said = fails("stiction", "step", "--law", "coulomb", "--alpha", "2")
    assert "--alpha does not apply to coulomb" in said
    with pytest.raises(SystemExit, match="2"):
        fails("stiction", "step", "--law", "lugre")
