"""Every action of the window does what its text says, and is offered when it can be done. No servo is driven."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication

from bench_gui.app import make_window
from bench_gui.compare.view import CompareView
from bench_gui.connect.servo.card import ServoCard
from bench_gui.connect.view import BenchView
from bench_gui.controller import Controller
from bench_gui.export.view import ExportView
from bench_gui.fleet.form import FleetForm
from bench_gui.fleet.running import FleetRunning
from bench_gui.fleet.view import FleetView
from bench_gui.headless.palette import THEMES
from bench_gui.identify.answer.answer import AnswerPart
from bench_gui.identify.certainty.panel import CertaintyPanel
from bench_gui.identify.certainty.running import Certifying
from bench_gui.identify.coverage.panel import CoveragePanel
from bench_gui.identify.crossvalidation.panel import CrossValidationPanel
from bench_gui.identify.crossvalidation.running import CrossValidating
from bench_gui.identify.evidence_tab import EvidenceTab
from bench_gui.identify.fit.running import Fitting
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.next_recording.panel import ProposalPanel
from bench_gui.identify.robot.panel import RobotPanel
from bench_gui.identify.robot.running import RobotWork
from bench_gui.identify.view import IdentifyView
from bench_gui.main_window import MainWindow
from bench_gui.place.form import TorqueForm
from bench_gui.place.placing import Placing
from bench_gui.place.view import PlaceView
from bench_gui.plots.export import PlotExport
from bench_gui.record.live_page import LivePage
from bench_gui.record.planning import Planning
from bench_gui.record.queue import RecordQueue
from bench_gui.record.recording import Recording
from bench_gui.record.start_bar import StartBar
from bench_gui.record.view import LIST, LIVE
from bench_gui.session.dialogs.opening import Opening
from bench_gui.session.dialogs.questions import Questions
from bench_gui.session.panel import SessionPanel
from bench_gui.session.runs.table import NOTE
from bench_gui.shell.command_palette import CommandPalette
from bench_gui.shell.docks import WorkArea
from bench_gui.shell.helping import Helping
from bench_gui.shell.menus import Menus
from bench_gui.shell.tasks import TASKS
from bench_gui.state.library import Library
from bench_gui.state.servo_link import ServoLink, ServoView
from bench_gui.studies.arm.plots import ArmPlots
from bench_gui.studies.arm.tab import ArmTab
from bench_gui.studies.compliant.form import ComplianceForm
from bench_gui.studies.compliant.tab import ComplianceTab
from bench_gui.studies.learning.running import Learning
from bench_gui.studies.learning.tab import LearningTab
from bench_gui.studies.stiction.form import StictionForm
from bench_gui.studies.stiction.tab import StictionTab
from bench_gui.studies.webots.tab import WebotsTab
from core.base.units import ANGLE_UNITS
from drivers.recorder.link import EMERGENCY
from drivers.servo import ServoState
from tests.gui.conftest import dispose

QUIT = MainWindow, "close"
DONE = {
    "File": {
        "New session…": (Opening, "ask_new"),
        "Open session…": (Opening, "ask_open"),
        "Open session file…": (Opening, "ask_open_file"),
        "Import recordings…": (Opening, "ask_import"),
        "Import a folder…": (Opening, "ask_import_folder"),
        "Open the example": (Library, "open_example"),
        "Open the example of a robot": (Library, "open_example", "example-so101"),
        "Open model file…": (CompareView, "ask_model"),
        "Start page": (MainWindow, "show_start"),
        "Quit": QUIT,
    },
    "Edit": {
        "Find a command…": (MainWindow, "show_palette"),
        "Preferences…": (MainWindow, "show_preferences"),
    },
    "Bench": {
        "Connect": (ServoLink, "connect_servo"),
        "Disconnect": (ServoLink, "disconnect_servo"),
        "Ready again": (ServoLink, "acknowledge"),
        "Record four trajectories": (MainWindow, "record_four"),
        "Emergency stop\tEsc": (Recording, "emergency_stop"),
    },
    "View": {
        **{name: (MainWindow, "show_task", number) for number, (name, _, _) in enumerate(TASKS)},
        "Reset layout": (WorkArea, "reset"),
        "Show the log": (MainWindow, "show_log"),
    },
    "Session": {
        "Filter runs": (SessionPanel, "focus_filter"),
        "Select all runs shown": (SessionPanel, "select_shown"),
        "Select none": (SessionPanel, "select", []),
        "Edit the note": (SessionPanel, "_edit_cell", NOTE),
        "Set tags…": (Questions, "ask_tags"),
        "Exclude from fits…": (Questions, "ask_reason"),
        "Include in fits": (SessionPanel, "include"),
        "Trim…": (Questions, "ask_trim"),
    },
    "Help": {
        "Help on this page": (Helping, "show"),
        "Guided tour": (MainWindow, "show_tour"),
        "About ServoBench": (Helping, "show_about"),
    },
    "Tasks › Bench": {
        "Scan for servos…": (BenchView, "scan"),
        "Emulate a servo…": (BenchView, "emulate"),
        "New servo…": (BenchView, "new_servo"),
        "Write to the servo…": (ServoCard, "ask_to_write"),
        "Discard edits of the servo": (ServoCard, "discard"),
        "Measure the zero…": (BenchView, "measure_zero"),
    },
    "Tasks › Record": {
        "Record the waiting runs, or the trajectory": (StartBar, "go"),
        "Record the trajectory now": (StartBar, "record_chosen"),
        "Add the trajectory to the list": (StartBar, "add"),
        "Add the missing runs of the plan": (Planning, "add_missing"),
        "Pause after this run": (RecordQueue, "pause"),
        "Clear the list": (RecordQueue, "keep", ()),
        "Abort the run": (RecordQueue, "abort"),
        "Record the last run again": (LivePage, "again"),
        "Freeze the live plots": lambda w: w.record.page.freeze.isChecked(),
        "Show live plots": lambda w: w.record.tabs.current == LIVE,
        "Show the list of runs": lambda w: w.record.tabs.current == LIST,
    },
    "Tasks › Place": {
        "Hold the next torque": (Placing, "hold"),
        "Capture this rest": (Placing, "capture"),
        "Next extreme": (Placing, "next"),
        "Release the held torque": (Placing, "release"),
        "Suggest torques": (TorqueForm, "_suggest"),
        "Measure the chosen point again": (PlaceView, "_again"),
        "Delete the chosen point": (PlaceView, "_delete"),
    },
    "Tasks › Identify": {
        "Identify": (IdentifyView, "_start"),
        "Stop the identification": (Fitting, "stop"),
        "Resume the identification": (IdentifyView, "_resume"),
        "Use the selected model": (AnswerPart, "use"),
        "Export the selected model…": (AnswerPart, "export"),
        "Bounds and frozen parameters…": (SettingsForm, "ask_parameters"),
        "Write a report…": (AnswerPart, "ask_report"),
        "Identify with the default settings": (SettingsForm, "back_to_defaults"),
        "Check the coverage": (EvidenceTab, "check_coverage"),
        "Check headers against motion": (CoveragePanel, "audit"),
        "Propose the next recordings": (ProposalPanel, "propose"),
        "Cross-validate": (CrossValidationPanel, "start"),
        "Stop the cross-validation": (CrossValidating, "stop"),
        "Profile and bootstrap the recommended model": (CertaintyPanel, "start"),
        "Stop the profiles and the bootstrap": (Certifying, "stop"),
        "Identify the joints": (RobotPanel, "start"),
        "Stop the work on the joints": (RobotWork, "stop"),
        "Evaluate the whole robot": (RobotPanel, "evaluate_whole"),
        "Write the report of a joint": (RobotPanel, "report"),
    },
    "Tasks › Compare": {
        **{
            f"Show the {name}": lambda w, place=place: w.compare.tabs.current == place
            for place, name in enumerate(("overlay", "response", "errors", "models", "diagram", "arm"))
        },
        "Δ cursors": lambda w: w.compare.arm.tools.cursor_button.isChecked(),
        "Fit the plots": (ArmPlots, "fit"),
        "Play the pendulum": lambda w: w.compare.overlay.play_button.isChecked(),
        "Export plot…": (PlotExport, "ask", lambda w: w.compare.arm.tools.export),
        "Copy plot as image": (PlotExport, "copy_image", lambda w: w.compare.arm.tools.export),
        "Export the error table…": (CompareView, "_export_table"),
        "Run the comparison on the arm": (ArmTab, "run"),
        "Open a measured arm…": (ArmTab, "ask_measured"),
        "Export the arm's path…": (ArmTab, "_export_plane"),
        "Export the arm's table…": (ArmTab, "_export_table"),
    },
    "Tasks › Export": {
        "Choose the export folder…": (ExportView, "ask_folder"),
        "Export the model": (ExportView, "_export"),
        "Check the export in its engine": (ExportView, "_check"),
    },
    "Tasks › Explore": {
        "Run the stiction experiment": (StictionTab, "run"),
        "Published constants of stiction": (StictionForm, "take_published"),
        "Export the friction curves…": (PlotExport, "ask", lambda w: w.explore.stiction.curve_tools.export),
        "Export the stiction experiment…": (PlotExport, "ask", lambda w: w.explore.stiction.joint_tools.export),
        "Play the compliant joint's motion": (ComplianceTab, "play"),
        "Soft behaviour": (ComplianceForm, "behave", "soft"),
        "Stiff behaviour": (ComplianceForm, "behave", "stiff"),
        "Write the joint for Gazebo…": (ComplianceTab, "ask_gazebo"),
        "Export the joint's motion…": (PlotExport, "ask", lambda w: w.explore.compliance.tools.export),
        "Export the springs' curves…": (PlotExport, "ask", lambda w: w.explore.compliance.curve_export),
        "Learn the motion": (LearningTab, "learn"),
        "Stop learning": (Learning, "stop"),
        "Write the learned input…": (LearningTab, "ask_write"),
        "Export the learned motion…": (PlotExport, "ask", lambda w: w.explore.learning.tools.export),
        "Export errors by iteration…": (LearningTab, "_export_errors"),
        "Fit a Webots Servo and compare it": (WebotsTab, "fit_node"),
        "Try the fitted Webots node": (WebotsTab, "take_node"),
        "Export the Webots Servo's errors…": (WebotsTab, "export_table"),
    },
    "Tasks › Fleet": {
        "Start the fleet": (FleetView, "start"),
        "Stop the fleet": (FleetRunning, "stop"),
        "Open fleet…": (FleetView, "ask_fleet"),
        "Try 8 simulated servos": (FleetView, "try_simulated"),
        "Add sessions to the fleet…": (FleetForm, "ask_sessions"),
        "Open the chosen unit in Compare": (FleetView, "use_model", ""),
        "Export the fleet's table…": (FleetView, "export_table"),
        "Export the fleet's parameters…": (PlotExport, "ask", lambda w: w.fleet.plots_export),
        "Export the transfer matrix…": (PlotExport, "ask", lambda w: w.fleet.map_export),
    },
}
"""By menu and text: the class, its method and the argument that is called, or its owner in the window; or what is true
of the window afterwards."""
KEYS = {
    **{"New session…": "Ctrl+N", "Open session…": "Ctrl+O", "Import recordings…": "Ctrl+I", "Quit": "Ctrl+Q"},
    **{"Find a command…": "Ctrl+K", "Preferences…": "Ctrl+,", "Show the log": "Ctrl+L", "Help on this page": "F1"},
    **{name: f"Ctrl+{number}" for number, (name, _, _) in enumerate(TASKS, 1)},
}
STATES = {
    "Connect": {"off"},
    "Disconnect": {"ready", "moving", "stopped", "fault"},
    "Ready again": {"fault", "stopped"},
    "Scan for servos…": {"off"},
    "Record four trajectories": {"off", "ready", "moving", "stopped", "fault"},
}
"""States of the servo in which an action is possible, the queue being empty."""


@pytest.fixture
def calls(monkeypatch):
    """What the window's actions call: owner, class, method and first argument; nothing of it happens."""
    seen = []

    def spy(cls, name):
        def called(self, *arguments):
            seen.append((self, cls, name, *arguments))

        monkeypatch.setattr(cls, name, called)

    done = [entry for menu in DONE.values() for entry in menu.values() if isinstance(entry, tuple)]
    for entry in (*done, (ServoLink, "end_hold"), (Library, "give_up")):
        if entry[:2] not in (QUIT, (MainWindow, "show_task")):
            spy(*entry[:2])
    return seen


