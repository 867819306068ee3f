"""`bench compliant`: tables, JSON, CSV and pictures of each task; the physics is tested in core."""

import csv
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml

from core.studies.compliant.elastic import ACTUATORS

MORE = pytest.mark.exhaustive("the other springs")


def columns(file):
    rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    return {name: [float(row[k]) for row in rows[1:] if row[k]] for k, name in enumerate(rows[0])}


@pytest.fixture
def asked(bench):
    """The JSON that a task prints for machines."""
    return lambda *words: bench("compliant", *words, "--json").data


@pytest.mark.parametrize(
    "name", ["qbmove", *(pytest.param(name, marks=MORE) for name in ACTUATORS if name != "qbmove")]
)
def test_springs_have_their_curves(asked, tmp_path, name):
    file, picture = tmp_path / "new" / "curve.csv", tmp_path / "curve.svg"
    found = asked("curve", "--actuator", name, "--csv", str(file), "--figure", str(picture))
    table = columns(file)

    assert found["actuator"] == name
    assert found["files"] == [str(file), str(picture)]
    assert picture.read_text().startswith("<?xml")
    assert [row["preset"] for row in found["presets"]] == sorted(row["preset"] for row in found["presets"])
    for row in found["presets"]:
        torque = np.array(table[f"torque at {row['preset']:g}"])
        slope = np.gradient(torque, table["deflection"])[len(torque) // 2]
        assert -slope == pytest.approx(row["stiffness_at_rest"], rel=0.02)


def test_a_sine_and_a_box_have_pictures(asked, tmp_path):
    for task in ("sine", "box"):
        picture = tmp_path / f"{task}.svg"
        assert asked(task, "--figure", picture)["files"] == [str(picture)]
        assert "</svg>" in picture.read_text()


def test_steps_of_one_actuator(asked, tmp_path):
    file, picture = tmp_path / "steps.csv", tmp_path / "steps.pdf"
    found = asked("step", "--actuator", "qbmove", "--goal", "0.5", "--csv", str(file), "--figure", str(picture))
    soft, stiff = found["runs"]
    table = columns(file)

    assert picture.read_bytes().startswith(b"%PDF")
    assert (soft["behaviour"], stiff["behaviour"]) == ("soft, 0.2 rad", "stiff, 0.6 rad")
    assert soft["final_error"] > 5.0 * stiff["final_error"] > 0.0
    assert table["link, qbmove, soft"][-1] == pytest.approx(0.5 - soft["final_error"], abs=1e-6)


@pytest.mark.parametrize(
    ("mode", "topics"),
    [
        (0, ("torque_command", "disabled")),
        (1, ("link_command", "disabled")),
        (2, ("reference_1", "reference_2")),
        (3, ("equilibrium_position", "stiffness_preset")),
        (4, ("motor_1_command", "motor_2_command")),
        (5, ("reference_1", "reference_2")),
        (6, ("equilibrium_position", "stiffness_preset")),
    ],
)
def test_a_joint_moves_in_every_mode(asked, tmp_path, mode, topics):
    """Topics are those of section 3.1; --csv has the commands by them, and the published states."""
    file = tmp_path / "motion.csv"
    said = asked(
        "move", "--mode", str(mode), "--first", "0.1", "--second", "0.05", "--duration", "0.5",
        "--csv", str(file),
    )  # fmt: skip
    (row,) = said["joints"]
    found = columns(file)

    assert row["topics"] == [f"joint_1/{topic}" for topic in topics]
    assert found[f"joint_1/{topics[0]}"] == [0.1] * 101
    assert found["joint_1/link_state position"][-1] == pytest.approx(row["last_position"])
    assert row["last_position"] != 0.0


def test_an_array_of_joints_follows_a_file(asked, tmp_path):
    """Two joints in modes of their own; each moves as it does alone."""
    file = tmp_path / "commands.csv"
    rows = [f"{0.01 * k},{0.1 * min(k, 20) / 20},{0.2},{0.3}" for k in range(60)]
    file.write_text("\n".join(["time,hip/reference_1,hip/reference_2,knee/equilibrium_position", *rows]))
    both = asked("move", "--mode", "5,6", "--references", str(file), "--figure", str(tmp_path / "a.svg"))
    alone = asked("move", "--first", "0.3", "--duration", "0.59")

    hip, knee = both["joints"]
    assert (hip["joint"], hip["mode"], knee["joint"], knee["mode"]) == ("hip", 5, "knee", 6)
    assert knee["last_position"] == pytest.approx(alone["joints"][0]["last_position"], abs=2e-3)
    assert hip["last_position"] == pytest.approx(0.15, abs=0.05)


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("", [], "cannot be read as commands"),
        ("time,a/reference_1\n0,1\n1,x\n", [], "could not convert"),
        ("time,a/reference_1\n0,1\n1,2,3\n", [], "cannot be read as commands"),
        ("time,a/reference_1\n0,1\n1,nan\n", [], "finite"),
        ("time,a/reference_1\n0,1\n1,2\n5,3\n", [], "evenly spaced"),
        ("a/reference_1\n1\n2\n", [], "column time"),
        ("time,a/reference_1\n0,1\n1,2\n", [], "needs the column a/equilibrium_position"),
        ("time,a/torque_command,a/speed\n0,1,1\n1,2,2\n", ["--mode", "0"], "takes the column a/speed"),
        ("time,a b/torque_command\n0,1\n1,2\n", ["--mode", "0"], "without spaces"),
        ("time,a/torque_command\n0,1\n1,2\n", ["--mode", "0,1"], "2 modes for 1 joint;"),
    ],
)
def test_commands_that_are_none(fails, tmp_path, text, arguments, message):
    file = tmp_path / "commands.csv"
    file.write_text(text)
    assert message in fails("compliant", "move", "--references", file, *arguments)


