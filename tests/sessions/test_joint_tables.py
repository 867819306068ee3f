"""Tables of a whole robot become one run for each joint, which names its joint and its motion."""

import csv

import numpy as np
import pytest

from core.base.errors import InputError
from sessions import Session, import_paths
from sessions.importers import TableImport, UnknownTableError
from sessions.importers.columns import columns_text, parse_columns
from sessions.importers.joints import guess_joint_columns, parse_joints
from sessions.importers.table_runs import suggested_command
from sessions.importers.tables import ArrayTable, open_table

FACTS = {"servo": "sts3215", "kp": 16.0, "supply_voltage": 12.0}
TIME = np.arange(200) / 50.0
NAMES = ("Rotation", "Pitch", "Jaw")
GOAL = np.column_stack([0.5 * np.sin(2.0 * TIME), 0.3 * np.cos(TIME), np.full(200, 0.2)])
POSITION = 0.9 * GOAL
DEGREES = 180.0 / np.pi


def runs_of(path, home, joints="all", columns="", facts=FACTS, **more):
    request = TableImport(columns=parse_columns(columns), facts=facts, joints=parse_joints(joints), **more)
    return [Session.open(home).load(identity) for identity in import_paths([path], home, tables=request)]


def written_csv(path, position, **columns):
    """A table with a column for each joint; position: name of its column, with {} for the joint."""
    columns = {"t": TIME} | {f"{name}_goal": goal for name, goal in zip(NAMES, GOAL.T, strict=True)} | columns
    columns |= {position.format(name): value for name, value in zip(NAMES, POSITION.T, strict=True)}
    rows = np.column_stack([*columns.values()])
    np.savetxt(path, rows, delimiter=",", header=",".join(columns), comments="", fmt="%.9g")
    return path


def check(runs, names=NAMES, motion="swing"):
    assert [run.joint for run in runs] == list(names)
    for place, run in enumerate(runs):
        assert (run.provenance["motion"], run.trajectory) == (motion, motion)
        assert (run.bench.mass, run.bench.inertia, run.load) == (0.0, 0.0, None)
        np.testing.assert_allclose(run.time, TIME)
        np.testing.assert_allclose(run.goal_position, GOAL[:, place], atol=1e-7)
        np.testing.assert_allclose(run.position, POSITION[:, place], atol=1e-7)


@pytest.mark.parametrize("labels", [np.array(NAMES), np.array(NAMES).astype("S")])
def test_an_archive_that_names_its_joints_needs_no_columns(tmp_path, labels):
    path = tmp_path / "swing.npz"
    np.savez(path, time=TIME, goal=GOAL, position=POSITION, joints=labels)
    runs = runs_of(path, tmp_path / "lab")
    check(runs)
    assert runs[0].provenance["left_out"] == "read as --columns time=time,goal=goal.{joint},position=position.{joint}"


def test_degrees_show_in_the_largest_angles_of_all_joints(tmp_path):
    path = tmp_path / "swing.npz"
    np.savez(
        path, time=TIME, goal=DEGREES * GOAL * [0.1, 1, 1], position=DEGREES * POSITION * [0.1, 1, 1], joints=NAMES
    )
    runs = runs_of(path, tmp_path / "lab")
    np.testing.assert_allclose(runs[0].position, 0.1 * POSITION[:, 0], atol=1e-7)


def test_an_archive_without_names_takes_them_in_its_order(tmp_path):
    path = tmp_path / "swing.npz"
    np.savez(path, time=TIME, goal=GOAL, position=POSITION, current_counts=np.zeros((200, 3), int))
    check(runs_of(path, tmp_path / "lab", "pan,lift,gripper"), ("pan", "lift", "gripper"))
    (lift,) = runs_of(path, tmp_path / "some", "1=lift")
    np.testing.assert_allclose(lift.position, POSITION[:, 1])
    for joints in ("all", "pan,lift"):
        with pytest.raises(InputError, match="the table numbers its joints, 3 of them: name all in this order"):
            runs_of(path, tmp_path / "none", joints)


def test_a_table_in_degrees_is_read_and_renamed_as_asked(tmp_path):
    path = tmp_path / "swing.csv"
    columns = {"t": TIME} | {f"goal.{name}": DEGREES * x for name, x in zip(NAMES, GOAL.T, strict=True)}
    columns |= {f"state/{name}/pos": DEGREES * x for name, x in zip(NAMES, POSITION.T, strict=True)}
    np.savetxt(path, np.column_stack([*columns.values()]), delimiter=",", header=",".join(columns), comments="")
    text = "time=t,goal=goal.{joint}:deg,position=state/{joint}/pos:deg"
    check(runs_of(path, tmp_path / "lab", "all", text))
    pan, jaw = runs_of(path, tmp_path / "some", "Rotation=shoulder_pan,Jaw", text)
    assert (pan.joint, jaw.joint) == ("shoulder_pan", "Jaw")
    assert pan.provenance["columns"] == "time=t,goal=goal.Rotation:deg,position=state/Rotation/pos:deg"


