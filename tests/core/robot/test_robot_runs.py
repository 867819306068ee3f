"""Motions of a robot: how runs of joints become ones with a load, what is left out, and which mix-ups are named."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import InputError
from core.identification.evaluate import evaluate
from core.identification.runs.split import split_recordings
from core.motion.recording import JOINT, MOTION
from core.motion.simulation import simulate_recording
from core.servo.catalogue import load_servo
from core.servo.shipped import load_model

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from core.robot.chain import Chain
from core.robot.runs import robot_runs
from tests.core.robot.planted import ARM, NAMES, planted

DEGREES = 180.0 / np.pi


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    file = tmp_path_factory.mktemp("arm") / "arm.xml"
    file.write_text(ARM)
    return Chain(file)


@pytest.fixture(scope="module")
def runs(chain):
    return planted(chain)


def scaled(runs, factor, joints=NAMES):
    """The runs with goals and positions of some joints times a factor."""
    return [
        replace(
            run,
            channels={
                name: values * factor if name in ("goal_position", "position") else values
                for name, values in run.channels.items()
            },
        )
        if run.joint in joints
        else run
        for run in runs
    ]


def renamed(runs, names):
    return [replace(run, provenance={**run.provenance, JOINT: names.get(run.joint, run.joint)}) for run in runs]


def test_the_true_model_explains_each_joint_below_its_load(chain, runs):
    """Up to the encoder's rounding, which also disturbs the loads."""
    found = robot_runs(chain, runs)
    assert [*found.joints] == list(NAMES)
    assert found.notes == found.warnings == ()
    assert [motion.id for motion in found.motions] == ["motion0", "motion1", "motion2"]
    for joint in NAMES:
        assert [run.provenance["motion"] for run in found.joints[joint]] == [motion.id for motion in found.motions]
        assert evaluate(load_model("sts3215", "m6"), found.joints[joint]).mean_mae < 1.5e-3


def test_a_run_without_its_load_is_refused_with_the_command_that_knows_it(runs):
    with pytest.raises(InputError, match=r"motion0-pan is of the joint pan of a robot.*bench robot identify"):
        simulate_recording(load_model("sts3215", "m6"), runs[0])


def test_what_the_motions_excite_is_told_for_each_joint(chain, runs):
    pan, lift, _ = robot_runs(chain, runs).coverage
    position = np.concatenate([run.position for run in runs if run.joint == "lift"])
    assert (lift.lowest, lift.highest) == (position.min(), position.max())
    assert max(map(abs, pan.gravity)) < 1e-12
    assert -9.81 * (0.3 * 0.06 + 0.4 * 0.19) < lift.gravity[0] < lift.gravity[1] < -0.3
    assert 0.01 < lift.inertia[0] < lift.inertia[1] < 0.03
    assert lift.reversals > 0
    assert 1.0 < lift.speed < 6.0


def test_the_same_motions_are_held_out_for_all_joints(chain, runs):
    found = robot_runs(chain, runs)
    split = split_recordings(found.motions, "34%", 1)
    assert len(split.validation) == 1
    for joint in NAMES:
        held = split_recordings(found.joints[joint], f"motion={';'.join(split.validation)}").validation
        assert held == tuple(f"{motion}-{joint}" for motion in split.validation)


def test_a_motion_without_all_joints_is_left_out(chain, runs):
    found = robot_runs(chain, runs[1:])
    assert len(found.motions) == 2
    assert found.notes == ("motion motion0 has no run of pan: left out",)
    with pytest.raises(InputError, match=r"no motion has runs of all joints \(lift, pan\) at common times"):
        robot_runs(chain, [runs[1], runs[3]])


def test_joints_trimmed_differently_are_compared_at_common_times(chain, runs):
    found = robot_runs(chain, [runs[0].trimmed(2.0), runs[1].trimmed(None, 14.0), *runs[2:]])
    assert {run.samples for run in (found.joints[joint][0] for joint in NAMES)} == {601}


