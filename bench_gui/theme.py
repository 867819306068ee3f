"""Themes of the window: light and dark palettes from `resources/palettes`, one style sheet, fixed curve colours.

The styles of curves are in `bench_gui.plots.styles`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import as_file, files
from string import Template

from PySide6.QtCore import QDir, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from bench_gui.headless.palette import Theme, load_theme
from bench_gui.settings import TEXT_SIZE

_APPLIED = "servobenchTheme"


def system_theme() -> str:
    """Return the theme that the system prefers; light by default."""
    dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return "dark" if dark else "light"


def prepare(app: QApplication) -> None:
    """Set style, font and icon path, which both themes share."""
    app.setStyle("Fusion")
    font = QFont(app.font())
    font.setPixelSize(TEXT_SIZE)
    app.setFont(font)
    with as_file(files("resources") / "icons") as folder:
        QDir.addSearchPath("icons", str(folder))


class Themes(QObject):
    """The theme in use, for the colours that no style sheet reaches; `dress` styles the parts of a window."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.current = load_theme("light")

    def use(self, theme: Theme) -> None:
        """Use a theme in the whole application."""
        self.current = theme
        QApplication.setPalette(_palette(theme))
        self.changed.emit()

    def follow(self, paint: Callable[[], object]) -> None:
        """Call a method now and after each change, as long as its object exists; Qt would keep a lambda for ever."""
        paint()
        self.changed.connect(paint)


themes = Themes()


def dress(part: QWidget) -> None:
    """Style a part of a window, and all that is in it or belongs to it, unless it has the present theme already.

    Qt styles all widgets below a style sheet at once, which takes most of a second for a whole window.
    """
    theme = themes.current
    if part.property(_APPLIED) != theme.name:
        part.setProperty(_APPLIED, theme.name)
        part.setStyleSheet(_style(theme, QApplication.font().pixelSize()))


@cache
def _style(theme: Theme, size: int) -> str:
    sizes = {"small": f"{size - 1}px", "large": f"{size + 3}px", "largest": f"{size + 5}px"}
    return Template(_STYLE).substitute(theme.__dict__, **sizes)


def _palette(theme: Theme) -> QPalette:
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.window,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Base: theme.panel,
        QPalette.ColorRole.AlternateBase: theme.window,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.muted,
        QPalette.ColorRole.Button: theme.panel,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.BrightText: theme.fault,
        QPalette.ColorRole.ToolTipBase: theme.panel,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.Highlight: theme.accent,
        QPalette.ColorRole.HighlightedText: theme.on_accent,
        QPalette.ColorRole.Accent: theme.accent,
        QPalette.ColorRole.Link: theme.accent,
        QPalette.ColorRole.Light: theme.raised,
        QPalette.ColorRole.Midlight: theme.raised,
        QPalette.ColorRole.Mid: theme.border,
        QPalette.ColorRole.Dark: theme.border,
        QPalette.ColorRole.Shadow: theme.border,
    }
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.disabled))
    palette.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Highlight, QColor(theme.border))
    return palette


