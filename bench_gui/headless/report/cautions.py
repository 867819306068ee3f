"""Warnings of the report, each with a suggested fix, the most serious first."""

from __future__ import annotations

from bench_gui.headless.report.examined import Examination
from core.identification.cautions import by_cost, cautions
from core.identification.coverage.findings import Finding


def warnings_of(seen: Examination) -> tuple[Finding, ...]:
    """Return errors, warnings and notes on the whole result; notes on single runs stay in their sections."""
    # The evidence already reports missing conditions, in the same words.
    covered = seen.coverage.value.findings if seen.coverage.value is not None else ()
    return by_cost(
        [
            *(Finding(kind="remark", severity="warning", text=text, remedy="") for text in seen.contents.remarks),
            *(f for f in covered if f.severity != "note" and f.kind != "conditions"),
            *(doubt.finding() for doubt in seen.doubts.value or ()),
            *cautions(seen.contents.found),
            *_about_search(seen),
            *(seen.residuals.value.hints if seen.residuals.value is not None else ()),
        ]
    )


def _about_search(seen: Examination) -> list[Finding]:
    """Return a warning if the searches were still improving at their end."""
    name = seen.contents.found.recommended.model.friction
    traces = [trace for trace in seen.traces.value or () if trace.friction == name]
    if not traces or not all(trace.late for trace in traces):
        return []
    return [
        Finding(
            kind="search",
            severity="warning",
            text=f"the search of {name.upper()} still improved by more than 1 % in its last tenth "
            f"({traces[0].total} evaluations)",
            remedy="identify with more evaluations",
        )
    ]