def test_a_motion_with_few_common_times_is_left_out(chain, runs):
    late = replace(runs[0], channels={**runs[0].channels, "time": runs[0].time + 1e-3})
    first = runs[1:3]
    for changed, times in (
        ([late, *first], "0 times"),
        ([runs[0].trimmed(9.0), *first], "350 times"),
        ([run.trimmed(None, 0.05) for run in runs[:3]], "3 times"),
    ):
        found = robot_runs(chain, [*changed, *runs[3:]])
        assert [motion.id for motion in found.motions] == ["motion1", "motion2"]
        assert found.notes == (f"motion motion0: its joints have {times} in common: left out",)


def test_a_joint_recorded_twice_in_a_motion_is_refused(chain, runs):
    with pytest.raises(InputError, match="motion0 has two runs of pan: motion0-pan and again; exclude one"):
        robot_runs(chain, [*runs, replace(runs[0], id="again")])


def test_runs_of_pendulums_are_left_out(chain, runs):
    pendulum = replace(runs[0], provenance={})
    assert robot_runs(chain, [*runs, pendulum]).notes == ("1 run of a pendulum left out",)
    with pytest.raises(InputError, match=r"no run is of a robot's joint; .*bench import --joints"):
        robot_runs(chain, [pendulum])


def test_joints_of_one_side_only_are_named(chain, runs):
    found = robot_runs(chain, renamed(runs, {"elbow": "elbow_2"}))
    assert [*found.joints] == ["pan", "lift"]
    assert found.notes == (
        "elbow_2 is not in arm.xml (do you mean elbow?): left out, and its motion is not known to the others",
        "elbow is not recorded: it rests at the file's zero",
    )
    with pytest.raises(
        InputError, match=r"arm.xml has none of the recorded joints \(A, B, C\), its hinges are pan, lift"
    ):
        robot_runs(chain, renamed(runs, dict(zip(NAMES, "ABC", strict=True))))


def test_a_recorded_joint_that_slides_or_has_no_name_is_named(tmp_path, runs):
    slide = ARM.replace('name="elbow" axis', 'name="elbow" type="slide" axis').replace('name="pan" ', "")
    (tmp_path / "arm.xml").write_text(slide)
    assert robot_runs(Chain(tmp_path / "arm.xml"), runs, ["lift"]).notes == (
        "pan is not in arm.xml: left out, and its motion is not known to the others",
        "elbow slides in arm.xml: left out, and its motion is not known to the others",
        "arm.xml has sliding joints: the loads leave this out",
        "arm.xml has hinges without a name: the loads leave this out",
    )
    (tmp_path / "arm.xml").write_text(slide.replace('name="lift" ', ""))
    with pytest.raises(InputError, match="the robot has no hinge with a name"):
        Chain(tmp_path / "arm.xml")


def test_a_joint_that_hardly_moves_is_skipped(chain, runs):
    still = [*scaled(runs, 0.01, ["pan"])]
    found = robot_runs(chain, still)
    assert [*found.joints] == ["lift", "elbow"]
    assert found.notes == ("pan moves by less than 0.05 rad in every motion: skipped",)
    assert [*robot_runs(chain, runs, ["elbow"]).joints] == ["elbow"]
    with pytest.raises(InputError, match=r"no joint of pan moves by 0.05 rad in any motion"):
        robot_runs(chain, still, ["pan"])
    with pytest.raises(InputError, match="joint wrist: no run of it; there are runs of pan, lift, elbow"):
        robot_runs(chain, runs, ["wrist"])
    with pytest.raises(InputError, match=r"joint Lift: no run of it \(do you mean lift\?\); there are"):
        robot_runs(chain, runs, ["Lift"])


def test_degrees_read_as_radians_are_named(chain, runs):
    with pytest.raises(InputError, match=r"of pan, lift, elbow look like degrees; import them again with the unit deg"):
        robot_runs(chain, scaled(runs, DEGREES))
    with pytest.raises(InputError, match=r"of lift look like degrees"):
        robot_runs(chain, scaled(runs, DEGREES, ["lift"]))


def test_radians_read_as_degrees_are_named(chain, runs):
    with pytest.raises(InputError, match="radians were read as degrees; import them again without deg"):
        robot_runs(chain, scaled(runs, 1.0 / DEGREES))


