"""Recordings of an arm from CSV files in both spellings, and their regular grid."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.studies.arm.recording import ArmRecording, read_arm_csv

OURS = "time,q1,q2,v1,v2,tau1,tau2\n0,0.1,0.2,0,0,1,-1\n0.002,0.11,0.19,5,-5,2,-2\n0.0041,0.12,0.18,5,-5,3,-3\n"
DFKI = (
    "time,pos_meas1,pos_meas2,vel_meas1,vel_meas2,pos_filt1,pos_filt2,tau_con1,tau_con2,tau_fric1,tau_fric2,"
    "tau_meas1,tau_meas2\n"
    "5,0.1,0.2,1,2,9,9,0.5,0.6,0.1,0.1,0.4,0.5\n5.002,0.1,0.2,1,2,9,9,0.7,0.8,0.1,0.1,0.6,0.7\n"
)


def write(folder, text, name="run.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_our_spelling(tmp_path):
    run = read_arm_csv(write(tmp_path, OURS))
    assert run.id == "run"
    assert run.time.tolist() == [0.0, 0.002, 0.0041]
    assert run.position.tolist() == [[0.1, 0.2], [0.11, 0.19], [0.12, 0.18]]
    assert run.velocity is not None
    assert run.velocity[1].tolist() == [5.0, -5.0]
    assert run.torque is not None
    assert run.torque[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert run.goal is None


def test_dfki_spelling_counts_from_zero_and_adds_no_compensation(tmp_path):
    run = read_arm_csv(write(tmp_path, DFKI, "run.csv.gz"))
    assert run.time == pytest.approx([0.0, 0.002])
    assert run.torque is not None
    assert run.torque.tolist() == [[0.5, 0.6], [0.7, 0.8]]  # tau_con, the whole command; tau_fric is a part of it
    assert run.measured_torque is not None
    assert run.measured_torque.tolist() == [[0.4, 0.5], [0.6, 0.7]]
    assert run.provenance["columns"]["torque"] == "tau_con"


def test_an_arm_under_position_control_has_goals(tmp_path):
    run = read_arm_csv(write(tmp_path, "time,q1,q2,goal1,goal2\n0,0,0,1,2\n0.01,0,0,1,2\n"))
    assert run.torque is None
    assert run.goal is not None
    assert run.goal.tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_a_repeated_time_keeps_the_later_sample(tmp_path):
    run = read_arm_csv(write(tmp_path, "time,q1,q2,tau1,tau2\n0,1,1,0,0\n0,2,2,0,0\n0.01,3,3,0,0\n"))
    assert run.position[:, 0].tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,q1,q2,tau1,tau2\n0,0,0,0,0\n1,0,0,0,0\n", "no column time"),
        ("time,q1,tau1,tau2\n0,0,0,0\n1,0,0,0\n", "no positions of two joints"),
        ("time,q1,q2\n0,0,0\n1,0,0\n", "no commands"),
        ("time,q1,q2,tau1,tau2\n0,0,0,0,0\n0.2,0,0,0,0\n0.1,0,0,0,0\n", "times decrease at sample 3"),
        ("time,q1,q2,tau1,tau2\n0,0,0,0,0\n1,0,zero,0,0\n", "zero"),
        ("time,q1,q2,tau1,tau2\n0,0,0,0,0\n1,0,nan,0,0\n", "not finite"),
        ("time,q1,q2,tau1,tau2\n0,0,0,0,0\n", "too few"),
        ("time,q1,q2,tau1,tau2\n", "no samples"),
        ("time,q1,q2,tau1,tau2\n0,0,0,0\n1,0,0,0\n", "5 columns in the heading, 4 in the rows"),
        ("\x00", "no samples"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_arm_csv(write(tmp_path, text))


def test_a_broken_archive_and_a_missing_file_are_told(tmp_path):
    broken = tmp_path / "run.csv.gz"
    broken.write_bytes(gzip.compress(OURS.encode())[:-20])
    for path in (broken, tmp_path / "none.csv"):
        with pytest.raises(InputError, match="cannot be read"):
            read_arm_csv(path)


@given(st.lists(st.tuples(st.floats(5e-4, 4e-3), st.floats(-2.0, 2.0)), min_size=6, max_size=40))
def test_averaging_a_held_command_keeps_its_impulse(samples):
    steps, torques = np.array(samples).T
    time = np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    torque = np.column_stack([torques, -torques])
    run = ArmRecording(id="r", time=time, position=np.column_stack([time, 2 * time]), torque=torque)
    dt = 1e-3
    grid = run.resampled(dt)
    assert grid.torque is not None
    whole = len(grid.time) - 1
    end = whole * dt
    # ∫τ dt from the first sample to the last grid point.
    held = np.clip(np.append(time[1:], np.inf), 0.0, end) - np.clip(time, 0.0, end)
    assert dt * grid.torque[:whole].sum(axis=0) == pytest.approx(held @ torque, abs=1e-9)
    assert grid.position == pytest.approx(np.column_stack([grid.time, 2 * grid.time]), abs=1e-9)