@pytest.fixture
def specs(monkeypatch):
    """Every action by menu and text; each is possible."""
    found = {}
    add = Menus.add

    def noted(self, path, spec):
        key = path.replace("&", "").replace("/", " › "), spec.text.replace("&", "")
        assert key not in found, "twice"
        action = add(self, path, spec)
        found[key] = spec, action
        return action

    monkeypatch.setattr(Menus, "add", noted)
    return found


@pytest.fixture
def window(qtbot, monkeypatch, tmp_path, specs):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller("simulated:mx106")
    made = make_window(controller, "light")
    yield made
    MainWindow.leave(made)
    controller.close()
    dispose(made, controller)


def test_every_action_does_what_its_text_says(calls, window, specs):
    assert len(window.pages) == len(TASKS)
    assert specs.keys() == {(menu, text) for menu, actions in DONE.items() for text in actions}
    for (menu, text), (spec, action) in specs.items():
        entry = DONE[menu][text]
        if entry == QUIT:
            assert spec.act == window.close
            continue
        calls.clear()
        if spec.enabled is None:
            action.trigger()
        else:
            spec.act()
        if not isinstance(entry, tuple):
            assert entry(window), text
        elif entry[1] == "show_task":
            stacks = (window.stack, window._pages.inspectors)
            assert [stack.currentIndex() for stack in stacks] == [entry[2]] * 2, text
        else:
            ((owner, *call),) = calls
            cls, name, *argument = entry
            if argument and callable(argument[0]):
                assert owner is argument.pop()(window), text
            assert call == [cls, name, *argument], text


