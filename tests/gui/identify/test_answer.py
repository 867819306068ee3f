"""The answer of an identification: verdict, what to do next, evidence by parameter, earlier results."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bench_gui.identify.answer import steps
from bench_gui.identify.answer.steps import next_steps, sentence
from bench_gui.identify.answer.words import cost, plan_in_words
from bench_gui.identify.evidence_table import COLUMNS, evidence_rows
from bench_gui.identify.fit.messages import FitProgress, FitResult, FittedModel
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.identify.tables import NOTE_COLUMN, OTHER_COLUMN, VALUE_COLUMN, ParameterTable
from bench_gui.shell.tasks import EXPORT, IDENTIFY
from core.identification.choice.recommendation import CROSS_VALIDATION, VALIDATION
from core.identification.evidence.certainty import Certainty, ParameterCertainty, Profile, ProfilePoint, Spread
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.identification.request import IdentificationRequest
from core.shipped import load_model
from core.trajectories import title_of
from sessions import Session
from sessions.results.folder import new_result_folder
from sessions.results.identifying import Watch, run_identification

FIRST_SEEN = IDENTIFY
CONDITIONS = [("mass = 0.5", "mass=0.5"), ("mass = 1", "mass=1.0"), ("kp = 8", "kp=8")]


def known(p, **changes):
    plain = {name: getattr(p, name) for name in ("name", "symbol", "unit", "value", "lower", "upper", "frozen")}
    return ParameterEvidence(**{**plain, "initial": p.value, "at_bound": "", "standard_error": 1e-3, **changes})


def row_with(changes=None, held_out=(0.002, 0.003), provenance=None, **evidence):
    """A fit of M1; changes: to the evidence of parameters by name."""
    model = load_model("mx106", "m1")
    model = replace(model, provenance={**model.provenance, **(provenance or {})})
    parts = tuple(known(p, **(changes or {}).get(p.name, {})) for p in model.parameters.values())
    found = Evidence(
        **{"parameters": parts, "conditions": (), "noise": 1e-3, "samples": 9, "independent": 5.0, **evidence}
    )
    return FittedModel(model, 0.002, 0.0025 if held_out else None, 0.003, 500, 1.0, None, found, held_out)


def result_of(row, by=VALIDATION, **request):
    other = replace(row, model=load_model("mx106", "m2"))
    asked = IdentificationRequest(servo="mx106", **request)
    return FitResult(
        (row, other), "m1", "M1 is recommended.", by, False, ("1", "2"), asked, None, held_out=len(row.held_out)
    )


def asked(row, result=None, conditions=(), changed=(), proposals=None):
    return next_steps(row, result or result_of(row, CROSS_VALIDATION), conditions, changed, proposals)


def test_nothing_is_asked_for_where_nothing_is_wrong():
    row = row_with()
    assert asked(row) == ()
    assert sentence((), row) == "Next: use M1, or export it; no open doubts."


def test_doubts_about_the_whole_model_come_before_those_about_one_value():
    """At most three, and what follows the act is said."""
    row = row_with(
        {"R": {"standard_error": math.inf, "initial": 3.0}, "armature": {"at_bound": "lower"}},
        search="not confirmed, there may be a better one: search longer",
        conditions=("every run has the same gain: record another",),
    )
    found = asked(row, result_of(row), CONDITIONS)
    assert [step.kind for step in found] == [steps.SEARCH, steps.HOLD_OUT, steps.PROPOSE]
    assert found[0].text == "Not confirmed, there may be a better one."
    assert found[0].value == 2000
    assert (found[1].button, found[1].value) == ("Hold out mass = 1", "mass=1.0")
    assert sentence(found, row) == "Next: search longer, then identify again."
    # Without these the values come, by how many of them are concerned.
    freeze, bounds = asked(
        row_with({"R": {"standard_error": math.inf, "initial": 3.0}, "armature": {"at_bound": "lower"}})
    )
    assert (freeze.kind, freeze.button, freeze.value) == (steps.FREEZE, "Freeze R at 3.000 Ω", ("R", 3.0))
    assert (bounds.kind, bounds.button) == (steps.BOUNDS, "Bounds of J_m…")


def test_a_condition_that_was_held_out_already_leads_to_a_cross_validation():
    row = row_with()
    (step,) = asked(row, result_of(row, validation="mass=1.0"), CONDITIONS)
    assert step.kind == steps.CROSS_VALIDATE
    assert asked(row, result_of(row), ()) == (), "nothing can be held out whole"


def test_placed_points_far_from_the_runs_are_flagged():
    points = {"placed_points": {"count": 6, "mean_error": 0.033}}
    (step,) = asked(row_with(provenance=points))
    assert step.kind == steps.POINTS
    assert "6 placed points are off by 33.0 mrad, the runs by 2.00 mrad" in step.text
    assert asked(row_with(provenance={"placed_points": {"count": 6, "mean_error": 0.004}})) == ()


def test_the_cost_of_a_search_is_split_into_runs_and_points():
    told = {
        "model": "m6",
        "trial": "",
        "repeat": 0,
        "points": ((10, 0.0366),),
        "candidate": None,
        "trials": 9,
        "done": 0.5,
    }
    told |= {"remaining": 1.0} if "remaining" in FitProgress.__dataclass_fields__ else {"text": ""}
    assert cost(FitProgress(**told)) == "cost 36.6 mrad"
    assert cost(FitProgress(**told, points_error=0.0334)) == "cost 36.6 mrad (runs 3.20, points 33.4)"


def test_what_will_be_used_is_said_before_it_begins():
    assert plan_in_words(FitSettings(), 7, 9) == "Fits M1 to M6 to 7 of 9 runs; 25 % is held out to judge the models."
    settings = FitSettings(models=("m1",), validation="none")
    quick = FitSettings(models=("m1", "m4", "m6"))
    assert plan_in_words(quick, 7, 7).startswith("Fits M1, M4, M6 to 7 runs;")
    assert plan_in_words(settings, 1, 1) == "Fits M1 to 1 run; none is held out to judge the models."


def certain(row, **intervals):
    parts = tuple(
        ParameterCertainty(
            name=p.name, symbol=p.symbol, unit=p.unit, value=p.value, half_width=1e-3, lowest=p.lower, highest=p.upper,
            **(intervals if p.name == "R" else {}),
        )
        for p in row.model.parameters.free
    )  # fmt: skip
    return Certainty(
        servo="mx106", friction="m1", parameters=parts, runs=("1",), draws=2, seed=0, stopped=False, notes=()
    )


def test_a_value_outside_its_own_interval_is_marked(qapp):
    row = row_with()
    value = row.model.values["R"]
    points = (ProfilePoint(value=value, deviance=0.0), ProfilePoint(value=0.8 * value, deviance=4.0))
    profile = Profile(name="R", lower=0.5 * value, upper=0.9 * value, points=points)
    spread = Spread(name="R", standard_error=0.1, lower=0.9 * value, upper=1.1 * value)
    found = certain(row, profile=profile, spread=spread)
    table = ParameterTable()
    table.set_parameters(list(row.model.parameters.values()), row.evidence, "", found)
    place = [p.name for p in row.model.parameters.values()].index("R")
    assert table.cell_at(place, NOTE_COLUMN).text == f"outside its own profile interval {profile.text}"
    assert {table.cell_at(place, column).tone for column in (VALUE_COLUMN, NOTE_COLUMN)} == {"fault"}
    assert table.cell_at(place - 1, NOTE_COLUMN).tone == "muted"


def test_every_method_has_a_column_of_the_evidence():
    row = row_with()
    value = row.model.values["R"]
    spread = Spread(name="R", standard_error=0.1, lower=0.9 * value, upper=1.1 * value)
    folds = [
        replace(row.model, parameters=row.model.parameters.with_values({"R": value * share})) for share in (0.9, 1.2)
    ]
    far = replace(row.model, parameters=row.model.parameters.with_values({"R": 2.0 * value}))
    variants = [("m1", (), folds[0]), ("m1", (), folds[1]), ("m2", (), far), ("m1", ("command_delay",), far)]
    fits = [SimpleNamespace(variant=SimpleNamespace(friction=f, command_path=c), model=m) for f, c, m in variants]
    coverage = {"R": {"verdict": "weak", "text": "record another gain"}}
    found = evidence_rows(row, certain(row, spread=spread), SimpleNamespace(fits=fits), coverage)
    assert [r[0].text for r in found] == [p.symbol for p in row.model.parameters.free]
    shown = dict(zip([column.title for column in COLUMNS], next(r for r in found if r[0].text == "R"), strict=True))
    assert shown["Profile 95 %"].text == "–"
    assert shown["Bootstrap 95 %"].text == spread.text
    assert [float(text) for text in shown["Held-out fits"].text.split(" … ")] == pytest.approx(
        [0.9 * value, 1.2 * value], rel=1e-2
    )
    assert (shown["Coverage"].text, shown["Coverage"].tone) == ("weak", "moving")


@pytest.fixture
def twice(session):
    """The recorded session with two identifications and the journals of their searches."""
    opened = Session.open(session)
    runs = opened.fit_ids()
    for trials in (64, 96):
        request = IdentificationRequest(
            servo="mx106", models=("m1", "m2"), trials=trials, data_hash=opened.data_hash(runs)
        )
        run_identification(opened.load_for_fit(runs), request, new_result_folder(session), Watch())
    return session


@pytest.fixture
def view(person, twice):
    person.open(twice)
    person.window.show_task(IDENTIFY)
    person.until(lambda: len(person.controller.fitting.kept) == 2)
    return person.window.identify


def test_an_earlier_result_comes_with_its_search_and_its_settings(person, view):
    fitting, form = person.controller.fitting, view.form
    assert fitting.result is fitting.kept[0]
    assert form.settings().trials == 96
    view.tabs.setCurrentWidget(view.search)
    assert not view.search.cost.isVisible(), "no axes without a curve"
    person.until(lambda: len(view.search.cost.curves) == 2)
    assert view.search.cost.isVisible()
    assert view.search.objective.text() == "Cost: mean |error| of the runs"
    x, y = view.search.cost.curves[0].getOriginalDataset()
    assert x[-1] >= 96
    assert (np.diff(y) <= 0).all()

    former = view.search.cost.curves
    view.earlier.shown.setCurrentIndex(1)
    view.earlier.shown.activated.emit(1)
    assert fitting.result is fitting.kept[1]
    assert form.settings().trials == 64
    person.until(lambda: len(view.search.cost.curves) == 2)
    assert not set(former) & set(view.search.cost.curves)
    listed = [e.model for e in person.controller.model_list.entries if e.origin == "identified"]
    assert listed == [row.model for row in fitting.kept[1].models], "what is shown can be used, compared and exported"


def test_two_results_are_compared(person, view):
    fitting, tab = person.controller.fitting, view.parameters
    view.tabs.setCurrentWidget(tab)
    assert tab.view.isColumnHidden(OTHER_COLUMN)
    view.earlier.other.setCurrentIndex(1)
    view.earlier.other.activated.emit(1)
    assert not tab.view.isColumnHidden(OTHER_COLUMN)
    friction = view.answer.selected.model.friction
    then = next(row for row in fitting.kept[1].models if row.model.friction == friction)
    shown = [float(tab.table.cell_at(n, OTHER_COLUMN).text.replace("−", "-")) for n in range(tab.table.rowCount())]
    assert shown == pytest.approx(list(then.model.values.values()), rel=1e-3)
    assert f"against {fitting.kept[1].title}" in tab.compared.text()


def test_a_step_changes_the_settings_and_leads_to_another_identification(person, view):
    form, panel = view.form, view.answer.next
    person.until(lambda: view.answer.card.title.isVisible())
    assert view.answer.card.next.text().startswith("Next: ")
    buttons = {button.text(): button for button in panel.buttons}
    assert 1 <= len(buttons) <= 3
    hold_out = next(button for text, button in buttons.items() if text.startswith("Hold out “"))
    person.click(hold_out)
    rule = form.settings().validation
    assert rule.startswith("trajectory=")
    assert hold_out.text() == f"Hold out “{title_of(rule.partition('=')[2])}”"
    assert form.changed_since == ("Hold out",)
    assert panel.buttons[0].text() == "Identify again"
    assert "identify again" in view.answer.card.next.text()
    person.click(form.restore_button)
    assert form.changed_since == ()
    assert "Identify again" not in [button.text() for button in panel.buttons]


def test_a_parameter_is_shown_in_full_and_frozen(person, view):
    tab = view.parameters
    view.tabs.setCurrentWidget(tab)
    assert not tab.detail.isVisible()
    tab.view.selectRow(0)
    assert tab.detail.isVisible()
    assert "Correlated" in tab.detail.text.text() or "correlated" in tab.detail.text.text()
    person.click(tab.detail.freeze_button)
    first = view.answer.selected.model.parameters.free[0]
    assert dict(view.form.settings().frozen) == {first.name: first.value}
    person.click(tab.detail.close_button)
    assert not tab.detail.isVisible()


def test_the_selected_model_is_exported(person, view):
    picked = 1 - view.answer.ladder.recommended_row
    view.answer.view.selectRow(picked)
    person.click(view.answer.card.export_button)
    assert person.controller.model_list.current.model is view.answer.ladder.row(picked).model
    assert person.window.stack.currentIndex() == EXPORT


def test_before_the_first_identification_one_button_says_what_will_be_used(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    view = person.window.identify
    assert view.answer.card.begin_button.text() == "Identify from 3 runs"
    assert view.answer.card.choice.text() == "Fits M1 to M6 to 3 runs; 25 % is held out to judge the models."
    assert [button.text() for button in view.answer.next.buttons] == ["Check coverage", "Propose recordings"]
    assert not view.answer.view.isVisible()
    view.form.hold_out("none")
    assert "none is held out" in view.answer.card.choice.text()
