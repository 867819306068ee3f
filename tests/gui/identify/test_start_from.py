"""Starting a search from a known model, and what the window says of a released motor."""

from dataclasses import replace

from PySide6.QtWidgets import QFileDialog

from bench_gui.identify.fit.settings import FitSettings
from bench_gui.identify.fit.warning_list import WarningList
from bench_gui.identify.tables import NOTE_COLUMN, ParameterTable
from bench_gui.shell.tasks import IDENTIFY
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.model import build_model
from core.shipped import load_model

FIRST_SEEN = IDENTIFY


def titles(form):
    return [form.start.itemText(place) for place in range(form.start.count())]


def pick(form, title):
    """Choose an entry as a person does."""
    place = titles(form).index(title)
    form.start.setCurrentIndex(place)
    form.start.activated.emit(place)


def test_identified_models_and_the_catalogue_s_are_offered(person, identified):
    person.open(identified)
    person.window.show_task(IDENTIFY)
    form = person.window.identify.form
    person.until(lambda: "M2" in titles(form))
    assert titles(form)[0] == "catalogue"
    assert titles(form)[-1] == "a file…"
    assert "M6 catalogue" in titles(form)
    person.until(lambda: form.settings().models == ("m1", "m2"))
    before = form.settings()
    assert before == FitSettings(models=("m1", "m2"), command_path="off")
    pick(form, "M2")
    known = next(e.model for e in person.controller.model_list.entries if e.title == "M2")
    request = form.settings().request("mx106")
    assert dict(request.start) == known.values
    assert form.changed_since == ("Start from",)
    assert "Changed since this result: Start from." in form.changed_note.text()
    person.controller.undo.undo()
    assert form.settings() == before
    assert form.changed_since == ()
    assert form.start.currentText() == "catalogue"
    person.controller.undo.redo()
    assert form.start.currentText() == "M2"
    form.back_to_defaults()
    assert form.settings().request("mx106").start == ()


def test_a_start_outlives_the_models_it_was_among(person, identified):
    person.open(identified)
    form = person.window.identify.form
    person.until(lambda: "M1" in titles(form))
    pick(form, "M1")
    start = form.settings().start
    person.controller.model_list.set_identified([])
    assert form.settings().start == start
    assert form.start.currentText() == "M1"
    pick(form, "catalogue")
    assert "M1" not in titles(form)


def test_a_file_of_another_servo_is_refused_with_the_reason(person, session, tmp_path, monkeypatch):
    person.open(session)
    form, problems = person.window.identify.form, []
    person.controller.model_list.problem.connect(problems.append)
    earlier, other = tmp_path / "earlier.json", tmp_path / "other.json"
    earlier.write_text(replace(load_model("mx106", "m4"), name="unit 1").to_json_text())
    other.write_text(load_model("xl330", "m4").to_json_text())
    for file in (earlier, other, tmp_path / "gone.json", ""):
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, file=file: (str(file), ""))
        pick(form, "a file…")
        assert dict(form.settings().start) == load_model("mx106", "m4").values
        assert form.start.currentText() == "M4 earlier"
    assert len(problems) == 2
    assert "a model of xl330, but the runs are of mx106; choose a model of the same servo" in problems[0]


def test_a_released_motor_is_said_beside_beta(qtbot):
    model = build_model("mx106", "m1", command_path=("release_braking",))
    parameters = list(model.parameters.values())
    evidence = Evidence(
        parameters=tuple(
            ParameterEvidence(
                **{n: getattr(p, n) for n in ("name", "symbol", "unit", "value", "lower", "upper", "frozen")},
                initial=p.value, at_bound="", standard_error=0.01,
            )
            for p in parameters
        ),
        conditions=(), noise=1e-3, samples=10, independent=5.0,
    )  # fmt: skip
    text = evidence.torque_off(model.control).text
    assert text.startswith("partly braking")
    table, warnings = ParameterTable(), WarningList()
    qtbot.addWidget(warnings)
    table.set_parameters(parameters, evidence, text)
    notes = [table.data(table.index(row, NOTE_COLUMN)) for row in range(table.rowCount())]
    assert [p.name for p, note in zip(parameters, notes, strict=True) if note == text] == ["release_braking"]
    warnings.show_evidence(evidence, text)
    assert f"Torque off: {text}." in warnings.basis.text()
