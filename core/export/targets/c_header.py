"""Export to C: the servo as numbers, and one header that computes friction, motor and feed-forward compensation.

For firmware and for simulators of one's own. Three files: `servobench_friction.h`, the same for every servo; the
numbers of this one, `<name>.servo.h`; and `<name>.pendulum.c`, which simulates the bench with and without compensation.
Nothing is approximated: what remains is the precision of `float`, unless `double` is asked for.

A model's name reaches a C identifier through `identifier` only, and a comment through `_comment`.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.bench import Bench
from core.errors import ExportError, NotChecked
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import printable, require_written, slug
from core.export.notes import bristle_notes
from core.export.protocol import held_commands, measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.servo_file import BRISTLE_NUMBERS, NUMBERS, servo_numbers, standalone_text
from core.kernel.layout import Slot
from core.model import ServoModel
from core.recording import ServoSettings
from core.terms import CONTACTS

HEADER, PROGRAM = "servobench_friction.h", "servobench_pendulum.c"
PROGRAM_TIME = 6.0
"""How long the example moves [s]."""
MOST_STEPS = 1_000_000
COMPILERS = ("cc", "gcc", "clang")
COMPILE_TIME = 60.0
"""No compiler is waited for longer [s]."""
PRECISIONS = {"float": (ctypes.c_float, ()), "double": (ctypes.c_double, ("-DSERVOBENCH_DOUBLE",))}
LARGEST, SMALLEST = 3.4e38, 1.2e-38
"""What a float can hold."""

_LAWS = {"voltage": "SB_VOLTAGE", "current": "SB_CURRENT", "coast": "SB_COAST"}
_CONTACTS = {name: f"SB_{name.upper()}" for name in CONTACTS}


def write_c(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the header, the servo's numbers and the example; raises ExportError for options that are not possible."""
    settings = settings_of(model, options, "c")
    contents = _contents(model, options)
    what = (
        "friction budget and torque, motor torque and feed-forward; C99 and C++, header only",
        f"this servo's numbers, `{identifier(model.title)}`",
        "a pendulum, simulated with and without compensation",
    )
    notes = _notes(model, settings)
    meanings = dict(zip(contents, what, strict=True))
    return exported(folder, model, "c", "C header for firmware", contents, meanings, notes, _usage(model))


def identifier(name: str) -> str:
    """A C identifier of a-z, 0-9 and "_" for any text; no keyword, reserved name or name of the header."""
    plain = re.sub(r"_+", "_", slug(name).replace("-", "_"))
    clashes = plain[0].isdigit() or re.match(r"sb(_|$)|servobench", plain)
    return f"{'model_' if clashes else ''}{plain}_servo"


def numbers_text(model: ServoModel, settings: ServoSettings) -> str:
    """Text of `<name>.servo.h`: one `static const sb_servo`, every number to its last bit."""
    numbers = servo_numbers(model, settings)
    name = identifier(model.title)
    fields = ["supply_voltage", *(slot.name.lower() for slot in (*NUMBERS, *BRISTLE_NUMBERS))]
    rows = [f"    {_LAWS[numbers['law']]}, /* law */", f"    {_CONTACTS[model.contact]}, /* contact */"]
    rows += [f"    SB_C({_number(field, numbers.get(field, 0.0))}), /* {field} */" for field in fields]
    servo = f"static const sb_servo {name} = {{\n" + "\n".join(rows) + "\n};\n"
    offset = model.values.get("q_offset", 0.0)
    zero = f" * Where the servo reads 0, its shaft is at {_number('q_offset', offset)} rad.\n" if offset else ""
    # Two servos of one symbol must not compile; a guard of the symbol alone would drop the second in silence.
    guard = f"SERVOBENCH_{name.upper()}_{hashlib.sha256(servo.encode()).hexdigest()[:8].upper()}_H"
    return (
        f"/* {_comment(model.title)}: friction {model.friction.upper()}, gain {_number('kp', settings.kp)} as written "
        f"into the servo.\n{zero} * Fields and units: see sb_servo. */\n"
        f'#ifndef {guard}\n#define {guard}\n\n#include "{HEADER}"\n\n{servo}\n#endif\n'
    )


