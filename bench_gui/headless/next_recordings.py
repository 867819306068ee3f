"""Suggestion of the most informative next recordings, for the window and for `bench next`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_gui.headless.recording import PLAN_DOCUMENT
from core.base.words import counted
from core.document.table import Tabular
from core.practice.plan import GridPlan, suggested_plan
from core.servo.catalogue import load_servo
from core.servo.terms import RICHEST, Supply

if TYPE_CHECKING:
    from core.identification.next.proposal import Proposal
    from core.motion.recording import Recording
    from core.servo.model import ServoModel
    from sessions import Session

FRICTION = RICHEST
"""Friction model used if none was identified."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NextRecordings(Tabular):
    """Proposed recordings, each rated given the ones before it, and the basis of the rating."""

    servo: str
    model: str
    """Title of the model."""
    runs: int
    """Number of existing recordings."""
    objective: str
    plan: GridPlan
    """Possible recordings."""
    proposals: tuple[Proposal, ...]

    def heading(self) -> str:
        """Return the basis of the proposals."""
        return self.basis

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the conditions of each proposal and its effect."""
        cells = [proposal.cell for proposal in self.proposals]
        return {
            "motion": [cell.trajectory for cell in cells],
            "mass [kg]": [cell.mass for cell in cells],
            "length [m]": [cell.length for cell in cells],
            "kp": [cell.kp for cell in cells],
            "shrinks by": [proposal.factor for proposal in self.proposals],
            "determines": [proposal.words for proposal in self.proposals],
        }

    @property
    def basis(self) -> str:
        """Basis of the rating as a sentence."""
        runs = counted(self.runs, "run")
        return f"{self.model} after {runs}; volume of its joint 95 % interval, each line given those above it"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "servo": self.servo,
            "model": self.model,
            "runs": self.runs,
            "duration": self.plan.duration,
            "objective": self.objective,
            "proposals": [proposal.to_json() for proposal in self.proposals],
        }


def plan_to_offer(session: Session, servo: str) -> GridPlan:
    """Return the session's plan, or the grid suggested for the servo; raise InputError for a damaged plan."""
    kept = session.document(PLAN_DOCUMENT)
    return suggested_plan(load_servo(servo)) if kept is None else GridPlan.from_json(kept)


def catalogue_model(servo: str) -> ServoModel:
    """Return the model used if none was identified: M6 with command path at the catalogue's start values."""
    from core.servo.model import build_model
    from core.servo.terms import COMMAND_PATH_TERMS

    return build_model(servo, FRICTION, command_path=COMMAND_PATH_TERMS)


def next_recordings(
    model: ServoModel,
    recordings: Sequence[Recording],
    plan: GridPlan,
    *,
    count: int,
    objective: str = "volume",
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
    on_run: Callable[[float], object] = lambda done: None,
) -> NextRecordings:
    """Choose the best of a plan's conditions that are not recorded yet; arguments as for `next_best`.

    Raises:
        IdentificationError: All conditions of the plan are recorded.
    """
    from core.identification.next.design import candidate_cells, next_best

    proposals = next_best(
        model,
        recordings,
        candidate_cells(plan, recordings),
        count,
        objective=objective,
        duration=plan.duration,
        dt=dt,
        supply=supply,
        threads=threads,
        on_run=on_run,
    )
    return NextRecordings(
        servo=model.servo,
        model=model.title,
        runs=len(recordings),
        objective=objective,
        plan=plan,
        proposals=proposals,
    )
