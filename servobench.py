"""Python interface of ServoBench: identify a servo from recordings and use its model.

    import servobench as sb

    session = sb.example()                            # eight recordings of a real Dynamixel XL330
    found = sb.identify(session, models="m1,m6")
    model = found.recommended.model
    sb.simulate(model, session.load_all()[0]).plot()  # simulated on top of measured
    sb.export(model, "mujoco", "xl330_mujoco")

Everything the window and the command `bench` compute is available here, computed by the same functions. Importing this
module loads neither Qt nor the compiler: names and packages are loaded on first use.

Wherever a function takes a servo, it accepts a catalogue name ("xl330"), a servo file of your own (my.toml) or a
`ServoSpec`. Wherever it takes a model, it accepts "servo:variant" ("mx106:m6"), a model file or a `ServoModel`.
Wherever it takes recordings, it accepts a session, the path of one, a `Recording` or several. Units are SI, angles are
in rad.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

# Your working folder may hold packages with the same names as ServoBench's. ServoBench's are then loaded as
# `servobench.core` and so on, and `import core` still gives you yours.

_ROOT = Path(__file__).parent
_ROOMS = ("bench_gui", "core", "drivers", "resources", "sessions")


def _is_ours(room: str) -> bool:
    """Return True if `import room` gives ServoBench's package."""
    found = importlib.util.find_spec(room)
    places = found.submodule_search_locations if found is not None else None
    return bool(places) and Path(next(iter(places))) == _ROOT / room


class _PrivateRooms(importlib.machinery.PathFinder):
    """Find ServoBench's packages as `servobench.core` and so on, next to other packages called `core`."""

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a module below `servobench`, None for any other."""
        if not fullname.startswith(f"{__name__}."):
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _PrivateLoader(spec.loader.name, spec.loader.path)
        return spec


class _PrivateLoader(importlib.machinery.SourceFileLoader):
    """Run a module in which `import core` means `servobench.core`."""

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with the redirected `__import__`."""
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
        super().exec_module(module)


def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
) -> ModuleType:
    """Replace `__import__` in ServoBench's own modules while other packages use their names."""
    room = name.partition(".")[0]
    if level or room not in _ROOMS:
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    found = builtins.__import__(f"{__name__}.{name}", globals, locals, fromlist or (), 0)
    return found if fromlist else sys.modules[f"{__name__}.{room}"]


if not all(map(_is_ours, _ROOMS)):
    __path__ = [str(_ROOT)]
    sys.meta_path.insert(0, _PrivateRooms)
    # A function takes the builtins of the moment at which it is defined.
    __builtins__ = {**vars(builtins), "__import__": _import}


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from core.base.errors import ServoBenchError
    from core.export.contract import Check, ExportResult
    from core.identification.coverage.report import Coverage
    from core.identification.evaluate import Evaluation
    from core.identification.evidence.certainty import Certainty
    from core.identification.next.proposal import NextRecordings
    from core.identification.result import Identification, ModelResult
    from core.learn.learning import Learned
    from core.motion.comparison import Comparison
    from core.motion.recording import Recording
    from core.motion.simulation import simulate_trajectory
    from core.motion.trajectories import Trajectory, make_trajectory
    from core.practice.diagram import DriveBackdriveDiagram
    from core.practice.placement import PlacedPoint
    from core.robot.next import NextMotions
    from core.robot.runs import RobotRuns
    from core.servo.bench import Bench
    from core.servo.model import ServoModel
    from core.servo.servo_spec import ServoSpec
    from core.servo.settings import ServoSettings
    from core.servo.terms import Integrator, Metric, QuadraticGate, Supply
    from sessions import Session
    from sessions.results.crossvalidating import CrossValidated

_PLACES = {
    "core.base.errors": ("ServoBenchError",),
    "core.export.contract": ("Check", "ExportResult"),
    "core.identification.coverage.report": ("Coverage",),
    "core.identification.evaluate": ("Evaluation",),
    "core.identification.evidence.certainty": ("Certainty",),
    "core.identification.next.proposal": ("NextRecordings",),
    "core.identification.result": ("Identification", "ModelResult"),
    "core.learn.learning": ("Learned",),
    "core.motion.comparison": ("Comparison",),
    "core.motion.recording": ("Recording",),
    "core.motion.simulation": ("simulate_trajectory",),
    "core.motion.trajectories": ("Trajectory", "make_trajectory"),
    "core.practice.diagram": ("DriveBackdriveDiagram",),
    "core.robot.next": ("NextMotions",),
    "core.robot.runs": ("RobotRuns",),
    "core.servo.bench": ("Bench",),
    "core.servo.model": ("ServoModel",),
    "core.servo.servo_spec": ("ServoSpec",),
    "core.servo.settings": ("ServoSettings",),
    "sessions": ("Session",),
    "sessions.results.crossvalidating": ("CrossValidated",),
}
"""Modules that define the names that are re-exported."""

__all__ = [
    "Bench", "Certainty", "Check", "Comparison", "Coverage", "CrossValidated", "DriveBackdriveDiagram",
    "Evaluation", "ExportResult", "Identification", "Learned", "ModelResult", "NextMotions", "NextRecordings",
    "Recording", "RobotRuns", "ServoBenchError", "ServoModel", "ServoSettings", "ServoSpec", "Session", "Trajectory",
    "certainty", "check_export", "coverage", "cross_validate", "drive_backdrive", "evaluate", "example", "export",
    "from_frame", "identify", "import_logs", "learn", "load_model", "load_servo", "make_trajectory", "propose",
    "propose_motions", "record", "recording", "robot_runs", "simulate", "simulate_trajectory", "write_model",
]  # fmt: skip


