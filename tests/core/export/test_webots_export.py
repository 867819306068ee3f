"""Webots: worlds that hold what was meant whatever a name is, and a controller that is the servo, at steps of 1–8 ms.

Webots itself is not here. Its integrator is: velocities first, positions with the new velocities; and a stand-in for
its Python API, which gives no position before the first step, as Webots does.
"""

import math
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.base.errors import ExportError
from core.export.contract import ServoOptions
from core.export.files import printable, slug
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.export.targets.webots.controller import (
    HEADER,
    MOTOR,
    SCHEMA,
    check_webots,
    read_world,
    world_nodes,
    write_webots,
)
from core.export.targets.webots.vrml import DEEPEST, Node, read_vrml, vrml_text
from core.servo.shipped import load_model
from tests.core.conftest import PENDULUM
from tests.core.test_export import hostile_names

numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
vectors = st.tuples(numbers, numbers, numbers)


WORDS = {
    "A": {"number": "SFFloat", "word": "SFString", "words": "MFString", "yes": "SFBool", "inside": "MFNode"}
    | {"place": "SFVec3f", "places": "MFVec3f", "turn": "SFRotation", "other": "SFNode"}
}
"""A table with every type, for the writer and the reader."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("webots")
    model = load_model("mx106", "m6")
    return model, folder, write_webots(model, folder, ServoOptions())


class TestText:
    @settings(max_examples=100)
    @given(numbers, st.text(st.characters(exclude_categories=["Cs"])), st.booleans(), vectors, st.lists(vectors))
    @example(0.0, "\r\n", False, (0.0, 0.0, 0.0), [])
    def test_every_value_comes_back(self, tmp_path_factory, number, text, yes, place, places):
        path = tmp_path_factory.getbasetemp() / "round.wbt"
        inner = Node("A", {"word": text, "turn": (*place, number)})
        node = Node(
            "A",
            {"number": number, "word": text, "words": [text, "b"], "yes": yes, "inside": [inner, inner]}
            | {"place": place, "places": places, "other": inner},
        )
        path.write_bytes(vrml_text([node], WORDS, HEADER).encode("utf-8"))

        assert read_vrml(path, WORDS, HEADER) == [node]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("B { }", "no node 'B'"),
            ("A { size 1 }", "no field 'size'"),
            ("A { number TRUE }", "not a number"),
            ("A { number inf }", "not a number"),
            ("A { number 1 number 2 }", "twice"),
            ("A { yes 1 }", "neither TRUE nor FALSE"),
            ("A { word open }", "not a string"),
            ('A { word "open }', "ends too early"),
            ("A { place 1 2 }", "not a number"),
            ("A { places 1 2 3 }", "expected"),
            ("A { number 1", "ends too early"),
            ("A " + "{ other A " * (DEEPEST + 2), "nested too deeply"),
        ],
    )
    def test_what_the_table_does_not_have(self, tmp_path, text, complaint):
        (tmp_path / "a.wbt").write_text(f"{HEADER}\n{text}\n")

        with pytest.raises(ExportError, match=complaint):
            read_vrml(tmp_path / "a.wbt", WORDS, HEADER)

    def test_comments_and_commas_are_space(self, tmp_path):
        (tmp_path / "a.wbt").write_text(f'{HEADER}\n# one\nA {{ place 1, 2, 3 # two "\n word "#3" }} # end')

        assert read_vrml(tmp_path / "a.wbt", WORDS, HEADER) == [Node("A", {"place": (1, 2, 3), "word": "#3"})]

    def test_another_header(self, tmp_path):
        (tmp_path / "a.wbt").write_text("#VRML V2.0 utf8\n")

        with pytest.raises(ExportError, match="begins with"):
            read_vrml(tmp_path / "a.wbt", SCHEMA, HEADER)


class TestWorld:
    @settings(max_examples=40)
    @given(hostile_names)
    def test_a_name_stays_in_its_string(self, tmp_path_factory, name):
        path = tmp_path_factory.getbasetemp() / "name.wbt"
        model = replace(load_model("mx106", "m1"), name=name)
        file = f"{slug(model.title)}.servo.json"
        nodes = world_nodes(model, PENDULUM, model.default_settings(), file, 1)
        path.write_bytes(vrml_text(nodes, SCHEMA, HEADER).encode("utf-8", errors="backslashreplace"))

        read = read_vrml(path, SCHEMA, HEADER)

        assert read == nodes
        assert read[0]["title"] == printable(model.title)
        assert read_world(path).servo_file == file

    @pytest.mark.parametrize("timestep", [0.0005, 0.0015])
    def test_steps_are_whole_milliseconds(self, tmp_path, timestep):
        with pytest.raises(ExportError, match="whole milliseconds"):
            write_webots(load_model("mx106", "m1"), tmp_path, ServoOptions(timestep=timestep))
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("staticFriction 0.0", "staticFriction 0.1", "not the exported one"),
            ("endPoint Solid", "endPoint NULL #", "no field 'children'"),
            ("servo.json", "servo.jsn", "not this export's servo"),
            ("density", "weight", "no field 'weight'"),
            ("basicTimeStep 1.0", "basicTimeStep 0.0", "not possible"),
        ],
    )
    def test_a_changed_world(self, exported, tmp_path, old, new, complaint):
        model, _, result = exported
        for path in result.files:
            (tmp_path / path.name).write_bytes(path.read_bytes())
        world = tmp_path / f"{slug(model.title)}.pendulum.wbt"
        text = world.read_text("utf-8")
        assert old in text
        world.write_text(text.replace(old, new, 1), "utf-8")

        with pytest.raises(ExportError, match=complaint):
            check_webots(model, tmp_path, ServoOptions())


class TestController:
    @pytest.mark.parametrize(
        ("servo", "friction", "milliseconds", "bar"),
        [
            ("mx106", "m6", 8, 1.3),
            *(
                pytest.param(*row, marks=pytest.mark.exhaustive("other servos and steps"))
                for row in (("mx106", "m6", 1, 0.3), ("erob80_50", "m6", 4, 0.3))
            ),
        ],
    )
    def test_the_motion_is_the_models(self, tmp_path, servo, friction, milliseconds, bar):
        """Mean over the four trajectories against converged motion under the same held commands [mrad]."""
        model, options = load_model(servo, friction), ServoOptions(timestep=1e-3 * milliseconds)
        write_webots(model, tmp_path, options)

        found = check_webots(model, tmp_path, options)

        assert found.mean_mrad < bar
        assert f"{milliseconds} ms" in found.how

    def test_friction_holds(self):
        """A load below the budget at rest stays where it is: no creep over 10 s."""
        model = load_model("mx106", "m1")
        servo = servo_numbers(model, model.default_settings())
        inertia, pull, step = 0.02, 0.8 * model.values["friction_base"], 0.002
        joint = program("servobench_webots").JointServo(servo, step, inertia)
        position = velocity = 0.0
        places = []
        for _ in range(5000):
            velocity += step / inertia * (joint.torque(position, 0.0, 0.0) + pull)
            position += step * velocity
            places.append(position)

        assert abs(velocity) < 1e-12
        assert places[-1] == pytest.approx(places[10], abs=1e-12)
        assert places[-1] < 1e-4
        assert joint.motor_torque == 0.0
        assert joint.external_torque == pytest.approx(pull)

    def test_forgetting(self):
        model = load_model("mx106", "m6")
        joint = program("servobench_webots").JointServo(servo_numbers(model, model.default_settings()), 0.001, 0.02)
        first = [joint.torque(1e-4 * k * k, 0.3) for k in range(20)]
        joint.reset()

        assert [joint.torque(1e-4 * k * k, 0.3) for k in range(20)] == first

    @pytest.mark.parametrize(("step", "inertia"), [(0.0, 0.1), (0.001, 0.0), (math.nan, 0.1), (0.001, math.inf)])
    def test_impossible_joints(self, step, inertia):
        model = load_model("mx106", "m1")

        with pytest.raises(ValueError, match="not possible"):
            program("servobench_webots").JointServo(servo_numbers(model, model.default_settings()), step, inertia)


class StandIn:
    """A robot with the pendulum, as Webots' Python API shows it; every device is this one."""

    def __init__(self, world, steps):
        self.world, self.left = world, steps
        self.position = self.velocity = self.torque = 0.0
        self.positions, self.known, self.sampling = [], False, 0

    def getBasicTimeStep(self):
        return 1e3 * self.world.step

    def getDevice(self, name):
        return self if name == MOTOR else None

    def getPositionSensor(self):
        return self

    def getMaxTorque(self):
        return self.world.largest_torque

    def getTime(self):
        return self.world.step * len(self.positions)

    def enable(self, period):
        self.sampling = period

    def getValue(self):
        return self.position if self.known else math.nan

    def setTorque(self, torque):
        self.torque = torque

    def step(self, milliseconds):
        assert milliseconds == self.getBasicTimeStep() == self.sampling
        self.positions.append(self.position)
        pull = self.world.gravity_torque * math.sin(self.position + self.world.offset)
        self.velocity += self.world.step / self.world.inertia * (self.torque - pull)
        self.position += self.world.step * self.velocity
        self.known = True
        self.left -= 1
        return -1 if self.left == 0 else 0


