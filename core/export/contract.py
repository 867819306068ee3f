"""Interface of an exporter: its options, its result and the result of a check."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from core.base.errors import ExportError
from core.base.units import significant
from core.base.words import counted
from core.document.table import Tabular
from core.export.files import LONGEST_SLUG, readme_section, write_files
from core.servo.actuator import COMMANDS
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

SHORTEST_STEP, LONGEST_STEP = 1e-6, 0.05
"""Limits of an example's time step [s]: single-precision angles stall below, every servo's loop is unstable above."""


@dataclass(frozen=True, kw_only=True)
class ServoOptions:
    """Options shared by all targets that drive the servo."""

    kp: float | None = None
    """Proportional gain as written into the servo. None: the catalogue's."""
    ki: float = 0.0
    """Integral gain as written into the servo."""
    damping: float | None = None
    """Velocity gain of the eRob control law. None: the catalogue's."""
    supply_voltage: float | None = None
    """Supply voltage [V]. None: the model's nominal one."""
    bench: Bench | None = None
    """Pendulum of the example and of the stated error. None: one that suits the servo."""
    timestep: float = 0.001
    """Time step of the example [s]."""


def _require_pendulum(bench: object, target: str) -> None:
    if bench is not None and not isinstance(bench, Bench):
        raise ExportError(f"export to {target}: bench = {bench!r} is not a pendulum (Bench)")


def settings_of(model: ServoModel, options: ServoOptions, target: str) -> ServoSettings:
    """Return the servo settings that an export fixes; raise ExportError for impossible values."""
    settings = model.default_settings(options.kp)
    if options.supply_voltage is not None:
        settings = replace(settings, supply_voltage=options.supply_voltage)
    settings = replace(settings, ki=options.ki, damping=options.damping)
    _require_pendulum(options.bench, target)
    if model.control.command != "position":
        given = [name for name in ("kp", "ki", "damping") if getattr(options, name)]
        if given:
            words = COMMANDS[model.control.command].words
            raise ExportError(
                f"export to {target}: a servo commanded by {words} has no {', '.join(given)}; leave it out"
            )
    wrong = [
        f"{name} = {value!r}"
        for name, value in (*asdict(settings).items(), ("timestep", options.timestep))
        if isinstance(value, (int, float)) and not (math.isfinite(value) and value >= 0.0)
    ]
    wrong += [f"{name} = 0" for name in ("kp", "supply_voltage") if getattr(settings, name) == 0.0]
    if wrong:
        raise ExportError(f"export to {target}: impossible value: {', '.join(wrong)}")
    if not SHORTEST_STEP <= options.timestep <= LONGEST_STEP:
        raise ExportError(
            f"export to {target}: a time step of {options.timestep:g} s is not possible; use "
            f"{SHORTEST_STEP:g} to {LONGEST_STEP:g} s"
        )
    if settings.ki > 0.0 and model.control.integral_ratio <= 0.0:
        raise ExportError(f"export to {target}: {model.servo} has no integral gain; leave ki at 0")
    return settings


def named(model: ServoModel, settings: ServoSettings, name: str | None = None) -> ServoModel:
    """Return the model under the name of its export, used for files, symbols, classes and nodes.

    Without a `name`, this is the model's title plus the settings that differ from the servo's own, e.g.
    "MX-106 M6 kp 32", so that exports with different gains have different names.
    """
    own, chosen = asdict(model.default_settings()), asdict(settings)
    words = {"kp": "kp {:g}", "ki": "ki {:g}", "damping": "damping {:g}", "supply_voltage": "{:g} V"}
    ending = " ".join(text.format(chosen[key]) for key, text in words.items() if chosen[key] not in (own[key], None))
    title = name or (f"{model.title[: LONGEST_SLUG - len(ending) - 1]} {ending}" if ending else model.title)
    return model if title == model.title else replace(model, name=title)


