"""Cards, panels and dialogs by their captions, each with a number that no other has. No window, no servo."""

import math
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget

from bench_gui.connect.bench.zero_panel import ZeroPanel
from bench_gui.connect.servo.card import ServoCard
from bench_gui.connect.servo.emulation import Emulation
from bench_gui.connect.servo.scan_dialog import ScanDialog
from bench_gui.connect.servo.scanning import Scanning
from bench_gui.controller import Controller
from bench_gui.log.panel import LogTable
from bench_gui.shell.start_page import _answers
from bench_gui.state.journal import Journal
from bench_gui.state.servo_link import ServoView
from bench_gui.state.setup import BenchSetup, Gains
from bench_gui.work.activity import Activities
from core.base.units import DEGREES
from core.practice.zeroing import Rest, Side, Stage, Zero
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from drivers.limits import Limits
from drivers.recorder import Phase
from drivers.recorder.link import EMERGENCY
from drivers.recorder.messages import Configured
from drivers.recorder.run import LIVE_DTYPE
from drivers.scan import Found, ScanStep
from drivers.servo import ServoIdentity, ServoState
from tests.gui.test_columns import ROWS, row_of

REAL = "dynamixel:/dev/ttyUSB7:3"
IDENTITY = ServoIdentity(
    model="mx106", title="Dynamixel MX-106", firmware="v42", id="5", serial="SN-77", position_step=0.00153,
    watchdog=0.25, warnings=("the fan is loud", "the horn is loose"),
)  # fmt: skip
WRITTEN = ServoSettings(servo="mx106", kp=7.1, ki=0.8, kd=0.9, supply_voltage=12.0)
RATINGS = Limits(
    lowest_position=-3.0, highest_position=3.1, speed=29.0, hold_speed=9.1, torque=10.5, current=8.6, temperature=87.0
)
LIMITS = Limits(
    lowest_position=-1.1, highest_position=1.2, speed=4.3, hold_speed=2.4, torque=5.5, current=1.6, temperature=57.0
)
READY = ServoView(
    state=ServoState.READY, phase=Phase.IDLE, position=0.321, velocity=0.654, current=0.987, duty_cycle=0.135,
    supply_voltage=11.96, temperature=41.4,
)  # fmt: skip


def beside(owner):
    """Texts by the captions beside them."""
    captions = (label for label in owner.findChildren(QLabel) if label.buddy() is not None and not label.isHidden())
    return {caption.text(): caption.buddy().text() for caption in captions}


def named(owner):
    """Texts of labels by their accessible names."""
    return {label.accessibleName(): label.text() for label in owner.findChildren(QLabel) if label.accessibleName()}


class Connected:
    """A recorder whose servo has answered; keeps what is written to the servo."""

    identity, limits, ratings, written = IDENTITY, LIMITS, RATINGS, WRITTEN
    busy = holding = False
    state, locked_for = ServoState.READY, 0.0

    def __init__(self):
        self.configured = []

    def configure(self, *values):
        self.configured.append(values)

    def close(self):
        """Has no process."""


