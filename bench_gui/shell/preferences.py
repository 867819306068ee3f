"""Dialog of all settings that apply to every session."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QActionGroup, QDesktopServices, QKeySequence
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from bench_gui.controller import Controller
from bench_gui.record.countdown import LONGEST_COUNTDOWN
from bench_gui.settings import TEXT_SIZES
from bench_gui.shell.menus import Menus
from bench_gui.widgets.fields import ElidedLabel, Section, button, choice, describe, number
from sessions.folders import HOME_VARIABLE, as_person_writes, home

WIDTH, HEIGHT = 460, 520
CHOICE_WIDTH = 150
"""Room for the longest choice of a menu [px]."""


class PreferencesDialog(QDialog):
    """Units, theme, text size, countdown, capture key, sessions folder, and a list of the shortcuts."""

    def __init__(self, owner: QWidget, controller: Controller, menus: Menus, units: QActionGroup, themes: QActionGroup):
        """Build the dialog.

        Args:
            owner: Widget it belongs to, whose style it has.
            controller: The program.
            menus: Source of the shortcuts.
            units: Choices of the units menu.
            themes: Choices of the theme menu.
        """
        super().__init__(owner)
        self.setWindowTitle("Preferences")
        self.resize(WIDTH, HEIGHT)
        self._controller = controller
        settings = controller.settings
        section = Section("Preferences")
        self.units = _repeat("Angles", "Unit of every angle shown; files are always in radians", units)
        self.theme = _repeat("Theme", "Colours of the window", themes)
        sizes: list[tuple[str, object]] = [(f"{size} px", size) for size in TEXT_SIZES]
        self.text_size = choice("Text size", "Size of the text and of everything around it, from the next start", sizes)
        self.text_size.setFixedWidth(CHOICE_WIDTH)
        self.text_size.setCurrentIndex(TEXT_SIZES.index(settings.text_size))
        self.text_size.currentIndexChanged.connect(lambda place: settings.set("text_size", TEXT_SIZES[place]))
        self.countdown = number(
            "Countdown",
            "Time before a real servo starts to move, in which Abort cancels the run",
            "s",
            settings.countdown,
            0.0,
            LONGEST_COUNTDOWN,
            1,
            1.0,
        )
        self.countdown.valueChanged.connect(self._set_countdown)
        self.key = describe(
            QKeySequenceEdit(QKeySequence(settings.capture_key)),
            "Capture key",
            "Captures a rest on the Place page; a foot pedal works like a key",
        )
        self.key.setMaximumSequenceLength(1)
        self.key.editingFinished.connect(self._set_key)
        section.row("Angles", self.units)
        section.row("Theme", self.theme)
        section.row("Text size, from the next start", self.text_size)
        section.row("Countdown of a real servo", self.countdown)
        section.row("Capture key", self.key)
        column = QVBoxLayout(self)
        column.addWidget(section)
        column.addLayout(self._folder())
        column.addWidget(_shortcuts(menus), 1)
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        describe(
            box.button(QDialogButtonBox.StandardButton.Close),
            "Close",
            "Changes take effect at once, the text size at the next start",
        )
        box.rejected.connect(self.reject)
        column.addWidget(box)

    def _folder(self) -> QHBoxLayout:
        path = ElidedLabel()
        path.setText(f"Sessions: {as_person_writes(home())}")
        path.setToolTip(f"New sessions are created here; the environment variable {HOME_VARIABLE} names another folder")
        row = QHBoxLayout()
        row.addWidget(path, 1)
        row.addWidget(
            button("Open folder", "Open the sessions folder", lambda: QDesktopServices.openUrl(_url()), "small")
        )
        return row

    def _set_countdown(self, seconds: float) -> None:
        self._controller.queue.countdown.set_hazardous(seconds)
        self._controller.settings.set("countdown", seconds)

    def _set_key(self) -> None:
        key = self.key.keySequence().toString()
        if key:
            self._controller.settings.set("capture_key", key)


def _url() -> QUrl:
    home().mkdir(parents=True, exist_ok=True)
    return QUrl.fromLocalFile(str(home()))


def _repeat(name: str, tip: str, group: QActionGroup) -> QComboBox:
    """Return a field with the choices of a menu."""
    actions = group.actions()
    made = choice(name, tip, [(action.text(), None) for action in actions])
    made.setFixedWidth(CHOICE_WIDTH)
    made.setCurrentIndex(next(place for place, action in enumerate(actions) if action.isChecked()))
    made.currentIndexChanged.connect(lambda place: actions[place].trigger())
    return made


def _shortcuts(menus: Menus) -> QTreeWidget:
    made = describe(QTreeWidget(), "Shortcuts", "Commands with a shortcut; Ctrl+K finds the others")
    made.setHeaderLabels(["Command", "Keys"])
    made.setRootIsDecorated(False)
    for _, action in menus.everything():
        keys = action.shortcut().toString() or ("Esc" if action.text().endswith("\tEsc") else "")
        if keys:
            QTreeWidgetItem(made, [action.text().split("\t")[0].replace("&", "").rstrip("…"), keys])
    made.header().setStretchLastSection(False)
    made.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    return made