def program_text(model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float) -> str:
    """Text of `<name>.pendulum.c`: the bench as numbers above the program that is the same for every servo."""
    row = model.bound_row(bench, settings, timestep)
    numbers = {
        "LOAD_INERTIA": row[Slot.INERTIA],
        "GRAVITY_TORQUE": row[Slot.GRAVITY_TORQUE],
        "ANGLE_OFFSET": row[Slot.ANGLE_OFFSET],
        "TIMESTEP": timestep,
    }
    defined = "".join(f"#define {name} {_number(name, value)}\n" for name, value in numbers.items())
    steps = round(PROGRAM_TIME / timestep)
    if not 2 <= steps <= MOST_STEPS:
        raise ExportError(f"export to c: an example of {PROGRAM_TIME:g} s at {timestep!r} s is not possible; try 0.001")
    return (
        f'#include "{_file_names(model)[0]}"\n\n#define SERVO {identifier(model.title)}\n'
        f"{defined}#define STEPS {steps}L\n\n{standalone_text(PROGRAM)}"
    )


def check_c(model: ServoModel, folder: Path, options: ServoOptions, precision: str = "float") -> Check:
    """Compile an export and simulate with it; precision: "float", which the header has, or "double".

    Raises ExportError when there is no compiler, or the folder does not hold what an export with these options writes:
    nothing else is compiled and run.
    """
    require_written(folder, _contents(model, options))

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> list[NDArray[np.float64]]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as library:
            move = _compiled(place / _file_names(model)[1], Path(library) / "pendulum.so", precision)
            return [move(*held_commands(run.trajectory, step), step) for run in runs]

    single = "single" if precision == "float" else precision
    how = f"compiled with {Path(compiler()).name} in {single} precision"
    return measured(
        model,
        options,
        "c",
        how,
        rollout_of_files(model, folder, options, write_c, simulate),
    )


def compiler() -> str:
    """Path of a C compiler; raises NotChecked when there is none."""
    for name in COMPILERS:
        found = shutil.which(name)
        if found:
            return found
    raise NotChecked(f"it needs a C compiler; none of {', '.join(COMPILERS)} is installed")


def _contents(model: ServoModel, options: ServoOptions) -> dict[str, str]:
    """Files by name: the header, the numbers, the program."""
    settings, bench = settings_of(model, options, "c"), options.bench or default_bench(model)
    numbers_file, program_file = _file_names(model)
    return {
        HEADER: standalone_text(HEADER),
        numbers_file: numbers_text(model, settings),
        program_file: program_text(model, bench, settings, options.timestep),
    }


