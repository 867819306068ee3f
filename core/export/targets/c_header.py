"""Export to C: the servo as numbers, and one header that computes friction, motor and feed-forward compensation.

For firmware and other simulators. The export has three files: `servobench_friction.h`, the same for every servo;
`<name>.servo.h`, the numbers of this servo; and `<name>.pendulum.c`, which simulates the bench with and without
compensation. Nothing is approximated beyond the precision of `float`, or of `double` if selected.

A model's name reaches C identifiers only through `identifier`, and comments only through `_comment`.
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

from core.base.errors import ExportError, NotChecked
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import printable, require_written, slug
from core.export.notes import bristle_notes, settings_note
from core.export.protocol import held_commands, measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.servo_file import (
    BRISTLE_NUMBERS,
    COMMAND_NUMBERS,
    LATER_NUMBERS,
    NUMBERS,
    servo_numbers,
    standalone_text,
)
from core.kernel.layout import Slot
from core.servo.actuator import FAST_DECAY
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACTS, path_of

HEADER, PROGRAM = "servobench_friction.h", "servobench_pendulum.c"
PROGRAM_TIME = 6.0
"""Duration of the example [s]."""
MOST_STEPS = 1_000_000
COMPILERS = ("cc", "gcc", "clang")
COMPILE_TIME = 60.0
"""Timeout of a compiler [s]."""
PRECISIONS = {"float": (ctypes.c_float, ()), "double": (ctypes.c_double, ("-DSERVOBENCH_DOUBLE",))}
LARGEST, SMALLEST = 3.4e38, 1.2e-38
"""Range of a C float."""

_LAWS = {"voltage": "SB_VOLTAGE", "current": "SB_CURRENT", "coast": "SB_COAST"}
_CONTACTS = {name: f"SB_{name.upper()}" for name in CONTACTS}


def write_c(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the header, the servo's numbers and the example; raise ExportError for impossible options."""
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
    """Turn any text into a C identifier of a-z, 0-9 and "_", no keyword, reserved name or name of the header."""
    plain = re.sub(r"_+", "_", slug(name).replace("-", "_"))
    clashes = plain[0].isdigit() or re.match(r"sb(_|$)|servobench", plain)
    return f"{'model_' if clashes else ''}{plain}_servo"


def numbers_text(model: ServoModel, settings: ServoSettings) -> str:
    """Return the text of `<name>.servo.h`: one `static const sb_servo` whose numbers are exact."""
    numbers = servo_numbers(model, settings)
    for slot, none in LATER_NUMBERS.items():
        numbers.setdefault(slot.name.lower(), none)
    name = identifier(model.title)
    slots = (*NUMBERS, *BRISTLE_NUMBERS, *COMMAND_NUMBERS, *LATER_NUMBERS, Slot.LOAD_MEMORY)
    fields = ["supply_voltage", *(slot.name.lower() for slot in slots)]
    rows = [f"    {_LAWS[numbers['law']]}, /* law */", f"    {_CONTACTS[model.contact]}, /* contact */"]
    rows += [f"    SB_C({_number(field, numbers.get(field, 0.0))}), /* {field} */" for field in fields]
    servo = f"static const sb_servo {name} = {{\n" + "\n".join(rows) + "\n};\n"
    offset = model.values.get("q_offset", 0.0)
    zero = f" * Where the servo reads 0, its shaft is at {_number('q_offset', offset)} rad.\n" if offset else ""
    # Two servos with one symbol must not compile; a guard of the symbol alone would silently drop the second.
    guard = f"SERVOBENCH_{name.upper()}_{hashlib.sha256(servo.encode()).hexdigest()[:8].upper()}_H"
    return (
        f"/* {_comment(model.title)}: friction {model.friction.upper()}, gain {_number('kp', settings.kp)} as written "
        f"into the servo.\n{zero} * Fields and units: see sb_servo. */\n"
        f'#ifndef {guard}\n#define {guard}\n\n#include "{HEADER}"\n\n{servo}\n#endif\n'
    )


def program_text(model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float) -> str:
    """Return the text of `<name>.pendulum.c`: the bench as numbers, then the program, the same for every servo."""
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
    """Compile an export and simulate with it.

    Only a folder that holds exactly what an export with these options writes is compiled and run.

    Args:
        model: The exported model.
        folder: Folder of the export.
        options: Options of the export.
        precision: "float", the header's default, or "double".

    Raises:
        ExportError: The files differ from the export's, or cannot be compiled.
        NotChecked: There is no C compiler.
    """
    require_written(folder, _contents(model, options))

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> list[NDArray[np.float64]]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as library:
            move = _compiled(place / _file_names(model)[1], Path(library) / "pendulum.so", precision)
            return [move(*held_commands(run, step), step) for run in runs]

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
    """Return the path of a C compiler; raise NotChecked if there is none."""
    for name in COMPILERS:
        found = shutil.which(name)
        if found:
            return found
    raise NotChecked(f"it needs a C compiler; none of {', '.join(COMPILERS)} is installed")