def example(folder: str | Path | None = None) -> Session:
    """Open your own copy of the example: eight recordings of a real Dynamixel XL330.

    The first call makes the copy. Later calls open it, with everything you have added to it.

    Args:
        folder: Where to keep the copy. Default: ServoBench's folder in your home directory, as in the window.

    Returns:
        The session.

    Raises:
        OSError: The copy cannot be written.

    Example:
        >>> session = sb.example()
        >>> len(session.runs())
        8
    """
    from sessions import Session
    from sessions.folders import example_session

    return Session.open(example_session(None if folder is None else Path(folder)))


def load_servo(servo: str | Path | ServoSpec) -> ServoSpec:
    """Load the description of a servo: its control law, its ratings and the bounds of its parameters.

    Args:
        servo: A catalogue name or alias, in any case; a servo file of your own (`bench models --new my.toml` writes a
            template); or a `ServoSpec`, which is returned as it is. A file is also copied to your own servos, so that
            sessions and models find it by name.

    Returns:
        The servo's description.

    Raises:
        ServoBenchError: There is no such servo, or the file does not describe one.

    Example:
        >>> sb.load_servo("xl330").title
        'Dynamixel XL330-M288'
    """
    from core.servo.catalogue import keep_servo_files, load_servo
    from core.servo.servo_spec import ServoSpec
    from drivers.registry import check_buses

    return servo if isinstance(servo, ServoSpec) else load_servo(keep_servo_files(str(servo), check_buses))


def load_model(model: str | Path | ServoModel) -> ServoModel:
    """Load a servo model.

    Args:
        model: "servo:variant" for a model that comes with ServoBench, such as "mx106:m6"; a file written by the window,
            `bench identify` or `write_model`; or a `ServoModel`, which is returned as it is.

    Returns:
        The model.

    Raises:
        ServoBenchError: There is no such model, or the file does not contain one.

    Example:
        >>> sb.load_model("mx106:m6").friction
        'm6'
    """
    from core.base.errors import InputError
    from core.servo.model import ServoModel
    from core.servo.shipped import open_model
    from drivers.registry import check_buses

    if isinstance(model, ServoModel):
        return model
    if not isinstance(model, str | Path):
        raise InputError(
            f"a model is a name, a file or a ServoModel, not {type(model).__name__}; of an identification, use "
            'found["m6"].model'
        )
    return open_model(str(model), check_buses)


def write_model(model: ServoModel, path: str | Path) -> Path:
    """Write a model to a JSON file that `load_model`, the window and the command line read.

    Args:
        model: The model.
        path: The file; it is replaced if it exists.

    Returns:
        The path of the file.

    Raises:
        OSError: The file cannot be written.

    Example:
        >>> path = sb.write_model(sb.load_model("mx106:m6"), "mine.json")
        >>> sb.load_model(path).servo
        'mx106'
    """
    from core.base.atomic import write_atomically

    path = Path(path)
    write_atomically(path, model.to_json_text().encode())
    return path


def recording(
    time: ArrayLike,
    goal_position: ArrayLike | None,
    position: ArrayLike,
    *,
    servo: str | Path | ServoSpec, mass: float, length: float, angle_offset: float = 0.0, kp: float | None = None,
    supply_voltage: ArrayLike | None = None, id: str = "recording", trajectory: str = "own",
    torque_enable: ArrayLike | None = None, velocity: ArrayLike | None = None, current: ArrayLike | None = None,
    duty_cycle: ArrayLike | None = None, temperature: ArrayLike | None = None, read_duration: ArrayLike | None = None,
    command_time: ArrayLike | None = None, skipped_cycles: ArrayLike | None = None, bus_errors: ArrayLike | None = None,
    goal_velocity: ArrayLike | None = None, goal_duty_cycle: ArrayLike | None = None,
    goal_voltage: ArrayLike | None = None, goal_current: ArrayLike | None = None, goal_torque: ArrayLike | None = None,
) -> Recording:  # fmt: skip
    """Make a recording from arrays.

    Add it to a session with `Session.add`, or identify from a list of recordings.

    Args:
        time: Time of each sample [s], strictly increasing, (n,).
        goal_position: Commanded position [rad], (n,). Each value is held until the next sample. None for a servo that
            is commanded otherwise; then give one of the other goals.
        position: Measured position [rad], (n,). 0 hangs down, counter-clockwise is positive.
        servo: The servo.
        mass: Load at the end of the pendulum [kg].
        length: Distance from shaft to load [m].
        angle_offset: Mounting error [rad], added to the measured angle before gravity acts.
        kp: Position gain in the servo's own unit. Default: the catalogue's.
        supply_voltage: Supply voltage [V], one value or measured values (n,). Default: the catalogue's.
        id: Name of the run, unique among the recordings that are identified together.
        trajectory: Name of the motion. Runs with the same name can be held out together.
        torque_enable: 1 while the motor is driven, 0 while it is released, (n,). Default: always 1.
        velocity: Velocity reported by the servo [rad/s], (n,).
        current: Motor current [A], (n,).
        duty_cycle: Signed share of the supply voltage on the motor, (n,).
        temperature: Temperature of the servo [°C], (n,).
        read_duration: Duration of each bus read [s], (n,).
        command_time: Time at which each goal was commanded [s], (n,). Default: the sample's own time.
        skipped_cycles: Cycles missed since the previous sample, (n,).
        bus_errors: Failed bus transactions since the previous sample, (n,).
        goal_velocity: Commanded velocity [rad/s], (n,).
        goal_duty_cycle: Commanded share of the supply voltage, (n,).
        goal_voltage: Commanded voltage [V], (n,).
        goal_current: Commanded current [A], (n,).
        goal_torque: Commanded torque [N·m], (n,).

    Returns:
        The recording.

    Raises:
        ServoBenchError: Shapes differ, times do not increase, a value is not finite, or there is no such servo.

    Example:
        >>> t = np.arange(0.0, 2.0, 0.01)
        >>> run = sb.recording(t, 0.5 * np.sin(3 * t), 0.45 * np.sin(3 * t - 0.2), servo="xl330", mass=0.1, length=0.1)
        >>> run.samples
        200
    """
    given = dict(locals())
    import numpy as np

    from core.motion.recording import CHANNELS, Recording
    from core.servo.bench import Bench
    from core.servo.settings import ServoSettings

    spec = load_servo(servo)
    supply = np.asarray(spec.supply_voltage if supply_voltage is None else supply_voltage, dtype=np.float64)
    given["supply_voltage"] = supply if supply.ndim else None
    given["torque_enable"] = np.ones(np.shape(time)) if torque_enable is None else torque_enable
    columns = {
        channel.name: np.asarray(given[channel.name], dtype=channel.kind)
        for channel in CHANNELS
        if given[channel.name] is not None
    }
    return Recording(
        id=id,
        trajectory=trajectory,
        bench=Bench(mass=mass, length=length, angle_offset=angle_offset),
        settings=ServoSettings(
            servo=spec.name,
            kp=spec.default_kp if kp is None else kp,
            supply_voltage=float(np.median(supply)),
        ),
        channels=columns,
    )


