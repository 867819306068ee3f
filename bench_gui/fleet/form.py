"""Form of a fleet: its units, its models, where it is computed and stored."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPushButton, QSpinBox, QWidget

from bench_gui import file_dialogs
from bench_gui.fleet.messages import FleetJob
from bench_gui.fleet.reading import SeenSession
from bench_gui.fleet.session_list import SessionList
from bench_gui.fleet.summary import FleetSummary
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.checks_menu import ChecksMenu, friction_menu
from bench_gui.widgets.fields import FIELD_WIDTH, Section, button, choice, describe, hbox, label, vbox, whole
from core.base.words import capitalised, counted
from core.identification.request import IdentificationRequest
from core.servo.catalogue import load_servo, servos
from core.servo.shipped import shipped_models
from core.servo.terms import COMMAND_PATH_TERMS, FRICTION_MODELS, RICHEST
from sessions.folders import as_person_writes, home

SESSIONS, SIMULATED = "sessions", "simulated"
TRIED = 8
"""Default number of simulated units."""
FIRST_SERVO = "mx106"
_PLAN, _SESSION_FILE = "fleet.json", "session.json"
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://(\[[0-9a-fA-F:.]+\]|[\w.-]+):\d{1,5}")
_CONDITIONS = (
    ("mass", "load", "Load"),
    ("length", "length", "Length"),
    ("kp", "kp", "Gain kp"),
    ("trajectory", "trajectory", "Trajectory"),
    ("supply_voltage", "supply", "Supply voltage"),
)


class FleetForm(QWidget):
    """Shows below each field what is wrong with it."""

    changed = Signal()
    """The request has changed."""
    look_wanted = Signal(object)
    """Sessions that have not been read yet, tuple of paths."""

    def __init__(self) -> None:
        super().__init__()
        self._base: IdentificationRequest | None = None
        """Request of the opened fleet: settings that the form does not offer stay as they were."""
        self._folder: Path | None = None
        """Folder chosen by the user."""
        self._job, self._fit = Binding(), Binding()
        """Fields of the job, and of the fits of its models."""
        self._open_session: Path | None = None
        column = vbox(self, spacing=14)
        for section in (self._units(), self._fits(), self._computing(), self._place()):
            column.addWidget(section)
        self._watch()
        self._choose_source()

    # Building.

    def _units(self) -> Section:
        section = Section("Units")
        self.source: QComboBox = choice(
            "Units from",
            "Recorded sessions, or simulated servos to try a fleet without hardware",
            [("Sessions", SESSIONS), ("Simulated", SIMULATED)],
        )
        self.source.setFixedWidth(FIELD_WIDTH)
        section.row("Units from", self.source)
        self.sessions = SessionList()
        section.wide(self.sessions)
        self._session_buttons = QWidget()
        row = hbox(self._session_buttons, spacing=6)
        self.add_button: QPushButton = button(
            "Add…", "Choose a session, or a folder of sessions; they can also be dropped on the list", self.ask_sessions
        )
        self.add_open_button: QPushButton = button("Add open", "", self._add_open)
        self.remove_button: QPushButton = button(
            "Remove", "Remove the chosen sessions from the list", self.sessions.remove_chosen
        )
        for made in (self.add_button, self.add_open_button, self.remove_button):
            row.addWidget(made)
        section.wide(self._session_buttons)
        self.servo: QComboBox = choice("Servo", "Catalogue name of the units; runs of other servos are ignored")
        self.servo.setFixedWidth(FIELD_WIDTH)
        self._servo_caption = section.row("Servo", self.servo)
        self.count: QSpinBox = whole("Number of units", "Number of simulated servos", TRIED, 1, 1000)
        self._count_caption = section.row("Number", self.count)
        self.found: QLabel = _line(section, "muted", "Contents of the sessions")
        self.units_problem: QLabel = _line(section, "fault", "Problem with the units")
        return section

    def _fits(self) -> Section:
        section = Section("Fits")
        self.models = friction_menu("Models of the fleet", "Friction models to fit to each unit", FRICTION_MODELS)
        section.row("Models", self.models)
        self.path = describe(
            QCheckBox("Identify the command path"),
            "Identify the command path of each unit",
            "Delay, gain ratio, velocity limit of the goal, dead band, PWM lag and braking when released",
        )
        self.path.setChecked(True)
        section.wide(self.path)
        self.repeats: QSpinBox = whole(
            "Repeats", "Searches for each model, from different starts; the best is kept", 1, 1, 50
        )
        section.row("Repeats", self.repeats)
        self.by = ChecksMenu(
            "Folds by condition",
            "Fit to all runs, and score by holding out each value of these in turn; none: a quarter of the runs is "
            "held out",
            _CONDITIONS,
        )
        section.row("Folds by", self.by)
        self.trials: QSpinBox = whole(
            "Evaluations of a fit", "Evaluations per search; automatic: 1000 per parameter",
            0, 0, 10_000_000, "automatic",
        )  # fmt: skip
        self.trials.setSingleStep(500)
        section.row("Evaluations", self.trials)
        self.fits_problem: QLabel = _line(section, "fault", "Problem with the fits")
        return section

    def _computing(self) -> Section:
        section = Section("Computing")
        self.workers: QSpinBox = whole(
            "Workers", "Processes on this machine; all: one per processor", 0, 0, 512, f"all {os.cpu_count() or 1}"
        )
        section.row("Workers", self.workers)
        self.scheduler = describe(
            QLineEdit(),
            "Scheduler address",
            "Address of a Dask cluster, e.g. tls://10.0.0.5:8786; empty: this machine. Anyone who reaches a tcp:// "
            "scheduler can run programs on its workers and on this machine: use one only in a private network",
        )
        self.scheduler.setPlaceholderText("this machine")
        self.scheduler.setFixedWidth(FIELD_WIDTH + 42)
        section.row("Scheduler", self.scheduler)
        self.computing_problem: QLabel = _line(section, "fault", "Problem with the workers or the scheduler")
        return section

    def _place(self) -> Section:
        section = Section("Results folder")
        self.folder_text: QLabel = label("")
        self.folder_text.setWordWrap(True)
        self.folder_text.setAccessibleName("Folder of the fleet")
        self.folder_button: QPushButton = button("Choose…", "Choose the folder of the fleet", self.ask_folder)
        section.wide(self.folder_text)
        section.wide(self.folder_button)
        self.resumes: QLabel = _line(section, "muted", "Fleet in the folder")
        self.folder_problem: QLabel = _line(section, "fault", "Problem with the folder")
        return section

    def _watch(self) -> None:
        self.source.currentIndexChanged.connect(lambda _: self._choose_source())
        self.sessions.changed.connect(self._look)
        self.sessions.itemSelectionChanged.connect(self._enable_buttons)
        self.servo.currentIndexChanged.connect(lambda _: self._say())
        self.count.valueChanged.connect(lambda _: self._say())
        self.path.toggled.connect(lambda _: self._say())
        self._fit.bind("models", self.models)
        self._fit.bind("repeats", self.repeats)
        self._fit.bind("trials", self.trials, optional=True)
        self._job.bind("by", self.by)
        self._job.bind("workers", self.workers, optional=True)
        self._job.bind("scheduler", self.scheduler)
        for binding in (self._fit, self._job):
            binding.edited.connect(lambda _: self._say())

    # Actions of the user.

    def ask_sessions(self) -> None:
        """Ask for a session or a folder of sessions."""
        begin = self.sessions.sessions[-1].parent if self.sessions.sessions else home()
        folder = file_dialogs.ask_folder(self, "Add a session, or a folder of sessions", begin)
        if folder:
            self.sessions.add([Path(folder)])

    def ask_folder(self) -> None:
        """Ask for the fleet's folder."""
        folder = file_dialogs.ask_folder(self, "Choose the folder of the fleet", self.folder.parent)
        if folder:
            self.set_folder(Path(folder))

    def set_folder(self, folder: Path) -> None:
        """Set the fleet's folder."""
        self._folder = folder
        self._say()

    def set_open_session(self, path: Path | None) -> None:
        """Set the session that is open in the window."""
        self._open_session = path
        self._enable_buttons()

    def try_simulated(self) -> None:
        """Request a few simulated servos, fitted as they are simulated: without a command path."""
        self.source.setCurrentIndex(self.source.findData(SIMULATED))
        self.servo.setCurrentIndex(max(0, self.servo.findData(FIRST_SERVO)))
        self.count.setValue(TRIED)
        self.path.setChecked(False)

    def show_seen(self, seen: tuple[SeenSession, ...]) -> None:
        """Update the contents of the sessions."""
        self.sessions.show_seen(seen)
        if self.source.currentData() == SESSIONS:
            self._offer_servos()
        self._say()

    def suit(self, summary: FleetSummary) -> None:
        """Restore the request of an opened fleet, so that Start continues it."""
        fit = summary.request.fit
        self._base = fit
        self._folder = summary.folder
        self.source.setCurrentIndex(self.source.findData(SESSIONS))
        self.sessions.set_sessions(tuple(Path(session) for session in summary.sessions))
        self._fit.show(fit)
        self.path.setChecked(bool(fit.command_path))
        self.by.check(summary.request.by)
        self._say()

    # Request.

    @property
    def folder(self) -> Path:
        """Folder of the fleet."""
        if self._folder is not None:
            return self._folder
        servo = str(self.servo.currentData() or "")
        if self.source.currentData() == SIMULATED:
            return home() / f"fleet_simulated_{servo}"
        beside = self.sessions.sessions[0].parent if self.sessions.sessions else home()
        return beside / (f"fleet_{servo}" if servo else "fleet")

    @property
    def obstacle(self) -> str:
        """Reason why nothing can be started, with the remedy; empty if it can."""
        problems = (self._units_trouble(), self._fits_trouble(), self._computing_trouble(), self._folder_trouble())
        waits = "the sessions are being read" if self._waits else ""
        return next((problem for problem in problems if problem), waits)

    def job(self) -> FleetJob:
        """Return the request; call it only when there is no obstacle."""
        servo = str(self.servo.currentData())
        same = self._base is not None and self._base.servo == servo
        base = self._base if same and self._base is not None else IdentificationRequest(servo=servo)
        path = base.command_path if same and base.command_path else COMMAND_PATH_TERMS
        simulated = self.source.currentData() == SIMULATED
        return FleetJob(
            sessions=() if simulated else self.sessions.sessions,
            simulated=self.count.value() if simulated else 0,
            servo=servo,
            fit=replace(base, **self._fit.values(), command_path=path if self.path.isChecked() else ()),
            folder=self.folder,
            **self._job.values(),
        )

    @property
    def _waits(self) -> bool:
        return self.source.currentData() == SESSIONS and self.sessions.unseen

    def _units_trouble(self) -> str:
        if self.source.currentData() == SIMULATED:
            return ""
        if not self.sessions.sessions:
            return "the list has no session: add some, or try simulated servos"
        for seen in self.sessions.seen:
            if seen.problem:
                return f"{seen.problem.rstrip('.')}: repair or remove it"
        return ""

    def _fits_trouble(self) -> str:
        return "" if self.models.checked else "no model is chosen: check at least one"

    def _computing_trouble(self) -> str:
        address = self.scheduler.text().strip()
        if address and not _ADDRESS.fullmatch(address):
            return f"{address!r} is not the address of a scheduler: enter one like tcp://10.0.0.5:8786"
        if (address or self.workers.value() > 1) and find_spec("distributed") is None:
            return "several processes need Dask, which is not installed: pip install 'servobench[cluster]'"
        return ""

    def _folder_trouble(self) -> str:
        folder = self.folder
        there = next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))
        if not there.is_dir():
            return f"{there.name} is a file: choose a folder"
        if (folder / _SESSION_FILE).exists():
            return "this folder is a session: choose another folder"
        if not os.access(there, os.W_OK):
            return f"{as_person_writes(there)} is not writable: choose another folder"
        return ""

    # Reactions to a choice.

    def _choose_source(self) -> None:
        simulated = self.source.currentData() == SIMULATED
        for part in (self.sessions, self._session_buttons):
            part.setVisible(not simulated)
        for part in (self.count, self._count_caption):
            part.setVisible(simulated)
        self._offer_servos()
        self._say()

    def _offer_servos(self) -> None:
        if self.source.currentData() == SIMULATED:
            names = [name for name in servos() if RICHEST in shipped_models(name)]
        else:
            names = list(dict.fromkeys(servo for seen in self.sessions.seen for servo, _, _ in seen.units))
        before = self.servo.currentData()
        with QSignalBlocker(self.servo):
            self.servo.clear()
            for name in names:
                self.servo.addItem(name, name)
            most = max(dict.fromkeys(self._servo_of_units), key=self._servo_of_units.count, default="")
            wanted = before if before in names else most if most in names else FIRST_SERVO
            self.servo.setCurrentIndex(max(0, self.servo.findData(wanted)) if names else -1)
        for part in (self.servo, self._servo_caption):
            part.setVisible(self.source.currentData() == SIMULATED or len(names) > 1)

    @property
    def _servo_of_units(self) -> list[str]:
        return [servo for seen in self.sessions.seen for servo, _, _ in seen.units]

    def _add_open(self) -> None:
        if self._open_session is not None:
            self.sessions.add([self._open_session])

    def _look(self) -> None:
        self._offer_servos()
        if self.sessions.unseen:
            self.look_wanted.emit(self.sessions.sessions)
        self._say()

    def _enable_buttons(self) -> None:
        there = self._open_session
        new = there is not None and there not in self.sessions.sessions
        self.add_open_button.setEnabled(new)
        why = "Add the session that is open in the window"
        if there is None:
            why = "No session is open"
        elif not new:
            why = "The open session is already in the list"
        self.add_open_button.setToolTip(why)
        self.remove_button.setEnabled(bool(self.sessions.selectedItems()))

    def _say(self) -> None:
        """Show at each field its problem, or what is known."""
        self._allow_conditions()
        self._enable_buttons()
        self.workers.setEnabled(not self.scheduler.text().strip())
        # An empty list needs no error: only a user's entry can be wrong.
        units = self._units_trouble() if self.sessions.sessions else ""
        for line, text in (
            (self.found, self._found_in_words()),
            (self.units_problem, units),
            (self.fits_problem, self._fits_trouble()),
            (self.computing_problem, self._computing_trouble()),
            (self.folder_problem, self._folder_trouble()),
            (self.resumes, self._resumes_in_words()),
        ):
            line.setText(capitalised(text))
            line.setVisible(bool(text))
        self.folder_text.setText(as_person_writes(self.folder))
        self.changed.emit()

    def _found_in_words(self) -> str:
        if self.source.currentData() == SIMULATED:
            return f"{self.count.value()} servos that differ like real ones, each with eight recordings"
        if self._waits:
            return "reading the sessions…"
        servo = self.servo.currentData()
        units = [unit for seen in self.sessions.seen for unit in seen.units]
        mine = [count for name, _, count in units if name == servo]
        if not mine:
            return ""
        title = load_servo(str(servo)).title
        text = f"{title}: {counted(len(mine), 'unit')}, {counted(sum(mine), 'run')}"
        left = len(units) - len(mine)
        return f"{text}; {left} of other servos ignored" if left else text

    def _resumes_in_words(self) -> str:
        if not (self.folder / _PLAN).exists():
            return ""
        return "this folder holds a fleet: Start computes only the missing fits"

    def _allow_conditions(self) -> None:
        if self.source.currentData() == SIMULATED:
            varied = {"mass", "trajectory"}
        elif self.sessions.seen and not self._waits:
            varied = {name for seen in self.sessions.seen for name in seen.conditions}
        else:
            varied = {key for key, _, _ in _CONDITIONS}
        with QSignalBlocker(self.by):
            for key, _, text in _CONDITIONS:
                self.by.allow(key, "" if key in varied else f"{text} is the same in every run of a unit")


def _line(section: Section, role: str, name: str) -> QLabel:
    made = label("", role)
    made.setWordWrap(True)
    made.setAccessibleName(name)
    made.hide()
    section.wide(made)
    return made
