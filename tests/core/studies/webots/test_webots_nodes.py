"""Servo nodes of a user: unwritten fields have their defaults, and a tree moves as each of its servos does alone."""

import math

import numpy as np
import pytest

from core.base.errors import ServoBenchError
from core.studies.webots.fields import LINEAR, Load, ServoFields
from core.studies.webots.kernel import simulate_node
from core.studies.webots.nodes import read_servo_node, read_servo_tree
from core.studies.webots.robot import MountedServo, robot_of

STEP = 0.008
PENDULUM = Load(inertia=0.01, gravity_torque=0.7)
PAN_TILT = """#VRML_SIM V6.0 utf8
# The example of 3.42.12, with the head that it leaves out.
DEF PAN Servo {
  children [
    DEF TILT Servo {
      translation 0 0 0  # overlayed
      rotation 1 0 0 0
      children [
        DEF HEAD_TRANS Transform {
          translation 0 0 0.1
          children [ Shape { geometry Box { size 0.1 0.2 0.3 } } ]
        }
      ]
      boundingObject USE HEAD_TRANS
      physics Physics {
      }
    }
  ]
  boundingObject DEF DUMMY_BO Sphere {
    radius 0.001
  }
  physics DEF DUMMY_PHYSICS Physics {
  }
}
"""
SERIES = """
DEF Servo1 Servo {
  rotation 0 0 1 0
  position 0.2
  children [
    DEF Servo2 Servo {
      rotation 0 0 1 0
      position 0.3
      children [ ]
      boundingObject Transform { translation 0 -0.1 0 children [ Cylinder { radius 0.01 height 0.2 } ] }
      physics Physics { mass 0.5 }
      maxForce 0
      springConstant 1.5
      dampingConstant 0.02
    }
  ]
  boundingObject Box { size 0.1 0.1 0.1 }
  physics Physics { mass 0.3 density -1 }
  maxForce 5
}
"""
BOMB = "DEF A Group { } " + "".join(
    f"DEF {new} Group {{ children [ {f'USE {old} ' * 9}] }} " for old, new in zip("ABCDEFG", "BCDEFGH", strict=True)
)
"""Nine nodes in each of nine, and so on: 9⁷ in 600 characters."""


def read(tmp_path, text):
    path = tmp_path / "user.wbt"
    path.write_text(text)
    return read_servo_tree(path, lambda fields: PENDULUM)


def test_a_node_of_some_fields_has_the_others_defaults(tmp_path):
    path = tmp_path / "node.wrl"
    path.write_text(
        'Servo { translation 0 1 0 rotation 1 0 0 1.57 type "linear" minStop -1 maxStop 2 springConstant 3 }'
    )

    assert read_servo_node(path) == ServoFields(type=LINEAR, min_stop=-1.0, max_stop=2.0, spring_constant=3.0)


