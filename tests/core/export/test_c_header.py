"""The C header against the kernel: the same budget, motor torque and feed-forward, in C and C++, float and double.

The compiled code is called through ctypes. What a struct of the header is made of is checked by the numbers themselves:
they are handed over field by field, in the order of `servo_file.NUMBERS`.
"""

import ctypes
import math
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import ExportError
from core.export import export_model
from core.export.files import slug
from core.export.servo_file import (
    BRISTLE_NUMBERS,
    COMMAND_NUMBERS,
    LATER_NUMBERS,
    NUMBERS,
    servo_numbers,
    standalone_text,
)
from core.export.targets.c_header import (
    HEADER,
    PRECISIONS,
    ServoOptions,
    check_c,
    identifier,
    numbers_text,
    program_text,
    write_c,
)
from core.kernel.layout import Slot
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.practice.feedforward import PREVIEW, SMOOTHING, WantedMotion, feedforward
from core.servo.bench import Bench
from core.servo.friction import QUADRATIC_GATES, friction_budget
from core.servo.model import with_contact
from core.servo.shipped import load_model
from core.servo.terms import CONTACTS, FRICTION_MODELS
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model, settings_for
from tests.core.export.pushed import PATH, STEP, STEPS, low_supply, pushed

CC, CXX = shutil.which("gcc") or shutil.which("cc"), shutil.which("g++") or shutil.which("c++")
needs_compiler = pytest.mark.skipif(CC is None, reason="there is no C compiler")
SLOTS = (*NUMBERS, *BRISTLE_NUMBERS, *COMMAND_NUMBERS, *LATER_NUMBERS, Slot.LOAD_MEMORY)
NONE = {slot.name.lower(): value for slot, value in LATER_NUMBERS.items()}
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wdouble-promotion", "-Wconversion")
LANGUAGES = {"c": (CC, "-std=c99"), "c++": (CXX, "-std=c++17", "-x", "c++")}
COMMAND_PATH = (
    "error_gain_ratio",
    "goal_slew",
    "dead_band",
    "output_offset",
    "pwm_lag",
    "supply_sag",
    "pulse_sag",
    "release_braking",
    "load_memory",
)
STATES = 1000
DOUBLE, FLOAT = 1e-12, 1e-4
"""Relative to the largest term: how far compiled numbers may be from ours."""
LAW_NUMBERS = {"voltage": 0, "current": 1, "coast": 2}

others = pytest.mark.exhaustive("the other servos, contacts and precisions")

CALLER = """
#include "servobench_friction.h"
void budgets(const sb_servo *s, long n, const sb_real *motor, const sb_real *external, const sb_real *v, sb_real *out) {
  long k;
  for (k = 0; k < n; k++) out[k] = sb_friction_budget(s, motor[k], external[k], v[k]);
}
void motors(const sb_servo *s, long n, const sb_real *first, const sb_real *next, const sb_real *q, const sb_real *v,
            const sb_real *drive, const sb_real *external, sb_real share, sb_real inertia, sb_real step, sb_real *out) {
  sb_state state = sb_at_rest(q[0]);
  long k;
  for (k = 0; k < n; k++) {
    const sb_goal goal = {first[k], next[k], share};
    sb_real own;
    out[2 * k] = sb_motor_torque(s, &state, goal, q[k], v[k], drive[k], s->supply_voltage, step);
    own = sb_inertia(s, &state, inertia, step);
    out[2 * k + 1] = v[k] + step / own * (out[2 * k] + external[k] +
                     sb_friction_torque(s, &state, out[2 * k], external[k], v[k], own, step));
  }
}
void feedforwards(const sb_servo *s, long n, const sb_real *v, const sb_real *a, const sb_real *external, sb_real load,
                  sb_real *out) {
  long k;
  for (k = 0; k < n; k++) {
    const sb_command c = sb_feedforward(s, v[k], a[k], external[k], load, SB_PREVIEW, SB_SMOOTHING);
    sb_real *row = out + 6 * k;
    row[0] = c.motor_torque, row[1] = c.friction_torque, row[2] = c.output;
    row[3] = c.goal_offset, row[4] = c.friction_offset, row[5] = c.saturated ? SB_C(1) : SB_C(0);
  }
}
"""