def test_keys_and_the_palette_lead_to_the_action_they_name(calls, window, specs, qtbot):
    """Beside those of single pages, which have their own."""
    pages = {f"Tasks › {name}" for name, _, _ in TASKS} | {"Session"}
    keys = {text: act.shortcut().toString() for (menu, text), (_, act) in specs.items() if menu not in pages}
    assert {text: key for text, key in keys.items() if key} == KEYS
    palette = CommandPalette(window.menus, window)
    assert len(palette.texts()) >= len(specs)
    done = []
    for path, action in window.menus.everything():
        action.triggered.disconnect()
        action.setEnabled(True)
        action.triggered.connect(lambda _=False, path=path, action=action: done.append(f"{path} › {action.text()}"))
    for row in range(palette.list.topLevelItemCount()):
        item = palette.list.topLevelItem(row)
        item.setDisabled(False)
        palette.list.setCurrentItem(item)
        palette.field.returnPressed.emit()
        said = done.pop().split("\t")[0].replace("&", "").rstrip("…")
        assert (item.text(0), done) == (said, [])


def test_panels_are_shown_and_hidden_by_their_own_entries(window):
    window.show()
    entries = {action.text(): action for path, action in window.menus.everything() if path == "View › Panels"}
    assert set(entries) == {"Settings", "Session", "Log"}
    for name, key in (("Settings", "inspector"), ("Session", "session"), ("Log", "log")):
        before = {dock: widget.isHidden() for dock, widget in window.work.docks.items()}
        entries[name].trigger()
        after = {dock: widget.isHidden() for dock, widget in window.work.docks.items()}
        assert {dock for dock in before if before[dock] != after[dock]} == {key}
        dock = window.work.docks[key]
        dock.show()
        title = dock.titleBarWidget()
        for floating in (True, False):
            title.float_button.click()
            assert (dock.isFloating(), dock.isHidden()) == (floating, False)
        title.hide_button.click()
        assert dock.isHidden()