def import_logs(
    paths: str | Path | Sequence[str | Path],
    session: str | Path | Session,
    *,
    columns: str = "", from_name: str = "", where: Mapping[str, object] | None = None, split_by: str = "",
    joints: str | None = None, goal_shift: int | Literal["auto"] = 0, calibration: str | Path | None = None,
    servo: str | Path | ServoSpec | None = None, mass: float | None = None, length: float | None = None,
    arm_mass: float | None = None, angle_offset: float | None = None,
    kp: float | None = None, ki: float | None = None, kd: float | None = None, damping: float | None = None,
    supply_voltage: float | None = None, trajectory: str | None = None, progress: bool = True,
) -> Session:  # fmt: skip
    """Import logs into a session: CSV, TSV, NPZ, Parquet, logs of Rhoban/bam, files of ServoBench.

    The arguments from `mass` to `trajectory` are facts that hold for all tables.

    Args:
        paths: Files or folders.
        session: A session, or the folder of one; it is created if it does not exist.
        columns: Meaning of a table's columns, e.g. "time=t:ms,goal=target:deg,position=angle:deg". If it is missing,
            the error lists the columns of the table.
        from_name: Pattern of the file names, from which facts of each run are taken, e.g.
            "{trajectory}_m{mass}_l{length}_kp{kp}".
        where: Values of columns that the rows must have, e.g. {"id": 3}.
        split_by: Column of whose values each makes a run, e.g. "episode_index".
        joints: Joints of a robot to import, "NAME,NAME" or "OLD=NEW" as in the robot's file, or "all"; `columns` then
            has "{joint}" where the names of their columns differ. See `robot_runs`.
        goal_shift: Rows by which goals are moved, e.g. -1 if each is logged one row late. "auto": the shift of -2 to 2
            rows that clearly explains more than none.
        calibration: LeRobot's calibration file, for goals and positions from -100 to 100; it replaces their units.
        servo: The servo of tables that do not name one, and the variant of a log whose supply contradicts its servo.
        mass: Load at the end of the pendulum [kg].
        length: Distance from shaft to load [m].
        arm_mass: Mass of the uniform rod [kg].
        angle_offset: Mounting error [rad], added to the measured angle before gravity acts.
        kp: Position gain in the servo's own unit.
        ki: Integral gain in the servo's own unit.
        kd: Derivative gain in the servo's own unit.
        damping: Velocity gain of the eRob control law.
        supply_voltage: Nominal supply voltage [V].
        trajectory: Name of the motion.
        progress: Show a progress bar.

    Returns:
        The session with the new runs.

    Raises:
        ServoBenchError: A file cannot be read as a log. The session is left unchanged.

    Example:
        >>> session = sb.import_logs(
        ...     "log.csv", "mine", columns="time=t:ms,goal=target:deg,position=angle:deg",
        ...     servo="xl330", mass=0.1, length=0.1, kp=400,
        ... )
    """
    given = dict(locals())
    from sessions import Session, import_paths
    from sessions.importers import TableImport
    from sessions.importers.columns import parse_columns
    from sessions.importers.datasets import read_calibration
    from sessions.importers.joints import parse_joints
    from sessions.importers.names import FACTS

    given["servo"] = None if servo is None else load_servo(servo).name
    facts = {name: given[name] for name in FACTS if given[name] is not None}
    chosen = {name: str(value) for name, value in (where or {}).items()}
    tables = TableImport(
        columns=parse_columns(columns),
        facts=facts,
        name_pattern=from_name,
        where=chosen,
        split_by=split_by,
        joints=None if joints is None else parse_joints(joints),
        goal_shift=goal_shift,
        calibration=read_calibration(Path(calibration)) if calibration else {},
    )
    files = [paths] if isinstance(paths, str | Path) else paths
    with _progress("Import", progress) as show:
        import_paths(files, session, lambda event: show(event.done / max(event.total, 1), event.file), tables)
    return session if isinstance(session, Session) else Session.open(session)


