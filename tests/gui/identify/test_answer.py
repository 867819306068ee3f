"""The answer of an identification: verdict, next step, evidence by parameter, earlier results."""

import math
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtGui import QUndoStack

from bench_gui import file_dialogs
from bench_gui.headless.symbols import with_symbols
from bench_gui.identify.answer.sentences import cost, objective, plan_in_words, search_in_words
from bench_gui.identify.evidence_table import COLUMNS, evidence_rows
from bench_gui.identify.fit.messages import FitOverlay, FitProgress, FittedModel
from bench_gui.identify.fit.overlay_plots import OverlayPlots
from bench_gui.identify.fit.parameter_detail import ParameterDetail
from bench_gui.identify.fit.parameters_tab import ParametersTab
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.fit.warning_list import WarningList
from bench_gui.identify.tables import (
    FOREST_COLUMN,
    NOTE_COLUMN,
    OTHER_COLUMN,
    SYMBOL_COLUMN,
    VALUE_COLUMN,
    ParameterTable,
)
from bench_gui.shell.tasks import EXPORT, IDENTIFY
from bench_gui.shell.tasks import RECORD as RECORD_PAGE
from bench_gui.state.models import ModelList
from core.base.units import fixed, significant, with_uncertainty
from core.identification.cautions import LABELS, step_of
from core.identification.choice.recommendation import CROSS_VALIDATION, VALIDATION, Recommendation
from core.identification.coverage.findings import (
    BOUNDS,
    CROSS_VALIDATE,
    FREEZE,
    HOLD_OUT,
    POINTS,
    RECORD,
    SEARCH,
    Diagnosis,
    Finding,
)
from core.identification.evidence.certainty import LIMIT, Certainty, ParameterCertainty, Profile, ProfilePoint, Spread
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.identification.overlay import JudgedRun, RunOverlay
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, ModelResult
from core.identification.runs.split import Split
from core.identification.search.start import of_variant
from core.motion.trajectories import title_of
from core.servo.model import build_model
from core.servo.shipped import load_model
from sessions import Session
from sessions.results.folder import new_result_folder
from sessions.results.identifying import Watch, run_identification
from tests.kept import kept

FIRST_SEEN = IDENTIFY


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


def answered(row, by=CROSS_VALIDATION, rule="25%", hold_out="mass=1.0"):
    """The answer of an identification of M1 and M2 whose runs raise no doubts."""
    models = {"m1": row.model, "m2": load_model("mx106", "m2")}
    results = tuple(
        ModelResult(
            model=model, train_mae=row.train_mae, validation_mae=row.validation_mae, validation_rmse=None,
            evaluations=row.evaluations, wall_seconds=1.0, repeats=(), evidence=row.evidence,
        )
        for model in models.values()
    )  # fmt: skip
    held_out = tuple(map(str, range(len(row.held_out))))
    diagnosis = Diagnosis(
        friction="m1", findings=(), hold_out=hold_out, rounding=4e-4, noise=math.nan, repeatability=math.nan,
        tried=("zero", "time"),
    )  # fmt: skip
    found = Identification(
        IdentificationRequest(servo="mx106"), Split(rule, ("a",), held_out), results, False, diagnosis=diagnosis
    )
    found.__dict__["recommendation"] = Recommendation(friction="m1", by=by, text="M1 is recommended.")
    return found.answer()


def asked(row, **answer):
    """Return the steps of the warnings about a model, in their order."""
    return [step_of(warning, row.model) for warning in answered(row, **answer).warnings]


def test_nothing_is_asked_for_where_nothing_is_wrong():
    row = row_with()
    assert asked(row) == []
    step = answered(row).step
    assert (step.action, step.text) == ("export", "Export the model: there are no objections.")


