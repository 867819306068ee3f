"""Joints that move with others: their mass counts where it is, in URDF and MJCF."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from core.robot.arm import JointServo, simulate_robot
from core.robot.chain import Chain, derivatives
from core.robot.runs import robot_runs
from core.servo.shipped import load_model
from tests.core.robot.planted import recording
from tests.core.robot.test_chain import HINGE, LINK

NAMES = ("a", "g")
FINGER = '<body {}>{}<inertial pos="0.05 0.02 0" mass="0.2" diaginertia="1e-3 1e-3 1e-3"/></body>'
HAND = """<mujoco><compiler angle="radian"/><worldbody><body><joint name="a" axis="0 1 0"/>
<inertial pos="0.1 0 0" mass="0.3" diaginertia="1e-3 1e-3 1e-3"/><body pos="0.2 0 0"><joint name="g" axis="0 1 0"/>
<inertial pos="0.05 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>{inside}</body>{beside}</body></worldbody>
<equality>{coupling}</equality></mujoco>"""
COUPLED = '<joint joint1="h" joint2="g" polycoef="{} {} 0 0 0"/>'


def chain_of(tmp_path, text, name="hand.xml"):
    (tmp_path / name).write_text(text)
    return Chain(tmp_path / name)


def motion():
    time = np.arange(0.0, 2.0, 0.01)
    return time, np.column_stack([0.6 * np.sin(2.0 * time), 0.3 + 0.5 * np.sin(3.0 * time + 1.0)])


def coupled_hand(coupling, joint='axis="0 1 0"'):
    """A hand with a finger `h` that turns about the axis of `g`."""
    finger = FINGER.format('pos="0.2 0 0"', f'<joint name="h" {joint}/>')
    return HAND.format(inside="", beside=finger, coupling=coupling)


@pytest.mark.parametrize(
    ("angle", "coupling", "joint"),
    [
        (0.0, COUPLED.format(0, 1), 'axis="0 1 0"'),
        (0.0, COUPLED.format(0, -1), 'axis="0 -1 0"'),
        (0.4, COUPLED.format(0.4, 1), 'axis="0 1 0"'),
        (0.4, COUPLED.format(0.4, 1), 'axis="0 1 0" ref="0.7"'),
        (0.4, '<joint joint1="g" joint2="h" polycoef="-0.4 1 0 0 0"/>', 'axis="0 1 0"'),
    ],
)
def test_a_finger_that_turns_as_its_leader_loads_it_like_a_part_of_it(tmp_path, angle, coupling, joint):
    """At a ratio of 1 it is one, turned by the offset."""
    coupled = chain_of(tmp_path, coupled_hand(coupling, joint))
    fixed = FINGER.format(f'euler="0 {angle} 0"', "")
    welded = chain_of(tmp_path, HAND.format(inside=fixed, beside="", coupling=""))
    assert coupled.leaders(NAMES) == {"h": "g"}
    assert coupled.left_out == []
    time, q = motion()
    np.testing.assert_allclose(coupled.loads(NAMES, time, q), welded.loads(NAMES, time, q), atol=1e-10)


@pytest.mark.parametrize("ratio", [-1.0, 0.5, 2.0])
def test_a_coupled_joint_hands_its_torque_to_its_leader(tmp_path, ratio):
    """By its ratio, as virtual work states: the sum of both torques of the robot whose joints are all measured."""
    free = chain_of(tmp_path, coupled_hand("<joint joint1='h' joint2='g' active='false'/>"), "free.xml")
    coupled = chain_of(tmp_path, coupled_hand(COUPLED.format(0.1, ratio)))
    time, q = motion()
    whole = np.column_stack([q, 0.1 + ratio * q[:, 1]])

    def torques(chain, names, angles):
        inertia, sine, cosine, external = np.moveaxis(chain.loads(names, time, angles), 2, 0)
        turned, accelerations = angles.T, derivatives(time, angles)[1].T
        return inertia * accelerations + sine * np.sin(turned) + cosine * np.cos(turned) - external

    a, g, h = torques(free, ("a", "g", "h"), whole)
    np.testing.assert_allclose(torques(coupled, NAMES, q), [a, g + ratio * h], atol=1e-10)
    alone = free.loads(("a", "g", "h"), time, whole)[:, :, 0]
    # Their axes are parallel and their parents equal, so M_gh is 0.
    np.testing.assert_allclose(coupled.loads(NAMES, time, q)[1, :, 0], alone[1] + ratio**2 * alone[2], atol=1e-12)


def test_a_mimic_of_a_urdf_moves_and_is_named_in_the_notes(tmp_path):
    links = "".join(LINK.format(name) for name in ("one", "two", "three", "four"))
    mimic = '<mimic joint="g" multiplier="1" offset="0.4"/></joint>'
    joints = HINGE.format("a", "base", "one") + HINGE.format("g", "one", "two") + HINGE.format("free", "one", "four")
    joints += HINGE.format("h", "one", "three").replace("</joint>", mimic)
    text = f'<robot name="r"><link name="base"/>{links}{joints}</robot>'
    chain = chain_of(tmp_path, text, "hand.urdf")
    time, q = motion()
    runs = [recording("m", name, time, q[:, k], q[:, k]) for k, name in enumerate(NAMES)]
    assert robot_runs(chain, runs).notes == (
        "free is not recorded: it rests at the file's zero",
        "h is not recorded: it moves with g",
    )


def test_other_couplings_are_left_out(tmp_path):
    chain = chain_of(tmp_path, coupled_hand('<joint joint1="h" joint2="g" polycoef="0 1 0.3 0 0"/>'))
    assert chain.left_out == ["couplings other than linear ones of two joints"]
    assert chain.leaders(NAMES) == {}


def test_a_coupled_joint_moves_in_the_whole_robot(tmp_path):
    """Next to a servo on the joint that carries both, as if it were measured."""
    (tmp_path / "hand.xml").write_text(coupled_hand(COUPLED.format(0.1, -0.5)))
    model = load_model("sts3215", "m1")
    servos = {"a": JointServo(model=model, settings=model.default_settings(16.0))}
    time, q = motion()
    whole = np.column_stack([q, 0.1 - 0.5 * q[:, 1]])
    found = simulate_robot(tmp_path / "hand.xml", servos, NAMES, time, q, q)
    expected = simulate_robot(tmp_path / "hand.xml", servos, (*NAMES, "h"), time, whole, whole)
    still = simulate_robot(tmp_path / "hand.xml", servos, ("a",), time, q[:, :1], q[:, :1])
    np.testing.assert_allclose(found[:, 0], expected[:, 0], atol=1e-6)
    assert np.abs(found[:, 0] - still[:, 0]).max() > 1e-4