class TestInWebots:
    def test_the_example_swings_the_pendulum(self, exported, monkeypatch):
        """`main` with the world's controllerArgs: goals sin 2t reach the load within the servo's own error."""
        model, folder, _ = exported
        world = read_world(folder / f"{slug(model.title)}.pendulum.wbt")
        robot = StandIn(world, 3000)
        monkeypatch.setitem(sys.modules, "controller", types.SimpleNamespace(Robot=lambda: robot))

        program("servobench_webots").main([str(folder / world.servo_file), repr(world.known_inertia)])

        swung = np.array(robot.positions)
        assert len(swung) == 3000
        assert 0.7 < np.abs(swung).max() < 1.1
        assert np.abs(np.diff(swung)).max() < 4.0 * world.step

    def test_steps_are_those_of_the_joint_servo(self, exported):
        model, folder, _ = exported
        world = read_world(folder / f"{slug(model.title)}.pendulum.wbt")
        hook, robot = program("servobench_webots"), StandIn(world, 300)
        servos = hook.attach(robot, {MOTOR: folder / world.servo_file}, {MOTOR: world.known_inertia})
        alone = hook.JointServo(folder / world.servo_file, world.step, world.known_inertia)
        expected = []

        while servos.step([0.5], 1.0):
            expected.append(alone.torque(robot.position, 0.5))
            if len(expected) > 1:
                assert robot.torque == expected[-2]

        assert len(expected) == 299

    @pytest.mark.parametrize(
        ("motors", "inertias", "complaint"),
        [({"arm": "x"}, {"arm": 0.1}, "no motor"), ({MOTOR: "x"}, {}, "no inertia")],
    )
    def test_devices_that_are_not_there(self, exported, motors, inertias, complaint):
        model, folder, _ = exported
        robot = StandIn(read_world(folder / f"{slug(model.title)}.pendulum.wbt"), 1)

        with pytest.raises(ValueError, match=complaint):
            program("servobench_webots").attach(robot, motors, inertias)

    def test_a_fraction_of_a_millisecond(self, exported):
        model, folder, _ = exported
        world = replace(read_world(folder / f"{slug(model.title)}.pendulum.wbt"), step=0.0015)

        with pytest.raises(ValueError, match=r"basicTimeStep is 1\.5 ms"):
            program("servobench_webots").attach(StandIn(world, 1), {}, {})