def test_doubts_about_the_whole_model_come_before_those_about_one_value():
    row = row_with(
        {"R": {"standard_error": math.inf, "initial": 3.0}, "armature": {"at_bound": "lower"}},
        search="not confirmed, there may be a better one: search longer",
        conditions=("every run has the same gain: record another",),
    )
    found = asked(row, by=VALIDATION)
    assert found[0] == answered(row, by=VALIDATION).step
    assert [(step.action, step.subject, step.label) for step in found] == [
        (SEARCH, "2000", "Search longer"),
        (HOLD_OUT, "mass=1.0", "Hold out mass = 1"),
        (FREEZE, "R=3.0", "Freeze motor resistance at 3.000 Ω"),
        (BOUNDS, "armature", "Change the bounds…"),
        (RECORD, "", "Record more runs"),
    ]
    assert found[0].text == "Search longer, because not confirmed, there may be a better one."
    assert (
        found[1].text == "Hold out mass = 1 and identify again, because 2 held-out runs are too few to choose a model."
    )
    assert found[-1].text == "Record another, because every run has the same gain."


def test_a_condition_that_was_held_out_already_leads_to_a_cross_validation():
    row = row_with()
    for changes in ({"rule": "mass=1.0"}, {"hold_out": ""}):
        (step,) = asked(row, by=VALIDATION, **changes)
        assert step.action == CROSS_VALIDATE


def test_placed_points_far_from_the_runs_are_flagged():
    points = {"placed_points": {"count": 6, "mean_error": 0.033}}
    (step,) = asked(row_with(provenance=points))
    assert step.action == POINTS
    assert "6 placed points are off by 33.0 mrad, the runs by 2.00 mrad" in step.text
    assert asked(row_with(provenance={"placed_points": {"count": 6, "mean_error": 0.004}})) == []


def test_a_remedy_that_only_a_person_can_carry_out_shows_its_warning():
    header = Finding(kind="header_kp", severity="warning", text="kp is 1.5 times the stated value", remedy="correct kp")
    step = step_of(header, row_with().model)
    assert (step.action, step.label, step.text) == ("", "Show the warning", "Correct kp.")


