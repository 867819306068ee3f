"""The recording grid: order with the fewest changes by hand, what is done from what was recorded, JSON both ways."""

import json
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.motion.trajectories import PAPER_TRAJECTORIES
from core.practice.plan import (
    GridPlan,
    changes_by_hand,
    dynamixel_plan,
    erob_plan,
    scaled_plan,
    status,
    suggested_plan,
)
from core.servo.bench import Bench
from core.servo.catalogue import load_servo


@dataclass(frozen=True)
class Run:
    id: str
    trajectory: str
    mass: float
    length: float
    kp: float
    duration: float = 5.995
    exit_status: str = "success"
    servo: str = "mx106"


def run_of(cell, number, **changed):
    return replace(Run(f"{number:04d}", cell.trajectory, cell.mass, cell.length, cell.kp), **changed)


axis = st.lists(st.floats(0.01, 9.0).map(lambda v: float(f"{v:.3g}")), min_size=1, max_size=4, unique=True)
plans = st.builds(
    GridPlan,
    masses=axis.map(tuple),
    lengths=axis.map(tuple),
    kps=axis.map(tuple),
    trajectories=st.lists(st.sampled_from(PAPER_TRAJECTORIES), min_size=1, unique=True).map(tuple),
    repetitions=st.integers(1, 3),
    duration=st.floats(0.1, 60.0),
    title=st.text(max_size=20),
)


def test_the_papers_grids():
    """Seed 004, Table I: 3 × 3 × 4 conditions with four trajectories of 6 s, and 5 × 1 × 4."""
    dynamixel, erob = dynamixel_plan(), erob_plan()
    assert len(dynamixel) == 144
    assert len(erob) == 80
    assert dynamixel.masses == (0.5, 1.0, 1.5)
    assert dynamixel.lengths == (0.1, 0.15, 0.2)
    assert dynamixel.kps == (4, 8, 16, 32)
    assert erob.masses == (3.1, 8.2, 12.7, 14.6, 19.6)
    assert erob.kps == (10, 25, 50, 100)
    assert {dynamixel.duration, erob.duration} == {6.0}
    assert suggested_plan(load_servo("mx64")) == dynamixel
    assert suggested_plan(load_servo("erob80_50")) == erob


def test_a_servo_the_paper_does_not_name_gets_loads_of_the_same_share_of_its_torque():
    spec = load_servo("xl330")
    share = dynamixel_plan().heaviest.gravity_torque / load_servo("mx106").stall_torque
    assert scaled_plan(spec).heaviest.gravity_torque / spec.stall_torque == pytest.approx(share, rel=0.05)
    assert spec.default_kp in scaled_plan(spec).kps
    torque = spec.stall_torque / load_servo("mx106").stall_torque
    assert scaled_plan(spec).masses == pytest.approx([mass * torque for mass in (0.5, 1.0, 1.5)], rel=0.05)
    assert scaled_plan(spec).lengths == (0.1, 0.15, 0.2)


@given(plans)
def test_the_order_needs_the_fewest_changes_by_hand(plan):
    cells = plan.cells()
    assert len(cells) == len(set(cells)) == len(plan)
    # Every place has to be visited once, so no order needs fewer changes.
    assert sum(one.place != other.place for one, other in pairwise(cells)) == len(plan.masses) * len(plan.lengths) - 1
    # One thing at a time.
    for one, other in pairwise(cells):
        assert one.mass == other.mass or one.length == other.length


@given(plans)
def test_json_both_ways(plan):
    assert GridPlan.from_json_text(json.dumps(plan.to_json())) == plan


@given(plans, st.data())
def test_what_is_done_follows_from_the_runs(plan, data):
    cells = plan.cells()
    count = data.draw(st.integers(0, len(cells)))
    runs = [run_of(cell, number, duration=plan.duration) for number, cell in enumerate(cells[:count])]
    found = status(plan, runs)
    assert set(found.done) == set(cells[:count])
    assert found.pending == cells[count:]
    assert found.complete == (count == len(cells))
    total = [found.count(m, le, k) for m in plan.masses for le in plan.lengths for k in plan.kps]
    assert sum(done for done, _ in total) == count
    assert sum(planned for _, planned in total) == len(cells)


def test_only_good_runs_count():
    plan = dynamixel_plan()
    cell = plan.cells()[0]
    lasts_otherwise = ({"duration": 3.0}, {"duration": 9.0})
    for wrong in (*lasts_otherwise, {"exit_status": "abort"}, {"servo": "mx64"}, {"kp": 5.0}, {"mass": 0.51}):
        assert cell in status(plan, [run_of(cell, 1, **wrong)], "mx106").pending, wrong
    good = [run_of(cell, 1)]
    assert status(plan, good, "mx106").done == {cell: "0001"}
    assert cell in status(plan, good, "mx106", excluded=["0001"]).pending


