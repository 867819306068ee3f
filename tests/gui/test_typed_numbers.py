"""Every number field of the window takes a point or a comma, swallows no key and refuses group separators."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QVBoxLayout, QWidget

import bench_gui
from bench_gui.connect.servo.own_servo_dialog import entries_of, filled
from bench_gui.record.plan_form import _numbers
from bench_gui.widgets.fields import AngleBox, NumberBox, WholeBox, angle, number, whole
from core.base.errors import InputError
from core.base.units import DEGREES
from core.servo.catalogue import new_servo_text, own_servo

pytest_plugins = ["tests.gui.whole"]

GROUPED = ("1.000,5", "1,000.5", "1 000", "1,000,000")


def type_into(box, text):
    """Replace the whole text, key by key, and leave the field."""
    box.selectAll()
    QTest.keyClicks(box, text)
    box.lineEdit().setFocus()
    QTest.keyClick(box, Qt.Key.Key_Return)


def shape_of(box):
    """What a field accepts: fields of one shape answer alike."""
    return type(box), box.decimals() if isinstance(box, NumberBox) else 0, bool(box.specialValueText())


def check(box):
    """Type numbers into a field as a German and as an English speaker would."""
    before, low, high = box.value(), box.minimum(), box.maximum()
    decimals = box.decimals() if isinstance(box, NumberBox) else 0
    step = 10.0**-decimals
    wanted = round(min(max(low + 0.37 * (min(high, low + 100.0) - low), low + step), high), decimals)
    text = f"{wanted:.{decimals}f}"
    try:
        for typed in (text, text.replace(".", ",")):
            box.setValue(type(before)(low))
            type_into(box, typed)
            assert (box.value(), box.refusal) == (pytest.approx(wanted), ""), typed
        for typed in (*GROUPED, "0;5", "1/2", *(["2,5", "2.5"] if decimals == 0 else ["0,5,"])):
            type_into(box, typed)
            assert (box.value(), bool(box.refusal)) == (pytest.approx(wanted), True), typed
            assert typed in box.text(), "what was typed stays visible"
    finally:
        box.setValue(before)


def test_no_field_is_made_without_the_reading_of_numbers():
    """Qt's own fields read "0,5" as 5."""
    made = re.compile(r"\b(QSpinBox|QDoubleSpinBox|QInputDialog|QDoubleValidator|QIntValidator)[.(]")
    files = [path for path in Path(bench_gui.__file__).parent.rglob("*.py") if made.search(path.read_text("utf-8"))]
    assert files == []


def test_every_field_of_every_page_and_inspector(whole):
    window = whole.window
    boxes = {}
    for box in window.findChildren(QAbstractSpinBox):
        assert isinstance(box, NumberBox | WholeBox), box.accessibleName()
        boxes.setdefault(shape_of(box), box)
    assert len(boxes) > 8
    for box in boxes.values():
        with QSignalBlocker(box):
            check(box)


@pytest.mark.parametrize(
    "make",
    [
        lambda: number("Load", "Mass", "kg", 1.0, 0.0, 100.0),
        lambda: number("Rate", "Samples", "Hz", 200.0, 20.0, 1000.0, 0),
        lambda: number("Factor", "No unit", "1", 1.0, -5.0, 5.0, 6),
        lambda: angle("Amplitude", "Angle", DEGREES, 0.5, -3.0, 3.0),
        lambda: angle("Speed", "Speed", DEGREES, 0.5, -3.0, 3.0, "/s"),
        lambda: whole("Repeats", "How often", 3, 0, 50),
        lambda: whole("Threads", "How many", 0, 0, 64, special="automatic"),
        lambda: whole("Baud", "Rate", 9600, 0, 4_000_000, unit="baud"),
    ],
)
def test_a_field_of_each_kind(qtbot, make):
    box = make()
    holder = QWidget()
    QVBoxLayout(holder).addWidget(box)
    qtbot.addWidget(holder)
    holder.show()
    check(box)
    if box.minimum() < 0.0 and not isinstance(box, AngleBox):
        for typed in ("-0,5", "-.5", "-,5", "-5e-1"):
            type_into(box, typed)
            assert box.value() == -0.5


@pytest.mark.parametrize("special", ["—", "automatic"])
def test_typing_replaces_the_word_for_the_lowest_value(qtbot, special):
    box = number("Load", "Mass", "kg", 0.0, 0.0, 10.0)
    box.setSpecialValueText(special)
    qtbot.addWidget(box)
    box.show()
    for place in range(len(special) + 1):
        box.setValue(0.0)
        box.lineEdit().deselect()
        box.lineEdit().setCursorPosition(place)
        QTest.keyClicks(box, "0.49")
        QTest.keyClick(box, Qt.Key.Key_Return)
        assert (box.value(), box.refusal) == (0.49, ""), place


def test_pasted_text_is_read_like_typed_text(qtbot):
    box = number("Load", "Mass", "kg", 1.0, 0.0, 10.0)
    qtbot.addWidget(box)
    box.show()
    for text, value, refused in (("0,5 kg", 0.5, False), ("0.25", 0.25, False), ("1.000,5", 0.25, True)):
        box.selectAll()
        QApplication.clipboard().setText(text)
        box.lineEdit().paste()
        QTest.keyClick(box, Qt.Key.Key_Return)
        assert (box.value(), bool(box.refusal)) == (value, refused)


@pytest.mark.parametrize(
    ("unit", "typed"),
    [("m", "1 mm"), ("m", "2mm"), ("m", "3 cm"), ("kg", "4 g"), ("s", "5 ms"), ("Hz", "6 kHz"), ("N·m", "7 mN·m")],
)
def test_a_number_in_another_unit_is_refused(qtbot, unit, typed):
    box = number("Length", "A unit that is the end of others", unit, 0.5, 0.0, 100.0)
    qtbot.addWidget(box)
    for text in (typed, f"{typed} {unit}"):
        box.lineEdit().setText(text)
        QTest.keyClick(box, Qt.Key.Key_Return)
        assert (box.value(), bool(box.refusal)) == (0.5, True), text
    box.lineEdit().setText(f"2 {unit} {unit}")
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert (box.value(), box.refusal) == (2.0, "")


def test_lists_of_the_plan_take_commas_and_guess_nothing():
    assert _numbers("0,5; 1; 1,5", "Loads") == _numbers("0.5, 1, 1.5", "Loads") == (0.5, 1.0, 1.5)
    for text in (*GROUPED, "1,5", "0,5, 1"):
        with pytest.raises(InputError, match="Loads"):
            _numbers(text, "Loads")


def test_every_number_of_an_own_servo_takes_a_comma():
    template = new_servo_text("hexa")
    entries = entries_of(template)
    comma = {entry: entry.value.strip('"').replace(",", ";").replace(".", ",") for entry in entries
             if re.fullmatch(r"[\[\]0-9., -]+", entry.value)}  # fmt: skip
    assert len(comma) > 12
    assert own_servo(filled(template, comma)) == own_servo(template)