def test_smooth_angles_may_change_by_any_step(chain, runs):
    """Also by the encoder's step as it would be in degrees, which no span of a joint fits."""
    step = load_servo("sts3215").encoder_step / DEGREES
    moved = [
        replace(run, channels={**run.channels, "position": run.position + step * (np.arange(run.samples) % 2)})
        for run in runs
    ]
    assert robot_runs(chain, moved).warnings == ()


@pytest.mark.parametrize("joint", ["lift", "elbow"])
def test_a_wrong_sign_is_named(chain, runs, joint):
    (warning,) = robot_runs(chain, scaled(runs, -1.0, [joint])).warnings
    assert warning.startswith(f"the sign of {joint} looks wrong: gravity would then fit the errors at rest")


def taken_again(runs, motion, name, shift=0.0, later=0):
    """A further take of a motion, with its goals moved [rad] and a few samples later."""
    return [
        replace(
            run,
            id=f"{name}-{run.joint}",
            provenance={**run.provenance, MOTION: name, "source_sha256": name},
            channels={**run.channels, "goal_position": np.roll(run.goal_position, later) + shift},
        )
        for run in runs
        if run.provenance[MOTION] == motion
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["motion1 (1)", "motion1_2", "other"])
def test_takes_of_one_motion_are_held_out_together(chain, runs, name, seed):
    found = robot_runs(chain, [*runs, *taken_again(runs, "motion1", name, later=1)])
    assert found.notes == (f"{name} has the goals of motion1: they are held out together",)
    held = split_recordings(found.motions, "25%", seed).validation
    assert ("motion1" in held) == (name in held)


def test_a_motion_at_another_pose_is_no_take(chain, runs):
    found = robot_runs(chain, [*runs, *taken_again(runs, "motion1", "motion1_2", shift=0.5)])
    assert [motion.content_sha256 for motion in found.motions] == ["motion0", "motion1", "motion2", "motion1_2"]
    assert found.notes == ()


def test_takes_of_a_single_motion_can_be_held_out(chain, runs):
    """There is no other motion to hold out."""
    found = robot_runs(chain, [*runs[3:6], *taken_again(runs, "motion1", "motion1_2")])
    assert found.notes == ("all motions have the goals of motion1: held-out ones show the error in known motion only",)
    assert len(split_recordings(found.motions, "25%").validation) == 1


def test_exchanged_joints_are_named(chain, runs):
    (warning,) = robot_runs(chain, renamed(runs, {"pan": "lift", "lift": "pan"})).warnings
    assert warning.startswith("lift and pan look exchanged: gravity would then fit the errors at rest")


def test_angles_beyond_the_limits_are_named(chain, runs):
    far = scaled(runs, 2.5, ["pan"])
    (warning,) = robot_runs(chain, far).warnings
    assert warning.startswith("pan turns from -1.")
    assert "beyond the limits -1.57 to 1.57 rad of arm.xml" in warning


SO101 = Path(__file__).parents[4] / "shared/data/so101"


@pytest.mark.skipif(not SO101.is_dir(), reason="the motions of the SO-101 are not here")
@pytest.mark.exhaustive("25 motions of a real arm take a minute")
def test_no_doubt_about_a_real_arm():
    from sessions.importers.joints import parse_joints
    from sessions.importers.sources import Source, read_source
    from sessions.importers.table_runs import TableImport

    joints = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
    request = TableImport(facts={"servo": "sts3215", "kp": 16.0}, joints=parse_joints(",".join(joints)))
    runs = [r for f in sorted(SO101.glob("*.npz")) for r in read_source(Source(f, named=True), request).recordings]
    chain = Chain(SO101 / "so101_new_calib.urdf")
    found = robot_runs(chain, runs)
    assert [*found.joints] == list(joints)
    assert found.notes == found.warnings == ()
    for joint in ("shoulder_lift", "elbow_flex"):
        (warning,) = robot_runs(chain, scaled(runs, -1.0, [joint])).warnings
        assert f"sign of {joint}" in warning