def _contents(model: ServoModel, options: ServoOptions) -> dict[str, str]:
    """Return the header, the numbers and the program by file name."""
    settings, bench = settings_of(model, options, "c"), options.bench or default_bench(model)
    numbers_file, program_file = _file_names(model)
    return {
        HEADER: standalone_text(HEADER),
        numbers_file: numbers_text(model, settings),
        program_file: program_text(model, bench, settings, options.timestep),
    }


class _Pendulum:
    """Simulation by the compiled program."""

    def __init__(self, library: Path, number: type[ctypes.c_float] | type[ctypes.c_double]) -> None:
        self._function = ctypes.CDLL(str(library)).simulate_pendulum
        self._number = number
        array = ctypes.POINTER(number)
        self._function.argtypes = (array, array, ctypes.c_long, number, number, number, array)
        self._function.restype = None

    def __call__(self, goals: NDArray[np.float64], drives: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Return positions before each step (n,) [rad], from rest at 0; goals in rad, drives 1 or 0, step in s."""
        commands = [np.ascontiguousarray(values, dtype=self._number) for values in (goals, drives)]
        positions = np.empty_like(commands[0])
        array = ctypes.POINTER(self._number)
        goal, drive, out = (values.ctypes.data_as(array) for values in (*commands, positions))
        self._function(goal, drive, len(positions), step, 0.0, 0.0, out)
        return positions.astype(np.float64)


def _compiled(source: Path, library: Path, precision: str) -> _Pendulum:
    if precision not in PRECISIONS:
        raise ExportError(f"no precision {precision!r}; available: {', '.join(PRECISIONS)}")
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
    """Return names with a second suffix, so that no model's name shadows a header of the compiler."""
    name = slug(model.title)
    return f"{name}.servo.h", f"{name}.pendulum.c"


def _number(name: str, value: float) -> str:
    number = float(value)
    if not math.isfinite(number) or abs(number) > LARGEST or 0.0 < abs(number) < SMALLEST:
        raise ExportError(f"export to c: {name} = {number!r} is not a number a C float can hold; change the model")
    return repr(number)


def _comment(text: str) -> str:
    """Return text that neither ends nor opens a comment and holds no trigraph."""
    return printable(re.sub(r"[*/?]", " ", text))


def _notes(model: ServoModel, settings: ServoSettings) -> list[str]:
    notes = [
        (
            f"Fixed by this export: kp {settings.kp:g}, ki {settings.ki:g}, kd {settings.kd:g}, "
            f"supply {settings.supply_voltage:g} V."
            if model.control.command == "position"
            else settings_note(model, settings)
        ),
        "Numbers are `float` unless `SERVOBENCH_DOUBLE` is defined in every file.",
        "A simulation's error falls with the square of its time step; 1 ms or less is recommended. "
        + (
            "Friction is one torque per time step, which at most stops the shaft."
            if model.contact == "rigid"
            else "Friction is one torque per time step, stable at any time step. Feed-forward compensates sliding "
            "friction, not the deflection before it slips."
        ),
        *bristle_notes(model, "`sb_at_rest`"),
    ]
    if settings.ki > 0.0 or model.values.get("speed_integral", 0.0) > 0.0:
        notes.append("Do not use `sb_feedforward` with an integral gain, which integrates the goal's offset.")
    if model.values.get("load_memory") and path_of(model.friction, ["load_memory"]):
        notes.append("`sb_feedforward` compensates friction that follows the load at once, without its memory.")
    delay, lag = model.values.get("command_delay", 0.0), model.values.get("pwm_lag", 0.0)
    if delay > 0.0:
        notes.append(
            f"Commands act {delay * 1e3:.3g} ms late. In a simulation, delay them yourself; for compensation, use the "
            "motion that far ahead."
        )
    if lag > 0.0:
        notes.append(
            f"The output lags by {lag * 1e3:.3g} ms: compute the offset for the motion that much later than the "
            "position to which you add it."
        )
    if model.control.drive == FAST_DECAY:
        notes.append("Feed-forward of a drive with fast decay bisects 24 times, with two exponentials each.")
    return notes


def _usage(model: ServoModel) -> str:
    numbers_file, program_file = _file_names(model)
    followed = {"position": "q + ", "velocity": "dq + "}.get(model.control.command, "")
    return f"""\
Compensation, once per control cycle, for the wanted motion `q`, `dq`, `ddq` (rad, rad/s, rad/s²) at the time the
command will act, and the `external` torque (N·m) known for it; `load` is the inertia of the load (kg·m²):

```c
#include "{numbers_file}"
static const sb_servo *servo = &{identifier(model.title)};

sb_command c = sb_feedforward(servo, dq, ddq, external, load, SB_PREVIEW, SB_SMOOTHING);
send_goal({followed}c.goal_offset);
```

If you measure the supply voltage, compensate with a copy of the servo whose `supply_voltage` is the measured one.

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
    any_law=True,
    load_memory=True,
    contacts=tuple(CONTACTS),
    engine="C compiler",
)
