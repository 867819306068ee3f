"""Proposed motions of a joint: within its range, and what they promise comes true for a planted servo."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError
from core.identification.evidence.sensitivity import judge
from core.motion.simulation import simulate_recording
from core.servo.shipped import load_model

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from core.robot.chain import Chain
from core.robot.next import FACTORS, goals_within, next_motions, parse_range, planned_motions
from core.robot.runs import robot_runs
from tests.core.robot.planted import ARM, NAMES, SETTINGS, planted

MODEL = load_model("sts3215", "m4")


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """The arm and motions in which it holds three poses."""
    file = tmp_path_factory.mktemp("arm") / "arm.xml"
    file.write_text(ARM)
    chain = Chain(file)
    return robot_runs(chain, [run.trimmed(None, 9.0) for run in planted(chain, MODEL)])


def undetermined(runs):
    return {p.symbol for p in judge(MODEL, MODEL.parameters, runs, threads=2).parameters if not p.narrowed}


def test_proposed_motions_determine_what_recorded_ones_do_not(arm):
    runs = arm
    found = next_motions(MODEL, runs, "elbow", 3, threads=2)
    before = undetermined(runs.joints["elbow"])
    assert {*found.undetermined} == before
    assert len(before) > 2
    step, added = MODEL.spec.encoder_step, []
    for number, (motion, _) in enumerate(found.proposals):
        position = step * np.round(simulate_recording(MODEL, motion.run).position / step)
        run = replace(motion.run, id=f"{number}", channels={**motion.run.channels, "position": position})
        added.append(run)
    after = undetermined([*runs.joints["elbow"], *added])
    assert after == {*found.left_open} == {"t_r", "β"}  # no motion releases the torque
    assert found.proposals[0][1].nats > found.proposals[1][1].nats > 0.0


def test_motions_stay_within_ranges_and_the_poses_differ_in_gravity(arm):
    runs = arm
    ranges = {"lift": (-0.5, 1.0), "elbow": (-1.5, 1.5)}
    motions = planned_motions(MODEL, runs, "lift", ranges)
    least, most = sorted({motion.gravity for motion in motions})
    assert most - least > 0.01 * MODEL.spec.stall_torque
    for motion in motions:
        assert motion.pose.keys() == {"pan", "elbow"}
        assert -1.5 <= motion.pose["elbow"] <= 1.5
        goal = motion.goals["lift"]
        assert -0.5 < goal.min() < goal.max() < 1.0
        assert motion.run.settings.kp / SETTINGS.kp in FACTORS
        load = runs.chain.loads(NAMES, motion.run.time, np.column_stack([motion.goals[name] for name in NAMES]))[1]
        np.testing.assert_allclose(motion.run.load[:, :3], load[:, :3], atol=1e-9)
        np.testing.assert_allclose(motion.run.load[:, 3], 0.0)
    assert len({motion.gravity for motion in planned_motions(MODEL, runs, "pan", {})}) == 1


def test_each_kind_of_motion_ends_before_the_range_and_the_servos_speed():
    time = np.arange(0.0, 10.0, 0.01)
    for low, high in ((-1.5, 1.5), (0.0, 0.1)):
        for kind, goal in goals_within(time, low, high, 5.0).items():
            assert low < goal.min() < goal.max() < high
            if "steps" not in kind:
                assert np.abs(np.gradient(goal, time)).max() < 1.2 * 5.0


def test_wrong_ranges_are_named(arm):
    runs = arm
    for ranges, words in (
        ({"lift": (-9.0, 1.0)}, "range of lift, -515.7 to 57.3°, is not within its limits, -90 to 90°"),
        ({"lift": (1.0, 0.5)}, "range of lift, 57.3 to 28.65°, is not within"),
        ({"wrist": (0.0, 1.0)}, "no motion has a joint wrist of the robot; there are pan, lift, elbow"),
        ({"lift": (0.0, 0.05)}, "lift has a range of 0.05 rad, too small for a motion"),
    ):
        with pytest.raises(InputError, match=words):
            planned_motions(MODEL, runs, "lift", ranges)
    assert parse_range("lift=-30:45") == ("lift", (math.radians(-30), math.radians(45)))
    for text in ("lift", "lift=3", "lift=a:b", "=1:2", "lift=nan:2", "lift=1:2:3"):
        with pytest.raises(InputError, match="expected a joint and its range in degrees"):
            parse_range(text)
