"""LeRobot data sets and ROS bags, written by the libraries of their own projects, become sessions by one command."""

import json
import math
import re
import shlex
import shutil
import sys
from dataclasses import make_dataclass

import numpy as np
import pytest

from core.base.errors import InputError
from core.servo.catalogue import load_servo
from sessions import Session, import_paths
from sessions.importers import TableImport, UnknownTableError
from sessions.importers.bags import _numbers
from sessions.importers.columns import Column, guess_columns, parse_columns
from sessions.importers.datasets import _names, calibrated, read_calibration, robots
from sessions.importers.rows import guess_rows
from sessions.importers.tables import open_table

FACTS = {"servo": "xl330", "mass": 0.3, "length": 0.1, "kp": 400}
DEGREE = math.pi / 180.0
RATE, EPISODES, JOINTS = 50.0, 3, ("shoulder_pan.pos", "elbow_flex.pos")
TIME = np.arange(200) / RATE


def goals(episode, joint):
    return (10.0 + 5.0 * joint + episode) * np.sin(2.0 * TIME)


def positions(episode, joint):
    return 0.95 * (10.0 + 5.0 * joint + episode) * np.sin(2.0 * TIME - 0.1)


def runs_of(path, columns, home, **more):
    request = TableImport(columns=parse_columns(columns), facts=FACTS, **more)
    return [Session.open(home).load(identity) for identity in import_paths([path], home, tables=request)]


def suggested(path, home):
    """Words of the command that is proposed for a file."""
    with pytest.raises(UnknownTableError) as caught:
        import_paths([path], home, tables=TableImport(facts=FACTS))
    return shlex.split(str(caught.value).split("say what they mean: ")[1])


# LeRobot


