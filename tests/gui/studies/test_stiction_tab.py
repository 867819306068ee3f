"""The stiction tab: curves follow the knobs, a verdict that can be obeyed, experiments beside the window."""

import re

import numpy as np
import pytest

from bench_gui.controller import Controller
from bench_gui.studies.stiction.tab import StictionTab
from core.base.units import DEGREES, RADIANS
from core.contact.bristle import Remedy, transformed
from core.contact.laws import Stribeck
from core.studies.stiction.documents import experiment_plot
from core.studies.stiction.exploring import HOLD, INTEGRAL, PULL, experiment


@pytest.fixture
def tab(qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller("simulated:mx106")
    made = StictionTab(controller)
    qtbot.addWidget(made)
    qtbot.addWidget(made.settings)
    qtbot.addWidget(made.buttons)
    made.show()
    made.settings.show()
    made.buttons.show()
    yield made
    controller.close()


def wait(qtbot, tab):
    def done():
        tab._controller.computations.tick()
        return not tab.simulating.active

    qtbot.waitUntil(done)


def drawn(chart, name):
    (curve,) = [each for each in chart.seen() if each.name == name]
    return curve


def test_curves_follow_the_knobs(tab):
    """Φ and Φ_Z are those of the fields, before anything is simulated."""
    tab.form.numbers["static"].setValue(3.0)
    law = Stribeck(static=3.0, coulomb=0.4, breakaway_speed=0.06, viscous=4.5)
    function, implicit = drawn(tab.friction.charts[0], "Stribeck"), drawn(tab.friction.charts[1], "Stribeck")

    np.testing.assert_allclose(function.y[function.x != 0.0], law.friction(function.x[function.x != 0.0]))
    wished, torque = transformed(law, tab.form.bristle(), float(function.x[-1]), 500)
    np.testing.assert_allclose(np.interp(implicit.x, wished, torque), implicit.y, atol=1e-9)
    assert not tab.simulating.active


def test_the_law_decides_about_the_fields(tab):
    form = tab.form
    form.law.setCurrentIndex(form.law.findData("coulomb"))
    visible = {name for name, box in form.numbers.items() if box.isVisible()}
    assert visible == {"coulomb", "viscous"}
    assert form.numbers["coulomb"].value() == 1.0
    assert "never falls" in tab.verdict.text()


def test_unsound_constants_are_told_and_mended(tab):
    """u > 1: the verdict names the parameters; the button changes the first of them."""
    tab.form.numbers["breakaway_speed"].setValue(0.02)
    assert "raise B to at least 95.5" in tab.verdict.text()
    assert tab.verdict.property("role") == "fault"
    assert tab.mend_button.isVisible()
    tab.mend_button.click()

    assert tab.form.damping.value() == 95.5
    assert tab.verdict.text().startswith("Sound")
    assert not tab.mend_button.isVisible()


def test_each_remedy_changes_the_parameter_it_names(tab):
    form = tab.form
    named = {
        "B": form.damping,
        "K": form.stiffness,
        "v_S": form.numbers["breakaway_speed"],
        "α": form.numbers["exponent"],
    }
    boxes = {**named, "F_S − F_C": form.numbers["static"]}
    for place, (symbol, box) in enumerate(boxes.items()):
        before = {other: each.value() for other, each in boxes.items()}
        value = 1.25 + 0.5 * place
        form.obey(Remedy(symbol=symbol, raised=True, value=value, unit=""))
        added = form.numbers["coulomb"].value() if box is form.numbers["static"] else 0.0
        assert {other: each.value() for other, each in boxes.items()} == {**before, symbol: value + added}


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [("static", 0.1, "Raise F_S or lower F_C"), ("exponent", 0.5, "raise α to at least 1")],
)
def test_numbers_that_no_friction_has(tab, field, value, told):
    tab.form.numbers[field].setValue(value)
    assert told.lower() in tab.verdict.text().lower()


def test_a_joint_the_bristle_would_shake(tab):
    """(K·T² + 2·B·T)/4 = 0.02625 kg·m² at 5000, 50, 1 ms."""
    tab.form.inertia.setValue(0.026)
    assert "0.02625 kg·m²" in tab.verdict.text()
    tab.entered()
    assert not tab.simulating.active
    assert "Cannot be simulated" in tab.text.text()
    assert tab.joint.charts[0].empty_text == tab.text.text()


def test_the_experiment_runs_when_it_comes_into_sight(tab, qtbot):
    """In a process of its own; angles in the unit of the window."""
    tab.entered()
    assert tab.joint.charts[0].empty_text == "Simulating the joint…"
    wait(qtbot, tab)
    assert tab.simulating.problem == ""
    assert "Rests at 71.9°" in tab.text.text()
    assert drawn(tab.joint.charts[0], "elastoplastic").y[-1] == pytest.approx(np.radians(71.86), abs=1e-3)
    tab._controller.set_angle_unit(DEGREES)
    assert drawn(tab.joint.charts[0], "elastoplastic").y[-1] == pytest.approx(71.86, abs=0.05)


@pytest.mark.parametrize(
    ("name", "told", "names"),
    [
        (INTEGRAL, "static friction is 2.5", {"goal", "elastoplastic"}),
        (HOLD, "sign() reverses", {"elastoplastic", "sign()", "tanh", "Karnopp"}),
        (PULL, "slips a second", {"pulled end", "elastoplastic", "sign()"}),
    ],
)
def test_what_experiments_show(tab, name, told, names):
    """What the process computes, and what is drawn of it."""
    tab.form.experiment.setCurrentIndex(tab.form.experiment.findData(name))
    view = experiment(tab.form.job(), None)
    tab.joint.show_plot(experiment_plot(view, RADIANS))

    assert told in view.text
    if name == INTEGRAL:
        low, high = map(float, re.search(r"a torque of ([\d.]+) … ([\d.]+) N·m", view.text).groups())
        assert low <= high
    assert {curve.name for curve in tab.joint.charts[0].seen()} == names
    assert all(np.isfinite(trace.position).all() for trace in view.traces)