def test_a_search_under_way_is_told_with_its_numbers():
    """The cost is split into runs and points; the best model so far is the one with the smallest error."""
    told = {"model": "m6", "trial": "without β", "repeat": 0, "points": ((10, 0.05), (250, 0.0366)), "candidate": None}
    told |= {"trials": 9, "done": 0.42, "text": ""}
    assert cost(FitProgress(**told)) == "cost 36.6 mrad"
    split = FitProgress(**told, points_error=0.0334)
    assert cost(split) == "cost 36.6 mrad (runs 3.20, points 33.4)"
    errors = {"m1": 0.002, "m4": 0.0015, "m6": math.inf}
    rows = [replace(row_with(), model=load_model("mx106", name), train_mae=mae) for name, mae in errors.items()]
    assert search_in_words(split, rows, "20 s of about 60 s") == (
        "Identifying M6 without β · best so far M4, cost 1.50 mrad",
        "20 s of about 60 s. M6: cost 36.6 mrad (runs 3.20, points 33.4) after 250 evaluations",
    )
    assert search_in_words(split, [], "")[0] == "Identifying M6 without β"
    request = IdentificationRequest(servo="mx106", metric="rmse", prior=0.01)
    assert objective(request) == "root mean square of the runs + prior"


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
    row = row_with({"R": {"standard_error": 0.01}, "armature": {"standard_error": math.inf}})
    value = row.model.values["R"]
    spread = Spread(name="R", standard_error=0.1, lower=0.9 * value, upper=1.1 * value)
    points = (ProfilePoint(value=value, deviance=0.0), ProfilePoint(value=0.8 * value, deviance=4.0))
    profile = Profile(name="R", lower=0.7 * value, upper=1.3 * value, points=points)
    folds = [
        replace(row.model, parameters=row.model.parameters.with_values({"R": value * share})) for share in (0.9, 1.2)
    ]
    far = replace(row.model, parameters=row.model.parameters.with_values({"R": 2.0 * value}))
    variants = [("m1", (), folds[0]), ("m1", (), folds[1]), ("m2", (), far), ("m1", ("command_delay",), far)]
    fits = [
        SimpleNamespace(variant=SimpleNamespace(friction=f, command_path=c, contact=m.contact), model=m)
        for f, c, m in variants
    ]
    coverage = {"R": {"verdict": "weak", "text": "record another gain"}}
    sure = certain(row, spread=spread, profile=profile)
    found = evidence_rows(row, sure, SimpleNamespace(fits=fits), coverage)
    assert [r[1].text for r in found] == [p.symbol for p in row.model.parameters.free]
    assert [r[0].text for r in found] == [p.description.partition(",")[0] for p in row.model.parameters.free]
    titles = [column.title for column in COLUMNS]
    shown = dict(zip(titles, next(r for r in found if r[1].text == "R"), strict=True))
    assert {title: shown[title].text for title in titles if title not in ("Parameter", "Held-out fits", "Verdict")} == {
        **{"Symbol": "R", "Value": f"{fixed(value, 3)} Ω", "Linearised 95 %": "± 0.020"},
        **{"Profile 95 %": profile.text, "Bootstrap 95 %": spread.text, "Coverage": "weak"},
    }
    low, high = (float(text) for text in shown["Held-out fits"].text.split(" … "))
    assert (low, high) == pytest.approx((0.9 * value, 1.2 * value), rel=1e-2)
    assert shown["Coverage"].tone == "moving"
    # What has not been done is said with where to begin it; a value that is open has no interval.
    bare = {r[1].text: dict(zip(titles, r, strict=True)) for r in evidence_rows(row, None, None, {})}
    assert [bare["R"][title].text for title in titles[4:8]] == ["–"] * 4
    assert [bare["R"][title].tip.rpartition(" under ")[2] for title in titles[4:8]] == [
        "Certainty", "Certainty", "Cross-validation", "Coverage",
    ]  # fmt: skip
    assert (bare["J_m"]["Linearised 95 %"].text, bare["R"]["Verdict"].text) == ("∞", "good")
    assert {cell.tone for cell in bare["J_m"].values()} == {"muted"}, "not determined"
    assert {cell.tone for title, cell in bare["R"].items() if title != "Verdict"} == {""}
    table = ParameterTable()
    table.set_parameters(list(row.model.parameters.values()), row.evidence)
    tones = {cells[SYMBOL_COLUMN].text: {cell.tone for cell in cells} for cells in table.rows}
    assert tones["J_m"] == {"muted"}, "the whole row"


def test_intervals_of_another_fit_are_not_shown_beside_a_value(qtbot):
    row = row_with()
    spread = Spread(name="R", standard_error=0.1, lower=1.75, upper=2.25)
    changed = replace(row, model=row.model.with_values({"R": 1.01 * row.model.values["R"]}))
    tab = ParametersTab(SettingsForm(QUndoStack(), ModelList()))
    qtbot.addWidget(tab)
    place = [p.name for p in row.model.parameters.values()].index("R")
    for shown, expected in ((row, 2), (changed, 1)):
        tab.show_row(shown, certain(row, spread=spread))
        assert len(tab.table.cell_at(place, FOREST_COLUMN).value.intervals) == expected


