"""Files with one bit flipped, and what of it goes unnoticed: `python -m tests.bench.flips [--flips N] [--seed S]`.

Every kind of file that a session, a result, a fleet and the home folder hold is read as the program reads it, again and
again with one bit flipped. A flip is noticed when reading it fails with one of our errors or logs a warning; it is
harmless when the contents are the same as before, because a cache was made anew or because nothing depends on it.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from PySide6.QtGui import QUndoStack

from bench_gui.cli import main as bench
from bench_gui.connect.bench import presets
from bench_gui.headless.fleet.gather import gather_units, load_unit, simulated_sessions
from bench_gui.headless.report.traces import read_traces
from bench_gui.settings import Settings
from bench_gui.state.setup import BenchSetup
from core.base import sealed
from core.base.errors import ServoBenchError
from core.fleet.plan import FleetRequest, make_plan
from core.fleet.result import Transfer
from core.fleet.spread import Spread, fleet_spread
from core.fleet.store import FleetStore
from core.identification.request import IdentificationRequest
from core.identification.search.study import JOURNAL, JOURNAL_SCHEME, generations, open_storage
from core.servo.catalogue import SERVOS_VARIABLE, add_servo, load_servo, new_servo_text, own_folder, own_servo
from core.servo.model import ServoModel
from core.studies.compliant.elastic import Sea
from core.studies.compliant.files import CompliantUnit, read_unit, write_unit
from sessions import Annotation, Session, export_single
from sessions.folders import HOME_VARIABLE, example_session, home
from sessions.results.certifying import read_certainty
from sessions.results.crossvalidating import read_crossvalidation
from sessions.results.identification import load_identification
from sessions.results.record import read_record
from tests.bench.printing import line
from tests.core.fleet.specimens import unit

FLIPS = 1000
RUNS = "0001_lift_and_drop_kp100,0002_lift_and_drop_kp400,0008_up_and_down_kp400"
HOMES = (HOME_VARIABLE, SERVOS_VARIABLE)
"""Environment variables of the folders that `home_kinds` writes to."""
SILENT, NOTICED, HARMLESS = "silent", "noticed", "harmless"


@dataclass(frozen=True)
class Kind:
    """One kind of file, and how the program reads it."""

    name: str
    file: Path
    read: Callable[[], Any]


class Heard(logging.Handler):
    """Counts warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


@contextmanager
def hearing() -> Iterator[Heard]:
    """Count the warnings that are logged, also those logged before."""
    heard = Heard()
    sealed._warn_once.cache_clear()
    logging.getLogger().addHandler(heard)
    try:
        yield heard
    finally:
        logging.getLogger().removeHandler(heard)


def outcome(kind: Kind, sound: str, where: random.Random) -> tuple[str, str]:
    """Flip one bit of a file, read it and put it back: one of the outcomes, and what was flipped."""
    content = kind.file.read_bytes()
    place, bit = where.randrange(len(content)), where.randrange(8)
    flipped = bytearray(content)
    flipped[place] ^= 1 << bit
    kind.file.write_bytes(flipped)
    try:
        with hearing() as heard:
            found = contents(kind)
    except ServoBenchError:
        return NOTICED, ""
    finally:
        kind.file.write_bytes(content)
    if heard.count:
        return NOTICED, ""
    around = bytes(flipped[max(0, place - 20) : place + 20])
    return (HARMLESS if found == sound else SILENT), f"{kind.name}: bit {bit} of byte {place}, {around!r}"


def sound_contents(kind: Kind) -> str:
    """Contents of a file that is as it was written, which no warning may be about."""
    with hearing() as heard:
        found = contents(kind)
    assert not heard.count, kind.name
    return found


def contents(kind: Kind) -> str:
    """What the program takes from a file, as a text to compare."""
    return json.dumps(kind.read(), sort_keys=True, default=str)


