"""Names of exports: two servos beside each other keep files, symbols and motion of their own, and no file is lost."""

import shutil
import subprocess

import pytest

from core.base.atomic import write_atomically
from core.base.errors import ExportError
from core.export import export_model, exporters
from core.export.files import README, slug
from core.servo.model import with_contact
from core.servo.shipped import load_model
from core.servo.terms import CONTACTS

CC = shutil.which("gcc") or shutil.which("cc")
MODEL = load_model("mx106", "m1")
pytestmark = pytest.mark.usefixtures("hardly_refitted")
TARGETS = [target for target in exporters() if target != "webots-servo"]
"""The Servo node takes a search of seconds and shares no name with the others."""


def test_the_default_gain_keeps_the_model_s_name(tmp_path):
    first = export_model(MODEL, "c", tmp_path)
    again = export_model(MODEL, "c", tmp_path, kp=MODEL.default_settings().kp)
    assert first.files == again.files
    assert (tmp_path / f"{slug(MODEL.title)}.servo.h").exists()


@pytest.mark.skipif(CC is None, reason="there is no C compiler")
def test_two_servos_of_one_symbol_do_not_compile(tmp_path):
    for kp in (2.5, 32.0):
        export_model(MODEL, "c", tmp_path / f"{kp:g}", kp=kp, name="elbow")
    (tmp_path / "both.c").write_text('#include "2.5/elbow.servo.h"\n#include "32/elbow.servo.h"\n')
    done = subprocess.run([str(CC), "-fsyntax-only", tmp_path / "both.c"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "redefinition of" in done.stderr


@pytest.mark.parametrize(
    ("changed", "ending"),
    [
        ({"kp": 2.5}, "kp-2-5"),
        ({"kp": 2.5, "supply_voltage": 12.5}, "kp-2-5-12-5-v"),
        ({"supply_voltage": 12.5}, "12-5-v"),
        ({"name": "left elbow", "kp": 2.5}, "left-elbow"),
    ],
)
def test_what_differs_from_the_catalogue_is_in_the_name(tmp_path, changed, ending):
    result = export_model(MODEL, "c", tmp_path, **changed)
    assert {path.name.partition(".")[0] for path in result.files[1:-1]} == {
        ending if "name" in changed else f"{slug(MODEL.title)}-{ending}"
    }


@pytest.mark.parametrize("contact", CONTACTS)
def test_all_targets_share_a_folder(tmp_path, contact):
    model = with_contact(MODEL, contact)
    for target in TARGETS if contact == "rigid" else ("drake", "bam"):
        export_model(model, target, tmp_path)
    export_model(model, "genesis", tmp_path, drive="plain")


def test_a_file_of_somebody_else_is_kept(tmp_path):
    header = tmp_path / f"{slug(MODEL.title)}.servo.h"
    header.write_text("/* mine */\n")
    with pytest.raises(ExportError, match=r"servo\.h exists and differs.*--name.*--force"):
        export_model(MODEL, "c", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [header.name]
    export_model(MODEL, "c", tmp_path, force=True)
    assert "static const" in header.read_text()


def test_an_export_is_not_replaced_by_one_that_differs(tmp_path):
    export_model(MODEL, "mjlab", tmp_path)
    written = {path: path.read_bytes() for path in tmp_path.iterdir()}
    export_model(MODEL, "mjlab", tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == written
    with pytest.raises(ExportError, match="exists and differs"):
        export_model(MODEL, "mjlab", tmp_path, timestep=0.002)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == written


def test_an_export_cut_short_leaves_no_readme_without_its_notes(tmp_path, monkeypatch):
    """Killed after any of its writes, the folder has the whole README or none."""
    kills = 0
    (note,) = [
        note for note in export_model(MODEL, "drake", tmp_path / "whole").notes if "computed as identified" in note
    ]
    for survived in range(8):
        folder, left = tmp_path / str(survived), survived

        def dying(path, data, folder=folder):
            nonlocal left
            if path.parent == folder:
                if left == 0:
                    raise KeyboardInterrupt
                left -= 1
            write_atomically(path, data)

        monkeypatch.setattr("core.export.files.write_atomically", dying)
        try:
            export_model(MODEL, "drake", folder)
        except KeyboardInterrupt:
            kills += 1
        assert not (folder / README).exists() or note in (folder / README).read_text()
    assert 0 < kills < 8
