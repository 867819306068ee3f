"""The work area: the task's page in the middle, docks around it that can be moved, floated, hidden and reset.

It is a main window inside the window, so the status bar, the rail and the foot keep their place whatever the user does
with the docks. Its layout is saved in Qt's format; a saved layout that does not fit is rejected as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QChildEvent, QEvent, QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QMouseEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QTabBar,
    QToolButton,
    QWidget,
)

from bench_gui.theme import dress, themes
from bench_gui.widgets.fields import tool

LAYOUT_VERSION = 1
"""Part of every saved layout; layouts of other versions are rejected."""
QWIDGETSIZE_MAX = (1 << 24) - 1
"""Qt's maximum widget size, which PySide6 does not export."""
SETTLED = 400
"""A layout counts as changed once it has been stable for this long [ms]."""


class DockTitle(QFrame):
    """Thin title bar: the name of the dock, and buttons to fold it to its title, float or dock it, and hide it."""

    def __init__(
        self, dock: QDockWidget, name: str, head: QWidget | None = None, fold: Callable[[], object] | None = None
    ) -> None:
        """Build the title bar.

        Args:
            dock: Dock it belongs to.
            name: Name of the dock.
            head: Widget shown in place of the name.
            fold: Folds or unfolds the dock; None if it cannot be folded.
        """
        super().__init__()
        self.setObjectName("dockTitle")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 1, 4, 0)
        row.setSpacing(2)
        self.text = QLabel(name.upper(), self)
        self.text.setProperty("role", "heading")
        self.text.setVisible(head is None)
        if head is None:
            row.addWidget(self.text)
            row.addStretch(1)
        else:
            row.addWidget(head, 1)
        self.fold_button: QToolButton = tool(f"Fold {name}", f"Fold or unfold {name}", "title", "fold", 12)
        self._fold, self._pressed = fold, QPointF()
        if fold is not None:
            self.setToolTip("Click to fold or unfold, drag to move")
            # The dock takes the mouse from here to move itself.
            dock.installEventFilter(self)
            self.fold_button.clicked.connect(fold)
            row.addWidget(self.fold_button)
        self.float_button: QToolButton = tool(f"Float {name}", f"Float or dock {name}", "title", "float", 12)
        self.float_button.clicked.connect(lambda: dock.setFloating(not dock.isFloating()))
        self.hide_button: QToolButton = tool(
            f"Hide {name}", f"Hide {name}; the View menu shows it again", "title", "close", 12
        )
        self.hide_button.clicked.connect(dock.hide)
        row.addWidget(self.float_button)
        row.addWidget(self.hide_button)

    def eventFilter(self, dock: QObject, event: QEvent) -> bool:
        """Fold or unfold on a click on the title, which is not the end of a drag."""
        if isinstance(event, QMouseEvent) and event.button() is Qt.MouseButton.LeftButton:
            if event.type() == QEvent.Type.MouseButtonPress:
                self._pressed = event.globalPosition()
            elif event.type() == QEvent.Type.MouseButtonRelease and self._fold is not None:
                moved = (event.globalPosition() - self._pressed).manhattanLength()
                if moved < QApplication.startDragDistance() and self.geometry().contains(event.position().toPoint()):
                    self._fold()
        return False


_STYLE = """
QMainWindow::separator { background: palette(mid); width: 2px; height: 2px; }
QMainWindow::separator:hover { background: palette(highlight); }
QDockWidget { border: none; }
"""


