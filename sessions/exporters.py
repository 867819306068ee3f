"""Export of runs to other tools: a common CSV, and BAM's JSON. `import_paths` reads both back unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from core.base.atomic import write_atomically
from core.base.errors import InputError, ModelError
from core.base.guards import is_object
from core.motion.recording import COUNT_CHANNELS, Recording
from core.servo.catalogue import load_servo
from sessions.errors import SessionError, cause, shown
from sessions.header import plain
from sessions.importers.bam_json import OPTIONAL_FIELDS, OWN_KEY, PWM_STEPS, REQUIRED_FIELDS
from sessions.importers.own_csv import COLUMNS
from sessions.run_file.schema import CHANNEL_DTYPES, FORMAT_VERSION, RUN_FORMAT
from sessions.store import Session


def export_csv(session: Session, ids: Iterable[str] | None, folder: str | Path) -> list[Path]:
    """Write each run as `<id>.csv` into a folder.

    Numbers are written so that they read back to the last bit; a missing value is `nan`.

    Args:
        session: Session to export from.
        ids: Runs to export; None for all that can be read.
        folder: Folder to write to.

    Returns:
        The files written.

    Raises:
        SessionError: if a file exists or a run cannot be exported; then no file is left.
    """
    return _export(session, ids, folder, ".csv", csv_text)


def export_bam(session: Session, ids: Iterable[str] | None, folder: str | Path) -> list[Path]:
    """Write each run as BAM's raw log `<id>.json` into a folder.

    Values that BAM has no field for are stored under names that it ignores.

    Args:
        session: Session to export from.
        ids: Runs to export; None for all that can be read.
        folder: Folder to write to.

    Returns:
        The files written.

    Raises:
        SessionError: if a file exists or a run cannot be exported; then no file is left.
    """
    return _export(session, ids, folder, ".json", bam_text)


def csv_text(recording: Recording) -> str:
    """Return a run as the CSV that `sessions.importers.own_csv` describes."""
    facts = {
        "id": recording.id,
        "trajectory": recording.trajectory,
        "bench": recording.bench.to_json(),
        "settings": recording.settings.to_json(),
        "provenance": plain(recording.provenance),
    }
    names = [name for name in CHANNEL_DTYPES if name in recording.channels]
    columns = [map(repr, recording.channels[name].tolist()) for name in names]
    head = f"# {RUN_FORMAT} {FORMAT_VERSION}\n# {json.dumps(facts)}\n{','.join(COLUMNS[name] for name in names)}\n"
    return head + "".join(",".join(row) + "\n" for row in zip(*columns, strict=True))


def bam_text(recording: Recording) -> str:
    """Return a run as BAM's raw log.

    Raises:
        InputError: for a run that is not commanded by an angle, for which BAM has no field.
    """
    if recording.command.kind != "position":
        words = recording.command.words
        raise InputError(f"{recording.id}: a BAM log holds goal angles, but this run was commanded by {words}")
    provenance = plain(recording.provenance)
    header = provenance.pop("header", None)
    header = dict(header) if is_object(header) else {}
    settings, bench = recording.settings, recording.bench
    motor = header.get("motor")
    known = isinstance(motor, str) and _names(motor, settings.servo)
    header.pop("arm-mass", None)
    header |= {
        "mass": bench.mass,
        "arm_mass": bench.arm_mass,
        "length": bench.length,
        "gravity": bench.gravity,
        "angle_offset": bench.angle_offset,
        "inertia_total": bench.measured_inertia,
        "gravity_torque": bench.measured_gravity_torque,
        "kp": settings.kp,
        "ki": settings.ki,
        "kd": settings.kd,
        "damping": settings.damping,
        "driven_by": settings.actuator,
        "stiffness_preset": settings.preset,
        "vin": settings.supply_voltage,
        "motor": motor if known else settings.servo,
        "trajectory": recording.trajectory,
    }
    header = {key: value for key, value in header.items() if value is not None}
    lines = ",\n".join(json.dumps(entry) for entry in _entries(recording))
    text = json.dumps({**header, OWN_KEY: provenance}, indent=1)
    return f'{text[:-2]},\n "entries": [\n{lines}\n]}}\n'


def _names(motor: str, servo: str) -> bool:
    """Return True if a log's motor is this servo of the catalogue."""
    try:
        return load_servo(motor).name == servo
    except ModelError:
        return False


def _entries(recording: Recording) -> list[dict[str, Any]]:
    """Return BAM's samples, without values that the servo did not report."""
    columns: dict[str, list[Any]] = {"torque_enable": recording.torque_enable.tolist()}
    for theirs, ours in {**REQUIRED_FIELDS, **OPTIONAL_FIELDS, **{count: count for count in COUNT_CHANNELS}}.items():
        if ours in recording.channels:
            columns[theirs] = plain(recording.channels[ours])
    raw = _present_pwm(recording)
    if raw is not None:
        columns["load"] = raw
        del columns["duty_cycle"]
    rows = zip(*columns.values(), strict=True)
    return [{key: value for key, value in zip(columns, row, strict=True) if value is not None} for row in rows]


def _present_pwm(recording: Recording) -> list[int] | None:
    """Return the duty cycle as values of the servo's register; None if that would lose precision."""
    steps = PWM_STEPS.get(recording.settings.servo)
    duty = recording.channels.get("duty_cycle")
    if steps is None or duty is None or not np.all(np.isfinite(duty)):
        return None
    ticks = np.round(duty * steps)
    if not np.array_equal(ticks / steps, duty) or np.any(np.abs(ticks) > 32767):
        return None
    return (ticks.astype(np.int64) % 65536).tolist()


def _export(
    session: Session,
    ids: Iterable[str] | None,
    folder: str | Path,
    ending: str,
    text: Callable[[Recording], str],
) -> list[Path]:
    place = Path(folder)
    runs = session.readable() if ids is None else ((identity, session.load(identity)) for identity in ids)
    written: list[Path] = []
    try:
        for identity, recording in runs:
            target = place / f"{identity}{ending}"
            if target.exists():
                raise SessionError(f"{shown(target)}: the file exists; export into another folder")
            content = text(recording).encode("utf-8")
            place.mkdir(parents=True, exist_ok=True)
            written.append(target)
            write_atomically(target, content)
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise SessionError(f"{shown(place)}: the runs cannot be exported ({cause(error)})") from None
        raise
    return written
