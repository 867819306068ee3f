"""`bench webots`: programs in their own process, the fit's table, the experiments' files; core tests the physics."""

from __future__ import annotations

import csv

import pytest

from bench_gui.cli import main
from core.studies.webots import fitting, loss
from sessions import Session

STEADY = """
from controller import *

class Arm(Robot):
    def run(self):
        servo = self.getServo("arm")
        servo.enablePosition(16)
        servo.setPosition(0.5)
        while self.step(16) != -1:
            pass
        print("ended at", round(servo.getPosition(), 3))

Arm().run()
"""
IN_C_STYLE = """
import sys
from controller import *

wb_robot_init()
motor, spring = (wb_robot_get_device(name) for name in ("motor", "spring"))
wb_servo_set_position(motor, float(sys.argv[1]))
for _ in range(50):
    wb_robot_step(10)
wb_robot_cleanup()
"""


@pytest.fixture
def program(tmp_path):
    """A folder of its own for each program."""

    def written(text, name="program.py"):
        path = tmp_path / "controllers" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    return written


class TestRun:
    def test_a_program_until_the_simulation_is_over(self, program, tmp_path, capfd):
        motion, recording = tmp_path / "motion.csv", tmp_path / "recording.csv"
        words = ["run", program(STEADY), "--duration", "2", "-o", str(motion), "--recording", str(recording)]
        assert main(["webots", *words]) == 0
        assert "ended at 0.5" in capfd.readouterr().out
        with motion.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 250
        assert float(rows[-1]["arm.position [rad]"]) == pytest.approx(0.5, abs=1e-6)
        session = Session.create(tmp_path / "session", "programs")
        assert main(["import", "-o", str(session.path), str(recording)]) == 0
        (run,) = Session.open(session.path).load_all()
        assert (run.samples, run.bench.mass, run.settings.kp) == (250, 0.5, 10.0)

    def test_servos_in_series_and_arguments(self, program, tmp_path, bench):
        picture = tmp_path / "series.svg"
        asked = ["--servo", "motor:maxForce=5,controlP=20,inertia=0.002"]
        asked += ["--servo", "spring:maxForce=0,springConstant=1,dampingConstant=0.05"]
        asked += ["--timestep", "5", "--figure", picture, "--json"]
        motor, spring = bench("webots", "run", *asked, program(IN_C_STYLE), "--", "0.25").data["servos"]
        assert (motor["servo"], spring["servo"]) == ("motor", "spring")
        assert motor["highest"] == pytest.approx(0.25, abs=1e-3)
        assert picture.read_text().startswith("<?xml")

    def test_a_program_that_fails_says_where_and_keeps_its_motion(self, program, tmp_path, capfd):
        motion = tmp_path / "motion.csv"
        path = program(STEADY.replace("while", "self.step(80); raise ValueError('broken')\n        while"))
        code = main(["webots", "run", path, "-o", str(motion)])
        errors = capfd.readouterr().err

        assert code == 1
        assert "raise ValueError" in errors
        assert "the program ended with an error: ValueError: broken" in errors.splitlines()[-1]
        assert len(motion.read_text().splitlines()) == 1 + 10

    def test_servos_of_a_world(self, program, tmp_path, bench, fails):
        """Three nodes of 3.42.12's kind: the tilt's note is printed, and the world's step is taken."""
        world = tmp_path / "head.wbt"
        ball = "boundingObject Sphere { radius 0.05 } physics Physics { mass 0.2 }"
        world.write_text(
            "#VRML_SIM V6.0 utf8\nWorldInfo { basicTimeStep 5 }\nRobot { children [ DEF PAN Servo { children [ "
            f"DEF TILT Servo {{ rotation 1 0 0 0 {ball} }} ] {ball} }} ] }}\n"
        )
        path = program("from controller import *\nr = Robot()\nr.getServo('PAN').setPosition(0.3)\nr.step(1000)\n")
        printed = bench("webots", "run", "--world", world, "--json", path).data
        assert [row["steps"] for row in printed["servos"]] == [200, 200]
        assert printed["servos"][0]["last"] == pytest.approx(0.3, abs=1e-4)
        assert printed["notes"][0].startswith("TILT: its axis differs from that of PAN")
        assert "give one of them" in fails("webots", "run", "--world", world, "--servo", "a", path)

    def test_a_program_s_exit_code_is_the_command_s_unless_it_kills_itself(self, program, bench, fails):
        bench("webots", "run", program("import sys\nsys.exit(7)\n"), code=7)
        said = fails("webots", "run", program("import os\nos._exit(3)\n"))
        assert "died without a result (exit code 3)" in said

    @pytest.mark.parametrize(
        ("servos", "complaint"),
        [
            (["a:maxForce=-1"], "maxForce = -1 must not be negative"),
            (["a:speed=3"], "'speed=3' is not FIELD=VALUE"),
            (["a:maxForce"], "'maxForce' is not FIELD=VALUE"),
            ([":maxForce=3"], "the name is missing"),
            (["a", "b"], "add inertia=KGM2"),
            (["a", "b:on=c"], "on=c is neither base nor an earlier servo"),
            (["a:gravity=0"], "add inertia=KGM2"),
        ],
    )
    def test_servos_that_cannot_be(self, servos, complaint, fails):
        assert complaint in fails("webots", "run", "x.py", *(part for servo in servos for part in ("--servo", servo)))


