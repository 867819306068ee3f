"""Paths of the tip and the joint angles that lead along them: geometry of two links, one elbow solution, no jumps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.studies.arm.kinematics import elbow_positions, joint_angles, tip_positions
from core.studies.arm.paths import PATHS, arm_path, path_points
from core.studies.arm.scene import ARMS, links_of_bodies

ARM = ARMS["dynamixel"].links
UNEQUAL = links_of_bodies((0.3, 0.18), (0.2, 0.1), 0.1, 0.1)

lengths = st.floats(0.05, 2.0)
angles = st.floats(-3.0, 3.0)


def arm(first, second, offsets=(0.0, 0.0)):
    links = links_of_bodies((first, second), (1.0, 1.0), 0.0, 0.0)
    return type(links)(**{**vars(links), "angle_offsets": offsets})


def test_the_hanging_and_the_horizontal_arm_are_where_they_should_be():
    at = [[0.0, 0.0], [np.pi / 2, 0.0], [np.pi / 2, np.pi / 2], [0.0, -np.pi / 2]]
    assert tip_positions(UNEQUAL, at) == pytest.approx(np.array([[0, -0.48], [0.48, 0], [0.3, 0.18], [-0.18, -0.3]]))
    assert elbow_positions(UNEQUAL, at) == pytest.approx(np.array([[0, -0.3], [0.3, 0], [0.3, 0], [0, -0.3]]))


@given(lengths, lengths, angles, st.floats(0.02, 3.1), st.sampled_from([-1.0, 1.0]), angles)
def test_the_joint_angles_of_a_point_bring_the_tip_there(l1, l2, q1, q2, bend, offset):
    """FK(IK(p)) = p; of the two solutions it is the one with the elbow bent as asked, so IK(FK(q)) = q up to turns.

    Within 1e-6: where the elbow is nearly folded or stretched, arccos loses half the digits.
    """
    links = arm(l1, l2, (0.1 * offset, 0.0))
    point = tip_positions(links, [[q1, bend * q2]])
    if np.hypot(*point[0]) < 1e-3:
        return
    found = joint_angles(links, point, bend)
    assert tip_positions(links, found) == pytest.approx(point, abs=1e-9)
    turns = (found - [[q1, bend * q2]]) / (2 * np.pi)
    assert turns - np.round(turns) == pytest.approx(np.zeros((1, 2)), abs=1e-6)
    assert found[0, 1] == pytest.approx(bend * q2, abs=1e-6)


def test_angles_do_not_jump_where_the_direction_from_the_shoulder_passes_straight_up():
    turn = np.linspace(0.0, 4.0 * np.pi, 400)
    found = joint_angles(ARM, 0.3 * np.column_stack([np.sin(turn), -np.cos(turn)]))
    assert np.diff(found[:, 0]) == pytest.approx(np.full(399, turn[1]))
    assert np.ptp(found[:, 1]) < 1e-12


@pytest.mark.parametrize(
    ("point", "named"),
    [((0.5, 0.0), "x = 0.5 m, z = 0 m (point 2)"), ((0.0, -0.1), "x = 0 m, z = -0.1 m"), ((0.0, 0.0), "0 m from the")],
)
def test_a_point_out_of_reach_is_named(point, named):
    with pytest.raises(InputError) as caught:
        joint_angles(UNEQUAL, [(0.3, 0.0), point])
    assert named in str(caught.value)
    assert "0.12 … 0.48 m" in str(caught.value)


def test_the_shoulder_itself_is_no_goal_of_equal_links():
    with pytest.raises(InputError, match="point 1"):
        joint_angles(ARM, [(0.0, 0.0)])


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("links", [ARM, UNEQUAL], ids=["equal", "unequal"])
class TestPaths:
    def test_a_path_closes_and_is_traced_at_constant_speed(self, name, links):
        """Steps are equal except across corners, where the straight step is shorter."""
        points = path_points(name, links, np.arange(4000) / 4000)
        steps = np.hypot(*np.diff(np.vstack([points, points[:1]]), axis=0).T)
        usual = np.median(steps)
        assert steps.max() == pytest.approx(usual, rel=1e-6)
        assert (steps < 0.999 * usual).sum() <= 16

    def test_its_goals_lead_the_tip_along_it_from_a_defined_start(self, name, links):
        path = arm_path(name, links, 4.0, 0.005, rounds=1.5)
        assert len(path.goals) == 1200
        assert path.time[-1] == pytest.approx(5.995)
        assert tip_positions(links, path.goals) == pytest.approx(path.points, abs=1e-12)
        assert path.points[0] == pytest.approx(path_points(name, links, [0.0])[0])
        assert path.points[800] == pytest.approx(path.points[0])
        assert (path.goals[:, 1] > 0).all()
        assert np.abs(np.diff(path.goals, axis=0)).max() < 0.005 * 6.0  # rad/s


def test_the_waves_go_where_fig_6_has_them():
    """Two waves: four flanks of the square one stand upright, the triangular one has no two points above each other."""
    square = path_points("square_wave", ARM, np.arange(6000) / 12000)
    upright = np.abs(np.diff(square[:, 0])) < 1e-12
    assert np.diff(upright.astype(int)).tolist().count(-1) == 4
    triangular = path_points("triangular_wave", ARM, np.arange(6000) / 12000)
    assert (np.diff(triangular[:, 0]) > 0).all()
    assert (np.diff(np.sign(np.diff(triangular[:, 1]))) != 0).sum() == 3


@pytest.mark.parametrize(
    ("name", "period", "step", "rounds"),
    [("spiral", 4, 0.01, 1), ("circle", 0, 0.01, 1), ("circle", 4, 5, 1), ("circle", 4, 0.01, 0), ("circle", 4, 0, 1)],
)
def test_what_is_no_path_is_refused(name, period, step, rounds):
    with pytest.raises(InputError, match=name):
        arm_path(name, ARM, period, step, rounds)
