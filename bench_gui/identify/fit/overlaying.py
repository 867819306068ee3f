"""The run in the overlay: from the running search, a result, or measured only."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from bench_gui.identify.fit.messages import FitOverlay, FitResult, FittedModel
from bench_gui.state.library import Library
from bench_gui.work import simulations
from bench_gui.work.background import Background
from bench_gui.work.compute_process import ComputeProcess
from core.base.words import capitalised
from core.identification.overlay import JudgedRun, RunOverlay
from core.motion.recording import Recording

NOTHING = FitOverlay()


class Overlaying(QObject):
    """Requests overlays; late answers to earlier requests are dropped."""

    changed = Signal()
    problem = Signal(str)

    def __init__(self, library: Library, background: Background, compute: ComputeProcess) -> None:
        super().__init__()
        self._library = library
        self._background = background
        self._compute = compute
        self._asked = 0
        self._question: object = None
        self._known: dict[tuple[int, str], tuple[FittedModel, FitOverlay]] = {}
        """Overlay by identity of a result's row and chosen run; the row is kept so that its id stays valid."""
        self.chosen = ""
        """Id of the run that the user picked; empty: the worst one."""
        self.shown = NOTHING
        self._sentence = ""
        self.simulating = False
        """True while a simulation is awaited from the compute process."""

    @property
    def sentence(self) -> str:
        """Sentence in the place of the curves until they are there; empty if nothing is awaited."""
        doing = self._compute.doing or "simulating the runs"
        return f"{capitalised(doing)}…" if self.simulating else self._sentence

    def forget(self) -> None:
        """Drop everything: another session or another search."""
        self._known, self.chosen = {}, ""
        self._ask(None)
        self._show(NOTHING)

    def show_live(self, overlay: FitOverlay) -> None:
        """Show the current state of the running search."""
        self._ask(None)
        self._show(overlay)

    def show_measured(self, runs: tuple[JudgedRun, ...]) -> None:
        """Show one of some runs, measured only: the chosen or the first one."""
        shown = next((run.id for run in runs if run.id == self.chosen), runs[0].id if runs else "")
        if self._question == (shown, runs):
            return
        asked = self._ask((shown, runs), f"Reading run {shown.split('_')[0]}…" if shown else "")

        def loaded(recordings: list[Recording]) -> None:
            if asked == self._asked:
                run = recordings[0]
                self._show(FitOverlay("", runs, RunOverlay(run.id, run.time - run.time[0], run.position)))

        if shown:
            self.changed.emit()
            self._library.load_used([shown], loaded)
        else:
            self._show(NOTHING)

    def show_fitted(self, row: FittedModel, result: FitResult) -> None:
        """Show the chosen or the worst run under an identified model."""
        question = (id(row), self.chosen)
        known = self._known.get(question)
        if known is not None:
            self.show_live(known[1])
            return
        path = self._library.path
        if self._question == question or path is None:
            return
        asked = self._ask(question)
        self.simulating = True
        self.changed.emit()
        judged = next((overlay.runs for one, overlay in self._known.values() if one is row), ())

        def simulated(overlay: FitOverlay) -> None:
            self._known[question] = (row, overlay)
            if asked == self._asked:
                self._show(overlay)

        def failed(message: str) -> None:
            if asked == self._asked:
                self.simulating, self._sentence = False, f"The motion cannot be shown: {message}"
                self.changed.emit()
                self.problem.emit(message)

        request = result.request
        self._background.submit(
            "compute", self._compute.call, simulations.fitted_overlay, path, result.train, row.model,
            row.initial, request.dt, request.supply, judged, self.chosen, done=simulated, failed=failed,
        )  # fmt: skip

    def _ask(self, question: object, sentence: str = "") -> int:
        self._asked += 1
        self._question, self._sentence, self.simulating = question, sentence, False
        return self._asked

    def _show(self, overlay: FitOverlay) -> None:
        self.shown, self.simulating = overlay, False
        self.changed.emit()