def session_kinds(place: Path) -> list[Kind]:
    """Kinds of files of a session: its own, its notes, a run, and the session exported to one file."""
    path = example_session(place)
    session = Session.open(path)
    session.annotate("0001_lift_and_drop_kp100", Annotation(trim_begin=0.5, trim_end=4.0))
    session.annotate("0002_lift_and_drop_kp400", Annotation(excluded=True, reason="slipped"))
    session.set_document("placed_points", [{"motor_torque": 0.125, "angle": 0.375}])
    session.set_document("plan", {"masses": [0.5, 1.0], "repetitions": 3})
    exported = export_single(session, place / "exported.h5")
    run = "0003_sin_sin_kp100"

    def recording(of: Path) -> Any:
        found = Session.open(of).load(run)
        return [found.content_sha256, found.provenance, found.bench.to_json(), found.settings.to_json()]

    def document(name: str) -> Kind:
        return Kind(name, path / f"{name}.json", lambda: Session.open(path).document(name))

    def facts() -> Any:
        opened = Session.open(path)
        return [opened.uid, opened.title, opened.created]

    session.runs()
    return [
        Kind("session", path / "session.json", facts),
        Kind("index", path / "index.json", lambda: [asdict(found) for found in Session.open(path).runs()]),
        Kind("run", path / "runs" / f"{run}.h5", lambda: recording(path)),
        Kind("exported session", exported, lambda: recording(exported)),
        *(document(name) for name in ("annotations", "placed_points", "plan")),
    ]


def result_kinds(place: Path) -> list[Kind]:
    """Kinds of files of a result: models, summary, record, cross-validation, certainty and search."""
    session, folder = example_session(place), place / "result"
    quick = ("--threads", "1", "--quiet")
    few = (*quick, "--models", "m1", "--trials", "32", "--runs", RUNS, "-o", str(folder))
    with redirect_stdout(StringIO()):
        bench(["identify", str(session), *few, "--no-command-path", "--validation", "none"])
        bench(["crossvalidate", str(session), *few, "--by", "kp", "--command-path", "off"])
        bench(
            [
                "certainty",
                str(session),
                *quick,
                "--friction-model",
                "m1",
                "--result",
                str(folder),
                "--profile",
                "kt",
                "--bootstrap",
                "0",
            ]
        )
    model = ServoModel.read(folder / "m1.json")

    def identification() -> Any:
        found = load_identification(folder)
        results = [[result.to_json(), result.model.to_json()] for result in found.results]
        return [found.request.to_json(), found.choice, results]

    def search() -> Any:
        try:
            storage = open_storage(f"{JOURNAL_SCHEME}{folder / JOURNAL}")
            name = optuna.get_all_study_names(storage)[0]
            trials = generations(optuna.load_study(study_name=name, storage=storage))
        except ServoBenchError:
            raise
        except Exception as error:
            # As `StudyRecord` does, whatever optuna raises for a damaged journal.
            raise ServoBenchError(str(error)) from None
        return [[trial.number, trial.value, trial.user_attrs] for trial in trials], read_traces(folder)[0].best.tolist()

    return [
        Kind("model", folder / "m1.json", lambda: ServoModel.read(folder / "m1.json").to_json()),
        Kind("result", folder / "result.json", identification),
        Kind("record", folder / "identification.json", lambda: str(read_record(folder))),
        Kind("cross-validation", folder / "crossvalidation.json", lambda: str(read_crossvalidation(folder))),
        Kind("certainty", folder / "certainty.json", lambda: read_certainty(folder, model).to_json()),
        Kind("search", folder / JOURNAL, search),
    ]