@pytest.fixture(params=["v2.1", "v3.0"])
def dataset(request, tmp_path):
    """A data set in the format of one of its versions."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "so101_swing"
    (folder / "meta").mkdir(parents=True)
    (folder / "data/chunk-000").mkdir(parents=True)
    names = list(JOINTS) if request.param == "v3.0" else {"motors": list(JOINTS)}
    feature = {"dtype": "float32", "shape": [len(JOINTS)], "names": names}
    features = {"action": feature, "observation.state": feature, "timestamp": {"dtype": "float32", "names": None}}
    info = {"codebase_version": request.param, "robot_type": "so101_follower", "fps": RATE, "features": features}
    (folder / "meta/info.json").write_text(json.dumps(info))
    (folder / "meta/stats.json").write_text("{}")
    tables = []
    for episode in range(EPISODES):
        pair = [np.column_stack([of(episode, joint) for joint in range(2)]) for of in (goals, positions)]
        lists = [pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(p.ravel().astype("f4")), 2) for p in pair]
        tables.append(
            pyarrow.table(
                {
                    "action": lists[0],
                    "observation.state": lists[1],
                    "timestamp": TIME.astype("f4"),
                    "frame_index": np.arange(len(TIME)),
                    "episode_index": np.full(len(TIME), episode),
                    "task_index": np.zeros(len(TIME), int),
                }
            )
        )
    if request.param == "v3.0":
        parquet.write_table(pyarrow.concat_tables(tables), folder / "data/chunk-000/file-000.parquet")
    else:
        for episode, table in enumerate(tables):
            parquet.write_table(table, folder / f"data/chunk-000/episode_{episode:06d}.parquet")
    return folder


def test_a_data_set_becomes_a_run_an_episode(dataset, tmp_path):
    columns = "time=timestamp,goal=action.elbow_flex.pos:deg,position=observation.state.elbow_flex.pos:deg"
    runs = runs_of(dataset, columns, tmp_path / "s", split_by="episode_index")
    assert [run.trajectory for run in runs] == [f"so101_swing-{episode}" for episode in range(EPISODES)]
    for episode, run in enumerate(runs):
        np.testing.assert_allclose(run.time, TIME, atol=1e-6)
        np.testing.assert_allclose(run.goal_position, goals(episode, 1) * DEGREE, atol=1e-6)
        np.testing.assert_allclose(run.position, positions(episode, 1) * DEGREE, atol=1e-6)


@pytest.mark.parametrize(
    "columns", ["", "time=timestamp,goal=action.{joint}.pos:deg,position=observation.state.{joint}.pos:deg"]
)
def test_a_data_set_becomes_a_run_for_each_joint_of_an_episode(dataset, tmp_path, columns):
    """The data set states the servo of each joint."""
    request = TableImport(
        columns=parse_columns(columns),
        facts={"kp": 16, "supply_voltage": 12.0},
        joints={},
        split_by="episode_index",
    )
    ids = import_paths([dataset], tmp_path / "s", tables=request)
    runs = [Session.open(tmp_path / "s").load(identity) for identity in ids]
    assert {run.settings.servo for run in runs} == {"sts3215"}
    found = {(run.joint, run.provenance["motion"]): run for run in runs}
    assert len(found) == len(runs) == 2 * EPISODES
    for joint, name in enumerate(("shoulder_pan", "elbow_flex")):
        for episode in range(EPISODES):
            run = found[name, f"so101_swing-{episode}"]
            np.testing.assert_allclose(run.goal_position, goals(episode, joint) * DEGREE, atol=1e-6)
            np.testing.assert_allclose(run.position, positions(episode, joint) * DEGREE, atol=1e-6)


def test_the_command_proposed_for_a_data_set_imports_it(dataset, tmp_path):
    words = suggested(dataset, tmp_path / "s")
    named = dict(zip(words[3::2], words[4::2], strict=True))
    assert (named["--split-by"], words[2]) == ("episode_index", str(dataset))
    runs = runs_of(dataset, named["--columns"], tmp_path / "s", split_by=named["--split-by"])
    np.testing.assert_allclose(runs[1].position, positions(1, 1) * DEGREE, atol=1e-6)


GOALS = "time=timestamp,goal=action.{0}.pos:deg,position=observation.state.{0}.pos:deg"


def with_robot(dataset, robot, names=JOINTS):
    """The data set as one of another robot."""
    info = json.loads((dataset / "meta/info.json").read_text())
    for feature in ("action", "observation.state"):
        info["features"][feature]["names"] = list(names)
    info["robot_type"] = robot
    (dataset / "meta/info.json").write_text(
        json.dumps({key: value for key, value in info.items() if value is not None})
    )
    return dataset


def servo_at(dataset, joint, home, **facts):
    known = {name: value for name, value in FACTS.items() if name != "servo"} | {"kp": 16} | facts
    request = TableImport(columns=parse_columns(GOALS.format(joint)), facts=known, split_by="episode_index")
    import_paths([dataset], home, tables=request)
    [settings] = {run.settings for run in Session.open(home).load_all()}
    return settings.servo, settings.supply_voltage


@pytest.mark.parametrize(
    ("robot", "joint", "supply", "servo"),
    [
        ("so101_follower", "elbow_flex", 12.0, "sts3215"),
        ("so101_follower", "elbow_flex", 5.0, "sts3215_7v4"),
        ("so100", "shoulder_pan", 7.4, "sts3215_7v4"),
        ("so101_leader", "elbow_flex", 5.0, "sts3215_c044"),
        ("so101_leader", "wrist_roll", 5.0, "sts3215_c046"),
        ("bi_so_follower", "left_shoulder_pan", 12.0, "sts3215"),
    ],
)
def test_the_robot_and_its_supply_state_the_servo(dataset, tmp_path, robot, joint, supply, servo):
    with_robot(dataset, robot, (f"{joint}.pos", "gripper.pos"))
    assert servo_at(dataset, joint, tmp_path / "s", supply_voltage=supply) == (servo, supply)


@pytest.mark.parametrize(
    ("robot", "joint", "facts", "line"),
    [
        ("so101_follower", "elbow_flex", {}, r"elbow_flex of so101_follower has sts3215_7v4 \(4 to 7.8 V\) or sts3215 "
         r"\(9 to 13 V\): add the arm's supply, --supply-voltage V, or add --servo$"),
        ("so101_leader", "elbow_flex", {}, r"elbow_flex of so101_leader has sts3215_c044 \(4 to 7.8 V\): add "),
        ("so101_leader", "elbow_flex", {"supply_voltage": 12.0}, r"has sts3215_c044 \(4 to 7.8 V\): check --supply"),
        ("so101_follower", "elbow_flex", {"supply_voltage": 24.0}, r": check --supply-voltage, or add --servo$"),
        ("koch_follower", "elbow_flex", {"supply_voltage": 12.0}, r"observation.state.elbow_flex.pos has no known "
         r"servo, meta/info.json states robot_type koch_follower: add --servo$"),
        (None, "elbow_flex", {}, r"meta/info.json states no robot_type: add --servo$"),
        ("so101_follower", "tail", {"supply_voltage": 12.0}, r"observation.state.tail.pos has no known servo, "),
    ],
)  # fmt: skip
def test_what_does_not_state_the_servo_is_one_line_with_what_to_add(dataset, tmp_path, robot, joint, facts, line):
    with_robot(dataset, robot, (f"{joint}.pos", "other.pos"))
    with pytest.raises(InputError, match=line) as caught:
        servo_at(dataset, joint, tmp_path / "s", **facts)
    assert "\n" not in str(caught.value)
    assert servo_at(dataset, joint, tmp_path / "s", servo="sts3250", supply_voltage=12.0)[0] == "sts3250"


@pytest.mark.parametrize(("robot", "joint"), [(robot, joint) for robot, joints in robots().items() for joint in joints])
def test_each_joint_of_a_known_robot_has_one_servo_for_a_supply(robot, joint):
    """LeRobot's names of the joints; a kit runs on 5, 7.4 or 12 V."""
    assert joint in ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
    possible = [load_servo(name) for name in robots()[robot][joint]]
    fitting = {supply: [spec for spec in possible if spec.runs_on(supply)] for supply in (5.0, 7.4, 12.0)}
    assert fitting[5.0] == fitting[7.4]
    assert {len(specs) for specs in fitting.values()} == (
        {1} if "follower" in robot or "leader" not in robot else {0, 1}
    )
    gears = {1: 191, 2: 345, 3: 191, 4: 147, 5: 147, 6: 147}  # of the leader, huggingface.co/docs/lerobot/so101
    wanted = gears[[*robots()[robot]].index(joint) + 1] if "leader" in robot else 345
    assert {spec.gear_ratio for spec in possible} == {wanted}