def test_every_field_is_the_manuals(tmp_path):
    path = tmp_path / "node.wrl"
    path.write_text(
        'Servo { type "linear" maxVelocity 2 maxForce 3 controlP 4 acceleration 5 position 0.1 minPosition -0.2 '
        "maxPosition 0.3 minStop -0.4 maxStop 0.5 springConstant 6 dampingConstant 7 }"
    )

    assert read_servo_node(path) == ServoFields(
        type=LINEAR, max_velocity=2.0, max_force=3.0, control_p=4.0, acceleration=5.0, position=0.1, min_position=-0.2,
        max_position=0.3, min_stop=-0.4, max_stop=0.5, spring_constant=6.0, damping_constant=7.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"max_velocity": 0.0}, "maxVelocity = 0 must be above 0"),
        ({"control_p": 0.0}, "controlP = 0 must be above 0"),
        ({"acceleration": 0.0}, "acceleration = 0 must be −1 or above 0"),
        ({"acceleration": -2.0}, "acceleration = -2 must be −1 or above 0"),
        ({"max_force": -0.1}, "maxForce = -0.1 must not be negative"),
        ({"spring_constant": -0.1}, "springConstant = -0.1 must not be negative"),
        ({"damping_constant": -0.1}, "dampingConstant = -0.1 must not be negative"),
        ({"min_position": 0.1}, "minPosition = 0.1 must be 0 or below"),
        ({"max_position": -0.1}, "maxPosition = -0.1 must be 0 or above"),
        ({"min_stop": 0.1}, "minStop = 0.1 must be −π … 0 or below"),
        ({"min_stop": -3.2}, "minStop = -3.2 must be −π … 0 or below"),
        ({"max_stop": -0.1}, "maxStop = -0.1 must be 0 … π"),
        ({"max_stop": 3.2}, "maxStop = 3.2 must be 0 … π"),
        ({"min_stop": -1.0, "max_stop": 1.0, "min_position": -1.1}, "soft limits -1.1 … 0 must lie within"),
        ({"min_stop": -1.0, "max_stop": 1.0, "max_position": 1.1}, "soft limits 0 … 1.1 must lie within"),
        ({"min_stop": -1.0, "max_stop": 1.0, "position": -1.1}, "position -1.1 lies beyond the hard limits -1 … 1"),
        ({"min_stop": -1.0, "max_stop": 1.0, "position": 1.1}, "position 1.1 lies beyond the hard limits -1 … 1"),
        *(({field: math.nan}, "= nan must be a finite number") for field in list(vars(ServoFields()))[1:]),
    ],
)
def test_values_outside_the_manuals_ranges_are_refused(values, rule):
    with pytest.raises(ServoBenchError, match=rule):
        ServoFields(**values)


def test_the_ends_of_the_manuals_ranges_are_allowed():
    """A passive joint without spring or damper, stops at ±π, and soft limits at the hard ones."""
    at_stops = {"min_stop": -math.pi, "max_stop": math.pi, "min_position": -math.pi, "max_position": math.pi}
    for position in (-math.pi, math.pi):
        fields = ServoFields(
            position=position, max_force=0.0, acceleration=-1.0, spring_constant=0.0, damping_constant=0.0, **at_stops
        )
        assert fields.soft_limits == fields.stops == (-math.pi, math.pi)
    one = ServoFields(min_stop=-1.0, max_position=0.5, max_stop=0.5)
    assert (one.soft_limits, one.stops) == ((0.0, 0.5), (-1.0, 0.5))
    free = ServoFields(min_position=-1.0)
    assert (free.soft_limits, free.stops) == ((-1.0, 0.0), (-math.inf, math.inf))


@pytest.mark.parametrize(("axis", "offset"), [("1 0 0", 0.0), ("0 1 0", math.pi / 2), ("0 -1 0", -math.pi / 2)])
def test_gravity_pulls_a_slide_along_its_axis(tmp_path, axis, offset):
    """m·g·sin α, downwards along −y; a slide moves its mass, wherever that is."""
    body = "boundingObject Transform { translation 0.1 -0.2 0.3 children [ Sphere { radius 0.05 } ] }"
    slide = f'Servo {{ type "linear" rotation {axis} 0 {body} physics Physics {{ density -1 mass 2.5 }} }}'
    ((servo,), notes) = (lambda tree: (tree.servos, tree.notes))(read(tmp_path, f"#VRML_SIM V6.0 utf8\n{slide}"))

    assert (servo.load.inertia, notes) == (2.5, ())
    assert servo.load.gravity_torque * math.sin(servo.load.offset) == pytest.approx(2.5 * 9.81 * math.sin(offset))