class WorkArea(QMainWindow):
    """The central page and its docks."""

    layout_changed = Signal(object, object)
    """Layout before and after a change by the user, QByteArray each."""
    folded = Signal(str, bool)
    """Key of a dock that the user folded or unfolded, and True if folded."""

    def __init__(self, centre: QWidget) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setStyleSheet(_STYLE)
        self.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks
            | QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AnimatedDocks
        )
        self.setCentralWidget(centre)
        self.docks: dict[str, QDockWidget] = {}
        self._titles: list[DockTitle] = []
        self._unfolded: dict[str, tuple[int, int]] = {}
        """Minimum height of a folded dock's content, and height of the unfolded dock [px]."""
        self._default = QByteArray()
        self._last = QByteArray()
        self._arrangement: tuple[tuple[bool, bool, Qt.DockWidgetArea], ...] = ()
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLED)
        self._settle.timeout.connect(self._settled)
        themes.changed.connect(self._paint)

    def add(
        self, key: str, name: str, widget: QWidget, area: Qt.DockWidgetArea, head: QWidget | None = None
    ) -> QDockWidget:
        """Put a widget into a dock.

        Args:
            key: Name of the dock in saved layouts.
            name: Title of the dock.
            widget: Content.
            area: Side of the window.
            head: Widget shown in place of the title; the dock can then be folded to it.
        """
        dock = QDockWidget(name, self)
        dock.setObjectName(key)
        title = DockTitle(dock, name, head, None if head is None else lambda: self._turn(key))
        dock.setTitleBarWidget(title)
        dock.setWidget(widget)
        self._titles.append(title)
        self.addDockWidget(area, dock)
        self.docks[key] = dock
        for signal in (dock.visibilityChanged, dock.topLevelChanged, dock.dockLocationChanged):
            signal.connect(lambda *_: self._settle.start())
        return dock

    def set_title(self, key: str, name: str) -> None:
        """Rename a dock."""
        title = self.docks[key].titleBarWidget()
        if isinstance(title, DockTitle):
            title.text.setText(name.upper())

    def fold(self, key: str, fold: bool, height: int) -> None:
        """Fold a dock to its title, or unfold it; `height` applies the first time [px]."""
        dock = self.docks[key]
        content = dock.widget()
        if fold == self.is_folded(key):
            return
        if fold:
            self._unfolded[key] = content.minimumHeight(), dock.height() if dock.isVisible() else height
            content.setFixedHeight(0)
        else:
            least, height = self._unfolded.pop(key)
            content.setMinimumHeight(least)
            content.setMaximumHeight(QWIDGETSIZE_MAX)
            self.resizeDocks([dock], [height], Qt.Orientation.Vertical)

    def is_folded(self, key: str) -> bool:
        """Return True if a dock is folded to its title."""
        return key in self._unfolded

    def toggles(self) -> list[QAction]:
        """Actions that show and hide the docks."""
        return [dock.toggleViewAction() for dock in self.docks.values()]

    def remember_default(self) -> None:
        """Make the present layout the default for `reset`."""
        self._default = self.saveState(LAYOUT_VERSION)
        self._note()

    def reset(self) -> None:
        """Restore the default layout."""
        for dock in self.docks.values():
            dock.setFloating(False)
        self.restore(self._default)

    def save(self) -> str:
        """Return the layout as text."""
        return bytes(self.saveState(LAYOUT_VERSION).toBase64().data()).decode("ascii")

    def restore_text(self, text: str) -> bool:
        """Apply a saved layout; return True if it fits."""
        return self.restore(QByteArray.fromBase64(text.encode("ascii", "ignore")))

    def restore(self, layout: QByteArray) -> bool:
        """Apply a layout without an undo step; return True if it fits."""
        good = bool(layout) and self.restoreState(layout, LAYOUT_VERSION)
        self._note()
        # Docks move to their places a little later.
        QTimer.singleShot(0, self, self._note)
        return good

    def childEvent(self, event: QChildEvent) -> None:
        """Style the tabs of docks, which Qt creates when docks are stacked."""
        super().childEvent(event)
        if event.polished() and isinstance(tabs := event.child(), QTabBar):
            dress(tabs)

    def showEvent(self, event: QShowEvent) -> None:
        """Note the arrangement when first shown: until then all docks count as hidden."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._note)

    def _paint(self) -> None:
        """Style what is between the page and the content of the docks."""
        self.style().polish(self)
        tabs = self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for part in (*self._titles, *tabs):
            dress(part)

    def _turn(self, key: str) -> None:
        fold = not self.is_folded(key)
        self.fold(key, fold, 0)
        self.folded.emit(key, fold)

    def _note(self) -> None:
        self._settle.stop()
        self._last = self.saveState(LAYOUT_VERSION)
        self._arrangement = self._arranged()

    def _settled(self) -> None:
        if not self.isVisible() or self._arranged() == self._arrangement:
            return
        before = self._last
        self._note()
        self.layout_changed.emit(before, self._last)

    def _arranged(self) -> tuple[tuple[bool, bool, Qt.DockWidgetArea], ...]:
        """Visibility, floating state and side of each dock; sizes are not part of the arrangement."""
        return tuple(
            (dock.toggleViewAction().isChecked(), dock.isFloating(), self.dockWidgetArea(dock))
            for dock in self.docks.values()
        )