def test_actions_of_the_servo_are_possible_in_the_states_they_are_made_for(calls, window, specs):
    views = [*(ServoView(state=state) for state in ServoState), ServoView(state=ServoState.FAULT, fault=EMERGENCY)]
    assert window.bench is not None, "its page brings actions"
    assert {view.kind for view in views} == {"off", "ready", "moving", "stopped", "fault"}
    tested = {text: specs[menu, text] for menu, text in specs if text in STATES}
    assert tested.keys() == STATES.keys()
    for view in views:
        window.controller.servo.view = view
        window.menus.refresh()
        possible = {text for text, (_, action) in tested.items() if action.isEnabled()}
        assert possible == {text for text, kinds in STATES.items() if view.kind in kinds}, view.kind


def test_an_action_that_is_not_possible_says_so_and_does_nothing(calls, window, specs):
    window.controller.servo.view = ServoView()
    calls.clear()
    _, action = specs["Bench", "Ready again"]
    action.trigger()
    assert calls == []
    assert window.messages.texts == ["Ready again: not possible now. Acknowledge a fault, or continue after a stop"]


def test_buttons_that_are_always_in_sight_do_what_they_say(calls, window):
    """Each is clicked in the state in which it is seen."""
    bar, line = window.status_bar, window.status_line
    off, fault = ServoView(), ServoView(state=ServoState.FAULT)
    for view, part, cls, name in (
        (off, bar.stop_button, Recording, "emergency_stop"),
        (off, bar.connect_button, ServoLink, "connect_servo"),
        (fault, bar.stop_button, Recording, "emergency_stop"),
        (fault, bar.connect_button, ServoLink, "disconnect_servo"),
        (fault, bar.acknowledge_button, ServoLink, "acknowledge"),
        (off, line.badge, MainWindow, "show_log"),
        (off, window.help_button, Helping, "show"),
    ):
        bar.show_view(view, 200.0)
        calls.clear()
        part.click()
        assert [call[1:] for call in calls] == [(cls, name)], part.accessibleName()