def from_frame(
    frame: Any,
    *,
    columns: str, servo: str | Path | ServoSpec, mass: float, length: float, kp: float | None = None,
    trajectory: str = "frame", where: Mapping[str, object] | None = None, split_by: str = "",
    goal_shift: int | Literal["auto"] = 0, calibration: str | Path | None = None,
    **facts: float,
) -> list[Recording]:  # fmt: skip
    """Turn a data frame into recordings, by the rules of `import_logs`.

    Args:
        frame: Data frame of pandas or polars, or a mapping of names to arrays of equal length.
        columns: Meaning of its columns, e.g. "time=t:ms,goal=target:deg,position=angle:deg".
        servo: The servo.
        mass: Load at the end of the pendulum [kg].
        length: Distance from shaft to load [m].
        kp: Position gain in the servo's own unit; None for its default.
        trajectory: Name of the motion.
        where: Values of columns that the rows must have, e.g. {"id": 3}.
        split_by: Column of whose values each makes a run, e.g. "episode_index".
        goal_shift: Rows by which goals are moved, as for `import_logs`.
        calibration: LeRobot's calibration file, as for `import_logs`.
        facts: Further facts as for `import_logs`: arm_mass, angle_offset, ki, kd, damping, supply_voltage.

    Returns:
        One recording, or one for each value of `split_by`. What was left out is in their `provenance`.

    Raises:
        ServoBenchError: The columns cannot be read as a log.

    Example:
        >>> log = {"t": [0.0, 0.01, 0.02], "goal": [0.0, 0.1, 0.2], "pos": [0.0, 0.0, 0.1]}
        >>> [run] = sb.from_frame(log, columns="time=t,goal=goal,position=pos", servo="xl330", mass=0.1, length=0.1)
        >>> run.samples
        3
    """
    import numpy as np

    from sessions.importers import TableImport
    from sessions.importers.columns import parse_columns
    from sessions.importers.datasets import read_calibration
    from sessions.importers.table_runs import read_runs
    from sessions.importers.tables import ArrayTable

    spec = load_servo(servo)
    request = TableImport(
        columns=parse_columns(columns),
        facts={**facts, "servo": spec.name, "mass": mass, "length": length, "trajectory": trajectory,
               "kp": spec.default_kp if kp is None else kp},
        where={name: str(value) for name, value in (where or {}).items()},
        split_by=split_by,
        goal_shift=goal_shift,
        calibration=read_calibration(Path(calibration)) if calibration else {},
    )  # fmt: skip
    names = [*getattr(frame, "columns", frame)]
    table = ArrayTable({str(name): np.asarray(frame[name]) for name in names})
    runs = read_runs(table, Path(trajectory), request)
    if goal_shift == "auto":
        from core.identification.misread import misread

        rows = next((found.rows for found in misread(runs) if found.rows), 0)
        runs = read_runs(table, Path(trajectory), replace(request, goal_shift=rows))
    return runs


def record(
    servo: str | Path | ServoSpec,
    session: str | Path,
    *,
    mass: float,
    length: float,
    trajectories: Sequence[str] | None = None,
    kp: float | None = None,
    progress: bool = True,
) -> Session:
    """Record motions of a simulated servo, faster than real time.

    To record a real servo, use the window or `bench record`, which supervise it.

    Args:
        servo: The servo to simulate, with its shipped M6 model or, if it has none, its start values.
        session: Folder of the session; it is created if it does not exist.
        mass: Load at the end of the pendulum [kg].
        length: Distance from shaft to load [m].
        trajectories: Names of the motions. Default: the four of the paper.
        kp: Position gain in the servo's own unit. Default: the catalogue's.
        progress: Show a progress bar.

    Returns:
        The session with the new runs.

    Raises:
        ServoBenchError: There is no such servo or motion, or the session cannot be written.

    Example:
        >>> session = sb.record("mx106", "simulated_mx106", mass=1.0, length=0.1)
    """
    from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
    from core.servo.bench import Bench
    from drivers.recorder.planned import RecordingPlan, record_plan
    from sessions import Session

    plan = RecordingPlan(
        servo=f"simulated:{load_servo(servo).name}",
        trajectories=tuple(make_trajectory(name) for name in trajectories or PAPER_TRAJECTORIES),
        bench=Bench(mass=mass, length=length),
        kp=kp,
        fast=True,
    )
    with _progress("Record", progress) as show:
        record_plan(plan, partial(Session.open_or_create, session), show)
    return Session.open(session)


def simulate(
    model: str | Path | ServoModel, run: Recording, *, dt: float | None = None, supply: Supply = "logged"
) -> Comparison:
    """Simulate the commands of a recording and compare the motion with the measured one.

    Args:
        model: The model.
        run: The recording.
        dt: Time between compared samples [s]. Default: that of the recording.
        supply: "logged" uses the measured supply voltage where the recording has it, "header" the nominal one.

    Returns:
        Both motions at the same times, with errors and a plot.

    Raises:
        ServoBenchError: There is no such model, or the recording cannot be resampled at `dt`.

    Example:
        >>> sb.simulate("xl330:m6", sb.example().load_all()[0]).mae < 0.1
        True
    """
    from core.motion.comparison import compare

    return compare(load_model(model), run, dt, supply)


def evaluate(
    model: str | Path | ServoModel, data: Session | Recording | Sequence[Recording] | str | Path
) -> Evaluation:
    """Compute the errors of a model on recordings.

    Args:
        model: The model.
        data: The recordings.

    Returns:
        Mean absolute and root mean square error [rad] of each run, and their means.

    Raises:
        ServoBenchError: There is no such model, or there are no recordings.

    Example:
        >>> len(sb.evaluate("xl330:m6", sb.example()).runs)
        8
    """
    from core.identification.coverage.causes import unexplained
    from core.identification.evaluate import evaluate

    found, recordings = load_model(model), _runs(data).recordings
    result = evaluate(found, recordings)
    return replace(result, cause=unexplained(found, recordings, [run.mae for run in result.runs]))