def fleet_kinds(place: Path) -> list[Kind]:
    """Kinds of files of a fleet: plan, fits, transfer, problems and spread; its fits are given, not searched for."""
    facts = gather_units(simulated_sessions("mx106", 3, place / "sessions"))
    plan = make_plan(
        FleetRequest(fit=IdentificationRequest(servo="mx106", models=("m1",), validation="none")), facts, load_unit
    )
    folder = place / "fleet"
    store = FleetStore(folder)
    store.write_plan(plan)
    for number, chain in enumerate(plan.chains):
        given = unit(chain.unit, {"kt": 2.2 * (1.0 + 0.02 * number)}).results["m1"]
        store.put(chain, chain.keys[0], replace(given, wall_seconds=0.5))
    names = tuple(fact.name for fact in facts)
    store.put_transfer(Transfer(friction="m1", units=names, errors=np.full((3, 3), 0.0125)), "basis")
    store.put_problems({names[0]: "its runs and points are of another servo"})
    file = folder / "spread.json"
    file.write_text(fleet_spread(store.result(), "m1").to_json_text(), "utf-8")

    def fleet() -> Any:
        found = FleetStore(folder).result()
        fits = [[fit.to_json(), fit.model.to_json()] for one in found.units for fit in one.results.values()]
        transfer = None if found.transfer is None else found.transfer.to_json()
        problems = {name: found.problems.get(name) for name in names}
        return [found.plan.to_json(), fits, transfer, problems]

    fit = next(store.unit_folder(names[1]).glob("fits/*.json"))
    files = {"fleet": folder / "fleet.json", "fit": fit, "transfer": folder / "transfer.json"}
    return [
        *(Kind(name, file, fleet) for name, file in {**files, "problems": folder / "problems.json"}.items()),
        Kind("spread", file, lambda: Spread.read(file).to_json()),
    ]


def home_kinds(_: Path) -> list[Kind]:
    """Kinds of files of the home folder, which HOMES name: settings, benches, an own servo, a compliant actuator."""
    settings = Settings()
    settings.set("countdown", 4.5)
    settings.save()
    undo = QUndoStack()
    own = presets.Presets(undo, lambda save: save())
    own.save(presets.Preset.of("mine", BenchSetup(load_servo("mx106"), undo)))
    add_servo(own_servo(new_servo_text("hexa")))
    actuator = write_unit(home() / "actuator.json", CompliantUnit(actuator=Sea(stiffness=24.0)))

    def settled() -> Any:
        read = Settings()
        if read.notice:
            raise ServoBenchError(read.notice)
        return asdict(read.values)

    def benches() -> Any:
        try:
            return {name: preset.to_json() for name, preset in presets._read(home() / presets.NAME).items()}
        except (OSError, ValueError, RecursionError) as error:
            # As `Presets.load` does.
            raise ServoBenchError(str(error)) from None

    return [
        Kind("settings", home() / "settings.json", settled),
        Kind("benches", home() / presets.NAME, benches),
        Kind("own servo", own_folder() / "hexa.toml", lambda: str(load_servo("hexa"))),
        Kind("compliant actuator", actuator, lambda: str(read_unit(actuator))),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Flip bits of each kind of file in turn; 1 if one of them changed something in silence."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.flips", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--flips", type=int, default=FLIPS, metavar="N", help=f"over all kinds (default: {FLIPS})")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (default: 0)")
    asked = parser.parse_args(arguments)
    logging.lastResort = None
    where, total = random.Random(asked.seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="flips-") as folder:
        places = [Path(folder, name) for name in ("session", "result", "fleet", "home")]
        for place in places:
            place.mkdir()
        os.environ |= dict.fromkeys(HOMES, str(places[-1]))
        builders = (session_kinds, result_kinds, fleet_kinds, home_kinds)
        kinds = [kind for build, place in zip(builders, places, strict=True) for kind in build(place)]
        each = -(-asked.flips // len(kinds))
        for kind in kinds:
            sound = sound_contents(kind)
            found = [outcome(kind, sound, where) for _ in range(each)]
            counts = Counter(name for name, _ in found)
            total += counts
            line(kind.name, f"{counts[NOTICED]} noticed", f"{counts[HARMLESS]} harmless, {counts[SILENT]} silent")
            for name, place in found:
                if name == SILENT:
                    print(f"  {place}")
    line("flips that changed something in silence", f"{total[SILENT]} of {total.total()}", "0")
    return int(total[SILENT] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