def test_learning_with_another_load_and_the_norm_of_the_error(asked, tmp_path):
    """More load, more sag at first; ‖q̂ − q‖₂ is that of both joints at one instant."""
    file, first = tmp_path / "a.csv", []
    for load in ("0.2", "0.4"):
        said = asked(
            "learn", "--duration", "2", "--iterations", "1", "--load", load, "--csv", str(file)
        )  # fmt: skip
        found = columns(file)
        error = np.array([np.array(found[f"wanted_{j}"]) - found[f"link of iteration 1, joint {j}"] for j in (1, 2)])
        np.testing.assert_allclose(found["error norm of iteration 1"], np.hypot(*error), atol=1e-7)
        assert said["iterations"][0]["largest_norm"] == pytest.approx(np.hypot(*error).max(), abs=1e-7)
        assert "link equilibrium of iteration 1, joint 2" in found
        first.append(said["iterations"][0]["largest_norm"])
    assert first[1] > 1.05 * first[0]


def test_a_chirp_is_a_frequency_response(asked, tmp_path):
    file, picture = tmp_path / "chirp.csv", tmp_path / "chirp.svg"
    found = asked("chirp", "--duration", "20", "--csv", str(file), "--figure", str(picture))
    soft, stiff = found["responses"]

    assert stiff["bandwidth"] > soft["bandwidth"]
    np.testing.assert_allclose(columns(file)["magnitude, stiff"], stiff["magnitude"], rtol=1e-6)
    drawn = picture.read_text("utf-8")
    for label in ("reference equilibrium", "link equilibrium", "link"):
        assert drawn.count(f"<!-- {label} -->") == 2, "as in Fig. 11, soft and stiff"


def test_the_arm_and_the_box(asked, tmp_path):
    arm = asked("arm", "--duration", "8", "--figure", str(tmp_path / "arm.svg"))["runs"]
    box = asked("box", "--mass", "0.3", "--csv", str(tmp_path / "box.csv"))

    assert [run["task"] for run in arm] == ["horizontal step"] * 2 + ["vertical sinusoid"] * 2
    assert arm[2]["worst_error"][0] > arm[3]["worst_error"][0]
    assert box["holding_force"] == pytest.approx(0.23 * 0.3 * 9.81)
    assert all(run["pushed"] > 0.0 for run in box["runs"]), "also a soft arm moves a light box"
    assert columns(tmp_path / "box.csv")["box, stiff"][0] == 0.1