@pytest.mark.parametrize("position", ["{}_position", "{}_pos"])
def test_columns_of_joints_are_guessed(tmp_path, position):
    check(runs_of(written_csv(tmp_path / "swing.csv", position), tmp_path / "lab"))


@pytest.mark.parametrize(
    ("goal", "position", "guess"),
    [
        ("action.{}.pos", "observation.state.{}.pos", "action.{joint}.pos"),
        ("goal_{}", "pos_{}", "goal_{joint}"),
        ("{}/goal_position", "{}/position", "{joint}/goal_position"),
    ],
)
def test_names_of_several_words_are_guessed_whole(goal, position, guess):
    joints = ("shoulder_pan", "shoulder_lift", "wrist_roll")
    table = ArrayTable(
        {"timestamp": TIME} | {text.format(joint): GOAL[:, 0] for text in (goal, position) for joint in joints}
    )
    assert guess_joint_columns(table)["goal_position"].name == guess


def test_a_table_of_one_servo_has_no_joints(tmp_path):
    path = tmp_path / "one.csv"
    np.savetxt(
        path, np.column_stack([TIME, GOAL[:, 0], POSITION[:, 0]]), delimiter=",", header="t,goal,pos", comments=""
    )
    assert guess_joint_columns(open_table(path.read_bytes(), ".csv")) == {}
    with pytest.raises(InputError, match=r"if the columns are of one joint, name it: --joints NAME"):
        runs_of(path, tmp_path / "lab")
    with pytest.raises(InputError, match=r"--joints needs \{joint\} in the names of the joints' columns"):
        runs_of(path, tmp_path / "lab", columns="time=t,goal=goal,position=pos")


@pytest.mark.parametrize(
    ("goal", "position", "joints"),
    [
        ("goal", "pos", "lift"),
        ("goal_rad", "pos_rad", "lift"),
        ("goal.lift", "position.lift", "all"),
        ("goal.Pitch", "position.Pitch", "Pitch=lift"),
    ],
)
def test_a_table_of_one_joint_is_named_or_names_itself(tmp_path, goal, position, joints):
    path = tmp_path / "one.csv"
    np.savetxt(
        path,
        np.column_stack([TIME, GOAL[:, 0], POSITION[:, 0]]),
        delimiter=",",
        header=f"t,{goal},{position}",
        comments="",
    )
    check(runs_of(path, tmp_path / "lab", joints), ["lift"], "one")
    columns = f"time=t,goal={goal},position={position}"
    check(runs_of(path, tmp_path / "more", "lift", columns), ["lift"], "one")


def test_an_archive_of_one_column_takes_the_name_of_its_joint(tmp_path):
    path = tmp_path / "one.npz"
    np.savez(path, time=TIME, goal=GOAL[:, :1], position=POSITION[:, :1])
    check(runs_of(path, tmp_path / "lab", "lift"), ["lift"], "one")
    with pytest.raises(InputError, match=r"1 of them: name all in this order, --joints NAME,… \(2 names given\)$"):
        runs_of(path, tmp_path / "none", "pan,lift")


def test_the_command_that_is_suggested_for_joints_has_no_pendulum(tmp_path):
    path = tmp_path / "odd.csv"
    np.savetxt(path, np.column_stack([TIME, GOAL]), delimiter=",", header="t,x,y,z", comments="")
    request = TableImport(facts=FACTS, joints=parse_joints("Pitch=lift,pan"))
    with pytest.raises(UnknownTableError) as refused:
        import_paths([path], tmp_path / "lab", tables=request)
    words = suggested_command(refused.value, [path], request)
    assert "--joints Pitch=lift,pan" in words
    assert "mass" not in words


def test_a_table_of_several_joints_says_how_to_import_all(tmp_path):
    with pytest.raises(UnknownTableError, match=r"of several joints \(for the motion of a whole robot"):
        import_paths([written_csv(tmp_path / "swing.csv", "{}_position")], tmp_path / "lab")


def test_joints_at_rest_are_no_repetitions_of_each_other(tmp_path):
    path = tmp_path / "swing.npz"
    np.savez(path, time=TIME, goal=np.zeros((200, 3)), position=np.zeros((200, 3)), joints=np.array(NAMES))
    assert len(runs_of(path, tmp_path / "lab")) == 3
    session = Session.open(tmp_path / "lab")
    assert session.selection(session.runs()).equal == ()
    assert runs_of(path, tmp_path / "lab") == []  # imported before


