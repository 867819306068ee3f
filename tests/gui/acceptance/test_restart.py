"""Nothing is lost: what a person set is back after the window was closed or killed.

As a program this file is the window itself: `python -m tests.gui.acceptance.test_restart ACT [SESSION]`.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer

from bench_gui import app as application
from bench_gui.connect.servo.emulation import Emulation
from bench_gui.controller import Controller
from bench_gui.main_window import MainWindow
from bench_gui.record.waiting import waiting_to_json
from bench_gui.settings import NAME, Settings
from bench_gui.shell.tasks import COMPARE
from bench_gui.state.setup import Gains
from bench_gui.theme import themes
from core.base.units import DEGREES
from core.motion.trajectories import make_trajectory
from core.practice.plan import suggested_plan

KILLED = -9
LONG = 600


def set_everything(window, session):
    """Set what is below as a person does: through forms, and what forms call."""
    controller, form = window.controller, window.record.form
    controller.library.create(session)
    window.bench.connection.show_address("dynamixel:/dev/ttyUSB7:3:2:57600")
    window.bench.connection.edited.emit()
    setup = controller.setup
    setup.edit_bench("load", mass=0.234, length=0.123, arm_mass=0.045, gravity=9.81)
    setup.edit_bench("zero", angle_offset=0.0625)
    setup.edit_direction(-1)
    setup.set_gains(Gains(7.0, ki=2.0, kd=1.0))
    window.record.rate.setValue(125.0)
    window.record.countdown.setValue(5.0)
    form.choice.setCurrentIndex(form.choice.findData("lift_and_drop"))
    form.field("duration").setValue(4.5)
    controller.plan.edit(replace(suggested_plan(setup.spec), masses=(0.11, 0.22), repetitions=3), "plan")
    controller.queue.add([make_trajectory("sin_sin", 3.25), make_trajectory("sin_time_square", amplitude=0.5)])
    controller.plan.add(controller.plan.plan.cells()[:1], controller.plan.plan)
    controller.placing.plan.set_torques([0.25, 0.5])
    controller.placing.plan.set_repeats(2)
    controller.model_list.set_current("catalogue:mx106:m3")
    window.appearance.choose("dark")
    window.identify.form.quick_button.click()
    window.identify.form.fields["repeats"].setValue(3)
    window.identify.form.hold_out("none")
    evidence = window.identify.evidence
    evidence.crossvalidation.form.take_quick()
    evidence.crossvalidation.form.most.setValue(50)
    evidence.certainty.draws.setValue(77)
    evidence.proposals.count.setValue(9)
    window.compare.overlay.channel.setCurrentIndex(window.compare.overlay.channel.findData("velocity"))
    window.compare.overlay.below.setCurrentIndex(1)
    controller.library.opened.connect(lambda: controller.comparison.choose(("catalogue:mx106:m2",)))
    window.resize(880, 650)  # the screen of offscreen tests is no wider
    window.show_task(COMPARE)
    controller.set_angle_unit(DEGREES)


THINGS = {
    "servo with port, baud rate and ID": lambda w: w.controller.servo.address,
    "the form of the connection": lambda w: w.bench.connection.address(),
    "load, rod, length, gravity and zero": lambda w: w.controller.setup.bench.to_json(),
    "direction": lambda w: w.controller.setup.direction,
    "gains": lambda w: list(vars(w.controller.setup.gains).values()),
    "rate": lambda w: w.record.rate.value(),
    "countdown": lambda w: w.record.countdown.value(),
    "trajectory": lambda w: w.record.form.state(),
    "plan": lambda w: w.controller.plan.plan.to_json(),
    "queue": lambda w: waiting_to_json((r.trajectory, r.header, r.cell) for r in w.controller.queue.waiting),
    "torques and repeats to hold": lambda w: [w.controller.placing.plan.torques, w.controller.placing.plan.repeats],
    "settings of an identification": lambda w: w.identify.form.state(),
    "what is asked of the evidence": lambda w: [
        w.identify.evidence.crossvalidation.form.state(),
        w.identify.evidence.certainty.draws.value(),
        w.identify.evidence.proposals.count.value(),
    ],
    "compared models": lambda w: w.controller.comparison.chosen,
    "compared channel, and the chart below": lambda w: [
        box.currentText() for box in (w.compare.overlay.channel, w.compare.overlay.below)
    ],
    "current model": lambda w: w.controller.model_list.current.key,
    "theme": lambda _: themes.current.name,
    "unit of angles": lambda w: w.controller.angle_unit.name,
    "size of the window": lambda w: [w.width(), w.height()],
    "task": lambda w: w.controller.settings.task,
    "session": lambda w: str(w.controller.library.path),
    "recent sessions": lambda w: w.controller.settings.recent,
}
"""What a person sets, and what the window has of it."""
SET = {
    "servo with port, baud rate and ID": "dynamixel:/dev/ttyUSB7:3:2:57600",
    "direction": -1,
    "gains": [7.0, 2.0, 1.0, None],
    "rate": 125.0,
    "countdown": 5.0,
    "compared models": ["catalogue:mx106:m2"],
    "compared channel, and the chart below": ["Velocity", "error spectrum"],
    "current model": "catalogue:mx106:m3",
    "theme": "dark",
    "unit of angles": "degrees",
    "size of the window": [880, 650],
    "task": "Compare",
}


def state_of(window):
    return json.loads(json.dumps({name: thing(window) for name, thing in THINGS.items()}))


def work(window, act, session):
    """What happens in the window that is a program: set everything, or look; then end in a way."""
    controller = window.controller
    if act != "look":
        set_everything(window, session)

    def saved():
        known = json.loads((Path(os.environ["SERVOBENCH_HOME"]) / NAME).read_text())
        return known["angle_unit"] == "degrees" and known["open_session"]

    def go_on():
        if controller.library.path is None or not saved():
            return
        timer.stop()
        driven = controller.servo.recorder is not None or controller.queue.active
        on_start = window.start.isVisible()
        print(json.dumps({**state_of(window), "driven": driven, "start page": on_start}), flush=True)
        if act == "kill":
            os.kill(os.getpid(), 9)
        window.leave()

    timer = QTimer(window)
    timer.timeout.connect(go_on)
    timer.start(20)


def program(act, session=""):
    show = MainWindow.show

    def shown(window):
        window.completed.connect(lambda: work(window, act, Path(session)))
        show(window)

    MainWindow.show = shown
    return application.run_window(None)


def window_that(home, *words):
    """What the window of a home had at its end, and how it ended."""
    environment = {
        **os.environ,
        "SERVOBENCH_HOME": str(home),
        "PYTHONPATH": os.getcwd(),
    }
    command = [sys.executable, "-m", "tests.gui.acceptance.test_restart", *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.returncode


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("kill", KILLED),
        pytest.param("quit", 0, marks=pytest.mark.exhaustive("an end that leaves time to save")),
    ],
)
def test_everything_is_back_after(tmp_path, end, status):
    before, ended = window_that(tmp_path, end, tmp_path / "lab")
    assert ended == status
    assert {name: before[name] for name in SET} == SET
    assert len(before["queue"]) == 3
    fit = before["settings of an identification"]["settings"]
    assert (fit["models"], fit["repeats"], fit["validation"]) == (["m1", "m4", "m6"], 3, "none")
    asked, draws, proposals = before["what is asked of the evidence"]
    assert (asked["asked"]["by"], asked["asked"]["most_training_runs"]) == (["mass"], 50)
    assert (asked["fit"]["models"], draws, proposals) == (["m1", "m4", "m6"], 77, 9)
    after, ended = window_that(tmp_path, "look")
    assert ended == 0
    assert {name: after[name] for name in THINGS} == {name: before[name] for name in THINGS}
    assert (after["start page"], after["driven"]) == (True, False), "the queue waits for a person"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Settings of a person who weighed a load and put a run into the queue; returns the file."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller()
    controller.setup.edit_bench("load", mass=0.2, angle_offset=0.03)
    controller.setup.set_rate(125.0)
    controller.queue.add([make_trajectory("sin_sin")])
    controller.close()
    return tmp_path / NAME


OTHERS = (None, True, -1.0, "x", [], [3], {"bench": {"mass": "heavy"}}, {"torques": "a"})


@pytest.mark.parametrize(
    "damage", [{}, *(pytest.param(o, marks=pytest.mark.exhaustive("values of other kinds")) for o in OTHERS)]
)
@pytest.mark.parametrize(
    "part",
    ["model", "servo", "bench", "rate", "plan", "queue", "hold", "trajectory", "selected runs", "compared models"],
)
def test_a_damaged_value_costs_itself_only(kept, qapp, part, damage):
    data = json.loads(kept.read_text())
    data["parts"][part] = damage
    kept.write_text(json.dumps(data))
    controller = Controller()
    setup, queue = controller.setup, controller.queue
    controller.close()
    assert (controller.servo.address, setup.spec.name) == ("simulated:mx106", "mx106")
    sound = part == "trajectory" or (damage == [] and part in ("queue", "selected runs", "compared models"))
    assert (part in controller.settings.notice) != sound
    assert part == "bench" or (setup.bench.mass, setup.bench.angle_offset) == (0.2, 0.03)
    assert part == "rate" or setup.rate == 125.0
    assert part == "queue" or len(queue.waiting) == 1
    assert queue.paused or not queue.waiting


@pytest.mark.parametrize("damage", ['{"theme": "da', "[1, 2]", "folder"])
def test_settings_that_cannot_be_read_are_those_saved_before(qapp, tmp_path, monkeypatch, damage):
    """Then, when those cannot be read either, the defaults."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    settings = Settings()
    for chosen in ("dark", "light"):
        settings.set("theme", chosen)
        settings.save()
    assert (Settings().theme, Settings().notice) == ("light", "")
    for suffix, theme, said in (
        (".json", "dark", "the previous settings are used"),
        (".backup", "system", "the settings were reset to their defaults"),
    ):
        file = (tmp_path / NAME).with_suffix(suffix)
        file.unlink()
        file.mkdir() if damage == "folder" else file.write_text(damage)
        again = Settings()
        assert again.theme == theme
        assert again.notice.endswith(said)


@pytest.mark.parametrize("at_start", [True, False])
def test_what_was_entered_is_kept_when_another_servo_is_chosen_at_the_start_or_later(kept, qapp, at_start):
    controller = Controller("simulated:xl330" if at_start else None)
    if not at_start:
        controller.connecting.choose_servo("simulated:xl330")
    controller.close()
    setup = controller.setup
    assert controller.servo.address == "simulated:xl330"
    assert (setup.bench.mass, setup.bench.angle_offset, setup.kp) == (0.2, 0.03, 400.0)


def test_an_emulator_ends_with_the_window(kept, qapp, monkeypatch):
    port = "dynamixel:/dev/pts/9:1"
    monkeypatch.setattr(Emulation, "emulates", lambda _, address: address == port)
    controller = Controller()
    controller.connecting.choose_servo(port)
    assert controller.connecting.title == "EMULATED Dynamixel"
    controller.close()
    again = Controller()
    again.close()
    assert again.servo.address == "simulated:mx106", "the port may be a terminal by now"


if __name__ == "__main__":
    sys.exit(program(*sys.argv[1:]))
