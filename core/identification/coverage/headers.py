"""Header audit and unexplained error of a model, the same in the window and in `bench coverage`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.base.words import counted
from core.identification.coverage.doubts import HeaderDoubt
from core.identification.coverage.findings import Finding, ordered
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply

if TYPE_CHECKING:
    from core.identification.evidence.residuals import ResidualDiagnosis


@dataclass(frozen=True, kw_only=True)
class HeaderAudit:
    """Doubts about the headers of recordings, and hints about a model."""

    doubts: tuple[HeaderDoubt, ...]
    residuals: ResidualDiagnosis

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Doubts and hints, errors first."""
        return ordered([*(doubt.finding() for doubt in self.doubts), *self.residuals.hints])

    @property
    def summary(self) -> str:
        """Summary of the doubts and of the error that the model leaves unexplained."""
        count = len(self.doubts)
        doubts = f"{counted(count, 'doubt')} about the headers"
        headers = doubts if count else "the headers agree with the motion"
        left = self.residuals
        return (
            f"{headers}; left unexplained: {1e3 * left.position_rms:.2f} mrad, {1e3 * left.torque_rms:.3g} mN·m (RMS)"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"audit": [doubt.to_json() for doubt in self.doubts], "residuals": self.residuals.to_json()}


def audit_headers(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> HeaderAudit:
    """Check the headers with a model, and determine what it leaves unexplained.

    Args:
        model: Model of the recordings' servo.
        recordings: The recordings.
        dt: Time between samples [s], see `Batch`.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.

    Raises:
        IdentificationError: There are no recordings, or they are of another servo.
    """
    from core.identification.coverage.audit import audit
    from core.identification.evidence.residuals import diagnose_residuals

    return HeaderAudit(
        doubts=audit(model, recordings, dt=dt, supply=supply, threads=threads),
        residuals=diagnose_residuals(model, recordings, dt=dt, supply=supply, threads=threads),
    )