def test_the_command_proposed_for_a_known_robot_asks_for_its_supply(dataset, tmp_path):
    with pytest.raises(UnknownTableError) as caught:
        import_paths([dataset], tmp_path / "s")
    assert "--supply-voltage V" in str(caught.value)
    assert "--servo" not in str(caught.value)
    with pytest.raises(UnknownTableError) as caught:
        import_paths([with_robot(dataset, "aloha")], tmp_path / "s")
    assert "--servo SERVO" in str(caught.value)
    assert "--supply-voltage" not in str(caught.value)


MOTORS = {"shoulder_pan": (1, 0, 900, 3100), "elbow_flex": (3, 1, 1000, 3000), "gripper": (6, 0, 2000, 3500)}
CALIBRATION = {
    motor: {"id": id_, "drive_mode": mode, "homing_offset": 17, "range_min": low, "range_max": high}
    for motor, (id_, mode, low, high) in MOTORS.items()
}


@pytest.mark.parametrize("motor", MOTORS)
def test_values_of_a_calibrated_range_are_what_lerobot_makes_of_counts(tmp_path, motor):
    """As its `MotorsBus._normalize` has it, turned back into the angle from the middle of the range."""
    (tmp_path / "arm.json").write_text(json.dumps(CALIBRATION))
    [column] = calibrated({"position": Column(f"action.{motor}.pos")}, read_calibration(tmp_path / "arm.json")).values()
    _, mode, low, high = MOTORS[motor]
    counts = np.linspace(low, high, 7)
    share = (counts - low) / (high - low)
    if motor == "gripper":
        logged = 100.0 * (1.0 - share if mode else share)
    else:
        logged = (200.0 * share - 100.0) * (-1.0 if mode else 1.0)
    expected = (counts - (low + high) / 2.0) * 2.0 * math.pi / 4096.0
    np.testing.assert_allclose(column.in_si(logged, "position", load_servo("sts3215")), expected, atol=1e-12)


