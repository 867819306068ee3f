"""Write a fleet's spread for domain randomisation: full specimens, and ranges of an engine's own parameters.

    prepared = prepare(spread, RandomisationOptions(draws=1000))
    result = write_for(prepared, engine, folder, on_progress)

Next to the ordinary export of the central model, a folder gets the fleet file, which `servobench_fleet` reads. It holds
rows of the servo numbers that differ between specimens, and rows and ranges of the engine's own parameters. The latter
come from each unit's model passed through the engine's ordinary export: the nearest Coulomb–viscous servo, its
parameters, then their distribution over the units. Full specimens have the spread of the units without the uncertainty
of their values. The engine's own parameters include that uncertainty, because nothing separates the two. The engines
are in `core.fleet.randomisation.engines`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.base.errors import ExportError
from core.export.approximation import Form, approximate, in_form
from core.export.contract import ExportResult, ServoOptions, named, settings_of
from core.export.files import printable, readme_section, slug, write_files
from core.export.notes import missing_terms
from core.export.references import GridRun, default_bench
from core.export.servo_file import NO_EFFECT, servo_numbers, standalone_text
from core.fleet.agreement import Agreement, agreement, motions
from core.fleet.parameter_spread import LEVEL, parameter_spread
from core.fleet.population import drawn, shrunk_correlation
from core.fleet.spread import Spread
from core.motion.trajectories import PAPER_TRAJECTORIES
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

FORMAT, VERSION = "servobench-fleet", 1
DRAWS = 1000
"""Default number of specimens."""
COMPARED = 200
"""Number of draws whose motions are compared with the units'."""
NORMAL_95 = 1.959963984540054

OnProgress = Callable[[float, str], None]
Native = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class RandomisationOptions(ServoOptions):
    """Options of the export for domain randomisation."""

    draws: int = DRAWS
    """Number of specimens to draw."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Engine for which a fleet's spread can be written."""

    target: str
    title: str
    programs: tuple[str, ...]
    """Stand-alone programs in addition to those of the ordinary export."""
    export: Callable[[ServoModel, Path, RandomisationOptions, bool], Sequence[ExportResult]]
    """Writes the central model for the engine; the last argument is `force`."""
    native: Callable[[ServoModel, Bench, ServoSettings, Nearest], Native]
    """Returns the parameters of the engine's own joint and actuator that are nearest to a model."""
    usage: Callable[[str], str]
    """Returns the README's usage text for a fleet file of this name."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class NativeSpread:
    """Spread of the engine's own parameters over the units."""

    names: tuple[str, ...]
    nominal: Native
    """Values of the central model."""
    units: Array
    """Values of each unit, shape (units, names)."""
    draws: Array
    """Drawn values, shape (draws, names)."""
    ranges: Mapping[str, tuple[float, float]]
    """Central 95 % of each parameter's distribution."""

    def inside(self, name: str) -> float:
        """Return the share of the units within the range of one parameter."""
        low, high = self.ranges[name]
        own = self.units[:, self.names.index(name)]
        return float(np.mean((own >= low) & (own <= high)))

    @property
    def all_inside(self) -> float:
        """Share of the units within all ranges at once."""
        low, high = np.array([self.ranges[name] for name in self.names]).T
        inside: NDArray[np.bool_] = np.all((self.units >= low) & (self.units <= high), axis=1)
        return float(np.mean(inside))


@dataclass(frozen=True, kw_only=True)
class Randomisation:
    """Files written for one engine, and their agreement with the fleet."""

    target: str
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    native: NativeSpread
    agreement: Agreement


class Nearest:
    """Cache of approximated models: each is computed once for all engines of a form."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Form], ServoModel] = {}

    def __call__(self, model: ServoModel, bench: Bench, settings: ServoSettings, form: Form) -> ServoModel:
        """Return the nearest model of a form; the model's own values if nothing is lost."""
        key = (model.title, form)
        if key not in self._found:
            exact = form.holds(model) and not missing_terms(model, form)
            self._found[key] = in_form(model, bench, form) if exact else approximate(model, bench, settings, form).model
        return self._found[key]


@dataclass(frozen=True, kw_only=True, eq=False)
class Preparation:
    """Data shared by all engines: the draws and their motions."""

    spread: Spread
    options: RandomisationOptions
    bench: Bench
    settings: ServoSettings
    agreement: Agreement
    names: tuple[str, ...]
    """Names of the servo numbers that differ between specimens."""
    draws: Array
    """Servo numbers of the draws, shape (draws, names)."""
    units: Array
    """Servo numbers of the units, shape (units, names)."""
    nearest: Nearest = field(default_factory=Nearest)


def prepare(spread: Spread, options: RandomisationOptions) -> Preparation:
    """Draw the specimens and compare their motions with the units'; raise ExportError for impossible options."""
    if options.draws < 2:
        raise ExportError(f"{options.draws} draws are too few; use at least 2")
    spread.model.require_goal_angles("a randomisation")
    if spread.model.control.current_limit:
        raise ExportError("a randomisation: the engines' actuators have no current limit, and this servo's law has one")
    settings = settings_of(spread.model, options, "randomisation")
    bench = options.bench or default_bench(spread.model)
    specimens, units = spread.samples(options.draws, options.seed), spread.units()
    numbers = [NO_EFFECT | servo_numbers(model, settings) for model in (*specimens, *units)]
    names = tuple(
        name
        for name, value in numbers[0].items()
        if isinstance(value, float) and any(other[name] != value for other in numbers)
    )
    lacking = [name for name in names if name not in servo_numbers(spread.model, settings)]
    if lacking:
        raise ExportError(f"a randomisation: {', '.join(lacking)} has an effect in some units, but not in their centre")
    rows = np.array([[own[name] for name in names] for own in numbers]).reshape(len(numbers), len(names))
    runs = [GridRun(trajectory=name, bench=bench, settings=settings) for name in PAPER_TRAJECTORIES]
    return Preparation(
        spread=spread,
        options=options,
        bench=bench,
        settings=settings,
        agreement=agreement(motions(units, runs), motions(specimens[:COMPARED], runs)),
        names=names,
        draws=rows[: len(specimens)],
        units=rows[len(specimens) :],
    )


