"""What an export says of its own error: one statement, measured against the model as it was identified."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from core.export import approximation, export_model
from core.export.files import README
from core.export.references import bench_grid, converged_positions, default_bench
from core.export.servo_file import servo_text
from core.model import with_contact
from core.shipped import load_model
from tests.core.conftest import catalogue_model

MODEL = with_contact(load_model("mx106", "m6"), "elastoplastic")
EXACT = "Nothing is approximated"


pytestmark = pytest.mark.usefixtures("hardly_refitted")


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("drake", {}),
        ("bam", {}),
        ("urdf", {}),
        *(
            pytest.param(target, options, marks=pytest.mark.exhaustive("the other targets that lose it"))
            for target, options in (
                ("genesis", {}), ("webots", {}), ("mujoco", {}), ("usd", {}), ("genesis", {"drive": "plain"}),
            )
        ),
    ],
)  # fmt: skip
def test_a_contact_that_is_lost_is_in_the_stated_error(tmp_path, target, options):
    result = export_model(MODEL, target, tmp_path, **options)
    readme = (tmp_path / README).read_text("utf-8")
    rigid = with_contact(MODEL, "rigid")
    lost = np.mean(
        [
            np.abs(converged_positions(MODEL, run) - converged_positions(rigid, run)).mean()
            for run in bench_grid(default_bench(MODEL), MODEL.default_settings())
        ]
    )
    assert EXACT not in readme
    assert "contact" in readme
    stated = [float(number) for number in re.findall(r"([0-9.]+) mrad on average", " ".join(result.notes))]
    assert stated == [pytest.approx(result.error_mrad, abs=0.006)]
    if target in ("drake", "webots") or (target == "genesis" and not options):
        assert result.error_mrad == pytest.approx(1e3 * lost)
        assert result.error_mrad > 1.0


@pytest.mark.parametrize("target", ["mujoco-hook", "mjlab", "isaaclab", "c"])
def test_a_contact_that_is_held_costs_nothing(tmp_path, target):
    result = export_model(MODEL, target, tmp_path)
    assert result.error_mrad == 0.0
    assert (tmp_path / README).read_text("utf-8").count(EXACT) == 1
    assert sum(EXACT in note for note in result.notes) == 1


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