def identify(
    data: Session | Recording | Sequence[Recording] | str | Path,
    models: str | Sequence[str] = "m1,m2,m3,m4,m5,m6",
    *,
    servo: str | Path | ServoSpec | None = None, command_path: bool | None = None, points: Sequence[PlacedPoint] = (),
    output: str | Path | None = None, progress: bool = True, trials: int | None = None, repeats: int = 1, seed: int = 0,
    validation: str = "25%", metric: Metric = "mae", polish: bool = True, contact: str = "automatic",
    integrator: Integrator = "leapfrog", dt: float | None = None, substeps: int | None = None,
    run_offsets: bool = False, quadratic_gate: QuadraticGate = "larger_torque", supply: Supply = "logged",
    drive_from: str = "", frozen: Sequence[tuple[str, float]] = (), bounds: Sequence[tuple[str, float, float]] = (),
    start: Sequence[tuple[str, float]] = (), prior: float = 0.0, threads: int | None = None,
) -> Identification:  # fmt: skip
    """Identify models from recordings.

    The same data, options and seed give the same result as the window and `bench identify`.

    Args:
        data: The recordings.
        models: Friction models to fit, "m1" (Coulomb and viscous) to "m6" (Stribeck, load-dependent, directional and
            quadratic terms).
        servo: The servo. Default: the servo of the recordings.
        command_path: Also identify delay, gain ratio, slew, dead band, lag and torque-off. Default: include them if
            they lower the error on held-out runs.
        points: Drive/backdrive points placed by hand, to which the models are fitted too.
        output: Folder for models, `result.json` and the search. Default: a new folder in the results of a session;
            nothing is written for recordings that are not in a session.
        progress: Show a progress bar.
        trials: Evaluations per model and repeat. Default: 1000 per free parameter.
        repeats: Independent searches per model; their spread shows the convergence.
        seed: Random seed.
        validation: Runs to hold out for scoring the models: a share ("25%"), a condition ("kp=200") or "none".
        metric: Error that the search minimises: "mae", "rmse" or "mae_velocity" (position and velocity).
        polish: After the search, descend to the nearby minimum of a smooth loss.
        contact: Friction before slip: "rigid", "elastoplastic" or "elastoplastic_rational" with a spring and a damper,
            or "automatic": rigid, unless the rational one follows the training runs better.
        integrator: "leapfrog" of second order, "algorithm1" of the paper, or "bam" as Rhoban/bam.
        dt: Time between samples [s], to which recordings are resampled. Default: that of a regular recording, else the
            median, at least 0.005 s.
        substeps: Time steps of the simulation between two samples. Default: as many as the fit needs.
        run_offsets: Fit an offset of angle and supply voltage and a delay for each run; not with points.
        quadratic_gate: Condition for the quadratic friction of M6: "larger_torque" or "opposing" torques.
        supply: "logged" uses the measured supply voltage where the recordings have it, "header" the nominal one.
        drive_from: "duty_cycle" or "current" simulates from what was measured in place of the command, without a
            control law.
        frozen: Parameters held at a value: name and value [SI units].
        bounds: Bounds that replace the catalogue's: name, lowest and highest value [SI units].
        start: Values of a known model, at which the search also starts: name and value [SI units].
        prior: Penalty [rad] for a value that lies one whole catalogue interval from its start value, besides the weak
            prior of every fit; 0.01 to 0.03 if the start is a unit you know.
        threads: Number of threads, without effect on the result. Default: all processors.

    Returns:
        One result per model, the split, and the recommended model.

    Raises:
        ServoBenchError: No model can be fitted to the runs, or the options contradict each other.

    Example:
        >>> found = sb.identify(sb.example(), "m1,m6", command_path=False, trials=400, seed=0)
        >>> found.recommended.model.servo
        'xl330'
    """
    options = _options(locals())
    from core.identification.diagnosis import diagnosed
    from core.identification.identify import Progress, identify
    from core.identification.request import IdentificationRequest
    from core.servo.terms import COMMAND_PATH_TERMS
    from sessions.results.folder import new_result_folder
    from sessions.results.identifying import Watch, run_identification

    runs = _runs(data)
    request = IdentificationRequest(
        servo=runs.servo(servo),
        models=_names(models),
        command_path=() if command_path is False else COMMAND_PATH_TERMS,
        command_path_if_better=command_path is None,
        points=tuple(points),
        data_hash=runs.data_hash,
        **options,
    )
    if output is None and runs.session is not None and not runs.session.path.is_file():
        output = new_result_folder(runs.session.path)
    with _progress("Identify", progress) as show:

        def show_generation(step: Progress) -> None:
            best = step.generation.overall_best_value * 1e3
            show(step.done, f"{step.model.upper()} {best:.2f} mrad")

        if output is None:
            found = identify(request, runs.recordings, on_progress=show_generation)
            return diagnosed(found, runs.recordings, request.threads)
        watch = Watch(progressed=show_generation)
        found = run_identification(runs.recordings, request, Path(output), watch, selection=runs.selection)
    return found.identification


def robot_runs(
    data: Session | Recording | Sequence[Recording] | str | Path, robot: str | Path, joints: str | Sequence[str] = ()
) -> RobotRuns:
    """Compute the loads on the joints of a robot, below which each is identified like a servo on the bench.

    Needs MuJoCo: pip install 'servobench[mujoco]'.

    Args:
        data: Runs of the joints, as `import_logs` makes them with `joints`.
        robot: URDF or MJCF file of the robot.
        joints: Joints wanted. Default: all that move.

    Returns:
        The runs of each joint with their loads, for `identify`, `evaluate`, `simulate` and others; what the motions
        excite; and sentences on what is left out or looks mixed up. With the same seed, `identify` holds out the same
        motions for all joints.

    Raises:
        ServoBenchError: The runs are of another robot or in another unit, no joint moves, or MuJoCo is not installed.

    Example:
        >>> arm = sb.robot_runs("arm", "so101.urdf")  # doctest: +SKIP
        >>> found = {joint: sb.identify(runs, "m1,m6") for joint, runs in arm.joints.items()}  # doctest: +SKIP
    """
    from core.robot.chain import Chain
    from core.robot.runs import robot_runs

    return robot_runs(Chain(robot), _runs(data).recordings, _names(joints) if joints else ())