def native_spread(prepared: Preparation, engine: Engine, on_progress: OnProgress) -> NativeSpread:
    """Approximate each unit's model by the engine's own joint and actuator, and fit their distribution."""
    models = prepared.spread.units()
    found: list[Mapping[str, float]] = []
    for place, model in enumerate(models):
        on_progress(place / len(models), f"{engine.title}: {prepared.spread.population.units[place]}")
        found.append(engine.native(model, prepared.bench, prepared.settings, prepared.nearest))
    nominal = engine.native(prepared.spread.model, prepared.bench, prepared.settings, prepared.nearest)
    names = tuple(found[0])
    table = np.array([[own[name] for name in names] for own in found])
    spreads = [
        parameter_spread(
            name,
            column,
            np.zeros(len(column)),
            symbol=name,
            unit="",
            # Draws stay within a factor of 1.5 of the extreme units.
            bounds=(float(column.min()) / 1.5, float(column.max()) * 1.5),
        )
        for name, column in zip(names, table.T, strict=True)
    ]
    correlation, _ = shrunk_correlation(spreads)
    middle = [p.centre for p in spreads]
    return NativeSpread(
        names=names,
        nominal=nominal,
        units=table,
        draws=drawn(spreads, correlation, middle, prepared.options.draws, prepared.options.seed),
        ranges={
            p.name: (
                float(p.from_coordinate(p.to_coordinate(p.centre) - NORMAL_95 * p.between)),
                float(p.from_coordinate(p.to_coordinate(p.centre) + NORMAL_95 * p.between)),
            )
            for p in spreads
        },
    )


def fleet_text(prepared: Preparation, native: NativeSpread) -> str:
    """Return the text of the fleet file."""
    model = prepared.spread.model
    data = {
        "format": FORMAT,
        "version": VERSION,
        "title": printable(model.title),
        "servo": servo_numbers(model, prepared.settings),
        "names": list(prepared.names),
        "draws": prepared.draws.tolist(),
        "unit_names": list(prepared.spread.population.units),
        "units": prepared.units.tolist(),
        "native": {
            "names": list(native.names),
            "nominal": dict(native.nominal),
            "ranges": {name: list(ends) for name, ends in native.ranges.items()},
            "draws": native.draws.tolist(),
            "units": native.units.tolist(),
        },
    }
    return json.dumps(data, allow_nan=False) + "\n"


def write_for(
    prepared: Preparation, engine: Engine, folder: Path, on_progress: OnProgress, *, force: bool = False
) -> Randomisation:
    """Write the central model's export, the fleet file and the programs into a folder.

    Existing files that differ are replaced only with `force`; otherwise they raise ExportError.
    """
    native = native_spread(prepared, engine, on_progress)
    exported = engine.export(prepared.spread.model, folder, prepared.options, force)
    model = named(prepared.spread.model, prepared.settings)
    file = f"{slug(model.title)}.{engine.target}.fleet.json"
    contents = {file: fleet_text(prepared, native), **{name: standalone_text(name) for name in engine.programs}}
    meanings = {
        file: f"{prepared.options.draws} specimens, the {len(native.units)} units, and the engine's own parameters",
        **dict.fromkeys(engine.programs, "reads and applies them; documented in its source"),
    }
    notes = [*_notes(prepared, native), *engine.notes]
    readme = readme_section(
        model, f"{engine.title}, domain randomisation", meanings, notes, engine.usage(file), check=""
    )
    files = write_files(folder, contents, model, f"fleet-{engine.target}", readme, force=force)
    every = dict.fromkeys([*(path for result in exported for path in result.files), *files])
    return Randomisation(
        target=engine.target, files=tuple(every), notes=tuple(notes), native=native, agreement=prepared.agreement
    )


def _notes(prepared: Preparation, native: NativeSpread) -> list[str]:
    found = prepared.spread.population
    varying = [p.text for p in found.parameters if p.between > 0.0]
    held = [p.symbol for p in found.parameters if p.between == 0.0]
    errors = prepared.spread.errors
    compared = min(COMPARED, prepared.options.draws)
    return [
        *([errors.text[0].upper() + errors.text[1:] + "."] if errors else []),
        *(f"{text}." for text in varying),
        *(
            [f"Held at the central value, as their spread is unknown or within their intervals: {', '.join(held)}."]
            if held
            else []
        ),
        f"Full specimens: {prepared.agreement.text} ({compared} draws, {len(found.units)} units, four trajectories).",
        f"The engine's own parameters, each {100 * LEVEL:.0f} % of the fleet, with the share of units inside: "
        + ", ".join(
            f"{name} {low:.4g} … {high:.4g} ({100.0 * native.inside(name):.0f} %)"
            for name, (low, high) in native.ranges.items()
        )
        + f"; all at once {100.0 * native.all_inside:.0f} %. They include the uncertainty of the units' values.",
        "Draws from independent ranges give servos unlike any unit, because parameters are correlated; rows keep that.",
    ]
