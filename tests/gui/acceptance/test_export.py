"""Acceptance of the export: what is seen before anything is written, and what the written files do."""

import pytest
from PySide6.QtCore import Qt

from bench_gui.export.view import NOT_CHECKED
from bench_gui.shell.tasks import EXPORT
from core.export import check_export
from core.export.targets.mujoco.xml import read_setup
from core.servo.shipped import load_model

FIRST_SEEN = EXPORT


def enter(person):
    """Open the export page with its targets and first preview."""
    window, exporting = person.window, person.controller.exporting
    window.show_task(EXPORT)
    exporting.learn_targets()
    person.until(lambda: window.export.target.count() > 0)
    person.until(lambda: window.export.files.count() > 0)
    return window.export


def choose(person, page, target):
    if page.target.currentData() == target:
        return
    with person.qtbot.waitSignal(person.controller.exporting.previewed, check_params_cb=bool):
        page.choose_target(target)


def simplest(page):
    """Choose M1, which needs no minute to be refitted, and return it."""
    page.model.setCurrentIndex(page.model.findData("catalogue:mx106:m1"))
    page.model.activated.emit(page.model.currentIndex())
    return load_model("mx106", "m1")


def read(page, name):
    (item,) = page.files.findItems(name, Qt.MatchFlag.MatchExactly)
    page.files.setCurrentItem(item)
    return page.text.toPlainText()


def test_model_export(person, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    page = enter(person)
    model = simplest(page)
    choose(person, page, "mujoco")
    readme = read(page, "README.md")
    for said in ("rad", "N·m", "counter-clockwise", "output shaft"):
        assert said in readme, said
    assert "gear" in readme.lower()
    assert page.error.text().startswith(NOT_CHECKED)
    assert "Not checked" in readme
    assert not list(tmp_path.rglob("*.xml")), "a preview leaves nothing"
    page.form.fields["kp"].setValue(24.0)
    assert page.files.count() == 0, "the old files under the new gain"
    assert not page.export_button.isEnabled()
    person.until(lambda: page.export_button.isEnabled())
    assert page.folder.text().endswith("/exports/dynamixel-mx-106-m1-mujoco")
    page.folder.setText("")
    person.qtbot.keyClicks(page.folder, str(tmp_path / "out"))
    person.click(page.check_button)
    person.until(lambda: "run in MuJoCo" in page.notes.text())
    stated = page.error.text().removesuffix(".")
    assert stated in page.notes.text()
    assert page.notes.isHidden()
    person.click(page.more)
    assert page.notes.isVisible()
    person.click(page.export_button)
    person.until(lambda: page.show_folder.isVisible())
    scene = next((tmp_path / "out").glob("*.pendulum.xml"))
    assert mujoco.MjModel.from_xml_path(str(scene)).nu >= 1
    assert read_setup(scene)["settings"]["kp"] == 24.0
    assert stated in (tmp_path / "out" / "README.md").read_text("utf-8")
    assert page.error.text() == f"{stated}."
    assert check_export(model, "mujoco", tmp_path / "out", kp=24.0).figure == stated
    page.form.fields["kp"].setValue(25.0)
    person.until(lambda: page.error.text().startswith(NOT_CHECKED))


def test_an_export_that_is_not_possible_says_why(person, monkeypatch):
    page = enter(person)
    simplest(page)
    choose(person, page, "mujoco")
    page.form.fields["timestep"].setValue(0.0)
    person.until(lambda: "step" in page.statement.text().lower() and page.files.count() == 0)