def test_a_cell_recorded_again_is_the_later_run():
    plan = dynamixel_plan()
    cell = plan.cells()[0]
    runs = [run_of(cell, 1), run_of(cell, 2)]
    assert status(plan, runs, excluded={"0001"}).done == {cell: "0002"}


def test_changes_are_said_in_plain_words():
    assert changes_by_hand((0.1, 1.0), (0.1, 1.0)) == ""
    assert changes_by_hand(None, (0.15, 1.0)) == "Hang 1 kg at 0.15 m"
    assert changes_by_hand((0.15, 0.5), (0.15, 1.0)) == "Hang 1 kg instead of 0.5 kg, still at 0.15 m"
    assert changes_by_hand((0.1, 1.5), (0.15, 1.5)) == "Move the 1.5 kg from 0.1 m to 0.15 m"
    assert changes_by_hand((0.1, 0.5), (0.2, 1.5)) == "Hang 1.5 kg at 0.2 m instead of 0.5 kg at 0.1 m"


def test_a_measured_load_holds_only_where_it_was_measured():
    bench = Bench(mass=0.5, length=0.1, arm_mass=0.05, measured_inertia=0.02, measured_gravity_torque=0.6)
    first, *_, last = dynamixel_plan().cells()
    assert first.bench(bench) == bench
    assert last.bench(bench) == Bench(mass=1.5, length=0.2, arm_mass=0.05)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"masses": ()}, "no mass"),
        ({"masses": (1.0, -1.0)}, "-1"),
        ({"masses": (1001.0,)}, "a mass of 1001.0 is not possible"),
        ({"lengths": (float("nan"),)}, "nan"),
        ({"lengths": (10.1,)}, "a length of 10.1 is not possible"),
        ({"lengths": (0.1, 0.0)}, "a length of 0.0 is not possible"),
        ({"kps": (1.1e6,)}, "a gain of 1100000.0 is not possible"),
        ({"lengths": ()}, "no length"),
        ({"kps": ()}, "no gain"),
        ({"masses": (1.0, 1.0)}, "a mass is given twice"),
        ({"lengths": (0.1, 0.1000000001)}, "a length is given twice"),
        ({"trajectories": ("sin_sin", "sin_sin")}, "a trajectory is given twice"),
        ({"repetitions": 101}, "101 repetitions; choose 1 to 100"),
        ({"repetitions": True}, "True repetitions"),
        ({"kps": (8.0, 8.0)}, "twice"),
        ({"trajectories": ()}, "no trajectory"),
        ({"trajectories": ("loop",)}, "loop"),
        ({"repetitions": 0}, "repetitions"),
        ({"duration": -1.0}, "duration"),
        ({"kps": tuple(range(1, 500)), "repetitions": 100}, "leave some"),
    ],
)
def test_what_no_plan_can_be(changed, said):
    with pytest.raises(InputError, match=said):
        replace(dynamixel_plan(), **changed)


def test_the_limits_of_a_plan_are_themselves_possible():
    plan = replace(dynamixel_plan(), masses=(1e3, 0.5), lengths=(10.0, 0.1), kps=(1e6,), repetitions=100)
    assert plan.heaviest.gravity_torque == pytest.approx(1e4 * 9.80665)
    assert status(plan, []).remaining() == len(plan) * 9.5
    assert status(plan, []).remaining(2.0) == len(plan) * 8.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "servobench-plan", "version": 99}',
        json.dumps({**dynamixel_plan().to_json(), "version": 2}),
        json.dumps({**dynamixel_plan().to_json(), "version": "1"}),
        json.dumps({**dynamixel_plan().to_json(), "format": "servobench-model"}),
        json.dumps({**dynamixel_plan().to_json(), "masses": "1"}),
        json.dumps({**dynamixel_plan().to_json(), "kps": [True]}),
        json.dumps({**dynamixel_plan().to_json(), "trajectories": [1]}),
        json.dumps({**dynamixel_plan().to_json(), "duration": "6"}),
        json.dumps({k: v for k, v in dynamixel_plan().to_json().items() if k != "lengths"}),
    ],
)
def test_files_that_are_no_plan(text):
    with pytest.raises(InputError, match="recording plan"):
        GridPlan.from_json_text(text)