def built(folder: Path, text: str, precision: str = "double") -> ctypes.CDLL:
    """Compile text strictly beside the header and load it."""
    (folder / HEADER).write_text(standalone_text(HEADER))
    source, library = folder / "built.c", folder / f"built-{precision}.so"
    source.write_text(text)
    command = [*LANGUAGES["c"], "-O1", *STRICT, "-shared", "-fPIC", *PRECISIONS[precision][1]]
    done = subprocess.run([*command, "-o", library, source, "-lm"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


class Compiled:
    """The header's functions over arrays, in one precision."""

    def __init__(self, folder: Path, precision: str) -> None:
        self.number = PRECISIONS[precision][0]
        self.library = built(folder, CALLER, precision)
        names = ("supply_voltage", *(slot.name.lower() for slot in SLOTS))
        fields = [("law", ctypes.c_int), ("contact", ctypes.c_int), *((name, self.number) for name in names)]
        self.servo_type = type("Servo", (ctypes.Structure,), {"_fields_": fields})

    def servo(self, model, config):
        numbers = servo_numbers(model, config)
        values = [numbers.get(name, NONE.get(name, 0.0)) for name, _ in self.servo_type._fields_[2:]]
        return self.servo_type(LAW_NUMBERS[numbers["law"]], list(CONTACTS).index(model.contact), *values)

    def call(self, function, servo, *arrays, constants=(), columns=1):
        given = [np.ascontiguousarray(array, dtype=self.number) for array in arrays]
        out = np.empty((len(given[0]), columns), dtype=self.number)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in given]
        getattr(self.library, function)(
            ctypes.byref(servo),
            ctypes.c_long(len(out)),
            *pointers,
            *(self.number(constant) for constant in constants),
            out.ctypes.data_as(ctypes.c_void_p),
        )
        return out.astype(float) if columns > 1 else out[:, 0].astype(float)


@pytest.fixture(scope="module", params=PRECISIONS)
def compiled(request, tmp_path_factory):
    if CC is None:
        pytest.skip("there is no C compiler")
    tolerance = DOUBLE if request.param == "double" else FLOAT
    return Compiled(tmp_path_factory.mktemp(request.param), request.param), tolerance


def rounded(compiled, *arrays):
    """Arrays as the compiled code sees them, so that only its arithmetic is compared."""
    return tuple(np.asarray(array, dtype=compiled.number).astype(float) for array in arrays)


def drawn_model(random, friction="m6", gate="larger_torque", **options):
    model = catalogue_model(**{"servo": "mx106", **options}, friction=friction, quadratic_gate=gate)
    drawn = {p.name: random.uniform(p.lower, p.upper) for p in model.parameters.values() if "friction" in p.name}
    drawn |= {p.name: random.uniform(0.3, 1.0) * p.upper for p in model.parameters.values() if "stribeck" in p.name}
    return model.with_values(drawn)


class TestHeader:
    @needs_compiler
    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_an_export_compiles_without_a_warning(self, tmp_path, language, precision):
        if LANGUAGES[language][0] is None:
            pytest.skip(f"there is no {language} compiler")
        model = load_model("sts3215", "m1")
        config, name = model.default_settings(), "sts3215.servo.h"
        (tmp_path / name).write_text(numbers_text(replace(model, name="sts3215"), config))
        text = program_text(replace(model, name="sts3215"), PENDULUM, config, 0.001)

        (tmp_path / HEADER).write_text(standalone_text(HEADER))
        source = tmp_path / f"pendulum.{language}"
        source.write_text(text)
        for flags in ((), ("-DSERVOBENCH_LIBRARY",)):
            command = [*LANGUAGES[language], *STRICT, *PRECISIONS[precision][1], *flags, "-fsyntax-only", source]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr

    @needs_compiler
    @pytest.mark.parametrize("contact", CONTACTS)
    def test_the_servo_s_numbers_arrive_bit_for_bit(self, tmp_path, random, contact):
        model = with_contact(drawn_model(random, command_path=COMMAND_PATH), contact)
        config = settings_for(model, ki=3.0, kd=2.0)
        name = identifier(model.title)
        text = numbers_text(model, config) + f"const sb_servo *numbers(void) {{ return &{name}; }}\n"
        library = built(tmp_path, text)
        compiled = Compiled(tmp_path, "double")
        library.numbers.restype = ctypes.POINTER(compiled.servo_type)
        servo, expected = library.numbers().contents, servo_numbers(model, config)

        assert servo.law == LAW_NUMBERS[expected["law"]]
        assert list(CONTACTS)[servo.contact] == model.contact
        for field, _ in compiled.servo_type._fields_[2:]:
            assert getattr(servo, field) == expected.get(field, NONE.get(field, 0.0)), field

    def test_preview_and_smoothing_are_ours(self):
        text = standalone_text(HEADER)

        assert f"#define SB_PREVIEW SB_C({PREVIEW})" in text
        assert f"#define SB_SMOOTHING SB_C({SMOOTHING})" in text


class TestParity:
    @pytest.mark.parametrize("gate", QUADRATIC_GATES)
    @pytest.mark.parametrize("friction", FRICTION_MODELS)
    def test_the_budget_is_eqs_3_and_6_to_10(self, compiled, random, friction, gate):
        code, tolerance = compiled
        model = drawn_model(random, friction, gate)
        motor, external, v = rounded(code, *random.normal(0.0, 1.0, (3, STATES)) * [[3.0], [3.0], [2.0]])
        v[::5] = 0.0
        external[1::7] = motor[1::7]
        external[2::7] = 0.0

        actual = code.call("budgets", code.servo(model, model.default_settings()), motor, external, v)

        expected = friction_budget(friction, model.values, motor, external, v, gate)
        assert actual == pytest.approx(expected, rel=tolerance)

    @pytest.mark.parametrize("path", [{}, {**PATH, "load_memory": 0.03}], ids=["plain", "command path"])
    @pytest.mark.parametrize("law", LAW_MODELS)
    def test_a_pushed_servo_has_the_kernel_s_torque_and_velocity(self, compiled, law, path):
        """States are the kernel's, and late commands as the caller of the header reads them."""
        code, tolerance = compiled
        run = pushed(law, path=path, leapfrog=True)
        delays = (run.model.values.get(name, 0.0) / STEP for name in ("command_delay", "release_delay"))
        (first, goal_share), (drive, drive_share) = (
            (np.concatenate([np.full(whole, values[0]), values])[: STEPS + 1], whole - delay)
            for values, delay in zip((run.goal, run.enable), delays, strict=True)
            for whole in (math.ceil(delay),)
        )
        first, drive = (np.append(values, values[-1])[: STEPS + 1] for values in (first, drive))
        drive = drive[:-1] + drive_share * np.diff(drive)
        middle, velocity = run.position[:-1] + 0.5 * STEP * run.velocity[:-1], run.velocity[:-1]
        arrays = rounded(code, first[:-1], first[1:], middle, velocity, drive, run.external(middle))

        found = code.call(
            "motors", code.servo(run.model, run.settings), *arrays, constants=(goal_share, run.inertia, STEP), columns=2
        )

        # A rate in float is the goal's rounding over the step; at the edge of the dead band, a float may take the other
        # side, which the lag remembers for a while.
        for actual, expected in zip(found.T, (run.motor_torque, run.velocity[1:]), strict=True):
            off = np.abs(actual - expected) / np.abs(expected).max()
            exact = tolerance == DOUBLE
            assert (off.max() if exact else np.quantile(off, 0.95)) <= tolerance * (10.0 if exact or not path else 30.0)
        run.require_both_ends()

    @needs_compiler
    @pytest.mark.parametrize("contact", CONTACTS)
    @pytest.mark.parametrize("path", [(), (*COMMAND_PATH, "command_delay", "release_delay")])
    @pytest.mark.parametrize("law", LAW_MODELS)
    def test_the_pendulum_moves_as_the_kernel_s(self, tmp_path, law, path, contact):
        """Lifted, released and dropped, with delays between whole steps."""
        ranged = {
            "error_gain_ratio": 1.1,
            "dead_band": 0.01,
            "output_offset": 0.03,
            "pwm_lag": 0.002,
            "supply_sag": 0.3,
            "pulse_sag": 0.7,
        }
        ranged |= {
            "load_memory": 0.1,
            "release_braking": 0.4,
            "goal_slew": 3.7,
            "command_delay": 0.0123,
            "release_delay": 0.0047,
        }
        model = catalogue_model(
            friction="m6", command_path=path, values={n: ranged[n] for n in path}, **LAW_MODELS[law]
        )
        model = with_contact(model, contact)
        config = settings_for(model, **({"ki": 2.0, "kd": 1.0} if path else {}))
        (tmp_path / f"{slug(model.title)}.servo.h").write_text(numbers_text(model, config))
        text = f"#define SERVOBENCH_LIBRARY\n{program_text(model, PENDULUM, config, 1e-3)}"
        simulate = built(tmp_path, text).simulate_pendulum
        trajectory = make_trajectory("lift_and_drop")

        expected = simulate_trajectory(model, trajectory, PENDULUM, config, 1e-3)
        enable, found = trajectory.torque_enable(expected.time).astype(float), np.empty(len(expected.time))
        arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (expected.goal_position, enable))
        zero = ctypes.c_double(0.0)
        simulate(*arrays, len(found), ctypes.c_double(1e-3), zero, zero, found.ctypes.data_as(ctypes.c_void_p))

        assert 0.0 < enable.mean() < 1.0
        assert found == pytest.approx(expected.position, abs=1e-9)

    @pytest.mark.parametrize("law", LAW_MODELS)
    @pytest.mark.parametrize("gate", QUADRATIC_GATES)
    def test_the_feedforward_is_ours(self, compiled, random, law, gate):
        code, tolerance = compiled
        path = ("dead_band", "output_offset", "supply_sag", "pulse_sag")
        model = drawn_model(
            random,
            gate=gate,
            command_path=path,
            values={"dead_band": 0.01, "output_offset": 0.03, "supply_sag": 0.2, "pulse_sag": 0.3},
            **LAW_MODELS[law],
        )
        tame = {name: 0.4 * value for name, value in model.values.items() if name.startswith("load_friction")}
        model = model.with_values(tame)
        config, peak = low_supply(model), model.values["kt"] * 2.0
        no_load = config.supply_voltage / model.values["kt"]
        v, a, external = rounded(code, *random.normal(0.0, 1.0, (3, STATES)) * [[0.3 * no_load], [10.0], [0.3 * peak]])
        v[::5] *= 0.01
        motion = WantedMotion(time=np.arange(STATES) * 1e-3, position=np.zeros(STATES), velocity=v, acceleration=a)
        load = Bench(mass=1.0, length=1.0, measured_inertia=0.05, measured_gravity_torque=0.0)

        columns = code.call("feedforwards", code.servo(model, config), v, a, external, constants=(0.05,), columns=6)

        expected = feedforward(model, load, config, motion, external)
        fields = ("motor_torque", "friction_torque", "output", "goal_offset", "friction_offset")
        settled = columns[:, 5] == expected.saturated
        # Next to where σ turns or a branch changes, a float may take the other side.
        assert settled.all() if tolerance == DOUBLE else settled.mean() > 0.99
        for column, field in enumerate(fields):
            values = getattr(expected, field)
            off = np.abs(columns[:, column] - values) / np.abs(values).max()
            assert (off.max() if tolerance == DOUBLE else np.quantile(off, 0.99)) < max(10.0 * tolerance, 1e-10), field