def test_pan_and_tilt_are_independent(tmp_path):
    """The head is 6 kg of 0.1 × 0.2 × 0.3 m, its middle 0.1 m in front: pan turns it about y, tilt about x."""
    tree = read(tmp_path, PAN_TILT)
    pan, tilt = tree.servos
    dummy = 1000.0 * 4.0 / 3.0 * math.pi * 1e-9

    assert (pan.name, tilt.name, pan.parent, tilt.parent) == ("PAN", "TILT", None, None)
    assert pan.load.inertia == pytest.approx(6.0 * ((0.1**2 + 0.3**2) / 12.0 + 0.1**2) + 0.4e-6 * dummy)
    assert pan.load.gravity_torque == pytest.approx(0.0, abs=1e-12)
    assert tilt.load.inertia == pytest.approx(6.0 * ((0.2**2 + 0.3**2) / 12.0 + 0.1**2))
    assert tilt.load.gravity_torque == pytest.approx(6.0 * 9.81 * 0.1)
    # A turn about x by −90° takes the head from in front to up, where gravity pulls it neither way.
    assert math.sin(-math.pi / 2 + tilt.load.offset) == pytest.approx(0.0, abs=1e-12)
    (note,) = tree.notes
    assert note.startswith("TILT: its axis differs from that of PAN")


def test_servos_about_one_axis_are_in_series(tmp_path):
    """The rod hangs at the sum of both angles; each Load counts its angle from where all are 0."""
    first, second = read(tmp_path, SERIES).servos

    assert (first.parent, second.parent) == (None, 0)
    assert first.load.inertia == pytest.approx(0.3 * 2 * 0.1**2 / 12.0)
    assert second.load.inertia == pytest.approx(0.5 * (0.01**2 / 4.0 + 0.2**2 / 12.0 + 0.1**2))
    assert second.load.gravity_torque == pytest.approx(0.5 * 9.81 * 0.1)
    assert math.sin(second.load.offset) == pytest.approx(0.0, abs=1e-12)
    assert first.load.gravity_torque == pytest.approx(0.0, abs=1e-12)


def test_two_servos_on_one_move_as_each_alone_while_it_stands(tmp_path):
    """A base that nothing moves: both branches are the kernel's."""
    fields = ServoFields(damping_constant=0.1)
    held = MountedServo(name="base", fields=ServoFields(max_force=1e9), load=Load(inertia=0.1))
    arms = [MountedServo(name=name, fields=fields, load=PENDULUM, parent=0) for name in ("left", "right")]
    robot = robot_of([held, *arms])
    for name, goal in (("left", 0.6), ("right", -0.3)):
        robot.device(name).set_position(goal)
    robot.step(800)
    for trace, goal in zip(robot.traces()[1:], (0.6, -0.3), strict=True):
        alone = simulate_node(fields, PENDULUM, np.full(100, goal), np.ones(100), STEP)
        np.testing.assert_allclose(trace.position, alone.position, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Robot { }", "no Servo node"),
        ("Servo { controlPID 10 }", "no field 'controlPID'"),
        ("Servo { controlP 10 0 0 }", r"controlP of a Servo needs 1 number"),
        ("Servo { controlP -1 }", "controlP = -1 must be above 0"),
        ("Servo { rotation 0 0 0 1 }", "axis of length 0"),
        ("Servo { type [ ] }", "neither rotational nor linear"),
        ("Servo { children [ 1 ] }", "are not nodes"),
        ("Servo { children [ Servo { } ] }", "needs own physics"),
        ("Servo { scale 2 2 2 }", "without scale"),
        ("Servo { physics Physics { } }", "neither a mass nor a density"),
        ("Servo { boundingObject IndexedFaceSet { } physics Physics { } }", "is not supported"),
        ("Servo { physics Physics { mass 1 } }", "an inertia of 0 is not possible"),
        ("Servo { physics Physics { mass 1 inertiaMatrix [ 1 2 ] } }", "3 or 6 numbers in brackets"),
        ("Servo { boundingObject Cylinder { height 1e200 } physics Physics { } }", "within"),
        ("Servo { children [ USE NONE ] }", "no DEF before it"),
        (BOMB, "more than"),
        ("PROTO Mine [ ] { }", "expected"),
        ("Servo {", "ends too early"),
    ],
)
def test_files_that_cannot_be_read(text, complaint, tmp_path):
    with pytest.raises(ServoBenchError, match=complaint):
        read(tmp_path, text)