class _Pendulum:
    """The compiled program's simulation."""

    def __init__(self, library: Path, number: type[ctypes.c_float] | type[ctypes.c_double]) -> None:
        self._function = ctypes.CDLL(str(library)).simulate_pendulum
        self._number = number
        array = ctypes.POINTER(number)
        self._function.argtypes = (array, array, ctypes.c_long, number, number, number, array)
        self._function.restype = None

    def __call__(self, goals: NDArray[np.float64], drives: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Positions before each step (n,) [rad], from rest at 0; goals (n,) [rad], drives (n,) 1 or 0, step [s]."""
        commands = [np.ascontiguousarray(values, dtype=self._number) for values in (goals, drives)]
        positions = np.empty_like(commands[0])
        array = ctypes.POINTER(self._number)
        goal, drive, out = (values.ctypes.data_as(array) for values in (*commands, positions))
        self._function(goal, drive, len(positions), step, 0.0, 0.0, out)
        return positions.astype(np.float64)


def _compiled(source: Path, library: Path, precision: str) -> _Pendulum:
    if precision not in PRECISIONS:
        raise ExportError(f"no precision {precision!r}; there are {', '.join(PRECISIONS)}")
    number, flags = PRECISIONS[precision]
    command = [compiler(), "-std=c99", "-O2", "-shared", "-fPIC", "-DSERVOBENCH_LIBRARY", *flags]
    command += ["-o", str(library), str(source.resolve()), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_TIME, check=False)
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), "the compiler failed")
            raise ExportError(f"{source}: cannot be compiled: {printable(reason)}")
        return _Pendulum(library, number)
    except (OSError, subprocess.TimeoutExpired, AttributeError) as error:
        raise ExportError(f"{source}: cannot be compiled and loaded: {error}") from None


def _file_names(model: ServoModel) -> tuple[str, str]:
    """A second ending, so that no name of a model hides a header of the compiler's."""
    name = slug(model.title)
    return f"{name}.servo.h", f"{name}.pendulum.c"


def _number(name: str, value: float) -> str:
    number = float(value)
    if not math.isfinite(number) or abs(number) > LARGEST or 0.0 < abs(number) < SMALLEST:
        raise ExportError(f"export to c: {name} = {number!r} is not a number a C float can hold; change the model")
    return repr(number)


def _comment(text: str) -> str:
    """Text that neither ends a comment, nor opens one, nor holds a trigraph."""
    return printable(re.sub(r"[*/?]", " ", text))


def _notes(model: ServoModel, settings: ServoSettings) -> list[str]:
    notes = [
        f"Fixed by this export: kp {settings.kp:g}, ki {settings.ki:g}, kd {settings.kd:g}, "
        f"supply {settings.supply_voltage:g} V.",
        "Numbers are `float` unless `SERVOBENCH_DOUBLE` is defined in every file.",
        "A simulation's error falls with the square of its step; steps of 1 ms or less suit it. "
        + (
            "Friction is one torque per time step that stops the shaft at most."
            if model.contact == "rigid"
            else "Friction is one torque per time step, stable at any step. Compensation is of what slips, not of what "
            "gives before."
        ),
        *bristle_notes(model, "`sb_at_rest`"),
    ]
    if settings.ki > 0.0:
        notes.append("`sb_feedforward` has no meaning with an integral gain, which integrates the goal's offset.")
    delay, lag = model.values.get("command_delay", 0.0), model.values.get("pwm_lag", 0.0)
    if delay > 0.0:
        notes.append(
            f"Commands act {delay * 1e3:.3g} ms late: delay them yourself where you simulate, and look as far ahead "
            "where you compensate."
        )
    if lag > 0.0:
        notes.append(
            f"The output lags by {lag * 1e3:.3g} ms: ask for the offset of the motion that much later than the "
            "position it is added to."
        )
    if model.control.bridge == "coast":
        notes.append("Feed-forward of a drive/coast bridge halves an interval 24 times, with two exponentials each.")
    return notes


def _usage(model: ServoModel) -> str:
    numbers_file, program_file = _file_names(model)
    return f"""\
Compensation, once per control cycle, for the wanted motion `q`, `dq`, `ddq` (rad, rad/s, rad/s²) at the time the
command will act, and the `external` torque (N·m) known for it; `load` is the inertia of the load (kg·m²):

```c
#include "{numbers_file}"
static const sb_servo *servo = &{identifier(model.title)};

sb_command c = sb_feedforward(servo, dq, ddq, external, load, SB_PREVIEW, SB_SMOOTHING);
send_goal(q + c.goal_offset);
```

Where the supply is measured, compensate with a copy of the servo that has it as `supply_voltage`.

Simulation, once per time step of `h` seconds, with `state` from `sb_at_rest(q)`:

```c
q += h / 2 * dq; /* the position in the middle of the step, where all torques are taken */
sb_real motor = sb_motor_torque(servo, &state, sb_held(goal), q, dq, 1, servo->supply_voltage, h);
sb_real inertia = sb_inertia(servo, &state, load + servo->armature, h);
sb_real friction = sb_friction_torque(servo, &state, motor, external, dq, inertia, h);
dq += h * (motor + external + friction) / inertia;
q += h / 2 * dq;
```

The example: `cc -std=c99 -O2 {program_file} -lm && ./a.out > motion.csv`.
"""


EXPORTER = Exporter(
    target="c",
    title="C header (firmware)",
    description="Friction M1–M6, motor and feed-forward compensation in C99, with the servo's numbers and an example.",
    options=ServoOptions,
    write=write_c,
    check=check_c,
    contacts=tuple(CONTACTS),
    engine="C compiler",
)
