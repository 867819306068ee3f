"""The work area: the task's picture in the middle, docks around it that can be moved, floated, hidden and set back.

It is a main window inside the window, so that the status bar, the rail and the foot stay where they are whatever is
done to the docks. Its layout is saved as Qt saves it; a saved layout that does not fit is refused, never half taken.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QDockWidget, QFrame, QHBoxLayout, QLabel, QMainWindow, QToolButton, QWidget

from bench_gui.icons import icon
from bench_gui.theme import Theme
from bench_gui.widgets.fields import tool

LAYOUT_VERSION = 1
"""Part of every saved layout; one of another version is refused."""
QWIDGETSIZE_MAX = (1 << 24) - 1
"""Qt's own, which PySide6 does not name."""
SETTLED = 400
"""A layout counts as changed once it has stayed the same for this long [ms]."""


class DockTitle(QFrame):
    """A thin title: what the dock is, and buttons to fold it to its title, to float it (or put it back), to hide it."""

    def __init__(
        self, dock: QDockWidget, name: str, head: QWidget | None = None, fold: Callable[[], object] | None = None
    ) -> None:
        """head: stands in the place of the name; fold: folds the dock or unfolds it, None: it cannot."""
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
        self.fold_button: QToolButton = tool(f"Fold {name}", f"Fold {name} to this line, or unfold it", "title")
        if fold is not None:
            self.fold_button.clicked.connect(fold)
            row.addWidget(self.fold_button)
        self.float_button: QToolButton = tool(f"Float {name}", f"Float {name}, or put it back", "title")
        self.float_button.clicked.connect(lambda: dock.setFloating(not dock.isFloating()))
        self.hide_button: QToolButton = tool(
            f"Hide {name}", f"Hide {name}; the View menu brings it back and a hidden dock costs nothing", "title"
        )
        self.hide_button.clicked.connect(dock.hide)
        row.addWidget(self.float_button)
        row.addWidget(self.hide_button)

    def set_theme(self, theme: Theme) -> None:
        """Draw the icons in a theme's colours."""
        self.fold_button.setIcon(icon("fold", theme.muted, 12))
        self.float_button.setIcon(icon("float", theme.muted, 12))
        self.hide_button.setIcon(icon("close", theme.muted, 12))


class WorkArea(QMainWindow):
    """The central picture and its docks."""

    layout_changed = Signal(object, object)
    """Layout before and after a person changed it, QByteArray each."""
    folded = Signal(str, bool)
    """Key of a dock that a person folded to its title or unfolded, and which of the two."""

    def __init__(self, centre: QWidget) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks
            | QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AnimatedDocks
        )
        self.setCentralWidget(centre)
        self.docks: dict[str, QDockWidget] = {}
        self._titles: list[DockTitle] = []
        self._unfolded: dict[str, tuple[int, int]] = {}
        """Least height of a folded dock's content and height of the dock when it is unfolded [px]."""
        self._default = QByteArray()
        self._last = QByteArray()
        self._arrangement: tuple[tuple[bool, bool, Qt.DockWidgetArea], ...] = ()
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLED)
        self._settle.timeout.connect(self._settled)

    def add(
        self, key: str, name: str, widget: QWidget, area: Qt.DockWidgetArea, head: QWidget | None = None
    ) -> QDockWidget:
        """Give a widget a dock; key names it in saved layouts, head is its title instead of the name.

        One with a head can be folded to it.
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
        """Call a dock something else."""
        title = self.docks[key].titleBarWidget()
        if isinstance(title, DockTitle):
            title.text.setText(name.upper())

    def fold(self, key: str, fold: bool, height: int) -> None:
        """Leave only a dock's title in sight, or show all of it; height: of the dock the first time [px]."""
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
        """Whether only a dock's title is in sight."""
        return key in self._unfolded

    def toggles(self) -> list[QAction]:
        """An action for each dock that shows and hides it."""
        return [dock.toggleViewAction() for dock in self.docks.values()]

    def remember_default(self) -> None:
        """What is there now is what `reset` goes back to."""
        self._default = self.saveState(LAYOUT_VERSION)
        self._note()

    def reset(self) -> None:
        """Go back to the default layout."""
        for dock in self.docks.values():
            dock.setFloating(False)
        self.restore(self._default)

    def save(self) -> str:
        """The layout as text."""
        return bytes(self.saveState(LAYOUT_VERSION).toBase64().data()).decode("ascii")

    def restore_text(self, text: str) -> bool:
        """Take over a saved layout; whether it fitted."""
        return self.restore(QByteArray.fromBase64(text.encode("ascii", "ignore")))

    def restore(self, layout: QByteArray) -> bool:
        """Take over a layout; whether it fitted. No undo step comes of it."""
        good = bool(layout) and self.restoreState(layout, LAYOUT_VERSION)
        self._note()
        # Docks take their places a little later.
        QTimer.singleShot(0, self, self._note)
        return good

    def set_theme(self, theme: Theme) -> None:
        """Draw the titles' icons in a theme's colours."""
        for title in self._titles:
            title.set_theme(theme)

    def showEvent(self, event: QShowEvent) -> None:
        """Docks of a window that is not seen yet all count as hidden: the arrangement is noted once they are."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._note)

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
        """Which docks are shown, floating and where; sizes are no arrangement."""
        return tuple(
            (dock.toggleViewAction().isChecked(), dock.isFloating(), self.dockWidgetArea(dock))
            for dock in self.docks.values()
        )
