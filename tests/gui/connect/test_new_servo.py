"""A servo of one's own from the form: checked while one types, kept, and offered at once."""

import pytest

from bench_gui.connect.servo.own_servo_dialog import ServoDialog, entries_of, filled
from bench_gui.shell.tasks import BENCH
from core.servo.catalogue import SERVOS_VARIABLE, load_servo, new_servo_text, own_servo

FIRST_SEEN = BENCH


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "servos"))
    return tmp_path / "servos"


def test_the_form_has_a_field_for_every_entry_of_the_template():
    text = new_servo_text()
    entries = entries_of(text)
    assert filled(text, {e: e.value.strip('"') for e in entries}) == text
    assert filled(text, {e: e.value.strip('"[]') for e in entries}) == text, "without the syntax of the file"
    named = filled(text, {e: "my-servo, other" for e in entries if e.name == "aliases"})
    assert own_servo(named).aliases == ("my-servo", "other")
    assert all(e.meaning or e.name in ("encoder_counts_per_turn", "ratings") for e in entries)
    assert [e.path for e in entries][:3] == ["name", "title", "vendor"]
    written = own_servo(filled(text, {e: "hexa" for e in entries if e.name == "name"}))
    assert written == own_servo(new_servo_text("hexa"))


def test_a_wrong_value_is_said_beside_its_field_and_cannot_be_saved(qtbot):
    dialog = ServoDialog(None)
    qtbot.addWidget(dialog)
    assert dialog.save_button.isEnabled()
    for path, text, said in (
        ("[ratings] stall_torque", "1.003,5", "[ratings] stall_torque = '1.003,5' must be a number"),
        ("[ratings] stall_torque", "", "[ratings] stall_torque = '' must be a number"),
        ("[motor] kt", "[3, 1, 2]", "[motor] kt = [3, 1, 2] must be [start, lowest, highest]"),
        ("name", 'mx106"\nx=1', "name = "),
        ("name", "mx106", "'mx106' is already a name of the shipped servo mx106"),
    ):
        field = dialog.fields[path]
        before = field.text()
        field.setText(text)
        field.textEdited.emit(text)
        assert dialog.state.text().startswith(said)
        assert not dialog.save_button.isEnabled()
        assert (dialog.captions[path].property("role") == "fault") == ("is already a name of" not in said)
        field.setText(before)
        field.textEdited.emit(before)
        assert (dialog.state.text(), dialog.save_button.isEnabled()) == ("", True)


def test_a_new_servo_is_chosen_at_once(person, folder):
    view = person.window.page(BENCH)
    person.window.show_task(BENCH)
    person.click(view.connection.new_button)
    dialog = view.servo_dialog
    for path, text in (("name", "hexa"), ("title", "Hexa 12"), ("[ratings] stall_torque", "1.5")):
        dialog.fields[path].setText(text)
        dialog.fields[path].textEdited.emit(text)
    view.choose_family("dynamixel")
    person.click(dialog.save_button)
    assert dialog.state.text() == "Hexa 12 added"
    assert person.controller.servo.address.startswith("dynamixel:"), "a form for another connection stays as it is"
    person.click(dialog.use_button)
    person.until(lambda: view.servo_dialog is None)

    assert load_servo("hexa").stall_torque == 1.5
    assert "# at the nominal supply [N·m]" in (folder / "hexa.toml").read_text("utf-8")
    assert person.controller.servo.address == "simulated:hexa"
    assert view.connection.fields["servo"].currentText() == "Hexa 12"
    person.window.status_bar.menu.aboutToShow.emit()
    assert "Hexa 12 (simulated)" in [action.text() for action in person.window.status_bar.menu.actions()]

    # The recorder is another process, which finds the servo in the folder.
    person.connect()
    assert person.controller.servo.identity.model == "hexa"


def test_a_file_is_added_as_it_is(qtbot, tmp_path, folder):
    dialog = ServoDialog(None)
    qtbot.addWidget(dialog)
    (tmp_path / "my.toml").write_text(new_servo_text("hexa") + "\n[bus.pigeon]\nspeed = 1\n", "utf-8")
    dialog.add_file(str(tmp_path / "my.toml"))
    assert dialog.state.text().startswith("hexa: [bus.pigeon] is not a known bus; there are dynamixel, ethercat")
    (tmp_path / "my.toml").write_text(new_servo_text("hexa"), "utf-8")
    with qtbot.waitSignal(dialog.added):
        dialog.add_file(str(tmp_path / "my.toml"))
    assert (folder / "hexa.toml").is_file()