@pytest.mark.exhaustive("eleven motions of 20 s")
def test_the_eleven_iterations_of_the_help_page_can_be_typed(asked):
    found = asked("learn", "--load", "0.5", "--load-distance", "0.08")
    assert found["converged"]
    assert found["best"] == 11


def test_a_load_that_is_further_out_sags_more(asked):
    first = [
        asked("learn", "--duration", "2", "--iterations", "1", "--load-distance", at)["iterations"][0]["largest_norm"]
        for at in ("0", "0.04", "0.08")
    ]
    assert first == sorted(first)
    assert first[2] > 1.1 * first[0]


def test_learning_writes_the_input_of_its_best_iteration(asked, tmp_path):
    inputs, motions, picture = tmp_path / "input.csv", tmp_path / "motions.csv", tmp_path / "learning.svg"
    found = asked(
        "learn", "--duration", "4", "--gain", "1",
        "--input", str(inputs), "--csv", str(motions), "--figure", str(picture),
    )  # fmt: skip
    last = len(found["iterations"])
    learned, all_of_it = columns(inputs), columns(motions)

    assert found["converged"]
    assert found["best"] == last
    assert found["files"] == [str(motions), str(picture), str(inputs)]
    assert max(found["iterations"][-1]["worst_error"]) <= 0.08
    assert list(learned) == ["time", "equilibrium_1", "equilibrium_2"]
    np.testing.assert_allclose(learned["equilibrium_1"], all_of_it[f"input of iteration {last}, joint 1"], atol=1e-8)


def test_learning_follows_a_file_and_says_when_it_fails(bench, tmp_path):
    file = tmp_path / "motion.csv"
    file.write_text("time,q1,q2\n" + "\n".join(f"{0.05 * k},{0.01 * k},0" for k in range(41)) + "\n")

    words = ("learn", "--reference", file, "--iterations", "2", "--tolerance", "0.01")
    lines = bench("compliant", *words).out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["1", "2"]
    assert lines[-1].startswith("warning: it has not converged")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["step", "--set", "k1=1"], "add --actuator"),
        (["curve", "--actuator", "qbmove", "--set", "k1"], "expected NAME=NUMBER"),
        (["curve", "--actuator", "qbmove", "--set", "mass=1"], "mass"),
        (["curve", "--actuator", "qbmove", "--set", "k1=-1"], "k1"),
        (["learn", "--goal", "0.8"], "--goal: expected two comma-separated numbers"),
        (["learn", "--presets", "0.2,0.9"], "must lie within"),
        (["chirp", "--band", "6,0.5"], "rising"),
        (["learn", "--reference", "nowhere.csv"], "nowhere.csv"),
        (["curve", "--figure", "curve.gif"], ".svg, .png or .pdf"),
    ],
)
def test_what_is_not_possible_is_said_in_one_line(fails, arguments, message):
    assert message in fails("compliant", *arguments)


def test_joints_are_exported_as_asked(asked, bench, fails, tmp_path):
    words = ("--actuator", "sea", "--set", "stiffness=200", "--mode", 3, "--joints", "shoulder,elbow", "--robot", "arm")
    said = asked("export", *words, "-o", tmp_path)
    assert said["references"] == {
        "shoulder": ["arm/shoulder/equilibrium_position", "arm/shoulder/disabled"],
        "elbow": ["arm/elbow/equilibrium_position", "arm/elbow/disabled"],
    }
    urdf, manager = (tmp_path / name for name in ("arm.urdf", "arm_manager.yaml"))
    assert said["files"] == [str(urdf), str(manager)]
    plugins = ET.parse(urdf).findall("gazebo/plugin")
    assert [[p.findtext(tag) for tag in ("joint", "operation_mode", "spring_k")] for p in plugins] == [
        [name, "3", "200.0"] for name in ("shoulder", "elbow")
    ]
    assert yaml.safe_load(manager.read_text())["joints_name"] == ["shoulder", "elbow"]
    assert "compliant_bench.urdf" in bench("compliant", "export", "-o", tmp_path).out
    assert "joint name 'a b'" in fails("compliant", "export", "--joints", "a b", "-o", tmp_path)
