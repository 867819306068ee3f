"""Export to Newton: the files, and where newton is installed the drive on a pendulum, on the processor."""

import importlib.util
import json

import numpy as np
import pytest

from core.export import export_model
from core.export.programs import program
from core.export.protocol import tilted
from core.export.references import GridRun, converged_positions
from core.export.servo_file import servo_numbers
from core.export.targets.newton import PROGRAMS, simulate_in_newton
from core.servo.model import with_contact
from core.servo.shipped import load_model
from tests.core.conftest import PENDULUM, catalogue_model

needs_newton = pytest.mark.skipif(
    not (importlib.util.find_spec("newton") and importlib.util.find_spec("torch")),
    reason="newton and torch are not installed",
)
PATH = {"command_delay": 0.0131, "error_gain_ratio": 1.1, "goal_slew": 3.0, "dead_band": 0.01, "release_braking": 0.4}


def test_the_files_say_what_the_model_says(tmp_path):
    model = load_model("mx106", "m6")
    result = export_model(model, "newton", tmp_path)
    files = {path.name: path for path in result.files}

    assert set(files) >= {*PROGRAMS, "README.md"}
    servo = next(path for name, path in files.items() if name.endswith(".servo.json"))
    assert json.loads(servo.read_text()) == servo_numbers(model, model.default_settings())
    compile(next(path for name, path in files.items() if name.endswith(".newton.py")).read_text(), "example", "exec")
    assert not result.approximated


def positions(model, runs, step, tmp_path):
    servo = next(path for path in export_model(model, "newton", tmp_path).files if path.name.endswith(".servo.json"))
    return simulate_in_newton([(servo, tilted(run, model)) for run in runs], step)


@needs_newton
@pytest.mark.parametrize(
    "model",
    [load_model("mx106", "m6"), load_model("erob80_100", "m4"),
     with_contact(load_model("mx106", "m2"), "elastoplastic"),
     catalogue_model("mx106", "m1", command_path=tuple(PATH), values=PATH)],
    ids=["voltage", "current", "elastoplastic", "command path"],
)  # fmt: skip
def test_near_the_converged_model(tmp_path, model):
    runs = [GridRun(trajectory=name, bench=PENDULUM, settings=model.default_settings()) for name in
            ("sin_time_square", "lift_and_drop")]  # fmt: skip
    for run, found in zip(runs, positions(model, runs, 2e-3, tmp_path), strict=True):
        expected = converged_positions(model, run, 2e-3, held=True)
        count = min(len(expected), len(found))
        assert np.abs(found[:count] - expected[:count]).mean() < 2e-3


@needs_newton
def test_numbers_that_are_no_servo_are_refused():
    drive = program("servobench_newton").DriveServoBench
    numbers = servo_numbers(load_model("mx106", "m1"), load_model("mx106", "m1").default_settings())
    given = {name: value for name, value in numbers.items() if name not in ("format", "version", "title", "written_kp")}

    assert drive.resolve_arguments({**given, "load_inertia": 0.01})["kp"] == numbers["kp"]
    with pytest.raises(ValueError, match="load_inertia"):
        drive.resolve_arguments(given)
    with pytest.raises(ValueError, match="resistance must be positive"):
        drive.resolve_arguments({**given, "load_inertia": 0.01, "resistance": 0.0})