@pytest.mark.parametrize("unit", ["deg*-1", "deg+90", "*-1"])
def test_a_factor_beside_a_calibration_is_refused(tmp_path, unit):
    (tmp_path / "arm.json").write_text(json.dumps(CALIBRATION))
    [column] = parse_columns(f"position=action.elbow_flex.pos:{unit}").values()
    with pytest.raises(InputError, match=rf"leave out :{re.escape(unit)} in --columns"):
        calibrated({"position": column}, read_calibration(tmp_path / "arm.json"))


def test_the_command_proposed_with_a_calibration_states_its_factors(dataset, tmp_path):
    (tmp_path / "arm.json").write_text(json.dumps(CALIBRATION))
    request = TableImport(facts=FACTS, calibration=read_calibration(tmp_path / "arm.json"))
    with pytest.raises(
        UnknownTableError, match=r"goal=action.elbow_flex.pos:counts\*-10,position=\S*_flex.pos:counts\*-10' "
    ):
        import_paths([dataset], tmp_path / "s", tables=request)
    columns = "time=timestamp,goal=action.elbow_flex.pos,position=observation.state.elbow_flex.pos"
    run = runs_of(dataset, columns, tmp_path / "s", split_by="episode_index", calibration=request.calibration)[1]
    np.testing.assert_allclose(run.position, positions(1, 1) * -10.0 * 2.0 * math.pi / 4096.0, atol=1e-6)
    with pytest.raises(InputError, match="no goal or position is named after wrist"):
        runs_of(dataset, columns, tmp_path / "t", calibration={"wrist": Column("wrist", "counts")})


@pytest.mark.parametrize("content", ["", "[]x", '{"elbow": {"range_min": 1}}', '{"elbow": 3}'])
def test_another_file_than_a_calibration_is_refused(tmp_path, content):
    (tmp_path / "arm.json").write_text(content)
    with pytest.raises(InputError, match=r"arm\.json: not a calibration of LeRobot"):
        read_calibration(tmp_path / "arm.json")


def test_all_groups_of_names_are_used():
    assert _names({"names": {"left": ["a", "b"], "right": ["a", "b"]}}) == ["left.a", "left.b", "right.a", "right.b"]
    assert _names({"names": {"motors": ["a", "b"]}}) == _names({"names": ["a", "b"]}) == ["a", "b"]


def test_a_data_set_is_found_in_a_folder_and_its_other_files_are_no_runs(dataset, tmp_path):
    (tmp_path / "other.txt").write_text("no recording")
    columns = "time=timestamp,goal=action.elbow_flex.pos:deg,position=observation.state.elbow_flex.pos:deg"
    assert len(runs_of(tmp_path, columns, tmp_path / "s", split_by="episode_index")) == EPISODES


# WPILib

TESTS = ("slow-forward", "slow-backward", "fast-forward", "fast-backward")


def sysid(path, units="Radians", width=4):
    """Write tests as WPILib's SysId does, one after the other on one clock, in rotations of the output."""
    data = {"sysid": True, "test": "Arm", "units": units, "unitsPerRotation": 2.0 * math.pi}
    for place, test in enumerate(TESTS):
        columns = (
            30.0 * place + TIME,
            3.0 * np.sin(TIME),
            positions(place, 1) / 360.0,
            np.gradient(positions(place, 1), TIME) / 360.0,
        )
        data[test] = np.column_stack([*columns, *columns[2:]])[:, :width].tolist()
    path.write_text(json.dumps(data))
    return path