def written_sage(folder, apart=0.0, scale=1e6):
    """A motion in the layout of SAGE, whose states come `apart` seconds after the goals."""
    folder.mkdir(parents=True)
    (folder / "joint_list.txt").write_text("".join(f"{name}\n" for name in NAMES))
    for file, kind, values, late in (
        ("control", "CONTROL", GOAL, 0.0),
        ("state_motor", "STATE_MOTOR", POSITION, apart),
    ):
        with (folder / f"{file}.csv").open("w", newline="") as text:
            rows = csv.writer(text)
            rows.writerow(["type", "timestamp", "positions", "velocities"])
            rows.writerows(
                [kind, (t + late) * scale, row.tolist(), [0.0] * 3] for t, row in zip(TIME, values, strict=True)
            )
    return folder


@pytest.mark.parametrize("scale", [1e6, 1.0])
def test_folders_of_sage_are_motions(tmp_path, scale):
    """Times of a real robot are in µs, those of a simulated one in s."""
    written_sage(tmp_path / "out/swing", scale=scale)
    (tmp_path / "out/swing/event.csv").write_text("type,timestamp,event\nEVENT,0,DISABLE\n")
    check(
        runs_of(tmp_path / "out", tmp_path / "lab", "Rotation=shoulder_pan,Pitch,Jaw"), ("shoulder_pan", "Pitch", "Jaw")
    )


def test_goals_of_sage_between_the_states_keep_their_times(tmp_path):
    run, *_ = runs_of(written_sage(tmp_path / "swing", apart=0.004), tmp_path / "lab")
    np.testing.assert_allclose(run.position, POSITION[:, 0])
    np.testing.assert_allclose(run.goal_position, GOAL[:, 0])
    np.testing.assert_allclose(run.time - run.command_time, 0.004)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("joint_list.txt", None, "not a motion of SAGE"),
        ("control.csv", None, "not a motion of SAGE"),
        ("control.csv", "type,positions\nCONTROL,[1]\n", "control.csv has no column timestamp"),
        (
            "control.csv",
            'type,timestamp,positions\nCONTROL,0,"[1, 2]"\n',
            "control.csv, line 2: positions are no list of 3",
        ),
        (
            "state_motor.csv",
            "type,timestamp,positions\nSTATE,0,1\n",
            "state_motor.csv, line 2: positions are no list of 3",
        ),
        ("state_motor.csv", "type,timestamp,positions\nSTATE,0,x\n", "swing: "),
        ("state_motor.csv", "", "the file is empty"),
    ],
)
def test_damaged_folders_of_sage_are_refused_in_one_line(tmp_path, file, text, words):
    damaged = written_sage(tmp_path / "swing") / file
    damaged.unlink() if text is None else damaged.write_text(text)
    with pytest.raises(InputError, match=words) as refused:
        runs_of(tmp_path / "swing", tmp_path / "lab")
    assert "\n" not in str(refused.value)


def test_episodes_are_motions_of_their_own(tmp_path):
    path = written_csv(tmp_path / "swing.csv", "{}_position", episode_index=np.repeat([0, 1], 100))
    runs = runs_of(path, tmp_path / "lab", split_by="episode_index")
    assert {(run.joint, run.provenance["motion"]) for run in runs} == {
        (name, f"swing-{episode}") for name in NAMES for episode in (0, 1)
    }


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        ("Elbow", r"there is no joint Elbow; there are Rotation, Pitch, Jaw"),
        ("Pitch,Pitch", "expected different names"),
        ("Pitch=a,Jaw=a", "expected different names"),
        ("", "expected different names"),
        ("Pitch=", "expected different names"),
    ],
)
def test_joints_that_cannot_be_are_refused_in_one_line(tmp_path, joints, words):
    path = written_csv(tmp_path / "swing.csv", "{}_position")
    with pytest.raises(InputError, match=words):
        runs_of(path, tmp_path / "lab", joints)
    assert not (tmp_path / "lab").exists()


@pytest.mark.parametrize("fact", ["mass", "length", "arm_mass", "angle_offset"])
def test_the_load_on_a_joint_is_not_stated(tmp_path, fact):
    path = written_csv(tmp_path / "swing.csv", "{}_position")
    with pytest.raises(InputError, match=f"from the robot's file: leave out --{fact.replace('_', '-')}"):
        runs_of(path, tmp_path / "lab", facts={**FACTS, fact: 0.1})


def test_a_damaged_column_names_its_joint(tmp_path):
    path = written_csv(tmp_path / "swing.csv", "{}_position")
    path.write_text(path.read_text().replace("Jaw_position", "Jaw_position").replace("0.18\n", "inf\n", 3))
    with pytest.raises(InputError, match="joint Jaw: line 2: position"):
        runs_of(path, tmp_path / "lab")


def test_the_list_of_runs_knows_the_joints(tmp_path):
    path = written_csv(tmp_path / "swing.csv", "{}_position")
    runs_of(path, tmp_path / "lab")
    assert [run.joint for run in Session.open(tmp_path / "lab").runs()] == list(NAMES)
    assert columns_text(parse_columns("time=t,goal={joint}_goal")) == "time=t,goal={joint}_goal"
