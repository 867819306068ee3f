"""Runs and model that the page's checks, proposals and cross-validations use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_gui.identify.fit.settings import FitSettings
from bench_gui.identify.material import Material
from core.servo.model import ServoModel
from sessions.sampling import sample_of

if TYPE_CHECKING:
    from bench_gui.controller import Controller


def chosen_runs(controller: Controller, settings: FitSettings) -> tuple[str, ...]:
    """Ids of the runs to identify from: those of the most frequent servo among the chosen runs, or a sample of them."""
    servo = controller.library.main_servo()
    runs = sample_of([run for run in controller.library.for_fit() if run.servo == servo], settings.sample)
    return tuple(run.id for run in runs)


def chosen_count(controller: Controller, settings: FitSettings) -> int:
    """Number of runs that `chosen_runs` returns, without drawing a sample."""
    servo = controller.library.main_servo()
    count = sum(run.servo == servo for run in controller.library.for_fit())
    return count if settings.sample is None else min(count, settings.sample)


def chosen_material(controller: Controller, settings: FitSettings) -> Material:
    """The chosen runs, with the simulation settings to use for them."""
    return Material(
        session=controller.library.path,
        runs=chosen_runs(controller, settings),
        dt=settings.dt,
        supply=settings.supply,
        threads=settings.threads,
    )


def servo_to_propose_for(controller: Controller) -> str:
    """Catalogue name of the servo of the chosen runs; the bench's servo if no run is chosen."""
    return controller.library.main_servo() or controller.setup.spec.name


def latest_model(controller: Controller) -> ServoModel | None:
    """The recommended model of the shown identification; None if there is none or it is of another servo."""
    result = controller.fitting.result
    if result is None:
        return None
    best = next((row.model for row in result.models if row.model.friction == result.recommended), None)
    return best if best is not None and best.servo == controller.library.main_servo() else None
