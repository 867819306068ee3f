"""Record of a search: an Optuna study in a journal file beside the result, or in a storage of the user.

One trial is one generation. Its parameters and value are those of the generation's best candidate; its attributes hold
every candidate's value. A separate thread writes the journal while the search continues. A search that was stopped
resumes from its recorded values. Optuna is here so that its own tools, such as optuna-dashboard, can open a study; the
search itself does not use its samplers.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import TrialState

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.base.sealed import SEAL, is_broken, sealed
from core.identification.request import IdentificationRequest, search_template
from core.identification.search.objective import Batch
from core.motion.recording import Recording
from core.motion.simulation import sampling_interval
from core.servo.model import ServoModel
from core.servo.parameters import Parameter
from core.servo.terms import Metric

if TYPE_CHECKING:
    from core.identification.search.search import Generation

JOURNAL = "study.journal"
"""File name of the journal in a result folder."""

JOURNAL_SCHEME = "journal:///"
"""Start of the address of a journal file; its path follows."""

_VALUES = "values"
_SETTINGS = "settings"


def open_storage(url: str) -> BaseStorage:
    """Open or create the Optuna storage at an address.

    Args:
        url: "journal:///PATH" for a journal file, which several machines can share over a network file system, or an
            address of SQLAlchemy: "sqlite:///PATH" for one machine, "postgresql://USER@HOST/DATABASE" for many. A
            relative PATH follows three slashes, an absolute one begins with a fourth.

    Raises:
        IdentificationError: The storage cannot be used.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        if url.startswith(JOURNAL_SCHEME):
            journal = url.removeprefix(JOURNAL_SCHEME)
            _check_last_line(Path(journal))
            return JournalStorage(JournalFileBackend(journal, lock_obj=JournalFileOpenLock(journal)))
        return RDBStorage(url)
    except Exception as error:
        # The classes of errors depend on the database and its driver.
        raise StorageError(
            f"{url} cannot be used as a storage of studies: {_first_line(error)}; use journal:///PATH, sqlite:///PATH "
            "or postgresql://USER@HOST/DATABASE"
        ) from None


class StorageError(IdentificationError):
    """The studies' storage rejected a search or a generation, e.g. on a full disk; the search may continue later."""


def mend_journal(path: Path) -> None:
    """Truncate a journal file before its first incomplete line, which a full disk or a crash leaves behind.

    Optuna would append its next line to the incomplete one, and could read neither this line nor those that follow.

    Raises:
        OSError: The file cannot be changed.
    """
    if not path.exists():
        return
    lock = JournalFileOpenLock(str(path))
    lock.acquire()
    try:
        whole = 0
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n") or not _is_json(line):
                    os.truncate(path, whole)
                    return
                whole += len(line)
    finally:
        lock.release()


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _check_last_line(journal: Path) -> None:
    """Check the last line of a journal, since Optuna ignores a damaged one as if it were still being written.

    Raises:
        ValueError: The last line is damaged.
    """
    content = journal.read_bytes() if journal.exists() else b""
    if content.endswith(b"\n"):
        json.loads(content[content.rfind(b"\n", 0, -1) + 1 :])


