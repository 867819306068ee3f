"""What an exporter is, what it is asked, what it returns, and what a check of it finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from core.bench import Bench
from core.errors import ExportError
from core.export.files import LONGEST_SLUG, readme_section, write_files
from core.model import ServoModel
from core.recording import ServoSettings
from core.tabular import Tabular
from core.words import counted

SHORTEST_STEP, LONGEST_STEP = 1e-6, 0.05
"""Time steps of an example [s]: below, single precision adds nothing to an angle; above, no servo's loop is stable."""


@dataclass(frozen=True, kw_only=True)
class ServoOptions:
    """What every target that drives the servo needs beyond the model."""

    kp: float | None = None
    """Gain as written into the servo; None: the catalogue's."""
    ki: float = 0.0
    """Integral gain as written into the servo."""
    damping: float | None = None
    """Velocity gain of the eRob law; None: the catalogue's."""
    supply_voltage: float | None = None
    """[V]; None: the model's nominal one."""
    bench: Bench | None = None
    """Pendulum of the example and of the stated error; None: one that suits the servo."""
    timestep: float = 0.001
    """Of the example [s]."""


def _require_pendulum(bench: object, target: str) -> None:
    if bench is not None and not isinstance(bench, Bench):
        raise ExportError(f"export to {target}: bench = {bench!r} is no pendulum")


def settings_of(model: ServoModel, options: ServoOptions, target: str) -> ServoSettings:
    """The servo's settings that an export fixes; raises ExportError for what is not possible."""
    settings = model.default_settings(options.kp)
    if options.supply_voltage is not None:
        settings = replace(settings, supply_voltage=options.supply_voltage)
    settings = replace(settings, ki=options.ki, damping=options.damping)
    _require_pendulum(options.bench, target)
    wrong = [
        f"{name} = {value!r}"
        for name, value in (*asdict(settings).items(), ("timestep", options.timestep))
        if isinstance(value, (int, float)) and not (math.isfinite(value) and value >= 0.0)
    ]
    wrong += [f"{name} = 0" for name in ("kp", "supply_voltage") if getattr(settings, name) == 0.0]
    if wrong:
        raise ExportError(f"export to {target}: not possible: {', '.join(wrong)}")
    if not SHORTEST_STEP <= options.timestep <= LONGEST_STEP:
        raise ExportError(
            f"export to {target}: a time step of {options.timestep:g} s is not possible; it is in seconds, "
            f"{SHORTEST_STEP:g} to {LONGEST_STEP:g}"
        )
    if settings.ki > 0.0 and model.control.integral_ratio <= 0.0:
        raise ExportError(f"export to {target}: {model.servo} has no integral gain; leave ki at 0")
    return settings


def named(model: ServoModel, settings: ServoSettings, name: str | None = None) -> ServoModel:
    """The model under the name its export has: in files, symbols, classes and nodes, each as far as it allows.

    Without a `name` it is the model's title and the settings that are not the servo's own, e.g. "MX-106 M6 kp 32", so
    that two gains of one servo are two names.
    """
    own, chosen = asdict(model.default_settings()), asdict(settings)
    words = {"kp": "kp {:g}", "ki": "ki {:g}", "damping": "damping {:g}", "supply_voltage": "{:g} V"}
    ending = " ".join(text.format(chosen[key]) for key, text in words.items() if chosen[key] not in (own[key], None))
    title = name or (f"{model.title[: LONGEST_SLUG - len(ending) - 1]} {ending}" if ending else model.title)
    return model if title == model.title else replace(model, name=title)


@dataclass(frozen=True, kw_only=True, repr=False)
class ExportResult(Tabular):
    """What was written and how good it is."""

    files: tuple[Path, ...]
    """Written files, README.md last."""
    notes: tuple[str, ...] = ()
    """What the target cannot express or does differently, one sentence each; the README says the same."""
    error_mrad: float | None = None
    """Mean absolute position error of the exported model against the identified one [mrad]; None: the file is read
    by this program and nothing was approximated. 0 leaves the target's own discretisation."""

    def heading(self) -> str:
        """Return the folder and the error."""
        error = "" if self.error_mrad is None else f", {self.error_mrad:.2f} mrad from the identified model"
        return (
            f"{counted(len(self.files), 'file')} in {self.files[0].parent}{error}, {counted(len(self.notes), 'note')}"
        )

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
    error_mrad: float = 0.0,
) -> ExportResult:
    """Write an export's files, texts by names, and its README section titled `what`; raises ExportError."""
    readme = readme_section(model, what, meanings, notes, usage)
    files = write_files(folder, contents, model, target, readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), error_mrad=error_mrad)


@dataclass(frozen=True, kw_only=True)
class Check:
    """Motion of an export against the model's: run in its engine, or simulated here by that engine's rules."""

    how: str
    """Where and how the motion was computed, e.g. "run in MuJoCo 4.0.0 with a time step of 1 ms"."""
    errors: Mapping[str, float]
    """Run to mean absolute position difference from the converged model [mrad]. A run is a trajectory and, after a
    comma, what differs from the export: "sin_sin", "sin_sin, half load and gain"."""

    @property
    def mean_mrad(self) -> float:
        """Over the runs [mrad]."""
        return sum(self.errors.values()) / len(self.errors)

    @property
    def worst_run(self) -> str:
        """The one with the largest error."""
        return max(self.errors, key=self.errors.__getitem__)

    @property
    def worst_mrad(self) -> float:
        """Its error [mrad]."""
        return self.errors[self.worst_run]

    @property
    def statement(self) -> str:
        """One sentence for the window and the terminal."""
        found = list(dict.fromkeys(run.partition(", ")[2] for run in self.errors))
        at = f", as exported and at {', '.join(filter(None, found))}" if len(found) > 1 else ""
        return (
            f"Checked: {self.how}{at}: {self.mean_mrad:.3g} mrad from the identified model "
            f"on average, {self.worst_mrad:.3g} mrad in the worst run ({self.worst_run})."
        )

    @property
    def table(self) -> str:
        """The statement and, for the README, each run's error [mrad]: a row for each condition."""
        rows: dict[str, dict[str, float]] = {}
        for run, error in self.errors.items():
            trajectory, _, condition = run.partition(", ")
            rows.setdefault(condition or "as exported", {})[trajectory] = error
        names = list(next(iter(rows.values())))
        lines = [("mean error / mrad", *names), ("---",) * (len(names) + 1)]
        lines += [(condition, *(f"{row[name]:.2g}" for name in names)) for condition, row in rows.items()]
        return f"{self.statement}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """One target."""

    target: str
    title: str
    description: str
    options: type[Any]
    """Frozen dataclass of what can be chosen, every field with a default."""
    write: Callable[[ServoModel, Path, Any], ExportResult]
    check: Callable[[ServoModel, Path, Any], Check] | None = None
    """Holds the motion of what `write` wrote against the model's (`core.export.protocol`), with the same options;
    raises ExportError. None: no engine runs the file, it is of an identification tool."""
    contacts: tuple[str, ...] = ("rigid",)
    """Contacts that the target can hold, see `core.terms.CONTACTS`; other models are written with a rigid one."""
    engine: str = ""
    """Name of the program `check` runs; empty when the export is simulated here by the target's rules."""
    package: str = ""
    """Import name that running it needs; empty when nothing is needed."""
    install: str = ""
    """Arguments of `pip install` that bring it, quoted for a shell."""