def cross_validate(  # noqa: D417 (the options of identify)
    data: Session | Recording | Sequence[Recording] | str | Path,
    models: str | Sequence[str] = "m1,m2,m3,m4,m5,m6",
    *,
    by: str | Sequence[str] | None = None, command_path: bool | None = None, additions: str | Sequence[str] = (),
    servo: str | Path | ServoSpec | None = None, output: str | Path | None = None, progress: bool = True,
    trials: int | None = None, repeats: int = 1, seed: int = 0, validation: str = "25%", metric: Metric = "mae",
    polish: bool = True, contact: str = "automatic", integrator: Integrator = "leapfrog", dt: float | None = None,
    substeps: int | None = None, run_offsets: bool = False, quadratic_gate: QuadraticGate = "larger_torque",
    supply: Supply = "logged", drive_from: str = "", frozen: Sequence[tuple[str, float]] = (),
    bounds: Sequence[tuple[str, float, float]] = (), start: Sequence[tuple[str, float]] = (), prior: float = 0.0,
    threads: int | None = None,
) -> CrossValidated:  # fmt: skip
    """Compare models on held-out conditions and choose the one that transfers best.

    Each mass, length, gain and motion is held out in turn. The models are fitted to the rest and scored on the runs
    held out. The other options are those of `identify`.

    Args:
        data: The recordings.
        models: Friction models to compare.
        by: Conditions to hold out: "mass", "length", "kp", "trajectory", "supply", "unit", "time" (of recording).
            Default: mass, length, kp and trajectory.
        command_path: Fit each model with the command path, or without it. Default: both.
        additions: Contacts and terms to compare beside the last model with the command path, each alone, such as
            "elastoplastic_rational,output_offset".
        servo: The servo. Default: the servo of the recordings.
        output: Folder that keeps completed parts; a second call continues there. Default: nothing is kept.
        progress: Show a progress bar.

    Returns:
        Errors on the held-out runs, by model and condition. `found.choice.text` explains which model to use.

    Raises:
        ServoBenchError: Nothing can be held out, or the options contradict each other.

    Example:
        >>> made = sb.cross_validate(sb.example(), "m1,m6", by="kp", command_path=False, trials=200)
        >>> made.found.choice.chosen.friction in ("m1", "m6")
        True
    """
    options = _options(locals())
    from core.identification.defaults import CONDITIONS
    from core.identification.request import IdentificationRequest
    from sessions.results.crossvalidating import CrossValidationWatch, Question, run_crossvalidation

    runs = _runs(data)
    request = IdentificationRequest(servo=runs.servo(servo), models=_names(models), data_hash=runs.data_hash, **options)
    paths = {None: "both", True: "on", False: "off"}[command_path]
    conditions = CONDITIONS if by is None else _names(by)
    question = Question(request=request, by=conditions, command_path=paths, additions=_names(additions))
    folder = None if output is None else Path(output)
    with _progress("Cross-validate", progress) as show:
        watch = CrossValidationWatch(on_progress=show)
        return run_crossvalidation(question, runs.recordings, folder, watch, selection=runs.selection)


def learn(
    data: Session | Recording | Sequence[Recording] | str | Path,
    model: str | Path | ServoModel | None = None,
    *,
    by: str | Sequence[str] = ("mass", "kp"), output: str | Path | None = None, progress: bool = True,
    iterations: int | None = None, trials: int | None = None, seed: int = 0,
) -> Learned:  # fmt: skip
    """Train nets and compare them with an identified model on held-out conditions.

    An actuator net and a residual net on top of the model are trained through simulated motion. Needs PyTorch:
    pip install 'servobench[learn]'.

    Args:
        data: The recordings.
        model: Identified model with a rigid contact, the base of the residual net; it is fitted again without each
            held-out condition. Default: M6 with the command path.
        by: Conditions to hold out, as for `cross_validate`.
        output: Folder for nets trained on all runs, for Isaac Lab and mjlab. Default: nothing is written.
        progress: Show a progress bar.
        iterations: Gradient steps of each net. Default: one to three minutes.
        trials: Evaluations per fit of the model. Default: 1000 per free parameter.
        seed: Random seed.

    Returns:
        Errors of model and nets on the held-out runs, by condition.

    Raises:
        ServoBenchError: PyTorch is missing, nothing can be held out, or the model's contact is not rigid.

    Example:
        >>> made = sb.learn(sb.example(), by="kp", trials=200, iterations=2)  # doctest: +SKIP
        >>> made.median("physics") < made.median("actuator")  # doctest: +SKIP
        True
    """
    from core.identification.request import IdentificationRequest
    from core.learn.learning import learn

    runs = _runs(data)
    request = IdentificationRequest(
        servo=runs.servo(), models=("m6",), trials=trials, seed=seed, data_hash=runs.data_hash
    )
    folder = None if output is None else Path(output)
    with _progress("Learn", progress) as show:
        found = learn(
            request,
            runs.recordings,
            _names(by),
            model=None if model is None else load_model(model),
            iterations=iterations,
            folder=folder and folder / "search",
            final=folder is not None,
            on_progress=show,
        )
    if folder is not None:
        from core.learn.export import write_nets

        write_nets(found, runs.recordings, folder)
    return found