def test_a_parameter_is_told_with_all_that_is_known_of_it(qtbot):
    """Each number in its own line; a search under way knows bounds only."""
    row = row_with({"R": {"standard_error": 0.05, "initial": 3.25, "traded_with": ("k_t",)}})
    parameter, known_of_it = row.model.parameters["R"], row.evidence.of("R")
    points = (ProfilePoint(value=1.0, deviance=0.5), ProfilePoint(value=2.0, deviance=math.inf),
              ProfilePoint(value=3.0, deviance=4.5))  # fmt: skip
    profile = Profile(name="R", lower=1.5, upper=None, points=points)
    spread = Spread(name="R", standard_error=0.1, lower=1.75, upper=2.25)
    (sure,) = [p for p in certain(row, profile=profile, spread=spread).parameters if p.name == "R"]
    frozen = []
    detail = ParameterDetail(lambda *asked: frozen.append(asked), lambda: None, lambda: None)
    qtbot.addWidget(detail)
    detail.show_parameter(parameter, known_of_it, sure, "")
    bounds = f"Bounds {significant(parameter.lower)} … {significant(parameter.upper)} Ω"
    assert detail.text.text().split("<br>") == [
        f"<b>{with_uncertainty(parameter.value, known_of_it.half_width, 'Ω')}</b>",
        bounds,
        "Start value 3.250 Ω",
        "Correlated with k<sub>t</sub>",
        f"Profile {profile.text} Ω",
        f"Bootstrap {spread.text} Ω",
    ]
    drawn = {curve.name: curve for curve in detail.profile.seen()}
    assert (drawn["profile"].x.tolist(), drawn["profile"].y.tolist()) == ([1.0, 3.0], [0.5, 4.5])
    assert set(drawn["95 %"].y) == {LIMIT}
    detail.freeze_button.click()
    assert frozen == [("R", parameter.value)]
    detail.show_parameter(parameter, None, None, "")
    assert detail.text.text().split("<br>") == [f"<b>{significant(parameter.value)} Ω</b>", bounds]
    assert not detail.profile.isVisible()


def test_the_overlay_shows_one_run_and_offers_the_others_the_worst_first(qtbot):
    """Measured, simulated at the start of the search and by the model; the residual is what the model is ahead."""
    levels = {"measured": 0.1, "initial": 0.3, "simulated": 0.6}
    run = RunOverlay("0001_a", np.arange(4.0), **{key: np.full(4, level) for key, level in levels.items()})
    runs = (JudgedRun("0001_a", "steps", 0.5), JudgedRun("0002_b", "steps", 0.25))
    plots = OverlayPlots()
    qtbot.addWidget(plots)
    plots.show_overlay(FitOverlay("m4", runs, run))
    drawn = {key: curve.getOriginalDataset()[1][0] for key, curve in plots.curves.items()}
    assert drawn == pytest.approx({**levels, "residual": 500.0})
    assert [plots.run.itemText(place) for place in (0, 1)] == ["500.0 mrad, 0001 Steps", "250.0 mrad, 0002 Steps"]
    assert [step.isEnabled() for step in plots.steps] == [False, True]
    with qtbot.waitSignal(plots.picked) as picked:
        plots.steps[1].click()
    assert picked.args == ["0002_b"]
    plots.resize(800, plots.minimumSizeHint().height())
    plots.show()
    qtbot.wait(1)
    for chart, name in ((plots.position, "Position"), (plots.residual, "Residual")):
        assert name in chart.axes["left"].labelText, "also in the lowest window"


@pytest.fixture(scope="module")
def made_twice(request):
    """The recorded session with two identifications and the journals of their searches."""

    def two_identifications(folder):
        path = shutil.copytree(request.getfixturevalue("recorded"), folder / "twice")
        opened = Session.open(path)
        runs = opened.fit_ids()
        for trials in (64, 96):
            request_ = IdentificationRequest(
                servo="mx106", models=("m1", "m2"), trials=trials, data_hash=opened.data_hash(runs)
            )
            run_identification(opened.load_for_fit(runs), request_, new_result_folder(path), Watch())

    return kept(two_identifications) / "twice"


@pytest.fixture
def view(person, made_twice, tmp_path):
    person.open(shutil.copytree(made_twice, tmp_path / "twice"))
    person.window.show_task(IDENTIFY)
    person.until(lambda: len(person.controller.fitting.kept) == 2)
    return person.window.identify