@dataclass(frozen=True, kw_only=True, repr=False)
class ExportResult(Tabular):
    """Files of an export and its notes. How far their motion is from the model's is known after a check only."""

    files: tuple[Path, ...]
    """Written files, README.md last."""
    notes: tuple[str, ...] = ()
    """Things the target cannot represent or does differently, as in the README; the first says what it cannot."""
    approximated: bool = False
    """True if the target cannot hold the model, so that the files describe the nearest servo it can hold."""
    contact: str = ""
    """Written contact if it is not that of the model which was given to the exporter."""

    def heading(self) -> str:
        """Return the folder, and that the files are not checked."""
        where = f"{counted(len(self.files), 'file')} in {self.files[0].parent}"
        return f"{where}, not checked, {counted(len(self.notes), 'note')}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return name and size of each file."""
        sizes = [file.stat().st_size if file.exists() else None for file in self.files]
        return {"file": [file.name for file in self.files], "size [bytes]": sizes}


def exported(
    folder: Path,
    model: ServoModel,
    target: str,
    what: str,
    contents: Mapping[str, str],
    meanings: Mapping[str, str],
    notes: Sequence[str],
    usage: str = "",
    *,
    approximated: bool = False,
) -> ExportResult:
    """Write an export's files (`contents`: text by name) and its README section titled `what`."""
    readme = readme_section(model, what, meanings, notes, usage)
    files = write_files(folder, contents, model, target, readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), approximated=approximated)


@dataclass(frozen=True, kw_only=True)
class Check:
    """Motion of an export compared with the model's: run in its engine, or simulated here by that engine's rules."""

    how: str
    """Where and how the motion was computed, e.g. "run in MuJoCo 4.0.0 with a time step of 1 ms"."""
    errors: Mapping[str, float]
    """Mean absolute position difference from the converged model [mrad] by run. A run's name is its trajectory and,
    after a comma, its difference from the export: "sin_sin", "sin_sin, half load and gain"."""

    @property
    def mean_mrad(self) -> float:
        """Mean error over the runs [mrad]."""
        return sum(self.errors.values()) / len(self.errors)

    @property
    def worst_run(self) -> str:
        """Name of the run with the largest error."""
        return max(self.errors, key=self.errors.__getitem__)

    @property
    def worst_mrad(self) -> float:
        """Error of the worst run [mrad]."""
        return self.errors[self.worst_run]

    @property
    def statement(self) -> str:
        """Result in one sentence, for the window and the terminal."""
        found = list(dict.fromkeys(run.partition(", ")[2] for run in self.errors))
        at = f", as exported and at {', '.join(filter(None, found))}" if len(found) > 1 else ""
        return f"Checked: {self.how}{at}: {self.figure}."

    @property
    def figure(self) -> str:
        """Mean error and worst run, the only figure that an export states of its motion."""
        return (
            f"{self.mean_mrad:.3g} mrad from the identified model on average, "
            f"{self.worst_mrad:.3g} mrad in the worst run ({self.worst_run})"
        )

    @property
    def table(self) -> str:
        """Statement and Markdown table of each run's error [mrad] for the README, one row per condition."""
        rows: dict[str, dict[str, float]] = {}
        for run, error in self.errors.items():
            trajectory, _, condition = run.partition(", ")
            rows.setdefault(condition or "as exported", {})[trajectory] = error
        names = list(next(iter(rows.values())))
        lines = [("mean error / mrad", *names), ("---",) * (len(names) + 1)]
        lines += [(condition, *(significant(row[name], 2) for name in names)) for condition, row in rows.items()]
        return f"{self.statement}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """Export target: its name, its options and the functions that write and check it."""

    target: str
    title: str
    description: str
    options: type[Any]
    """Frozen dataclass of the options; every field has a default."""
    write: Callable[[ServoModel, Path, Any], ExportResult]
    check: Callable[[ServoModel, Path, Any], Check]
    """Compares the motion of the written files with the model's (`core.export.protocol`), with the same options.
    Raises ExportError."""
    contacts: tuple[str, ...] = ("rigid",)
    """Contacts that the target can hold, see `core.servo.terms.CONTACTS`; other contacts are written as rigid."""
    any_law: bool = False
    """True if the target can hold every control law: one commanded by something else than an angle, or with a current
    limit."""
    backlash: bool = False
    """True if the target can hold backlash; others leave it out."""
    load_memory: bool = False
    """True if the target can hold memory of the load; others let friction follow the load at once."""
    engine: str = ""
    """Name of the engine that `check` runs; empty if the export is simulated here by the target's rules."""
    package: str = ""
    """Import name of the package that running it needs; empty if none."""
    install: str = ""
    """Arguments of `pip install` for that package, quoted for a shell."""