def test_the_tests_of_sysid_are_a_table(tmp_path):
    table = open_table(sysid(tmp_path / "arm.json").read_bytes(), ".json")
    found = table.columns(["time", "goal_voltage", "position", "velocity"])
    assert (table.names, len(found["time"])) == (("test", *found), 4 * len(TIME))
    columns = guess_columns(table)
    servo = load_servo("xl330")
    wanted = np.concatenate([positions(place, 1) for place in range(4)]) * DEGREE
    np.testing.assert_allclose(columns["position"].in_si(found["position"], "position", servo), wanted, atol=1e-12)
    assert (columns["velocity"].unit, guess_rows(table, "time", [*found])) == ("turn/s", {"split_by": "test"})
    words = suggested(tmp_path / "arm.json", tmp_path / "s")
    named = dict(zip(words[3::2], words[4::2], strict=True))
    runs = runs_of(tmp_path / "arm.json", named["--columns"], tmp_path / "s", split_by=named["--split-by"])
    assert [run.trajectory for run in runs] == [f"arm-{test}" for test in TESTS]
    for place, run in enumerate(runs):
        np.testing.assert_allclose(run.channels["goal_voltage"], 3.0 * np.sin(TIME), atol=1e-12)
        np.testing.assert_allclose(run.position, positions(place, 1) * DEGREE, atol=1e-9)
    with pytest.raises(InputError, match="not tests of one mechanism by WPILib's SysId"):
        open_table(sysid(tmp_path / "drive.json", width=6).read_bytes(), ".json")


def test_an_empty_test_of_sysid_and_one_of_a_row_are_said_once(tmp_path):
    data = json.loads(sysid(tmp_path / "arm.json").read_text())
    data[TESTS[1]], data[TESTS[3]] = [], data[TESTS[3]][:1]
    (tmp_path / "arm.json").write_text(json.dumps(data))
    columns, events = parse_columns("time=time,goal_voltage=goal_voltage,position=position"), []
    request = TableImport(columns=columns, facts=FACTS, split_by="test")
    import_paths([tmp_path / "arm.json"], tmp_path / "s", events.append, request)
    said = "; ".join(event.note for event in events)
    assert said.count("units read from the file") == 1
    assert "the empty test slow-backward left out" in said
    assert "left out test fast-backward: 1 row with a time, goal and position, at least 2 are needed" in said


@pytest.mark.parametrize(("key", "value"), [("test", "Elevator"), ("units", "Meters"), ("units", "Inches")])
def test_sysid_of_what_does_not_turn_is_refused(tmp_path, key, value):
    data = json.loads(sysid(tmp_path / "lift.json").read_text()) | {key: value}
    with pytest.raises(InputError, match=f"SysId of a mechanism that does not turn .*{value}"):
        open_table(json.dumps(data).encode(), ".json")


# ROS


def written_bag(kind, path):
    """Write a bag: states of two joints at 50 Hz, and commands of both at 10 Hz."""
    rosbag = pytest.importorskip(
        "rosbags.rosbag1" if kind == "ROS 1" else "rosbags.rosbag2", reason="rosbags is not installed"
    )
    types = pytest.importorskip("rosbags.typesys")
    store = types.get_typestore(types.Stores.ROS1_NOETIC if kind == "ROS 1" else types.Stores.ROS2_HUMBLE)
    make = {name.rsplit("/", 1)[1]: made for name, made in store.types.items() if not name.endswith("msgs/msg/Time")}
    make["Time"] = store.types["builtin_interfaces/msg/Time"]
    more = {"seq": 0} if kind == "ROS 1" else {}
    writer = rosbag.Writer(path) if kind == "ROS 1" else rosbag.Writer(path, version=9, storage_plugin=plugin(kind))
    write = store.serialize_ros1 if kind == "ROS 1" else store.serialize_cdr
    start = 1_790_000_000_000_000_000
    with writer:
        states = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        commands = writer.add_connection("/command", "std_msgs/msg/Float64MultiArray", typestore=store)
        for place, time in enumerate(TIME):
            stamp = start + round(time * 1e9)
            if place % 5 == 0:
                layout = make["MultiArrayLayout"](dim=[], data_offset=0)
                goal = np.array([goals(0, joint)[place] * DEGREE for joint in range(2)])
                message = make["Float64MultiArray"](layout=layout, data=goal)
                writer.write(commands, stamp - 2_000_000, write(message, "std_msgs/msg/Float64MultiArray"))
            header = make["Header"](**more, stamp=make["Time"](sec=0, nanosec=0), frame_id="")
            message = make["JointState"](
                header=header,
                name=["elbow", "wrist"],
                position=np.array([positions(0, joint)[place] * DEGREE for joint in range(2)]),
                velocity=np.zeros(2),
                effort=np.array([]),
            )
            writer.write(states, stamp, write(message, "sensor_msgs/msg/JointState"))
    return path


