"""From the servo to the export by clicks; `bench` does it without the window: the same runs, fit and files.

Times, identifiers and checksums over them are each one's own. The simulated servo lives on its own clock here, so that
what it does does not depend on how fast this machine is.
"""

import h5py
import numpy as np

from bench_gui.cli import main
from bench_gui.compare.view import ERRORS
from bench_gui.shell.tasks import COMPARE, EXPORT, IDENTIFY
from core.base.sealed import parse_sealed

SERVO = "simulated:mx106?clock=virtual&read_jitter=0"
OWN = {"uid", "started", "finished", "file_time", "sha256"}
"""Attributes of a run's file that are its own."""
TRIALS = 64


def contents(session):
    """Every dataset and attribute of every run of a session."""
    found = {}
    for file in sorted((session / "runs").glob("*.h5")):
        with h5py.File(file) as opened:

            def take(name, item, run=file.stem):
                found.update({(run, name, key): value for key, value in item.attrs.items() if key not in OWN})
                if isinstance(item, h5py.Dataset):
                    found[run, name] = np.asarray(item[()])

            take("", opened)
            opened.visititems(take)
    return found


def bytes_below(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_cli_twin(person, tmp_path, capsys):
    controller, window = person.controller, person.window
    controller.connecting.choose_servo(SERVO)
    person.connect()
    controller.setup.set_bench(mass=1.0, length=0.1)
    form = window.record.form
    for name in ("sin_sin", "lift_and_drop"):
        form.choice.setCurrentIndex(form.choice.findData(name))
        form.field("duration").setValue(1.5)
        runs = len(controller.library.runs)
        person.click(window.record.run_button)
        person.until(lambda runs=runs: len(controller.library.runs) > runs and not controller.queue.active)
    recorded = controller.library.path
    by_command = tmp_path / "by_command"
    arguments = ["--mass", "1.0", "--length", "0.1", "--duration", "1.5", "--quiet", "-o", str(by_command)]
    assert main(["record", "--servo", SERVO, "--trajectory", "sin_sin", "lift_and_drop", *arguments]) == 0
    ours, theirs = contents(recorded), contents(by_command)
    assert len(ours) > 100
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        np.testing.assert_array_equal(value, theirs[key], err_msg=str(key))

    window.show_task(IDENTIFY)
    page = window.identify
    for name, box in page.form.models.items():
        box.setChecked(name in ("m1", "m2"))
    path = page.form.fields["command_path"]
    path.setCurrentIndex(path.findData("off"))
    page.form.fields["trials"].setValue(TRIALS)
    with person.qtbot.waitSignal(controller.fitting.finished):
        person.click(page.start_button)
    fitted = controller.fitting.result.folder
    result = tmp_path / "result"
    found = [
        "--models",
        "m1,m2",
        "--no-command-path",
        "--trials",
        str(TRIALS),
        "--validation",
        page.form.settings().validation,
    ]
    assert main(["identify", str(recorded), *found, "--quiet", "-o", str(result)]) == 0
    for name in ("m1.json", "m2.json"):
        assert (fitted / name).read_bytes() == (result / name).read_bytes()
    rows = [parse_sealed((folder / "result.json").read_text("utf-8")) for folder in (fitted, result)]
    for row in (*rows[0], *rows[1]):
        assert row.pop("wall_seconds") > 0
        row.pop("file")
    assert rows[0] == rows[1]
    records = [parse_sealed((folder / "identification.json").read_text("utf-8")) for folder in (fitted, result)]
    for record in records:
        record.pop("begun")
        record["request"].pop("threads", None)
    assert records[0] == records[1]

    window.show_task(COMPARE)
    comparison, key = controller.comparison, f"identified:{controller.fitting.result.recommended}"
    person.until(lambda: not comparison.waiting and key in window.compare.plots.keys)
    person.click(window.compare.tabs.buttons[ERRORS])
    person.until(lambda: 0 < comparison.judged[0] == comparison.judged[1])

    window.show_task(EXPORT)
    view, exporting = window.export, controller.exporting
    exporting.learn_targets()
    person.until(lambda: view.target.count() > 0)
    model = fitted / f"{controller.fitting.result.recommended}.json"
    for target in ("json", "bam"):
        view.choose_target(target)
        view.set_folder(tmp_path / "window" / target)
        person.until(view.export_button.isEnabled)
        with person.qtbot.waitSignal(exporting.exported):
            person.click(view.export_button)
        assert main(["export", str(model), "--to", target, "-o", str(tmp_path / "command" / target)]) == 0
    written = bytes_below(tmp_path / "window")
    assert len(written) >= 2
    assert written == bytes_below(tmp_path / "command")
    assert [entry.text for entry in controller.journal.entries if entry.level != "info"] == []
    assert not window.status_line.badge.isVisible()