def test_an_earlier_result_comes_with_its_search_and_its_settings_and_is_compared(person, view):
    fitting, form = person.controller.fitting, view.form
    assert fitting.result is fitting.kept[0]
    assert form.settings().trials == 96
    view.tabs.show_part(view.search)
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

    tab, other = view.parameters, fitting.kept[0]
    view.tabs.show_part(tab)
    assert tab.view.isColumnHidden(OTHER_COLUMN)
    place = view.earlier.other.findText(other.title)
    view.earlier.other.setCurrentIndex(place)
    view.earlier.other.activated.emit(place)
    assert not tab.view.isColumnHidden(OTHER_COLUMN)
    friction = view.answer.selected.model.friction
    then = next(row for row in other.models if row.model.friction == friction)
    shown = [float(tab.table.cell_at(n, OTHER_COLUMN).text.replace("−", "-")) for n in range(tab.table.rowCount())]
    assert shown == pytest.approx(list(then.model.values.values()), rel=0.05), "two digits where not determined"
    assert f"against {other.title}" in tab.compared.text()


def test_another_recommendation_is_followed_unless_another_model_was_picked(person, view):
    """As after a cross-validation; the answer does not vanish with the order of the rows."""
    fitting, answer = person.controller.fitting, view.answer
    names = [row.model.friction for row in fitting.result.models]
    first = answer.selected.model.friction
    assert first == fitting.result.recommended
    other = next(name for name in names if name != first)

    def judge(recommended):
        fitting.result = replace(fitting.result, recommended=recommended)
        fitting.judged.emit(fitting.result)
        return answer.selected.model.friction, answer.card.title.text().split(" ")[0]

    assert judge(other) == (other, other.upper())
    answer.view.selectRow(answer.ladder.place_of(first))
    assert judge(first) == (first, first.upper())
    answer.view.selectRow(answer.ladder.place_of(other))
    assert judge(other) == (other, other.upper())
    answer.view.selectRow(answer.ladder.place_of(first))
    assert judge(other) == (first, first.upper())


def test_a_step_a_parameter_and_the_selected_model_lead_on(person, view):
    form, card, listed = view.form, view.answer.card, view.evidence.warnings
    person.until(lambda: card.title.isVisible())
    answer = person.controller.fitting.result.answers[view.answer.selected.model.friction]
    assert (card.next.text(), card.step_button.text()) == (with_symbols(answer.next_step), answer.step.label)
    place = next(n for n, warning in enumerate(answer.warnings) if warning.action == HOLD_OUT)
    listed.text.linkActivated.emit(str(place))
    rule = form.settings().validation
    assert rule.startswith("trajectory=")
    assert f"Hold out “{title_of(rule.partition('=')[2])}”</a>" in listed.text.text()
    assert form.changed_since == ("Hold out",)
    assert card.step_button.text() == "Identify again"
    assert card.next.text() == "Identify again, because this has changed since the result: Hold out."
    person.click(form.restore_button)
    assert form.changed_since == ()
    assert card.step_button.text() == answer.step.label
    assert view.start_button.property("kind") == "", "the card has the one primary button"
    assert {*view._acts} == {*LABELS, "export"}
    listed.step_wanted.emit("record", "3")
    assert person.window.stack.currentIndex() == RECORD_PAGE
    person.window.show_task(IDENTIFY)

    tab = view.parameters
    view.tabs.show_part(tab)
    assert not tab.detail.isVisible()
    tab.view.selectRow(0)
    assert tab.detail.isVisible()
    person.click(tab.detail.freeze_button)
    first = view.answer.selected.model.parameters.free[0]
    assert dict(form.settings().frozen) == {first.name: first.value}
    person.click(tab.detail.close_button)
    assert not tab.detail.isVisible()

    view.tabs.segments.choose(0)
    picked = 1 - view.answer.ladder.recommended_row
    view.answer.view.selectRow(picked)
    person.click(view.answer.card.export_button)
    assert person.controller.model_list.current.model is view.answer.ladder.row(picked).model
    assert person.window.stack.currentIndex() == EXPORT


# Where a search starts.


def titles(form):
    return [form.start.itemText(place) for place in range(form.start.count())]


def pick(form, title):
    """Choose an entry as a person does."""
    place = titles(form).index(title)
    form.start.setCurrentIndex(place)
    form.start.activated.emit(place)