def plugin(kind):
    from rosbags.rosbag2 import StoragePlugin

    return StoragePlugin.MCAP if kind == "MCAP" else StoragePlugin.SQLITE3


@pytest.fixture(params=["SQLite", "MCAP", "ROS 1"])
def bag(request, tmp_path):
    return written_bag(request.param, tmp_path / ("log.bag" if request.param == "ROS 1" else "log"))


COLUMNS = "time=time,goal=/command/data[1],position=/joint_states/position[wrist]"


def check_bag(run):
    np.testing.assert_allclose(run.time - run.time[0], TIME, atol=1e-9)
    np.testing.assert_allclose(run.goal_position, np.repeat(goals(0, 1)[::5], 5) * DEGREE, atol=1e-12)
    np.testing.assert_allclose(run.position, positions(0, 1) * DEGREE, atol=1e-12)
    np.testing.assert_allclose(run.channels["command_time"] - run.time[0], np.repeat(TIME[::5], 5) - 0.002, atol=1e-9)


def test_a_bag_becomes_a_run_with_each_goal_held_from_its_own_time(bag, tmp_path):
    [run] = runs_of(bag, COLUMNS, tmp_path / "s")
    check_bag(run)


def test_a_part_of_a_bag_is_enough(bag, tmp_path):
    parts = [bag] if bag.is_file() else [each for each in bag.iterdir() if each.suffix in (".db3", ".mcap")]
    shutil.copy(parts[0], alone := tmp_path / f"alone{parts[0].suffix}")
    [run] = runs_of(alone, COLUMNS, tmp_path / "s")
    check_bag(run)


def test_the_command_proposed_for_a_bag_imports_it(bag, tmp_path):
    words = suggested(bag, tmp_path / "s")
    columns = words[words.index("--columns") + 1]
    [run] = runs_of(bag, columns, tmp_path / "s")
    np.testing.assert_allclose(run.position, positions(0, 0) * DEGREE, atol=1e-12)


def test_joints_of_a_trajectory_name_its_positions_and_not_its_points():
    point = make_dataclass("Point", ["positions", "time_from_start"])
    command = make_dataclass("Command", ["header", "joint_names", "points"])
    for count in (1, 2):
        points = [point(np.array([0.1, 0.2 + place]), 0.0) for place in range(count)]
        found = dict(_numbers("/command", command(None, ["shoulder", "elbow"], points)))
        assert found["/command/points[0]/positions[elbow]"] == 0.2
        assert len(found) == 3 * count


@pytest.mark.parametrize("name", ["log.bag", "log.db3", "log.mcap"])
def test_what_is_no_bag_is_refused_in_one_line(tmp_path, name):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    (tmp_path / name).write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="not a ROS bag, or a damaged one") as caught:
        runs_of(tmp_path / name, COLUMNS, tmp_path / "s")
    assert "\n" not in str(caught.value)


def test_what_is_missing_to_read_a_container_is_named(tmp_path, monkeypatch):
    for module in ("rosbags", "rosbags.highlevel", "pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "log.mcap").write_bytes(b"")
    with pytest.raises(InputError, match=r"ROS bags need rosbags: pip install 'servobench\[ros\]'"):
        runs_of(tmp_path / "log.mcap", COLUMNS, tmp_path / "s")
    (tmp_path / "set/meta").mkdir(parents=True)
    (tmp_path / "set/data/chunk-000").mkdir(parents=True)
    (tmp_path / "set/meta/info.json").write_text('{"features": {}}')
    (tmp_path / "set/data/chunk-000/file-000.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"pip install 'servobench\[parquet\]'"):
        runs_of(tmp_path / "set", COLUMNS, tmp_path / "s")


def test_a_folder_with_nothing_of_a_data_set_but_its_mark_is_refused(tmp_path):
    (tmp_path / "set/meta").mkdir(parents=True)
    (tmp_path / "set/meta/info.json").write_text('{"features": {}}')
    with pytest.raises(InputError, match="not a LeRobot data set"):
        runs_of(tmp_path / "set", COLUMNS, tmp_path / "s")