def generations(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """Return a study's trials in order.

    Raises:
        IdentificationError: A trial differs from what was written.
    """
    trials = sorted(study.get_trials(deepcopy=False), key=lambda trial: trial.number)
    for trial in trials:
        # Databases do not keep the order.
        attributes = dict(sorted(trial.user_attrs.items()))
        value = trial.value if trial.state == TrialState.COMPLETE else None
        whole = (attributes.get("generation"), attributes.get("value")) == (trial.number, value)
        if SEAL not in attributes or is_broken(attributes) or not whole:
            raise IdentificationError(f"generation {trial.number} of {study.study_name} is damaged")
    return trials


def study_place(folder: Path, storage: str, search: str) -> tuple[str, str]:
    """Return the address of the storage for a search's study, and the study's name there.

    Args:
        folder: Folder of the result.
        storage: Address of another storage, in which the study's name begins with the folder's name. Empty: a journal
            in the folder, which is created.
        search: Name of the search.

    Raises:
        IdentificationError: The folder cannot be created.
    """
    if storage:
        return storage, f"{folder.name}/{search}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IdentificationError(f"{folder}: no study can be kept there ({error.strerror or error})") from None
    return f"{JOURNAL_SCHEME}{folder / JOURNAL}", search


def search_settings(
    request: IdentificationRequest,
    template: ServoModel,
    recordings: Sequence[str],
    budget: int,
    most: int,
    starts: Sequence[Array],
) -> dict[str, Any]:
    """Return everything that the recorded values depend on; starts depend on the simpler models fitted before."""
    return {
        "model": template.to_json(),
        "servo": template.servo,
        "friction": template.friction,
        "parameters": {p.name: [p.lower, p.upper] for p in template.parameters.free},
        "frozen": dict(request.frozen),
        "starts": [start.tolist() for start in starts],
        "metric": request.metric,
        "quadratic_gate": request.quadratic_gate,
        "integrator": request.integrator,
        "substeps": template.substeps,
        "dt": request.dt,
        "supply": request.supply,
        "seed": request.seed,
        "trials": budget,
        "most": most,
        "polish": request.polish,
        "recordings": list(recordings),
        "data_hash": request.data_hash,
        **({"contact": template.contact} if template.contact != "rigid" else {}),
        **({"prior": request.prior} if request.prior else {}),
        **({"points": [point.uid for point in request.points]} if request.points else {}),
    }


class StudyRecord:
    """Study of one search, open for writing; a context manager."""

    def __init__(
        self, storage: str, name: str, parameters: Sequence[Parameter], settings: Mapping[str, Any], resume: bool
    ) -> None:
        """Open or create the study.

        Args:
            storage: Address of its storage, see `open_storage`.
            name: Name of the study.
            parameters: Free parameters.
            settings: Everything that the search depends on, compared on resume.
            resume: Continue a recorded search.

        Raises:
            IdentificationError: The storage cannot be used, or holds another search of this name.
        """
        self._parameters = tuple(parameters)
        self._storage = storage.removeprefix(JOURNAL_SCHEME)
        try:
            if storage.startswith(JOURNAL_SCHEME):
                mend_journal(Path(storage.removeprefix(JOURNAL_SCHEME)))
        except OSError as error:
            raise StorageError(f"{storage} cannot be used as a study: {error.strerror or error}") from None
        opened = open_storage(storage)
        try:
            study = optuna.create_study(storage=opened, study_name=name, direction="minimize", load_if_exists=resume)
        except optuna.exceptions.DuplicatedStudyError:
            raise IdentificationError(
                f"{storage} already holds a search {name!r}; choose another folder or resume it"
            ) from None
        except Exception as error:
            raise StorageError(f"{storage} cannot be used as a study: {_first_line(error)}") from None
        wanted = json.loads(json.dumps(settings))
        stored = study.user_attrs.get(_SETTINGS)
        if stored is not None and stored != wanted:
            changed = sorted(k for k in {*stored, *wanted} if stored.get(k) != wanted.get(k))
            raise IdentificationError(
                f"{storage} holds a search {name!r} with other settings ({', '.join(changed)}); choose another folder"
            )
        if stored is None:
            try:
                study.set_user_attr(_SETTINGS, wanted)
            except Exception as error:
                raise StorageError(f"{storage} cannot be used as a study: {_first_line(error)}") from None
        self._study = study
        try:
            self.recorded: list[list[float]] = [trial.user_attrs[_VALUES] for trial in generations(study)]
        except (IdentificationError, KeyError) as error:
            raise IdentificationError(f"{storage} cannot be resumed: {error}; choose another folder") from None
        self._queue: queue.SimpleQueue[Generation | None] = queue.SimpleQueue()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._write, name="study", daemon=True)

    def __enter__(self) -> StudyRecord:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None and exception[0] is None:
            raise StorageError(f"{self._storage}: the study could not be written: {_first_line(self._failure)}")

    def add(self, generation: Generation) -> None:
        """Record a generation; returns at once."""
        self._queue.put(generation)

    def _write(self) -> None:
        distributions: dict[str, optuna.distributions.BaseDistribution] = {
            p.name: optuna.distributions.FloatDistribution(p.lower, p.upper) for p in self._parameters
        }
        count = len(self.recorded) - 1
        while (generation := self._queue.get()) is not None:
            if self._failure is not None:
                continue
            count += 1
            values = generation.best.tolist()
            params = {
                p.name: min(max(value, p.lower), p.upper) for p, value in zip(self._parameters, values, strict=True)
            }
            trial = optuna.trial.create_trial(
                params=params,
                distributions=distributions,
                # A surrogate's values give no information about the best trial.
                state=TrialState.PRUNED if generation.surrogate else TrialState.COMPLETE,
                value=None if generation.surrogate else generation.best_value,
                user_attrs=sealed(
                    {
                        "descent": generation.descent,
                        "evaluations": generation.evaluations,
                        "generation": count,
                        "sigma": generation.sigma,
                        "value": None if generation.surrogate else generation.best_value,
                        _VALUES: list(generation.values),
                    }
                ),
            )
            try:
                self._study.add_trial(trial)
            except Exception as error:
                # A full disk or a lost database connection is reported when the search ends.
                self._failure = error


class StudyObjective:
    """Objective for the user's own Optuna study: a request's metric over recordings [rad].

    Each free parameter is suggested within its bounds under its name. Trials can therefore be enqueued, sampled and
    stopped with Optuna's own tools, by several processes on one storage. `model_of` returns a trial's model.
    """

    def __init__(self, request: IdentificationRequest, friction: str, recordings: Sequence[Recording]) -> None:
        """Prepare the recordings.

        Args:
            request: Servo and options.
            friction: Friction model.
            recordings: Recordings of the servo.

        Raises:
            IdentificationError: The recordings are of another servo.
        """
        template = search_template(request, friction)
        if request.substeps is not None or not template.leapfrog:
            template = replace(template, dt=sampling_interval(recordings, request.dt))
        self._template = template
        self._metric: Metric = request.metric
        self._batch = Batch(template, recordings, dt=request.dt, supply=request.supply, threads=request.threads)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the suggested parameters."""
        return tuple(parameter.name for parameter in self._template.parameters.free)

    def __call__(self, trial: optuna.Trial) -> float:
        """Return the objective for the values that a trial suggests."""
        free = self._template.parameters.free
        vector = np.array([trial.suggest_float(p.name, p.lower, p.upper) for p in free])
        return float(self._batch.scores(vector[None]).combined(self._metric)[0])

    def model_of(self, values: Mapping[str, float]) -> ServoModel:
        """Return the model with a trial's parameters, e.g. with `study.best_params`."""
        return self._template.with_values(dict(values))


def _first_line(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return (text or str(error)).partition("\n")[0] or type(error).__name__