@pytest.fixture
def starting(qtbot):
    """The form of an identification, with two identified models and those of the catalogue."""
    model_list, stack = ModelList(), QUndoStack()
    model_list.set_servo("mx106")
    slow = {f"m{n}": load_model("mx106", f"m{n}").with_values({"R": 1.0 + n}) for n in (1, 2)}
    model_list.set_identified(list(slow.values()))
    form = SettingsForm(stack, model_list)
    qtbot.addWidget(form)
    form.offer([], "mx106")
    return SimpleNamespace(form=form, stack=stack, model_list=model_list, models=slow)


def test_a_search_starts_from_an_identified_model_that_outlives_its_list(starting):
    form = starting.form
    assert titles(form)[:3] == ["catalogue", "M1", "M2"]
    assert titles(form)[-1] == "a file…"
    assert "M6 catalogue" in titles(form)
    before = form.settings()
    pick(form, "M2")
    assert dict(form.settings().request("mx106").start) == starting.models["m2"].values
    starting.stack.undo()
    assert form.settings() == before
    assert form.start.currentText() == "catalogue"
    starting.stack.redo()
    assert form.start.currentText() == "M2"
    starting.model_list.set_identified([])
    assert dict(form.settings().start) == starting.models["m2"].values
    assert form.start.currentText() == "M2"
    pick(form, "catalogue")
    assert "M2" not in titles(form)
    assert form.settings().request("mx106").start == ()


def test_a_file_of_another_servo_is_refused_with_the_reason(starting, tmp_path, monkeypatch):
    form, problems = starting.form, []
    starting.model_list.problem.connect(problems.append)
    earlier, other = tmp_path / "earlier.json", tmp_path / "other.json"
    earlier.write_text(replace(load_model("mx106", "m4"), name="unit 1").to_json_text())
    other.write_text(load_model("xl330", "m4").to_json_text())
    for file in (earlier, other, tmp_path / "gone.json", ""):
        monkeypatch.setattr(file_dialogs, "ask", lambda *_, file=file, **__: ([str(file)], ""))
        pick(form, "a file…")
        assert dict(form.settings().start) == load_model("mx106", "m4").values
        assert form.start.currentText() == "M4 earlier"
    assert len(problems) == 2
    assert "a model of xl330, the recordings are of mx106; give one of the same servo" in problems[0]


def test_a_model_of_a_variant_is_offered_with_what_is_scaled(starting, tmp_path, monkeypatch):
    form, known = starting.form, load_model("sts3215_7v4", "m1")
    form.offer([], "sts3215_c044")
    (tmp_path / "unit.json").write_text(known.to_json_text())
    monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([str(tmp_path / "unit.json")], ""))
    pick(form, "a file…")
    assert dict(form.settings().start) == of_variant(known.values, 191 / 345)
    assert form.start.currentText().endswith(
        ": a model of the variant sts3215_7v4, 1:345, scaled to the gear ratio of sts3215_c044, 1:191"
    )


def test_a_released_motor_is_said_beside_beta(qtbot):
    model = build_model("mx106", "m1", command_path=("release_braking",))
    parameters = list(model.parameters.values())
    evidence = Evidence(
        parameters=tuple(known(p, standard_error=0.01) for p in parameters),
        conditions=(), noise=1.5e-3, samples=1234, independent=56.0,
    )  # fmt: skip
    text = evidence.torque_off(model.control).text
    assert text.startswith("partly braking")
    table, warnings = ParameterTable(), WarningList()
    qtbot.addWidget(warnings)
    table.set_parameters(parameters, evidence, text)
    notes = [table.data(table.index(row, NOTE_COLUMN)) for row in range(table.rowCount())]
    assert [p.name for p, note in zip(parameters, notes, strict=True) if note == text] == ["release_braking"]
    warnings.show_warnings((), replace(row_with(), evidence=evidence), text)
    assert f"Torque off: {text}." in warnings.basis.text()
    assert "a noise of 1.50 mrad" in warnings.basis.text()
    assert "56 independent samples of 1234" in warnings.basis.text()