class TestFit:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch):
        """The search is two generations long."""
        for name in ("loss_on_model", "loss_on_recordings"):
            function = getattr(loss, name)
            monkeypatch.setattr(
                loss, name, lambda *args, function=function, **kwargs: function(*args, generations=2, **kwargs)
            )

    def test_what_a_node_loses_against_models(self, program, bench, tmp_path):
        node, picture = tmp_path / "node.wrl", tmp_path / "loss.png"
        asked = ["--models", "m1,mx106:m6", "--dt", "0.01", "-o", node, "--figure", picture, "--json"]
        printed = bench("webots", "fit", "mx106:m6", *asked).data
        m1, m6 = printed["models"]

        assert m6["lost"] > m1["lost"] > 0.0
        assert m6["lost"] == pytest.approx(printed["validation_mae"] - m6["validation_mae"])
        assert {number["name"] for number in printed["numbers"]} == set(fitting.NODE_NUMBERS)
        assert picture.stat().st_size > 5000

        words = ("--servo", f"arm:node={node}", program(STEADY), "--duration", "1", "--json")
        (row,) = bench("webots", "run", *words).data["servos"]
        assert row["largest_force"] <= printed["node"]["max_force"]

    def test_a_session(self, bench, example):
        lines = bench("webots", "fit", example, "--models", "m1,m6").out.splitlines()
        assert lines[0].startswith("Webots Servo fitted to 8 recordings of Dynamixel XL330")
        assert [line.split()[0] for line in lines[2:9]] == [
            "controlP", "maxVelocity", "maxForce", "acceleration", "dampingConstant", "armature", "angleOffset",
        ]  # fmt: skip
        lost = [float(line.split()[-1]) for line in lines if "M1" in line or "M6" in line]
        assert 50.0 < lost[0] < lost[1]


@pytest.mark.parametrize("name", ["position", "series"])
def test_experiments_are_written(name, bench, tmp_path):
    motion, picture = tmp_path / "motion.csv", tmp_path / "picture.svg"
    assert "written to" in bench("webots", "show", name, "-o", motion, "--figure", picture).out
    assert motion.read_text().startswith("time [s],")
    assert "</svg>" in picture.read_text()


def test_a_picture_of_another_kind(fails, tmp_path):
    assert ".svg, .png or .pdf" in fails("webots", "show", "limits", "--figure", tmp_path / "picture.gif")
