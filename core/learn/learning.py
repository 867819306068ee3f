"""Comparison of learned baselines with an identified model on held-out conditions.

Each mass, gain or other condition is held out in turn. The physics model is fitted to the other runs, a residual net is
trained on top of it, and an actuator net is trained without it. All are scored on the whole held-out runs.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.errors import InputError, ModelError, StoppedEarly
from core.base.json_fields import plain
from core.base.units import milliradians
from core.document.document import Document
from core.document.plot import BarPanel, BarSeries, Plot
from core.document.table import Table, Tabular
from core.identification.choice.crossvalidation import CrossValidationProgress, cross_validate
from core.identification.choice.model_choice import FoldFit, Variant
from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.identification.runs.conditions import suited
from core.identification.runs.folds import Fold
from core.kernel.layout import Law
from core.motion.recording import Recording
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from core.servo.terms import COMMAND_PATH_TERMS

if TYPE_CHECKING:
    from core.learn.servos import LearnedServo

BASELINES = {"physics": "physics", "residual": "residual net", "actuator": "actuator net"}
"""Names and titles of what is compared."""
ITERATIONS: Mapping[str, int] = {"residual": 40, "actuator": 300}
"""Default number of gradient steps: one to three minutes on a processor for 80 runs of 6 s."""
PHYSICS_SHARE = 0.3
"""Share of the time that the fits of the physics model take, for the progress."""


@dataclass(frozen=True, kw_only=True)
class LearnedFold:
    """Scores of all baselines on one held-out condition."""

    fold: Fold
    errors: Mapping[str, Mapping[str, float]]
    """Mean absolute position error of each held-out run [rad], by baseline and run; infinite where it diverges."""
    seconds: Mapping[str, float]
    """Processor time of the fit or the training [s], by baseline."""

    def mean(self, baseline: str) -> float:
        """Return the mean error of the held-out runs [rad]."""
        return float(np.mean(list(self.errors[baseline].values())))


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class Learned(Tabular):
    """Errors of physics model and nets on the same held-out conditions.

    Example:
        >>> sb.learn(sb.example(), by="kp").median("physics") < 0.1  # doctest: +SKIP
        True
    """

    variant: Variant
    """Physics model."""
    folds: tuple[LearnedFold, ...]
    sizes: Mapping[str, int]
    """Number of fitted parameters, by baseline; that of the residual net excludes the model's."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Conditions that could not be held out, with the reason."""
    stopped: bool = False
    """True if it was stopped before the end."""
    model: ServoModel | None = None
    """Model of all runs, below the residual net."""
    nets: Mapping[str, LearnedServo] = field(default_factory=dict[str, Any])
    """Nets trained on all runs, if they were requested."""

    def median(self, baseline: str) -> float:
        """Return the median over the held-out conditions of the mean error [rad]."""
        return float(np.median([each.mean(baseline) for each in self.folds]))

    def title(self, baseline: str) -> str:
        """Return the title of a baseline, e.g. "M6 + command path"."""
        return self.variant.name if baseline == "physics" else BASELINES[baseline]

    def heading(self) -> str:
        """Return the comparison in one sentence."""
        best = min(BASELINES, key=self.median)
        wins = sum(min(BASELINES, key=each.mean) == best for each in self.folds)
        others = ", ".join(f"{self.title(b)} {milliradians(self.median(b))}" for b in BASELINES if b != best)
        return (
            f"{self.title(best)} has the smallest median error on held-out runs, {milliradians(self.median(best))} "
            f"mrad ({others}), and the smallest error on {wins} of {len(self.folds)} held-out conditions"
        )

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the mean error of each held-out condition, and their median [mrad], by baseline."""
        return {
            "held out": [*(each.fold.label for each in self.folds), "median"],
            "runs": [*(len(each.fold.held_out) for each in self.folds), None],
            **{
                f"{self.title(b)} [mrad]": [1e3 * error for error in (*(f.mean(b) for f in self.folds), self.median(b))]
                for b in BASELINES
            },
        }

    def table(self) -> Table:
        """Return the errors by held-out condition, their median, and the cost of each baseline."""
        columns = self.columns()
        errors = [
            [*row[:2], *(milliradians(1e-3 * error) for error in row[2:])]
            for row in zip(*columns.values(), strict=True)
        ]
        seconds = (round(float(np.mean([each.seconds[b] for each in self.folds]))) for b in BASELINES)
        parameters = ["parameters", None, *(self.sizes[b] for b in BASELINES)]
        return Table(list(columns), [*errors, parameters, ["processor seconds", None, *seconds]])

    def document(self) -> Document:
        """Return table, sentences and plot."""
        labels = tuple(each.fold.label for each in self.folds)
        colours = dict(zip(BASELINES, (self.variant.friction, "goal", "measured"), strict=True))
        bars = tuple(
            BarSeries(self.title(b), colours[b], tuple(1e3 * each.mean(b) for each in self.folds)) for b in BASELINES
        )
        return Document(
            title="Learned baselines",
            tables=(self.table(),),
            sentences=(f"{self.heading()}.", *(f"{what} was not held out: {why}." for what, why in self.skipped)),
            data=self.to_json(),
            plot=lambda: Plot("Learned baselines", (BarPanel("MAE [mrad]", "Held out", labels, bars),)),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for an infinite error."""
        return {
            "physics": {"friction": self.variant.friction, "command_path": list(self.variant.command_path)},
            "folds": [
                {
                    "condition": each.fold.condition,
                    "value": each.fold.value,
                    "mean_mae": plain({b: each.mean(b) for b in BASELINES}),
                    "errors": plain(each.errors),
                    "seconds": dict(each.seconds),
                }
                for each in self.folds
            ],
            "median": plain({b: self.median(b) for b in BASELINES}),
            "parameters": dict(self.sizes),
            "skipped": dict(self.skipped),
            "stopped": self.stopped,
            "text": self.heading(),
        }