class TestExport:
    @needs_compiler
    @pytest.mark.parametrize(
        ("kind", "precision"),
        [
            ("sts3215:m1", "float"),
            *(pytest.param(*row, marks=others) for row in (("sts3215:m1", "double"), ("erob80_50:m6", "float"))),
        ],
    )
    def test_the_four_trajectories_are_the_model_s(self, tmp_path, kind, precision):
        model = load_model(*kind.split(":"))
        write_c(model, tmp_path, ServoOptions())

        found = check_c(model, tmp_path, ServoOptions(), precision)
        errors = found.errors

        assert ({"float": "single"}.get(precision, precision) + " precision") in found.how
        assert list(errors) == ["sin_time_square", "sin_sin", "up_and_down", "lift_and_drop"]
        assert max(errors.values()) < 0.2

    @needs_compiler
    @pytest.mark.parametrize("contact", ["elastoplastic", pytest.param("elastoplastic_rational", marks=others)])
    def test_an_elastoplastic_contact_is_exported_as_it_is(self, tmp_path, contact):
        model = with_contact(load_model("mx106", "m6"), contact)
        notes = export_model(model, "c", tmp_path).notes

        errors = check_c(model, tmp_path, ServoOptions()).errors

        assert max(errors.values()) < 0.2
        stiffness = f"a spring of {model.values['bristle_stiffness']:.4g} N·m/rad"
        assert sum(stiffness in note for note in notes) == 1
        assert not any("written as a rigid one" in note for note in notes)

    @needs_compiler
    def test_the_example_runs_and_compensation_helps(self, tmp_path):
        model = load_model("mx106", "m6")
        files = write_c(model, tmp_path, ServoOptions()).files
        program = tmp_path / "example"
        subprocess.run([str(CC), "-std=c99", "-O2", "-o", program, files[2], "-lm"], check=True)

        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()

        assert lines[0] == "time,wanted,uncompensated,compensated"
        motion = np.loadtxt(lines[1:], delimiter=",")
        plain, better = (np.sqrt(np.mean((motion[:, k] - motion[:, 1]) ** 2)) for k in (2, 3))
        assert motion.shape == (6000, 4)
        assert 20.0 * better < plain

    @settings(max_examples=25)
    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
    def test_any_name_becomes_an_identifier_and_a_comment(self, name):
        model = replace(load_model("mx106", "m1"), name=name)
        text = numbers_text(model, model.default_settings())
        found = identifier(model.title)

        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", found)
        assert not found.startswith(("sb_", "servobench"))
        assert text.count("/*") == text.count("*/") == len(SLOTS) + 4
        assert "?" not in text
        assert f"static const sb_servo {found} = {{" in text

    def test_numbers_a_float_cannot_hold_are_refused(self, tmp_path):
        base = load_model("mx106", "m1")
        parameter = replace(base.parameters["kt"], value=1e39, upper=1e40)
        model = base.with_parameters(
            type(base.parameters)([parameter, *(p for n, p in base.parameters.items() if n != "kt")])
        )
        with pytest.raises(ExportError, match=r"torque_constant = 1e\+39"):
            write_c(model, tmp_path, ServoOptions())
        with pytest.raises(ExportError, match="an example of 6 s"):
            write_c(base, tmp_path, ServoOptions(timestep=1e-6))
        with pytest.raises(ExportError, match="a time step of 10 s"):
            write_c(base, tmp_path, ServoOptions(timestep=10.0))
        assert list(tmp_path.iterdir()) == []

    def test_a_check_says_what_is_missing(self, tmp_path, monkeypatch):
        model = load_model("mx106", "m1")
        with pytest.raises(ExportError, match="export first"):
            check_c(model, tmp_path, ServoOptions())
        write_c(model, tmp_path, ServoOptions())
        with pytest.raises(ExportError, match="float, double"):
            check_c(model, tmp_path, ServoOptions(), "half")
        with pytest.raises(ExportError, match="with these options"):
            check_c(model, tmp_path, ServoOptions(kp=3.0))
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(ExportError, match="C compiler"):
            check_c(model, tmp_path, ServoOptions())