_STYLE = """
QToolTip { background: $panel; color: $text; border: 1px solid $border; padding: 4px 6px; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="heading"] { color: $muted; font-size: $small; font-weight: 600; }
QLabel[role="title"] { font-size: $large; font-weight: 600; }
QLabel[role="reading"] { font-size: $largest; font-weight: 500; }
QLabel[role="empty"] { font-size: $large; font-weight: 600; }
QLabel[role="fault"] { color: $fault; font-weight: 600; }
QLabel[role="changed"] { color: $moving; font-weight: 600; }

QMenuBar { background: $panel; border-bottom: 1px solid $border; padding: 1px 4px; }
QMenuBar::item { padding: 3px 9px; background: transparent; border-radius: 4px; }
QMenuBar::item:selected { background: $raised; }
QMenu { background: $panel; border: 1px solid $border; padding: 4px; }
QMenu::item { padding: 5px 26px 5px 22px; border-radius: 4px; }
QMenu::item:selected { background: $accent_soft; color: $text; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $border; margin: 4px 6px; }
QMenu::indicator { width: 12px; height: 12px; left: 5px; }

QFrame#statusBar { background: $panel; border: none; border-bottom: 3px solid $off; }
QFrame#statusBar[state="ready"] { border-bottom-color: $ready; }
QFrame#statusBar[state="moving"] { border-bottom-color: $moving; }
QFrame#statusBar[state="stopped"] { border-bottom-color: $stopped; }
QFrame#statusBar[state="fault"] { border-bottom-color: $fault; }
QLabel#stateWord { color: $on_state; background: $off; border-radius: 5px; padding: 4px 12px; font-size: $large;
    font-weight: 700; }
QLabel#stateWord[state="ready"] { background: $ready; }
QLabel#stateWord[state="moving"] { background: $moving; }
QLabel#stateWord[state="stopped"] { background: $stopped; }
QLabel#stateWord[state="fault"] { background: $fault; }
QLabel#servoName { font-size: $large; font-weight: 600; }

QFrame#rail { background: $panel; border: none; border-right: 1px solid $border; }
QFrame#rail QToolButton { border: none; border-left: 3px solid transparent; border-radius: 0; color: $muted;
    padding: 6px 0 5px 0; font-size: $small; }
QFrame#rail QToolButton:hover { background: $raised; color: $text; }
QFrame#rail QToolButton:checked { border-left-color: $accent; background: $accent_soft; color: $text;
    font-weight: 600; }
QFrame#rail QToolButton:focus { color: $accent; }

QFrame#inspector { background: $panel; border: none; border-left: 1px solid $border; }
QFrame#dockTitle { background: $window; border: none; border-top: 1px solid $border; }
QTabBar { qproperty-drawBase: 0; }
QFrame#segments { background: $raised; border: 1px solid $border; border-radius: 6px; }
QFrame#segments QToolButton, QTabBar::tab { border: 1px solid transparent; border-radius: 5px; padding: 3px 10px;
    color: $muted; }
QFrame#segments QToolButton:hover, QTabBar::tab:hover { color: $text; }
QFrame#segments QToolButton:checked, QTabBar::tab:selected { background: $panel; border-color: $border; color: $text; }
QFrame#segments QToolButton:focus, QTabBar::tab:focus { border-color: $accent; }
QToolButton#faultBadge { background: $fault_soft; color: $fault; border: 1px solid $fault; border-radius: 4px;
    padding: 1px 8px; font-weight: 600; }
QToolButton#faultBadge[lit="yes"] { background: $stop; color: $on_stop; border-color: $stop; }
QFrame#actions { background: $panel; border: none; border-top: 1px solid $border; }
QScrollArea { background: transparent; border: none; }
QWidget#inspectorBody { background: $panel; }
QGraphicsView { background: $plot; border: 1px solid $border; border-radius: 6px; padding: 1px; }
QFrame[role="card"] { background: $panel; border: 1px solid $border; border-radius: 6px; }
QFrame[role="rule"] { background: $border; border: none; max-height: 1px; min-height: 1px; }

QPushButton, QToolButton[kind] { background: $panel; color: $text; border: 1px solid $border; border-radius: 5px;
    padding: 5px 12px; }
QPushButton:hover, QToolButton[kind]:hover { background: $raised; }
QPushButton:pressed, QToolButton[kind]:pressed { background: $border; }
QPushButton:focus, QToolButton[kind]:focus { border-color: $accent; }
QPushButton:disabled, QToolButton[kind]:disabled { color: $disabled; background: $window; }
QPushButton[kind="primary"], QToolButton[kind="primary"] { background: $accent; color: $on_accent;
    border-color: $accent; font-weight: 600; }
QPushButton[kind="primary"]:hover, QToolButton[kind="primary"]:hover { background: $accent_hover; }
QPushButton[kind="primary"]:focus, QToolButton[kind="primary"]:focus { border-color: $text; }
QPushButton[kind="primary"]:disabled { background: $raised; color: $disabled; border-color: $border; }
QPushButton[kind="stop"] { background: $stop; color: $on_stop; border: 1px solid $stop; border-radius: 6px;
    font-size: $large; font-weight: 700; padding: 6px 20px; }
QPushButton[kind="stop"]:hover { background: $stop; border-color: $text; }
QPushButton[kind="small"] { padding: 1px 10px; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton[kind="flat"], QToolButton[kind="flat"] { border-color: transparent; background: transparent;
    padding: 4px 8px; }
QPushButton[kind="flat"]:hover, QToolButton[kind="flat"]:hover { background: $raised; }
QPushButton[kind="flat"]:focus, QToolButton[kind="flat"]:focus { border-color: $accent; }
QPushButton[kind="flat"]:disabled, QToolButton[kind="flat"]:disabled { background: transparent; }
QToolButton::menu-indicator { image: none; }
QToolButton[popupMode="1"] { padding-right: 28px; }
QToolButton::menu-button { border: none; border-left: 1px solid $border; width: 20px; border-top-right-radius: 5px;
    border-bottom-right-radius: 5px; }
QToolButton::menu-button:hover { background: $raised; }
QToolButton[kind="primary"]::menu-button { border-left-color: $on_accent; }
QToolButton[kind="primary"]::menu-button:hover { background: $accent_hover; }
QToolButton::menu-arrow { image: url(icons:chevron-$name.svg); width: 14px; height: 14px; }
QToolButton[kind="primary"]::menu-arrow { image: url(icons:chevron-on-$name.svg); }
QToolButton[kind="title"] { border: none; background: transparent; padding: 2px; min-height: 12px; border-radius: 3px; }
QToolButton[kind="title"]:hover { background: $raised; }
QToolButton[kind="title"]:focus { background: $accent_soft; }
QToolButton[kind="chip"] { border: 1px solid $border; border-radius: 10px; padding: 1px 9px 1px 5px; font-size: $small;
    background: $panel; }
QToolButton[kind="chip"]:!checked { color: $disabled; background: $window; }

QCheckBox, QRadioButton { spacing: 7px; padding: 1px 0; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator { width: 13px; height: 13px;
    border: 1px solid $muted; border-radius: 3px; background: $panel; }
QRadioButton::indicator { border-radius: 7px; }
QAbstractItemView::indicator { width: 12px; height: 12px; }
QCheckBox::indicator:checked, QRadioButton::indicator:checked, QAbstractItemView::indicator:checked {
    background: $accent; border-color: $accent; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked { image: url(icons:check-on-$name.svg); }
QRadioButton::indicator:checked { image: url(icons:dot-on-$name.svg); }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border-color: $text; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QLineEdit, QDoubleSpinBox, QSpinBox, QComboBox { background: $panel; color: $text; border: 1px solid $border;
    border-radius: 4px; padding: 3px 6px; min-height: 16px; selection-background-color: $accent;
    selection-color: $on_accent; }
QLineEdit:focus, QDoubleSpinBox:focus, QSpinBox:focus, QComboBox:focus { border-color: $accent; }
QDoubleSpinBox[refused="yes"], QSpinBox[refused="yes"], QLineEdit[refused="yes"] {
    border-color: $fault; background: $fault_soft; }
QLineEdit:disabled, QDoubleSpinBox:disabled, QSpinBox:disabled, QComboBox:disabled { color: $disabled;
    background: $window; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { width: 0; height: 0; border: none; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit { border: none; padding: 0 7px; min-height: 0;
    background: transparent; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url(icons:chevron-$name.svg); width: 14px; height: 14px; }
QComboBox QAbstractItemView { background: $panel; border: 1px solid $border; selection-background-color: $accent_soft;
    selection-color: $text; padding: 2px; outline: none; }

QTableView, QListView, QPlainTextEdit { background: $panel; border: 1px solid $border; border-radius: 6px;
    alternate-background-color: $window; selection-background-color: $accent_soft; selection-color: $text;
    outline: none; }
QTableView:focus, QListView:focus, QPlainTextEdit:focus { border-color: $accent; }
QTableView::item, QListView::item { padding: 0 6px; border: none; }
QListView::item, QTreeView::item { padding: 3px 6px; }
QTreeView { background: $panel; border: 1px solid $border; border-radius: 6px; outline: none;
    selection-background-color: $accent_soft; selection-color: $text; }
QTreeView:focus { border-color: $accent; }
QTreeView::item { border: none; }
QTreeView::item:selected { background: $accent_soft; color: $text; }
QTextBrowser { background: $panel; border: 1px solid $border; border-radius: 6px; }
QHeaderView { background: $panel; border: none; }
QHeaderView::section { background: $panel; color: $muted; border: none; border-bottom: 1px solid $border;
    padding: 4px 9px; font-size: $small; font-weight: 600; }
QTableCornerButton::section { background: $panel; border: none; }
QTableView#embedded { border: none; border-radius: 0; }

QFrame#notice, QFrame#messageBar { background: $moving_soft; border: 1px solid $moving; border-radius: 6px; }
QFrame#notice QToolButton, QFrame#messageBar QToolButton { padding: 2px 6px; min-height: 14px; }
QFrame#notice[level="error"], QFrame#messageBar[level="error"] { background: $fault_soft; border-color: $fault; }
QFrame#notice[level="info"], QFrame#messageBar[level="info"] { background: $accent_soft; border-color: $accent; }
QFrame#tourCard { background: $panel; border: 1px solid $accent; border-left: 4px solid $accent; border-radius: 8px; }
QFrame#statusLine { background: $panel; border: none; border-top: 1px solid $border; }
QFrame#activityList { background: $panel; border: 1px solid $border; border-radius: 6px; }
QLabel#menuTip { background: $panel; color: $muted; border-top: 1px solid $border; padding: 0 14px; }
QFrame#sessionBar { background: $window; border: none; border-top: 1px solid $border; }

QProgressBar { background: $raised; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QSplitter::handle { background: transparent; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $border; border-radius: 4px; margin: 1px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
"""