def require_torch() -> None:
    """Raise InputError with the command that installs PyTorch, if it is missing."""
    if importlib.util.find_spec("torch") is None:
        raise InputError("learned servos need PyTorch: pip install 'servobench[learn]'")


def learn(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    by: Sequence[str],
    *,
    model: ServoModel | None = None,
    iterations: int | None = None,
    folder: Path | None = None,
    final: bool = False,
    on_progress: Callable[[float, str], None] = lambda share, text: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Learned:
    """Fit the physics model and train both nets without each held-out condition, and score them on it.

    Args:
        request: Options of the fits; its last friction model is fitted, with the usual command path unless it names
            one.
        recordings: Recordings of one servo that is commanded by an angle.
        by: Conditions to hold out, see `core.identification.runs.folds`.
        model: Identified model with a rigid contact; its terms are fitted without each condition, and the final
            residual net is trained on top of it. None: as in the request.
        iterations: Gradient steps of each net. None: `ITERATIONS`.
        folder: Folder for the searches of the fits; recorded ones are not repeated.
        final: Also train nets on all runs.
        on_progress: Called with the share done and what is being done.
        should_stop: Polled; True stops and keeps complete conditions.

    Raises:
        InputError: PyTorch is missing, or a condition does not exist.
        ModelError: Contact, integrator, command or motor driver are not those that nets are trained with.
        IdentificationError: Nothing can be held out.
        StoppedEarly: Stopped before the first condition was complete.
    """
    require_torch()
    request, variant = _settled(request, recordings, model)
    job = _Training(request, recordings, iterations, on_progress, should_stop)

    def fitted(step: CrossValidationProgress) -> None:
        on_progress(PHYSICS_SHARE * step.done, f"{variant.name} without {step.fold.label}")

    begun = time.process_time()
    seconds: list[float] = []
    physics = cross_validate(
        request,
        recordings,
        by,
        variants=(variant,),
        folder=folder,
        on_progress=fitted,
        on_fit=lambda fit, done: seconds.append(time.process_time() - begun - sum(seconds)),
        should_stop=should_stop,
    )
    job.total = len(physics.fits) + final
    folds = [job.fold(fit, spent) for fit, spent in zip(physics.fits, seconds, strict=True) if not job.stopped]
    if job.stopped:
        folds.pop()
    if not folds:
        raise StoppedEarly("stopped before the nets of one condition were trained")
    nets: dict[str, LearnedServo] = {}
    if final and not (physics.stopped or job.stopped):
        model = model or identify(variant.asked(request), recordings, should_stop=should_stop).results[0].model
        nets = job.nets(model, recordings, "all runs")
    sizes = {"physics": len(physics.fits[0].model.parameters.free), **job.sizes}
    stopped = physics.stopped or job.stopped
    return Learned(
        variant=variant, folds=tuple(folds), sizes=sizes, skipped=physics.skipped, stopped=stopped, model=model,
        nets={} if job.stopped else nets,
    )  # fmt: skip


def _settled(
    request: IdentificationRequest, recordings: Sequence[Recording], model: ServoModel | None
) -> tuple[IdentificationRequest, Variant]:
    """Return the request and the physics model that fit recordings and model."""
    if model is None:
        path = request.command_path or COMMAND_PATH_TERMS
        request = suited(replace(request.settled(path), contact=request.searched_contact), recordings)
        variant = Variant(friction=request.models[-1], command_path=request.command_path)
    else:
        request = suited(replace(request, servo=model.servo, contact=model.contact), recordings)
        request = replace(request, command_path=model.command_path, models=(model.friction,))
        variant = Variant(friction=model.friction, command_path=model.command_path)
    control = (load_servo(request.servo) if model is None else model).control
    refusals = {
        "a model with a rigid contact": request.contact != "rigid",
        "the leapfrog integrator": not (request.integrator == "leapfrog" and (model is None or model.leapfrog)),
        "runs that are commanded by an angle": request.command != "position",
        "a motor driver with slow decay": control.kernel_law == Law.COAST,
        "a model without backlash": "backlash" in variant.command_path,
        "a model without memory of the load": "load_memory" in variant.command_path,
    }
    if missing := [what for what, lacks in refusals.items() if lacks]:
        raise ModelError(f"learned servos need {missing[0]}")
    return request, variant


class _Training:
    """Training of the nets of one comparison, fold by fold."""

    def __init__(
        self,
        request: IdentificationRequest,
        recordings: Sequence[Recording],
        iterations: int | None,
        on_progress: Callable[[float, str], None],
        should_stop: Callable[[], bool],
    ) -> None:
        self.request, self.recordings = request, recordings
        self.iterations = {net: iterations or default for net, default in ITERATIONS.items()}
        self.on_progress, self.should_stop = on_progress, should_stop
        self.stopped = False
        self.total = 1
        """Number of pairs of nets to train."""
        self.sizes: dict[str, int] = {}
        self._done = 0
        """Iterations done."""
        self._seconds: dict[str, float] = {}

    def fold(self, fit: FoldFit, seconds: float) -> LearnedFold:
        """Train on the rest of a fold and score on its runs; seconds: processor time of the fit."""
        from core.learn.runs import runs_of
        from core.learn.training import whole_errors

        by_id = {recording.id: recording for recording in self.recordings}
        nets = self.nets(fit.model, [by_id[run] for run in fit.trained_on], f"without {fit.fold.label}")
        held = runs_of([by_id[run] for run in fit.fold.held_out], self.request)
        errors = {name: whole_errors(net, held) for name, net in nets.items()}
        return LearnedFold(
            fold=fit.fold, errors={"physics": fit.errors, **errors}, seconds={"physics": seconds, **self._seconds}
        )

    def nets(self, model: ServoModel, recordings: Sequence[Recording], words: str) -> dict[str, LearnedServo]:
        """Train both nets, each from the same seed and on one processor."""
        from core.learn.runs import runs_of
        from core.learn.training import repeatable, train

        runs = runs_of(recordings, self.request)
        nets: dict[str, LearnedServo] = {}
        for name in ITERATIONS:
            begun = time.process_time()
            with repeatable(self.request.seed):
                nets[name] = net = self._new(name, model, recordings, runs.step)
                train(net, runs, self.iterations[name], lambda loss, name=name: self._report(name, words, loss))
            self._seconds[name] = time.process_time() - begun
            self.sizes[name] = net.size
        return nets

    def _new(self, name: str, model: ServoModel, recordings: Sequence[Recording], step: float) -> LearnedServo:
        from core.learn.servos import ActuatorNet, ResidualNet

        load = max(recording.bench.gravity_torque for recording in recordings)
        speed = max(float(np.percentile(np.abs(np.gradient(r.position, r.time)), 90)) for r in recordings)
        if name == "residual":
            return ResidualNet(model, step, speed, load)
        kp = float(np.median([recording.settings.kp for recording in recordings]))
        inertia = float(np.median([recording.bench.inertia for recording in recordings]))
        error = model.control.output_limit / (model.control.error_gain * kp)
        return ActuatorNet(step, kp, error, speed, load, inertia)

    def _report(self, name: str, words: str, loss: float) -> bool:
        self._done += 1
        share = self._done / (self.total * sum(self.iterations.values()))
        text = f"{BASELINES[name]} {words}, {milliradians(loss)} mrad"
        self.on_progress(PHYSICS_SHARE + (1.0 - PHYSICS_SHARE) * share, text)
        self.stopped = self.stopped or self.should_stop()
        return not self.stopped
