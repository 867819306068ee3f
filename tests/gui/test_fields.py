"""Fields for numbers: what is beyond their bounds stays in sight, marked, and is not taken."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStyleOptionComboBox, QVBoxLayout, QWidget

from bench_gui.widgets.fields import Section, angle, choice, number, refusals, whole
from core.base.units import DEGREES


@pytest.fixture
def form(qtbot):
    """A section of three fields and another widget to go to."""
    made = QWidget()
    column = QVBoxLayout(made)
    section = Section("Motion")
    made.fields = {
        "Duration": number("Duration", "How long", "s", 6.0, 0.1, 600.0),
        "Repeats": whole("Repeats", "How often", 3, 1, 50),
        "Amplitude": angle("Amplitude", "How far", DEGREES, 0.5, -1.0, 1.0),
    }
    for name, field in made.fields.items():
        section.row(name, field)
    column.addWidget(section)
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def type_into(qtbot, field, text, key=Qt.Key.Key_Tab):
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, key)


def reasons(form):
    return [
        label.text() for label in form.findChildren(QLabel) if label.property("role") == "fault" and label.isVisible()
    ]


@pytest.mark.parametrize("key", [Qt.Key.Key_Tab, Qt.Key.Key_Return])
@pytest.mark.parametrize(
    ("name", "typed", "reason"),
    [
        ("Duration", "900", "At most 600 s; still 6 s"),
        ("Duration", "0.01", "At least 0.1 s; still 6 s"),
        ("Repeats", "70", "At most 50; still 3"),
        ("Amplitude", "-80", "At least −57.3 °; still 28.65 °"),
    ],
)
def test_a_number_beyond_the_bounds_is_marked_and_not_taken(qtbot, form, name, typed, reason, key):
    field = form.fields[name]
    before, changes = field.value(), []
    field.valueChanged.connect(changes.append)
    type_into(qtbot, field, typed, key)
    assert field.text().startswith(typed), "what was typed stays in sight"
    assert (field.value(), changes) == (before, [])
    assert reasons(form) == [reason]
    assert field.property("refused") == "yes"
    assert refusals(form) == [f"{name}: {reason}"]
    field.setValue(before + 1.0 if name != "Repeats" else 4)
    assert reasons(form) == refusals(form) == []


def test_a_refused_number_that_is_corrected_is_taken(qtbot, form):
    field = form.fields["Duration"]
    type_into(qtbot, field, "900")
    type_into(qtbot, field, "90")
    assert field.value() == 90.0
    assert reasons(form) == []
    type_into(qtbot, field, "0.05", Qt.Key.Key_Tab)
    assert reasons(form) == ["At least 0.1 s; still 90 s"]


def test_while_a_number_is_typed_nothing_is_refused(qtbot, form):
    field = form.fields["Duration"]
    field.setFocus()
    field.selectAll()
    for digit in "0.05":
        qtbot.keyClicks(field, digit)
        assert reasons(form) == []


def test_others_may_mark_a_field_with_their_own_reason(form):
    form.fields["Amplitude"].refuse("Beyond the servo's angle limits: 1.2 rad")
    assert reasons(form) == ["Beyond the servo's angle limits: 1.2 rad"]
    form.fields["Amplitude"].refuse("")
    assert reasons(form) == []


@pytest.mark.parametrize(("width", "whole_text"), [(90, False), (300, True)])
def test_the_text_of_a_combo_box_is_elided_where_it_does_not_fit(qtbot, width, whole_text):
    title = "VSA with coupled motors"
    box = choice("Type", "Type of the actuator", [(title, None)])
    qtbot.addWidget(box)
    box.setFixedWidth(width)
    drawn = QStyleOptionComboBox()
    box.initStyleOption(drawn)
    assert (drawn.currentText == title) is whole_text
    assert whole_text or drawn.currentText.endswith("…")
    assert box.currentText() == title


@pytest.mark.parametrize("typed", ["-3", "−3"])
def test_a_whole_number_prints_a_true_minus_sign(qtbot, typed):
    box = whole("Steps", "", 0, -9, 9)
    qtbot.addWidget(box)
    box.lineEdit().setText(typed)
    box.settle()
    assert (box.value(), box.text()) == (-3, "−3")