@pytest.fixture
def controller(qapp, monkeypatch, tmp_path):
    """A controller whose servo answered, without a process of its own."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    made = Controller(REAL)
    made.servo._recorder = Connected()
    made.servo.view = READY
    monkeypatch.setattr(made.servo, "tick", lambda: None)
    yield made
    made.close()


@pytest.fixture
def card(controller, qtbot):
    made = ServoCard(controller)
    qtbot.addWidget(made)
    controller.servo.connected.emit(IDENTITY)
    made.show_servo(READY)
    return made


def facts_of(card):
    return beside(card._facts["Supply"].parentWidget())


def test_the_servo_s_card_says_each_number_beside_its_caption(controller, card):
    facts = {
        **{"Firmware": "v42", "ID, serial": "5, SN-77", "Resolution": "0.00153 rad", "Watchdog": "250 ms"},
        **{"Supply": "11.96 V", "Temperature": "41.4 °C", "Servo's angle": "0.321 rad", "Mode": "motor off, monitored"},
    }
    assert facts_of(card) == facts
    assert named(card).items() >= facts.items()
    assert (card.title.text(), card.warnings.text()) == (IDENTITY.title, "The fan is loud.\nThe horn is loose.")
    assert beside(card.gains) == {"Gain kp": "7.1", "Gain ki": "0.8", "Gain kd": "0.9"}
    assert beside(card.limits) == {
        **{"Lowest angle": "−1.1 rad", "Highest angle": "1.2 rad", "Speed": "4.3 rad/s", "Holding speed": "2.4 rad/s"},
        **{"Torque": "5.5 N·m", "Current": "1.6 A", "Temperature": "57 °C"},
    }
    controller.set_angle_unit(DEGREES)
    assert facts_of(card) == {**facts, "Resolution": "0.088 °", "Servo's angle": "18.4 °"}
    assert beside(card.limits)["Lowest angle"] == "−63.03 °"
    controller.servo.address = "simulated:mx106"
    card.show_servo(READY)
    assert facts_of(card)["Model"] == "v42"


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ({}, ""),
        ({"locked_for": 1.2}, "the emergency stop was pressed; wait 2 s"),
        ({"state": ServoState.DISCONNECTED, "locked_for": 1.2}, "connect the servo first"),
        ({"state": ServoState.FAULT, "fault": EMERGENCY, "locked_for": 1.2}, "press Ready again first"),
        ({"state": ServoState.FAULT, "fault": "too hot", "locked_for": 1.2}, "acknowledge the servo's fault first"),
    ],
)
def test_a_servo_that_refuses_says_what_to_do_and_for_how_long_at_most(view, said):
    assert replace(READY, **view).refusal == said


def test_the_card_says_what_the_servo_is_doing(controller, card):
    moving = {"state": ServoState.ENABLED}
    views = {
        "position, moving to the start": ServoView(**moving, phase=Phase.APPROACH),
        "position, run": ServoView(**moving, phase=Phase.RUN),
        "position, returning to 0": ServoView(**moving, phase=Phase.RETURN),
        "torque, holding": ServoView(**moving, phase=Phase.HOLD),
        "fault, motor off": ServoView(state=ServoState.FAULT, phase=Phase.IDLE),
        "–": ServoView(),
    }
    for mode, view in views.items():
        card.show_servo(view)
        assert facts_of(card)["Mode"] == mode
    held = replace(views["torque, holding"], state=ServoState.READY)
    for view, reason in ((held, "release it first"), (views["position, run"], "is moving"), (READY, "no changes")):
        controller.servo.view = view
        assert reason in card.refusal()


def test_every_number_of_the_card_is_written_where_it_belongs(controller, card):
    """Each edit is that of its field and no other; the dialog and the servo get all of them."""
    settings, limits, rows = WRITTEN, LIMITS, []
    for place, (name, box) in enumerate(card.fields.items()):
        wanted = round(0.5 * getattr(WRITTEN if name in ("kp", "ki", "kd") else LIMITS, name) + 0.01 * place, 3)
        before = card.draft.edits
        box.setValue(wanted)
        assert card.draft.edits == {**before, name: pytest.approx(wanted)}
        value = card.draft.edits[name]
        marked = [edited for edited, caption in card.captions.items() if caption.text().endswith("●")]
        assert marked == list(card.draft.edits)
        if hasattr(settings, name):
            settings = replace(settings, **{name: value})
        else:
            limits = replace(limits, **{name: value})
        rows.append((card._entries[place].title, value))
    card.ask_to_write()
    table = card.dialog.table.model()
    shown = [row_of(table, row) for row in range(table.rowCount())]
    units = [*["servo's own"] * 3, "rad", "rad", "rad/s", "rad/s", "N·m", "A", "°C"]
    assert [row["Unit"] for row in shown] == units
    for row, (title, value) in zip(shown, rows, strict=True):
        assert row["Setting"] == title
        assert float(row["New"].replace("−", "-")) == pytest.approx(value, abs=6e-3)
    had = [float(row["In the servo"].replace("−", "-")) for row in shown]
    assert had == pytest.approx([7.1, 0.8, 0.9, -1.1, 1.2, 4.3, 2.4, 5.5, 1.6, 57.0])
    card.dialog.write_button.click()
    assert controller.servo.recorder.configured == [(settings, limits)]
    controller.servo.configured.emit(Configured(settings, limits))
    assert controller.setup.gains == Gains(settings.kp, settings.ki, settings.kd)
    assert (card.draft.edits, card.draft.settings, card.draft.limits) == ({}, settings, limits)


def test_readings_of_the_zero_stand_below_their_captions(controller, qtbot):
    panel = ZeroPanel(controller)
    qtbot.addWidget(panel)
    panel.begin()
    rows = np.zeros(3, LIVE_DTYPE)
    rows["clock"], rows["position"] = (0.0, 0.1, 0.2), (-0.61, 0.72, 0.13)
    controller.servo.rows.emit(rows)
    panel.show_servo(READY)
    shown = named(panel)
    assert (shown["Lowest"], shown["Now"], shown["Highest"]) == ("−0.610 rad", "0.130 rad", "0.720 rad")
    panel.end_sweep()
    assert panel.zeroing.stage is not Stage.SWEEP
    rests = (Rest(0.021, Side.BELOW), Rest(0.083, Side.ABOVE), Rest(0.022, Side.BELOW))
    panel.zeroing.rests = list(rests)
    panel.zero = Zero(angle=0.0525, uncertainty=0.0042, band=0.031, rests=rests)
    panel.show_servo(READY)
    assert panel.rests.text() == "From the left: 0.021, 0.022 rad\nFrom the right: 0.083 rad"
    assert panel.result.text() == "Hanging down: 0.0525 ± 0.0042 rad"
    assert "up to 0.031 rad" in panel.remark.text()
    panel.mirror_button.click()
    assert panel.rests.text() == "From the right: 0.021, 0.022 rad\nFrom the left: 0.083 rad"
    panel.apply_button.click()
    assert controller.setup.bench.angle_offset == -0.0525
    panel.begin()
    controller.servo.rows.emit(rows)
    assert panel.zeroing.position == pytest.approx(0.13)
    for view, said in (
        (ServoView(state=ServoState.ENABLED), "The motor is on"),
        (ServoView(state=ServoState.FAULT, fault="overheated"), "Acknowledge"),
        (ServoView(state=ServoState.FAULT, fault=EMERGENCY), "Ready again"),
        (ServoView(), "Connect the servo first"),
    ):
        controller.servo.view = view
        panel.show_servo(view)
        assert said in panel.motor.text()
        assert math.isnan(panel.zeroing.position), "it begins again"
        assert not panel.sweep_button.isEnabled()


def test_a_view_has_each_number_of_the_recorder_under_its_own_name(controller):
    recorder = Connected()
    recorder.status = SimpleNamespace(
        state=ServoState.ENABLED, phase=Phase.HOLD, done=11, length=22, skipped_cycles=33, bus_errors=44,
        held_torque=0.55,
    )  # fmt: skip
    row = np.zeros(1, LIVE_DTYPE)[0]
    measured = {"position": 0.1, "velocity": 0.2, "current": 0.3, "duty_cycle": 0.4, "supply_voltage": 12.5}
    measured["temperature"] = 40.5
    for name, value in measured.items():
        row[name] = value
    link = controller.servo
    view = link._look(recorder, row)
    assert {name: getattr(view, name) for name in measured} == pytest.approx(measured, rel=1e-6)
    assert (view.done, view.length, view.skipped, view.bus_errors, view.held_torque) == (11, 22, 33, 44, 0.55)
    assert (view.title, view.state, view.phase) == (IDENTITY.title, ServoState.ENABLED, Phase.HOLD)
    unknown = {f.name for f in fields(ServoView) if f.name not in measured} - {"held_torque"}
    without = link._look(recorder, None)
    assert all(math.isnan(getattr(without, name)) for name in measured)
    assert {name: getattr(without, name) for name in unknown} == {name: getattr(view, name) for name in unknown}


class Scan(QObject):
    """A scan that says what it is made to."""

    stepped, finished, failed = Signal(object), Signal(object), Signal(str)
    activity = SimpleNamespace(words="")

    def start(self, family, values):
        self.asked = family, values

    def stop(self):
        self.asked = None


def test_a_scan_shows_each_answer_below_its_heading_and_hands_over_the_chosen_one(qtbot):
    scan, owner, taken = Scan(), QWidget(), []
    qtbot.addWidget(owner)
    dialog = ScanDialog(owner, scan, "dynamixel", "Dynamixel", {"baud": "57600"})
    dialog.taken.connect(taken.append)
    dialog.show()
    assert scan.asked == ("dynamixel", {"baud": "57600"})
    scan.stepped.emit(ScanStep("USB0, ID 1", "no answer", 1, 2))
    assert row_of(dialog.tried_model, 0) == {"Tried": "USB0, ID 1", "Answer": "no answer"}
    assert dialog.state.text() == "Scanning… 1 tried"
    scan.finished.emit([Found(f"dynamixel:USB0:{n}", f"MX-{n}", f"firmware {10 + n}") for n in (1, 2)])
    assert row_of(dialog.found_model, 1) == {"Servo": "MX-2", "Detail": "firmware 12", "Address": "dynamixel:USB0:2"}
    assert dialog.state.text() == "2 answered, 1 tried."
    dialog.found.selectRow(1)
    dialog.found.doubleClicked.emit(dialog.found_model.index(1, 0))
    assert (taken, scan.asked) == (["dynamixel:USB0:2"], None)


@pytest.mark.parametrize("alone", [True, False])
def test_only_a_servo_that_needs_no_choice_by_its_label_is_chosen(qtbot, alone):
    """Enter takes the only servo, and none of several that answer alike; see `servos_by_model_number`."""
    scan, owner, taken = Scan(), QWidget(), []
    qtbot.addWidget(owner)
    dialog = ScanDialog(owner, scan, "feetech", "Feetech", {})
    dialog.taken.connect(taken.append)
    dialog.show()
    variants = [Found(f"feetech:USB0:2:1000000?servo={name}", name, "", True) for name in ("sts3215", "sts3215_7v4")]
    first = Found("feetech:USB0:1:1000000", "STS3250")
    scan.finished.emit([first] if alone else [first, *variants])
    assert dialog.use_button.isEnabled() is alone
    reason = "" if alone else " Servos of different voltage or gear ratio answer alike: choose what the label says."
    assert dialog.state.text() == f"{1 if alone else 2} answered, 0 tried.{reason}"
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert taken == [first.address] * alone
    if not alone:
        assert dialog.use_button.toolTip() == reason.strip(" .")
        dialog.found.selectRow(2)
        QTest.keyClick(dialog, Qt.Key.Key_Return)
        assert taken == [variants[1].address]


def test_a_scan_asks_for_what_was_described_and_ends_where_work_is_listed():
    asked = []
    background = SimpleNamespace(submit=lambda lane, *work, **then: asked.append(work))
    scanning = Scanning(background, Activities())
    scanning.start("dynamixel", {"baud": "57600"})
    ((_, family, values, _, stopped),) = asked
    assert (family, values, stopped()) == ("dynamixel", {"baud": "57600"}, False)
    scanning.activity.cancel()
    assert stopped()


def test_an_emulator_is_told_the_load_of_the_bench_each_time_it_changes(qapp):
    setup, said = BenchSetup(load_servo("mx106")), []
    emulation = Emulation(setup, lambda process: None)
    emulation._process = SimpleNamespace(send=said.append)
    for mass in (0.735, 0.735, 0.9):
        setup.set_bench(mass=mass, length=0.215, arm_mass=0.043)
        emulation._hang()
    assert said == ["load 0.735 0.215 0.043", "load 0.9 0.215 0.043"]


@pytest.mark.parametrize(
    ("level", "kind"), [("info", "Note"), ("warning", "Warning"), ("error", "Error"), ("fault", "Fault")]
)
def test_the_log_has_time_kind_and_words(qapp, level, kind):
    journal = Journal()
    table = LogTable(journal)
    journal.add(level, "the coupling slipped")
    (entry,) = journal.entries
    assert row_of(table, 0) == {"Time": f"{entry.at:%H:%M:%S}", "Kind": kind, "Message": "The coupling slipped"}
    assert (table.cell_at(0, 1).tone == "muted") == (level == "info")


def test_the_first_page_says_the_error_of_the_recommended_model():
    """On runs held out, if there are any."""
    for recommended, said in (("m2", "M2 15.2 mrad"), ("m3", "M3 8.10 mrad")):
        assert _answers(SimpleNamespace(models=ROWS, recommended=recommended)) == [said]
