"""Stiction tab (seed 001): friction and its implicit form, and a joint that sticks, slips or chatters."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QSplitter, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.plots.tools import PlotTools
from bench_gui.render.screen import PlotView
from bench_gui.studies.stiction.form import StictionForm
from bench_gui.studies.stiction.running import StictionExperiment
from bench_gui.studies.tab import ExploreTab
from bench_gui.widgets.fields import ElidedLabel, button, hbox, label, restyle, vbox
from bench_gui.widgets.start_button import held_by
from core.base.errors import ModelError
from core.base.words import capitalised
from core.contact.bristle import Bristle, Remedy, Verdict, examine
from core.contact.laws import FrictionLaw
from core.studies.stiction.documents import experiment_plot, friction_plot
from core.studies.stiction.exploring import StictionView


class StictionTab(ExploreTab):
    """Draws the curves at every edit; the experiment runs after the last edit, in a process of its own."""

    title = "Stiction"
    tip = "Static friction without chattering: its curves, and a joint that sticks and slips"
    help_page = "stiction"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.form = StictionForm()
        self.settings_column.addWidget(self.form)
        self.simulating = StictionExperiment(controller.computations)
        self.simulating.activity.view = self
        self._remedy: Remedy | None = None
        self._entered = False
        self._law: tuple[str, FrictionLaw, Bristle] | None = None
        self._view: StictionView | None = None
        """Law and experiment in the charts."""
        self.friction = PlotView(("Friction function Φ", "Implicit friction"))
        self.joint = PlotView(("Angle of the joint", "Torque or velocity of the joint"))
        self._build_buttons()
        self._build_body()
        self._build_tools()
        self.form.changed.connect(self._follow)
        self.simulating.changed.connect(self._show_state)
        controller.angle_unit_changed.connect(self._draw_joint)
        self._follow()

    def _build_buttons(self) -> None:
        self.mend_button: QPushButton = button(
            "Apply fix", "Apply the first change that makes the constants valid", self.mend, "primary"
        )
        self.published_button: QPushButton = button(
            "Published constants",
            "Restore the paper's constants for this law and its bristle",
            self.form.take_published,
        )
        for each in (self.mend_button, self.published_button):
            self.buttons_column.addWidget(each)

    def _build_body(self) -> None:
        self.verdict: QLabel = label("", "muted")
        self.verdict.setWordWrap(True)
        self.verdict.setTextFormat(Qt.TextFormat.PlainText)
        self.verdict.setAccessibleName("Compatibility of friction and bristle")
        upper = QWidget()
        column = vbox(upper, spacing=4)
        column.addWidget(self.friction, 1)
        column.addWidget(self.verdict)
        lower = QWidget()
        column = vbox(lower, spacing=4)
        self.text = ElidedLabel()
        self.text.setAccessibleName("Result of the experiment")
        head = hbox(spacing=14)
        head.addWidget(self.form.experiment)
        head.addWidget(self.text, 1)
        column.addLayout(head)
        column.addWidget(self.joint, 1)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(8)
        for part in (upper, lower):
            splitter.addWidget(part)
        splitter.setSizes([300, 300])
        self.body.addWidget(splitter, 1)

    def _build_tools(self) -> None:
        save = self._controller.save_plot
        self.curve_tools = PlotTools(
            self.friction.charts, self.friction, lambda: self.friction.title, save, symbol="v", fit=self.friction.fit
        )
        self.joint_tools = PlotTools(self.joint.charts, self.joint, lambda: self.joint.title, save, fit=self.joint.fit)
        for part, tools in ((self.friction, self.curve_tools), (self.joint, self.joint_tools)):
            part.head.addWidget(tools.bar)
            part.row.addWidget(tools.readout)

    def entered(self) -> None:
        """Run the experiment when the tab first becomes visible."""
        if not self._entered:
            self._entered = True
            self._follow()

    def run(self) -> None:
        """Run the experiment now."""
        if held_by(self.form):
            return
        self._entered = True
        try:
            self.simulating.start(self.form.job())
        except ModelError as error:
            self._controller.message.emit("error", str(error))

    def mend(self) -> None:
        """Apply the first remedy of the verdict."""
        if self._remedy is not None:
            self.form.obey(self._remedy)

    def actions_offered(self) -> list[ActionSpec]:
        return [
            ActionSpec("Run the stiction &experiment", self.run, tip="Simulate a joint that sticks, slips or is held"),
            ActionSpec(
                "&Published constants of stiction",
                self.form.take_published,
                tip="Restore the paper's constants for this law",
            ),
            ActionSpec(
                "Export the friction &curves…",
                self.curve_tools.export.ask,
                tip="Write Φ and Φ_Z as PNG, SVG, PDF or CSV",
            ),
            ActionSpec(
                "Export the stiction e&xperiment…",
                self.joint_tools.export.ask,
                tip="Write the motion as PNG, SVG, PDF or CSV",
            ),
        ]

    # Reactions to edits.

    def _follow(self) -> None:
        try:
            job, bristle = self.form.job(), self.form.bristle()
        except ModelError as error:
            self._judge(str(error), None, wrong=True)
            self.simulating.ask(None)
            return
        asked = (self.form.kind, job.law, bristle)
        if asked != self._law:
            self._law = asked
            self.friction.show_plot(friction_plot(*asked))
        verdict = examine(job.law, bristle)
        shaken = job.inertia <= bristle.least_inertia
        if verdict.sound and shaken:
            text = (
                f"The bristle would shake this joint: M must be above (K·T² + 2·B·T)/4 = "
                f"{bristle.least_inertia:.4g} kg·m²; lower T, B or K"
            )
            self._judge(text, None, wrong=True)
        else:
            self._judge(_in_words(verdict), next(iter(verdict.remedies), None), wrong=not verdict.sound)
        if self._entered:
            self.simulating.ask(job if verdict.sound and not shaken else None)

    def _judge(self, text: str, remedy: Remedy | None, *, wrong: bool) -> None:
        self._remedy = remedy
        self.verdict.setText(f"{capitalised(text)}.")
        restyle(self.verdict, "role", "fault" if wrong else "muted")
        self.mend_button.setVisible(remedy is not None)
        if remedy is not None:
            self.mend_button.setText(capitalised(remedy.text))
            self.mend_button.setToolTip("Apply this change; any one of those listed under the curves is enough")

    def _show_state(self) -> None:
        simulating, view = self.simulating, self.simulating.result
        if simulating.problem:
            text = capitalised(simulating.problem)
        elif simulating.active:
            text = "Simulating the joint…"
        elif not simulating.possible:
            text = "Cannot be simulated with these constants" + ("; the previous result is shown." if view else ".")
        else:
            text = "" if view is None else view.text
        self.text.setText(text)
        for chart in self.joint.charts:
            chart.say(text)
        restyle(self.text, "role", "fault" if simulating.problem else "")
        if view is not self._view:
            self._view = view
            self._draw_joint()

    def _draw_joint(self) -> None:
        view = self._view
        self.joint.show_plot(None if view is None else experiment_plot(view, self._controller.angle_unit))


def _in_words(verdict: Verdict) -> str:
    if not verdict.sound or verdict.descent <= 0.0:
        return verdict.text
    share = verdict.descent / verdict.allowed
    return f"{verdict.text}; that is {100.0 * share:.0f} % of what the bristle can follow"
