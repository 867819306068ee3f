"""Widgets bound to the fields of a dataclass: read, shown quietly, and told apart when a person edits one."""

import json
from dataclasses import dataclass, replace

import pytest
from PySide6.QtWidgets import QCheckBox, QLineEdit

from bench_gui.widgets.binding import Binding
from bench_gui.widgets.checks_menu import ChecksMenu
from bench_gui.widgets.fields import angle, choice, number, whole
from core.base.units import DEGREES


@dataclass(frozen=True)
class Asked:
    """A field for each kind of widget."""

    kind: str = "b"
    count: int | None = 7
    step: float = 0.005
    tilt: float = 0.5
    quick: bool = True
    place: str = "lab"
    models: tuple[str, ...] = ("m1",)


@pytest.fixture
def binding(qapp):
    made = Binding()
    made.bind("kind", choice("Kind", "", [("A", "a"), ("B", "b")]))
    made.bind("count", whole("Count", "", 0, 0, 50), optional=True)
    made.bind("step", number("Step", "", "ms", 0.0, 0.0, 50.0), scale=1e-3)
    made.bind("tilt", angle("Tilt", "", DEGREES, 0.0, -1.0, 1.0))
    made.bind("quick", QCheckBox())
    made.bind("place", QLineEdit())
    made.bind("models", ChecksMenu("Models", "", [("m1", "M1", "M1"), ("m2", "M2", "M2")]))
    return made


def test_what_is_shown_is_read_again_and_is_no_edit(binding):
    edited = []
    binding.edited.connect(edited.append)
    for asked in (Asked(), Asked(kind="a", count=None, step=0.02, tilt=-0.25, quick=False, place="", models=("m2",))):
        binding.show(asked)
        assert replace(Asked(), **binding.values()) == asked
    assert edited == []


def test_what_was_kept_comes_back_through_a_file(binding):
    binding.show(Asked(kind="a", count=None, step=0.02, tilt=-0.25, quick=False, place="", models=("m2",)))
    kept = json.loads(json.dumps(binding.values()))
    binding.show(Asked())
    binding.restore(kept)
    assert json.loads(json.dumps(binding.values())) == kept
    assert binding.last == binding.values()


@pytest.mark.parametrize("damage", [{"kind": "c"}, {"count": 51}, {"count": "x"}, {"models": ["m1", "m9"]}, {"no": 1}])
def test_damaged_values_change_nothing(binding, damage):
    before = binding.values()
    with pytest.raises((LookupError, TypeError, ValueError)):
        binding.restore({"place": "hall", **damage})
    assert binding.values() == before


def test_an_edit_names_its_field(binding):
    edited = []
    binding.edited.connect(edited.append)
    binding.show(Asked())
    for name, act in (
        ("kind", lambda box: box.setCurrentIndex(0)),
        ("count", lambda box: box.setValue(3)),
        ("step", lambda box: box.setValue(2.0)),
        ("tilt", lambda box: box.setValue(10.0)),
        ("quick", lambda box: box.setChecked(False)),
        ("place", lambda box: box.setText("hall")),
        ("models", lambda box: box.choices["m2"].trigger()),
    ):
        act(binding.widgets[name])
        assert edited.pop() == name
        assert edited == []
    assert binding.values()["step"] == 0.002
