"""The record of a search: an Optuna study in a journal file beside the result.

One trial is one generation: its parameters and value are those of the generation's best candidate, its attributes
hold every candidate's value. The journal is written by a thread of its own, off the search's path; the study opens in
optuna-dashboard, and a search that was stopped is resumed from it by telling the recorded values again.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import TrialState

from core.errors import IdentificationError
from core.identification.search import Generation
from core.parameters import Parameter

JOURNAL = "study.journal"
"""File name of the journal in a result folder."""

_VALUES = "values"
_SETTINGS = "settings"


class StudyRecord:
    """One search's study, open for writing; use as a context manager."""

    def __init__(
        self, folder: Path, name: str, parameters: Sequence[Parameter], settings: Mapping[str, Any], resume: bool
    ) -> None:
        """folder: of the result; settings: what the search depends on, compared on resume.

        Raises IdentificationError when the journal cannot be used, or holds another search of that name.
        """
        self._parameters = tuple(parameters)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        journal = str(folder / JOURNAL)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            storage = JournalStorage(JournalFileBackend(journal, lock_obj=JournalFileOpenLock(journal)))
            study = optuna.create_study(storage=storage, study_name=name, direction="minimize", load_if_exists=resume)
        except optuna.exceptions.DuplicatedStudyError:
            raise IdentificationError(
                f"{journal} already holds a search {name!r}; choose another folder or resume it"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise IdentificationError(f"{journal} cannot be used as a study: {error}") from None
        wanted = dict(settings)
        stored = study.user_attrs.get(_SETTINGS)
        if stored is not None and stored != wanted:
            changed = sorted(k for k in {*stored, *wanted} if stored.get(k) != wanted.get(k))
            raise IdentificationError(
                f"{journal} holds a search {name!r} with other settings ({', '.join(changed)}); choose another folder"
            )
        if stored is None:
            study.set_user_attr(_SETTINGS, wanted)
        self._study = study
        trials = sorted(study.get_trials(deepcopy=False), key=lambda trial: trial.number)
        self.recorded: list[list[float]] = [trial.user_attrs[_VALUES] for trial in trials]
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
            raise IdentificationError(f"the study's journal could not be written: {self._failure}")

    def add(self, generation: Generation) -> None:
        """Record a generation; returns at once."""
        self._queue.put(generation)

    def _write(self) -> None:
        distributions: dict[str, optuna.distributions.BaseDistribution] = {
            p.name: optuna.distributions.FloatDistribution(p.lower, p.upper) for p in self._parameters
        }
        while (generation := self._queue.get()) is not None:
            if self._failure is not None:
                continue
            values = generation.best.tolist()
            params = {
                p.name: min(max(value, p.lower), p.upper) for p, value in zip(self._parameters, values, strict=True)
            }
            trial = optuna.trial.create_trial(
                params=params,
                distributions=distributions,
                # A surrogate's values say nothing about the best trial.
                state=TrialState.PRUNED if generation.surrogate else TrialState.COMPLETE,
                value=None if generation.surrogate else generation.best_value,
                user_attrs={
                    _VALUES: list(generation.values),
                    "evaluations": generation.evaluations,
                    "descent": generation.descent,
                    "sigma": generation.sigma,
                },
            )
            try:
                self._study.add_trial(trial)
            except OSError as error:
                self._failure = error