def test_the_line_at_the_foot_ends_what_it_shows(calls, window):
    row, controller = window.status_line.foremost, window.controller
    for activity, cls, name in (
        (window.under_way.recording, RecordQueue, "abort"),
        (window.under_way.connecting, ServoLink, "disconnect_servo"),
        (window.under_way.holding, ServoLink, "end_hold"),
        (window.under_way.reading, Library, "give_up"),
        (controller.fitting.activity, Fitting, "stop"),
        (window.fleet.running.activity, FleetRunning, "stop"),
    ):
        controller.activities.begin(activity)
        row.show_activity(activity)
        calls.clear()
        row.stop_button.click()
        assert [call[1:] for call in calls] == [(cls, name)], activity.title


def test_a_press_of_esc_is_one_emergency_stop_whatever_has_the_focus(calls, window, monkeypatch):
    monkeypatch.setattr(ServoLink, "released", False)
    for target in (window, window.log, window.record.form.choice):
        calls.clear()
        QApplication.sendEvent(target, QKeyEvent(QKeyEvent.Type.KeyPress, Qt.Key.Key_Escape, Qt.KeyboardModifier(0)))
        assert calls == [(window.controller.recording, Recording, "emergency_stop")]
        QApplication.processEvents()


def test_an_emergency_stop_switches_off_holds_the_queue_and_forgets_what_was_to_be_recorded(window, monkeypatch):
    done, controller = [], window.controller
    monkeypatch.setattr(controller.servo, "emergency_stop", lambda: done.append("off"))
    monkeypatch.setattr(controller.queue, "stop", lambda reason: done.append(reason))
    monkeypatch.setattr(controller.queue, "record", lambda runs: done.append(f"{len(runs)} recorded"))
    monkeypatch.setattr(controller.servo, "connect_servo", lambda: done.append("connecting"))
    monkeypatch.setattr(type(controller.servo), "recorder", object())
    controller.recording.record_paper_set()
    controller.recording.emergency_stop()
    assert done == ["connecting", "off", "Emergency stop"]
    controller.servo.changed.emit(ServoView(state=ServoState.READY))
    assert "4 recorded" not in done
    controller.recording.record_paper_set()
    controller.servo.changed.emit(ServoView(state=ServoState.READY))
    assert done[3:] == ["connecting", "4 recorded"]


def test_colours_and_angles_are_those_that_were_chosen(window):
    actions = {action.text(): action for path, action in window.menus.everything() if path == "View"}
    for unit in (*ANGLE_UNITS, ANGLE_UNITS[0]):
        actions[f"Angles in {unit.name}"].trigger()
        assert window.controller.angle_unit is unit
        assert window.controller.settings.angle_unit == unit.name
    for name in THEMES:
        actions[f"{name.capitalize()} theme"].trigger()
        assert window.controller.settings.theme == name
        assert actions[f"{name.capitalize()} theme"].isChecked()
    actions["System theme"].trigger()
    assert window.controller.settings.theme == "system"


def test_undo_and_redo_are_each_other_s_inverse(window):
    edit = {action.text().split()[0]: action for path, action in window.menus.everything() if path == "Edit"}
    setup = window.controller.setup
    before = setup.kp
    setup.edit_kp(before + 3.0)
    edit["Undo"].trigger()
    assert setup.kp == before
    edit["Redo"].trigger()
    assert setup.kp == before + 3.0
    assert [edit[name].shortcut() for name in ("Undo", "Redo")] == [
        QKeySequence(key) for key in (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)
    ]
