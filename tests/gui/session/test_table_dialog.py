"""A table of another program is asked about: the guess is shown, what is missing is said, the answer is kept."""

import json
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QUrl
from PySide6.QtTest import QTest

from bench_gui.session.dialogs.about_runs import VariantDialog
from bench_gui.session.dialogs.table_dialog import TableDialog
from bench_gui.shell.tasks import BENCH
from tests.bench.goal_shifts import SERVO, planted, written

FIRST_SEEN = BENCH

UNITS = "The unit of position is one of rad, mrad, deg, rev, counts; a factor and an offset may follow"
TIME = 0.01 * np.arange(200)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "sin_sin_kp400.csv"
    rows = [f"{1000 * t:g},{40 * np.sin(2 * t):.4f},{38 * np.sin(2 * t):.4f},7" for t in TIME]
    path.write_text("\n".join(["t_ms,goal,angle,x", *rows]) + "\n")
    return path


def dropped(person, path, kind: Any = TableDialog) -> Any:
    """The dialog that appears when a file is dropped."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    person.window.session.opening.take(mime)
    questions = person.window.session.questions
    person.until(lambda: questions.dialog is not None)
    assert isinstance(questions.dialog, kind)
    return questions.dialog


def test_a_supply_that_the_servo_does_not_run_on_is_said_beside_it(person, table):
    dialog = dropped(person, table)
    dialog.servo.setCurrentIndex(dialog.servo.findData("sts3215"))
    for name, value in {"mass": 0.3, "length": 0.12, "kp": 16.0, "supply_voltage": 7.4}.items():
        dialog.facts[name].setValue(value)
    assert dialog.reason.text() == (
        "7.4 V is outside the 9 to 13 V of sts3215, but fits sts3215_7v4 or sts3215_c044 or sts3215_c046: "
        "check the servo"
    )
    assert dialog.import_button.isEnabled()
    dialog.servo.setCurrentIndex(dialog.servo.findData("sts3215_7v4"))
    assert dialog.reason.text().startswith("The import checks")
    dialog.close()


def test_a_log_of_an_unclear_variant_is_asked_about(person, tmp_path):
    entries = [{"timestamp": t, "goal_position": 0.0, "position": 0.1 * t, "torque_enable": True} for t in TIME]
    facts = {"mass": 0.2, "length": 0.1, "kp": 16, "vin": 7.4, "motor": "sts3215", "trajectory": "sin_sin"}
    (tmp_path / "log.json").write_text(json.dumps({**facts, "entries": entries}))
    library = person.controller.library
    before = len(library.runs)
    dialog = dropped(person, tmp_path / "log.json", VariantDialog)
    assert dialog.text.text().startswith("7.4 V is outside the 9 to 13 V of sts3215, but fits sts3215_7v4")
    names = [dialog.servo.itemData(place) for place in range(dialog.servo.count())]
    assert names == ["sts3215_7v4", "sts3215_c044", "sts3215_c046", "sts3215"]
    assert not library.loading
    assert len(library.runs) == before
    dialog.servo.setCurrentIndex(1)
    dialog.import_button.click()
    person.until(lambda: any(run.servo == "sts3215_c044" for run in library.runs))


def chosen(dialog):
    return {
        channel: (box.currentData(), dialog.units[channel].currentText())
        for channel, box in dialog.columns.items()
        if box.currentData()
    }


def test_a_table_is_imported_once_it_is_understood(person, table):
    dialog = dropped(person, table)
    assert chosen(dialog) == {"time": ("t_ms", "ms"), "goal_position": ("goal", "deg"), "position": ("angle", "deg")}
    assert not dialog.import_button.isEnabled()
    assert dialog.pattern.text() == "{trajectory}_kp{kp}"
    assert dialog.reason.text() == "Missing: servo, mass, length"
    dialog.pattern.clear()
    assert dialog.reason.text() == "Missing: servo, mass, length, kp"
    dialog.servo.setCurrentIndex(dialog.servo.findData("xl330"))
    facts = {"mass": 0.3, "length": 0.12, "arm_mass": 0.02, "angle_offset": 0.05, "supply_voltage": 7.1}
    assert {*facts, "kp"} == set(dialog.facts)
    for name, value in facts.items():
        dialog.facts[name].setValue(value)
    assert dialog.reason.text() == "Missing: kp"
    dialog.pattern.setText("{trajectory}_m{kp}")
    assert "does not fit" in dialog.reason.text()
    dialog.pattern.setText("{trajectory}_kp{kp}")
    current = dialog.columns["current"]
    current.setCurrentIndex(current.findData("x"))
    dialog.units["current"].setCurrentIndex(dialog.units["current"].findData("mA"))
    dialog.columns["time"].setCurrentIndex(0)
    assert dialog.reason.text() == "Choose the column of time"
    dialog.columns["time"].setCurrentIndex(dialog.columns["time"].findData("t_ms"))
    assert dialog.import_button.isEnabled()
    dialog.import_button.click()
    library = person.controller.library
    person.until(lambda: len(library.runs) == 1)
    [run] = library.runs
    assert (run.trajectory, run.kp, run.servo) == ("sin_sin", 400.0, "xl330")
    [recording] = library.session.load_all()
    read = {**vars(recording.bench), "supply_voltage": recording.settings.supply_voltage}
    assert {name: read[name] for name in facts} == facts
    np.testing.assert_allclose(recording.channels["current"], 7e-3)

    other = table.with_name("other.csv")
    other.write_text(table.read_text())
    again = dropped(person, other)
    assert chosen(again)["current"] == ("x", "mA")
    assert again.servo.currentData() == "xl330"
    # What cannot be is refused.
    for name, value in {"mass": 5.0, "length": 0.1, "kp": 400.0}.items():
        again.facts[name].setValue(value)
    again.import_button.click()
    person.until(lambda: "XL330-M288, 0.52 N·m, cannot hold" in person.message)
    assert len(library.runs) == 1


def test_a_factor_and_an_offset_may_follow_a_unit(person, table):
    dialog = dropped(person, table)
    dialog.servo.setCurrentIndex(dialog.servo.findData("xl330"))
    for name, value in {"mass": 0.3, "length": 0.12, "kp": 400.0}.items():
        dialog.facts[name].setValue(value)
    unit = dialog.units["position"]
    for typed, said in (("degs", UNITS), ("", UNITS), ("s", UNITS), ("deg", "The import checks")):
        unit.setCurrentText(typed)
        assert said in dialog.reason.text()
        assert dialog.import_button.isEnabled() == (typed == "deg")
    dialog.units["goal_position"].setCurrentText("deg*-1+90")
    unit.setCurrentText(" deg*-1+90")
    assert dialog.import_button.isEnabled()
    dialog.import_button.click()
    library = person.controller.library
    person.until(lambda: len(library.runs) == 1)
    [recording] = library.session.load_all()
    np.testing.assert_allclose(recording.position, np.radians(90.0 - 38 * np.sin(2 * TIME)), atol=1e-5)
    (table.parent / "other.csv").write_text(table.read_text())
    assert chosen(dropped(person, table.parent / "other.csv"))["position"] == ("angle", "deg*-1+90")


@pytest.mark.parametrize(("mass", "length"), [("0.49", "0.1"), ("0,49", "0,1")])
def test_facts_are_typed_over_the_dash(person, table, mass, length):
    dialog = dropped(person, table)
    dialog.servo.setCurrentIndex(dialog.servo.findData("xl330"))
    for name, text in (("mass", mass), ("length", length), ("kp", "400")):
        box = dialog.facts[name]
        assert box.text() == box.specialValueText() != ""
        box.setFocus()
        box.lineEdit().setCursorPosition(len(box.text()))
        QTest.keyClicks(box, text)
    assert (dialog.facts["mass"].value(), dialog.facts["length"].value()) == (0.49, 0.1)
    assert dialog.import_button.isEnabled()
    box.selectAll()
    QTest.keyClicks(box, "1.000,5")
    dialog.import_button.click()
    assert not person.controller.library.runs
    assert dialog.isVisible()
    assert dialog.import_button.text() == "Correct Gain kp"


def test_goals_that_were_logged_late_are_moved_by_the_shift_that_explains_most(person, tmp_path):
    """The dialog offers it, and a process of its own computes it."""
    run = planted(0)[1][1]
    [path] = written([run], 1, tmp_path)
    dialog = dropped(person, path)
    assert dialog.shift.currentText() == "as logged"
    dialog.servo.setCurrentIndex(dialog.servo.findData(SERVO))
    dialog.facts["length"].setValue(run.bench.length)
    dialog.facts["supply_voltage"].setValue(run.settings.supply_voltage)
    dialog.pattern.setText("{trajectory}_m{mass}_kp{kp}")
    dialog.shift.setCurrentIndex(dialog.shift.findText("automatic"))
    assert dialog.import_button.isEnabled(), dialog.reason.text()
    dialog.import_button.click()
    library = person.controller.library
    person.until(lambda: len(library.runs) == 1)
    [found] = library.session.load_all()
    assert found.provenance["goal_shift"] == -1
    assert "goals moved 1 row earlier: the error of a quick fit falls from" in person.message
