"""The Webots tab: a picture at first sight, knobs that move it, and a fit that says what a node loses."""

import math

import numpy as np
import pytest
from PySide6.QtCore import Qt

from bench_gui.controller import Controller
from bench_gui.studies.webots.compute import LossModel, LossNumber, LossView
from bench_gui.studies.webots.form import FIRST, RECORDINGS
from bench_gui.studies.webots.tab import WebotsTab, loss_columns, loss_rows, numbers_text, table_panel
from core.base.units import DEGREES
from core.studies.webots.experiments import PUSHED_FROM, simulated
from core.studies.webots.fields import NO_LIMIT
from core.studies.webots.servo import FORCE, VELOCITY

CHARTS = ("position", "velocity", "force")


@pytest.fixture
def tab(qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller("simulated:mx106")
    made = WebotsTab(controller)
    for part in (made.settings, made.buttons, made):
        qtbot.addWidget(part)
        part.show()
    made.entered()
    yield made
    controller.close()


def drawn(tab, chart, title):
    return next(curve for curve in tab.plots.charts[CHARTS.index(chart)].seen() if curve.name == title)


def click(qtbot, button):
    assert button.isEnabled(), button.toolTip()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def ended(tab):
    tab._controller.computations.tick()
    return not tab.fitting.active


def pick(field, data):
    field.setCurrentIndex(field.findData(data))


class TestPicture:
    def test_it_is_there_without_being_asked_for(self, tab):
        """Target, limits and a push that oversteps the soft limit up to the stop."""
        shown = simulated(tab.form.scene())
        position = drawn(tab, "position", "position")

        np.testing.assert_array_equal(position.y, shown.trace.position)
        assert position.y.max() == shown.scene.fields.max_stop
        assert drawn(tab, "position", "upper soft limit").y[0] == shown.scene.fields.max_position
        assert {curve.name for curve in tab.plots.charts[2].seen()} == {"motor", "damper", "push"}

    def test_a_knob_moves_it(self, tab, qtbot):
        before = drawn(tab, "position", "position").y
        tab.form.push.setValue(0.0)
        qtbot.waitUntil(lambda: not np.array_equal(drawn(tab, "position", "position").y, before))
        time = drawn(tab, "position", "position").x

        assert drawn(tab, "position", "position").y[time > PUSHED_FROM] == pytest.approx(1.2, abs=1e-3)

    def test_modes_ask_for_what_they_need(self, tab, qtbot):
        form = tab.form
        for mode, field, others in (
            (VELOCITY, form.velocity, (form.target, form.force)),
            (FORCE, form.force, (form.target, form.velocity)),
        ):
            pick(form.mode, mode)
            assert field.isVisible()
            assert not any(other.isVisible() for other in others)
        qtbot.waitUntil(lambda: any(curve.name == "force control" for curve in tab.plots.charts[2].seen()))
        assert not any(curve.name == "target" for curve in tab.plots.charts[0].seen() if np.isfinite(curve.y[-1]))

    def test_fields_that_do_not_go_together_say_why(self, tab, qtbot):
        tab.form.angles["max_stop"].setValue(0.5)
        qtbot.waitUntil(tab.problem.isVisible)
        assert "soft limits -1.3 … 1.3 must lie within the hard ones" in tab.problem.text()
        tab.form.angles["max_stop"].setValue(2.0)
        qtbot.waitUntil(lambda: not tab.problem.isVisible())

    def test_an_acceleration_of_zero_is_no_limit(self, tab):
        tab.form.numbers["acceleration"].setValue(0.0)
        assert tab.form.numbers["acceleration"].text() == "no limit"
        assert tab.form.scene().fields.acceleration == NO_LIMIT

    def test_units_change_what_is_read(self, tab):
        tab._controller.set_angle_unit(DEGREES)
        assert tab.plots.charts[0].left == ("Position", "°")
        assert tab.form.target.suffix() == " °"


class TestFit:
    def test_a_node_is_fitted_to_the_session_compared_and_tried(self, tab, qtbot, session):
        assert tab.form.source.findData(RECORDINGS) == -1
        library = tab._controller.library
        with qtbot.waitSignal(library.opened):
            library.open(session)
        library.select([library.runs[0].id])
        pick(tab.form.source, RECORDINGS)
        assert not tab.table.isVisible()
        assert not tab.take_button.isEnabled()
        click(qtbot, tab.fit_button)
        assert tab.fitting.active
        assert tab.stop_button.isEnabled()
        qtbot.waitUntil(lambda: ended(tab))
        view = tab.fitting.result

        assert view is not None, tab.fitting.problem
        assert [model.name[:2] for model in view.models[1:]] == ["M1", "M2", "M3", "M4", "M5", "M6"]
        truth = view.models[-1]  # M6 is what the session was recorded with
        assert truth.lost > 0.0
        assert truth.lost == max(model.lost for model in view.models)
        assert tab.table.isVisible()
        assert "controlP" in tab.numbers.text()
        click(qtbot, tab.take_button)
        fields = tab.form.scene().fields
        assert fields.control_p == pytest.approx(view.node.control_p, rel=1e-3)
        assert fields.max_velocity == pytest.approx(view.node.max_velocity, rel=1e-3)

    def test_errors_stand_below_the_names_of_their_models(self, qapp):
        models = tuple(
            LossModel(name=name, friction=friction, train_mae=train, validation_mae=held_out, lost=lost)
            for name, friction, train, held_out, lost in (
                ("Webots Servo", "", 0.011, 0.022, 0.0),
                ("M1 one", "m1", 0.013, 0.024, -0.002),
                ("M6 other", "m6", 0.0015, None, 0.0205),
            )
        )
        number = LossNumber(name="controlP", unit="1/s", value=12.5, interval=(11.0, 14.0), remark="")
        open_ = LossNumber(name="maxForce", unit="N·m", value=1.25, interval=(0.0, math.inf), remark="not determined")
        view = LossView(title="x", kp=8.0, node=FIRST, numbers=(number, open_), models=models)
        titles = [column.title for column in loss_columns(view)]
        assert titles == ["Error", "Webots Servo", "M1 one", "M6 other"]
        assert [[cell.text for cell in row] for row in loss_rows(view)] == [
            ["Fitted runs [mrad]", "11.0", "13.0", "1.50"],
            ["Held out [mrad]", "22.0", "24.0", "–"],
            ["Excess of the node [mrad]", "", "−2.0", "20.5"],
        ]
        assert numbers_text(view) == "95 %:  controlP 12.5 1/s (11.0 … 14.0),  maxForce 1.25 N·m (not determined)"
        panel = table_panel(view)
        assert panel.headings == ("Model", "Fitted runs [mrad]", "Held out [mrad]", "Node loses [mrad]")
        assert [row[0] for row in panel.rows] == titles[1:]
        assert panel.rows[1][1:] == pytest.approx((13.0, 24.0, -2.0))
        assert (panel.rows[2][2], panel.rows[2][3]) == ("", pytest.approx(20.5))

    def test_a_stop_ends_it(self, tab, qtbot):
        click(qtbot, tab.fit_button)
        click(qtbot, tab.stop_button)

        assert not tab.fitting.active
        assert tab.fit_button.isEnabled()
        assert not tab.table.isVisible()

    def test_what_can_be_asked_is_in_the_palette(self, tab):
        offered = {spec.text.replace("&", ""): spec for spec in tab.actions_offered()}
        assert offered["Fit a Webots Servo and compare it"].enabled()
        assert not offered["Try the fitted Webots node"].enabled()
