"""What an export says of its own error: one statement, measured against the model as it was identified."""

import json
import re
from pathlib import Path

import pytest

from bench_gui.cli import main
from core.export import approximation, check_export, export_model, exporters
from core.export.files import NOT_CHECKED, README
from core.export.servo_file import servo_text
from core.servo.model import RATIONAL_WIDTH, with_contact
from core.servo.shipped import load_model
from tests.core.conftest import catalogue_model

MODEL = with_contact(load_model("mx106", "m6"), "elastoplastic")
AS_IDENTIFIED = "are computed as identified"


pytestmark = pytest.mark.usefixtures("hardly_refitted")


FIGURE = re.compile(r"\d mrad")
TARGETS = [
    *("mujoco-hook", "c", "mujoco", "bam"),
    *(
        pytest.param(target, marks=pytest.mark.exhaustive("targets written by the same functions"))
        for target in exporters()
        if target not in ("mujoco-hook", "c", "mujoco", "bam")
    ),
]
OTHER_FIGURES = re.compile("BAM|bam|half a time step|At that time step|brakes too weakly")
"""Lines about other drives in files of their own, about the engine's lead, and about PhysX's brake."""


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_claimed_of_a_motion_before_a_check(tmp_path, target):
    """Neither 0 nor the error over the runs that a refit used."""
    result = export_model(load_model("mx106", "m6"), target, tmp_path)
    readme = (tmp_path / README).read_text("utf-8")
    own = [line for line in readme.splitlines() if not OTHER_FIGURES.search(line)]
    assert NOT_CHECKED in readme
    assert not FIGURE.search("\n".join(own))
    assert "not checked" in result.heading()


@pytest.mark.parametrize("target", ["genesis", "bam", "drake", "mujoco-plugin", "pybullet", "webots"])
def test_a_rational_contact_written_as_a_rigid_one_is_stated(tmp_path, target):
    """So is the Stribeck velocity, which is then another number; neither where the contact is written as it is."""
    model = with_contact(load_model("mx106", "m2"), "elastoplastic_rational")
    notes = " ".join(export_model(model, target, tmp_path / "it").notes)
    assert "contact is elastoplastic, rational and is written as a rigid one" in notes
    assert f"with {RATIONAL_WIDTH:g} times the Stribeck velocity" in notes
    assert AS_IDENTIFIED not in notes
    for kept in (load_model("mx106", "m2"), with_contact(load_model("mx106", "m1"), "elastoplastic_rational")):
        assert "times the Stribeck velocity" not in " ".join(export_model(kept, target, tmp_path / kept.friction).notes)


def test_only_the_check_gives_a_figure_and_it_is_the_same_everywhere(tmp_path, capsys):
    """Mean and worst run, in terminal, README and JSON; a second export of the same files keeps it."""
    words = ["export", "mx106:m6", "--to", "c", "-o", str(tmp_path)]
    assert main(words) == 0
    assert "not checked: " in capsys.readouterr().out
    found = check_export(load_model("mx106", "m6"), "c", tmp_path)
    assert main([*words, "--check"]) == 0
    printed = capsys.readouterr().out
    for text in (printed, (tmp_path / README).read_text("utf-8")):
        assert text.count(found.figure) == 1
        assert NOT_CHECKED not in text
    assert main(words) == 0
    assert found.figure in (tmp_path / README).read_text("utf-8")
    capsys.readouterr()
    assert main([*words, "--json", "--check"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["checked"]["worst_mrad"] == found.worst_mrad
    assert told["checked_mrad"] == found.mean_mrad


def test_another_export_of_the_same_name_loses_the_check(tmp_path):
    model = load_model("mx106", "m1")
    export_model(model, "json", tmp_path)
    check_export(model, "json", tmp_path)
    assert NOT_CHECKED not in (tmp_path / README).read_text("utf-8")
    export_model(model.with_values({"kt": 2.0}), "json", tmp_path, force=True)
    assert NOT_CHECKED in (tmp_path / README).read_text("utf-8")


@pytest.mark.parametrize("target", ["drake", "bam", "urdf"])
def test_a_contact_that_is_lost_is_noted(tmp_path, target):
    export_model(MODEL, target, tmp_path)
    readme = (tmp_path / README).read_text("utf-8")
    assert AS_IDENTIFIED not in readme
    assert "contact" in readme


@pytest.mark.parametrize("target", ["mujoco-hook", "mjlab", "isaaclab", "c"])
def test_a_contact_that_is_held_is_said_first_and_once(tmp_path, target):
    result = export_model(MODEL, target, tmp_path)
    assert not result.approximated
    assert (tmp_path / README).read_text("utf-8").count(AS_IDENTIFIED) == 1
    assert [AS_IDENTIFIED in note for note in result.notes] == [True] + [False] * (len(result.notes) - 1)


@pytest.mark.parametrize("offset", [0.25, -0.125])
def test_the_zero_of_a_servo_is_said_and_in_its_numbers(tmp_path, offset):
    model = catalogue_model("xl330", "m1", values={"q_offset": offset})
    for target in ("drake", "c", "mjlab"):
        notes = export_model(model, target, tmp_path).notes
        (note,) = [note for note in notes if note.startswith("Zero")]
        assert f"is at {offset:g} rad" in note
        assert f"its goal {offset:+g} rad" in note
    assert json.loads(servo_text(model, model.default_settings()))["zero_offset"] == offset
    assert f"shaft is at {offset!r} rad" in next(tmp_path.glob("*.servo.h")).read_text()


def test_a_readme_names_the_licence(tmp_path):
    export_model(load_model("mx106", "m1"), "c", tmp_path)
    assert "SPDX: Apache-2.0" in (tmp_path / README).read_text("utf-8")


def test_exported_programs_stand_alone_and_name_papers_by_their_authors():
    """A reader of an export does not know what a "seed" is; random seeds are numbers."""
    for program in (Path(approximation.__file__).parent / "standalone").iterdir():
        if program.suffix in (".py", ".c", ".h"):
            assert not re.search(r"\bseed 00\d", program.read_text("utf-8")), program.name
            assert not re.search(r"^\s*(from|import) core\b", program.read_text("utf-8"), re.MULTILINE), program.name