def certainty(
    session: Session | str | Path,
    result: str | Path | None = None,
    *,
    model: str | None = None,
    parameters: str | Sequence[str] | None = None,
    draws: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Certainty:
    """Compute intervals for the parameters of an identified model.

    The intervals come from profile likelihoods and from a bootstrap over runs.

    Args:
        session: The session from which the model was identified.
        result: Folder of the identification, or its name in the session's results. Default: the newest.
        model: Friction model. Default: the recommended one.
        parameters: Parameters to profile: names, "flagged" (not determined, or at a bound) or "all". Default: flagged.
        draws: Number of bootstrap draws, 0 for none. Default: as for `bench certainty`.
        seed: Random seed of the draws.
        progress: Show a progress bar.

    Returns:
        Intervals of each parameter, which are also stored with the identification.

    Raises:
        ServoBenchError: There is no such result, or its runs have changed.

    Example:
        >>> session = sb.example()
        >>> found = sb.identify(session, "m1", command_path=False, trials=400)
        >>> certain = sb.certainty(session, parameters="kt,R", draws=0)
        >>> certain.friction
        'm1'
    """
    from core.identification.defaults import DRAWS, PROFILED
    from sessions import Session
    from sessions.results.certifying import CertaintyQuestion, run_certainty
    from sessions.results.folder import result_folder

    path = session.path if isinstance(session, Session) else Path(session)
    question = CertaintyQuestion(
        session=path,
        folder=result_folder(path, None if result is None else str(result)),
        friction=model,
        profiled=_names(parameters or PROFILED),
        draws=DRAWS if draws is None else draws,
        seed=seed,
    )
    with _progress("Certainty", progress) as show:
        return run_certainty(question, on_progress=show)


def coverage(
    data: Session | Recording | Sequence[Recording] | str | Path, model: str | Path | ServoModel | None = None
) -> Coverage:
    """Report which parameters recordings can determine and which problems they have.

    Args:
        data: The recordings.
        model: Model whose terms are assessed. Default: M6 of the recordings' servo with the command path.

    Returns:
        Findings, excitation and timing of each run, and a verdict for each term.

    Raises:
        ServoBenchError: There are no recordings, or they are of several servos.

    Example:
        >>> [str(finding) for finding in sb.coverage(sb.example()).findings]  # doctest: +SKIP
    """
    from core.identification.coverage.report import coverage

    return coverage(_runs(data).recordings, model=None if model is None else load_model(model))


def propose(
    data: Session | Recording | Sequence[Recording] | str | Path,
    model: str | Path | ServoModel | None = None,
    *,
    count: int = 4,
    objective: str = "volume",
) -> NextRecordings:
    """Propose the recordings that would narrow the parameters' intervals most.

    Args:
        data: The existing recordings.
        model: Model identified from them. Default: M6 at the catalogue's start values.
        count: Number of recordings to propose.
        objective: "volume" of the joint confidence region, or another objective of `bench next`.

    Returns:
        Motions, masses, lengths and gains, best first, with the gain in information of each.

    Raises:
        ServoBenchError: Every candidate has been recorded already.

    Example:
        >>> len(sb.propose(sb.example(), "xl330:m6", count=2).proposals)
        2
    """
    from core.identification.next.design import next_recordings
    from core.practice.plan import PLAN_DOCUMENT, plan_to_offer
    from core.servo.shipped import catalogue_model

    runs = _runs(data)
    wanted = catalogue_model(runs.servo()) if model is None else load_model(model)
    kept = None if runs.session is None else runs.session.document(PLAN_DOCUMENT)
    plan = plan_to_offer(kept, wanted.servo)
    return next_recordings(wanted, runs.recordings, plan, count=count, objective=objective)


def propose_motions(
    runs: RobotRuns,
    joint: str,
    model: str | Path | ServoModel | None = None,
    *,
    count: int = 3,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> NextMotions:
    """Propose the motions of a robot's joint that would narrow the intervals of its parameters most.

    One joint moves while the others hold a pose. The robot may touch itself: not every pose within the ranges was
    recorded.

    Args:
        runs: The recorded motions, from `robot_runs`.
        joint: The joint.
        model: Model identified from them. Default: the shipped M6 of the joint's servo.
        count: Number of motions to propose.
        ranges: Angles within which joints may move [rad]. Default: those of the recorded motions.

    Returns:
        Motions with the goals of all joints, best first, with the gain in information of each.

    Raises:
        ServoBenchError: There are no runs of the joint, its servo has no shipped model, or a range is beyond the limits
            of the robot's file or too small.

    Example:
        >>> arm = sb.robot_runs("arm", "so101.urdf")  # doctest: +SKIP
        >>> found = sb.propose_motions(arm, "elbow_flex", ranges={"shoulder_lift": (-0.5, 0.7)})  # doctest: +SKIP
        >>> found.proposals[0][0].goals["elbow_flex"]  # doctest: +SKIP
    """
    from core.base.errors import InputError
    from core.robot.next import next_motions
    from core.servo.terms import RICHEST

    if joint not in runs.joints:
        raise InputError(f"no run of the joint {joint}; there are runs of {', '.join(runs.joints)}")
    wanted = f"{runs.joints[joint][0].settings.servo}:{RICHEST}" if model is None else model
    return next_motions(load_model(wanted), runs, joint, count, ranges)


def drive_backdrive(
    model: str | Path | ServoModel,
    motor_torque: ArrayLike | None = None,
    velocity: Sequence[float] | ArrayLike = (0.0,),
) -> DriveBackdriveDiagram:
    """Compute the drive and backdrive torque: what a servo can move and what turns it back.

    Args:
        model: The model.
        motor_torque: Motor torques [N·m], (n,). Default: the servo's whole range.
        velocity: Speeds [rad/s], (k,).

    Returns:
        Both torques [N·m], (n, k).

    Raises:
        ServoBenchError: There is no such model, or a value is not finite.

    Example:
        >>> sb.drive_backdrive("mx106:m6", [0.5]).drive.shape
        (1, 1)
    """
    from core.practice.diagram import drive_backdrive_diagram

    return drive_backdrive_diagram(load_model(model), motor_torque, velocity)


def export(
    model: str | Path | ServoModel,
    target: str,
    folder: str | Path,
    *,
    name: str | None = None, force: bool = False, kp: float | None = None, ki: float = 0.0,
    damping: float | None = None, supply_voltage: float | None = None, bench: Bench | None = None,
    timestep: float = 0.001, syntax: str = "3.12", friction: str = "coulomb", drive: str = "servo",
    missing: str = "leave out",
) -> ExportResult:  # fmt: skip
    """Export a model to a physics engine.

    `check_export` runs the exported files in their engine.

    Args:
        model: The model.
        target: "mujoco", "isaaclab", "mjlab", "webots", "sdformat", "drake", "genesis", "urdf", "usd", "c" and others.
            The error for an unknown target lists them all.
        folder: Where to write the files; it is created if it does not exist.
        name: Name in files, symbols and nodes. Default: the model's.
        force: Replace existing files that differ.
        kp: Position gain in the servo's own unit. Default: the catalogue's.
        ki: Integral gain in the servo's own unit.
        damping: Velocity gain of the eRob control law. Default: the catalogue's.
        supply_voltage: Supply voltage [V]. Default: the model's nominal one.
        bench: Pendulum of the example and of the stated error. Default: one that suits the servo.
        timestep: Time step of the example [s].
        syntax: For "mujoco": oldest version of MuJoCo that reads the files, "3.12", "3.7" or "3.1".
        friction: For "mujoco": "coulomb", or "lugre" with bristles, for time steps of 0.001 s and less.
        drive: For "genesis": "servo", computed before each step, or "plain", the engine's own drive.
        missing: For "bam": "leave out" terms without a key, or "refuse" the export.

    Returns:
        The files and notes on what the target cannot represent.

    Raises:
        ServoBenchError: The target is unknown or has no such option, it cannot hold the model, or files would be
            overwritten.

    Example:
        >>> result = sb.export("mx106:m6", "mujoco", "mx106_mujoco")
        >>> [path.name for path in result.files][:1]  # doctest: +SKIP
    """
    options = _changed(export, locals())
    from core.export.exporting import export_model

    return export_model(load_model(model), target, folder, name=name, force=force, **options)


def check_export(  # noqa: D417 (the options of export)
    model: str | Path | ServoModel,
    target: str,
    folder: str | Path,
    *,
    name: str | None = None, kp: float | None = None, ki: float = 0.0, damping: float | None = None,
    supply_voltage: float | None = None, bench: Bench | None = None, timestep: float = 0.001, syntax: str = "3.12",
    friction: str = "coulomb", drive: str = "servo", missing: str = "leave out",
) -> Check:  # fmt: skip
    """Compare the motion of exported files with the model's, and add the result to their README.

    The files run in the target's engine if it is installed here, otherwise in a simulation that follows its rules. All
    options are those of `export`; give the same ones.

    Args:
        model: The exported model.
        target: Name of the target.
        folder: Folder of the export.
        name: Name given to the export, if any.

    Returns:
        The error of the exported motion under several conditions.

    Raises:
        ServoBenchError: The files are not an export of this model with these options, or no engine here runs them.
    """
    options = _changed(check_export, locals())
    from core.export.exporting import check_export as check

    return check(load_model(model), target, Path(folder), name=name, **options)


# Internals.


@dataclass(frozen=True)
class _Runs:
    """Recordings with the session they come from, if any."""

    recordings: list[Recording]
    session: Session | None = None
    selection: Any = None
    data_hash: str = ""

    def servo(self, named: str | Path | ServoSpec | None = None) -> str:
        """Return the servo's catalogue name: that of `named`, else that of the first recording."""
        return self.recordings[0].settings.servo if named is None else load_servo(named).name


def _runs(data: Session | Recording | Sequence[Recording] | str | Path) -> _Runs:
    """Return the given recordings, or those of a session that a fit uses."""
    from core.base.errors import InputError
    from core.motion.recording import Recording
    from sessions import Session

    if isinstance(data, Recording):
        return _Runs([data])
    if isinstance(data, str | Path):
        data = Session.open(data)
    if not isinstance(data, Session):
        if not data:
            raise InputError("no recordings were given")
        return _Runs(list(data))
    recordings = data.load_readable(data.fit_ids())
    if not recordings:
        raise InputError(f"{data.path}: the session has no finished runs; record or import some")
    selection = data.selection(recordings)
    return _Runs(recordings, data, selection, data.data_hash(selection.runs))


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an identification among the arguments of a function, but for the models."""
    from core.identification.options import IdentificationOptions, options_of

    return {name: given[name] for name in options_of(IdentificationOptions) if name != "models"}


def _changed(function: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a target's options that differ from the defaults of the function; the target may lack the others."""
    defaults = {name: value for name, value in function.__kwdefaults__.items() if name not in ("name", "force")}
    return {name: given[name] for name, default in defaults.items() if given[name] != default}


def _names(text: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(text.replace(" ", "").split(",")) if isinstance(text, str) else tuple(text)


@contextmanager
def _progress(title: str, shown: bool) -> Iterator[Callable[[float, str], None]]:
    """Show a progress bar in a notebook or a terminal.

    Yields:
        A function that takes the share done and a text.
    """
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm warns in a notebook without widgets
        from tqdm.auto import tqdm

    with tqdm(
        total=1.0, desc=title, disable=not shown, bar_format="{desc} {percentage:3.0f}% |{bar}| {postfix}"
    ) as bar:

        def show(share: float, text: str) -> None:
            bar.n = min(max(share, 0.0), 1.0)
            bar.set_postfix_str(text)

        yield show


def __getattr__(name: str) -> Any:
    for module, names in _PLACES.items():
        if name in names:
            return getattr(__import__(module, fromlist=(name,)), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
