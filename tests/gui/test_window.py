"""The window as a whole: it fits, it says what it is, bad files do not hurt it, it leaves nothing behind."""

import os
import subprocess
import sys
import time

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTableView,
    QWidget,
)
from shiboken6 import delete

from bench_gui.app import make_window
from bench_gui.controller import Controller
from bench_gui.headless.palette import THEMES, load_theme
from bench_gui.identify.next_recording.panel import ProposalTable
from bench_gui.plots.chart import Chart
from bench_gui.shell.tasks import BENCH, COMPARE, IDENTIFY, RECORD, TASKS
from bench_gui.theme import dress, themes
from bench_gui.widgets.tables import plain_table
from core.identification.next.proposal import Proposal
from core.motion.trajectories import make_trajectory
from core.practice.plan import Cell
from core.servo.terms import FRICTION_MODELS
from tests.gui.conftest import dispose

pytest_plugins = ["tests.gui.whole"]
INTERACTIVE = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QAbstractItemView, QPlainTextEdit)


def own_parts(widget):
    """Whether a widget belongs to another one, which has the name and the tip."""
    parent = widget.parentWidget()
    if isinstance(widget, QLineEdit):
        return isinstance(parent, (QAbstractSpinBox, QComboBox))
    if isinstance(widget, QAbstractItemView) and not isinstance(widget, QTableView):
        return any(isinstance(p, QComboBox) for p in ancestors(widget)) or isinstance(widget, QHeaderView)
    return isinstance(widget, QAbstractButton) and (
        isinstance(parent, (QTableView, QTabBar, QLineEdit)) or widget.objectName().startswith("qt_")
    )


def ancestors(widget):
    while (widget := widget.parentWidget()) is not None:
        yield widget


def check_names(window):
    """Everything a person can use has a name for screen readers and a tip."""
    nameless = [
        f"{type(w).__name__} {w.objectName()} {getattr(w, 'text', lambda: '')()} in {type(w.parentWidget()).__name__}"
        for w in window.findChildren(QWidget)
        if isinstance(w, INTERACTIVE) and not own_parts(w) and not (w.accessibleName() and w.toolTip())
    ]
    assert not nameless, "; ".join(nameless)


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_curves_stand_out(theme):
    colours = load_theme(theme)
    on_panels = [colours.text, colours.muted, colours.accent, colours.fault, colours.moving, colours.good]
    for surface in (colours.panel, colours.window):
        assert min(contrast(colour, surface) for colour in on_panels) >= 4.5
    curves = [colours.measured, colours.goal, *(colours.model(name) for name in FRICTION_MODELS)]
    assert min(contrast(colour, colours.plot) for colour in curves) >= 4.5
    for state in (colours.off, colours.ready, colours.moving, colours.fault):
        assert contrast(colours.on_state, state) >= 4.5
    assert contrast(colours.on_stop, colours.stop) >= 4.5
    assert contrast(colours.on_accent, colours.accent) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_an_unchecked_box_in_a_table_stands_out_from_its_row(qtbot, theme):
    """By its border, 3 to 1 (WCAG 2.2, 1.4.11)."""
    table, view = ProposalTable(), plain_table("Proposals", "Checked ones go into the queue")
    qtbot.addWidget(view)
    themes.use(load_theme(theme))
    dress(view)
    cell = Cell(mass=1.0, length=0.1, kp=8.0, trajectory="sin_sin", repetition=1)
    table.show_proposals([Proposal(cell=cell, nats=1.0, narrowings=())])
    assert table.setData(table.index(0, 0), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    view.setModel(table)
    view.show()
    place = view.visualRect(table.index(0, 0))
    place.setWidth(24)
    picture = view.viewport().grab(place).toImage()
    row, *others = (picture.pixelColor(x, picture.height() // 2).name() for x in range(1, picture.width()))
    assert max(contrast(colour, row) for colour in others) >= 3.0


def contrast(one, other):
    """WCAG 2: (L₁ + 0.05)/(L₂ + 0.05)."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class Painted(QObject):
    """Notes which widgets of a window are painted."""

    def __init__(self):
        super().__init__()
        self.widgets = set()
        QApplication.instance().installEventFilter(self)

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            self.widgets.add(watched)
        return False


def test_every_page_is_painted_after_it_is_shown_on_a_slow_machine_too(whole):
    window = whole.window
    for number in (*range(len(TASKS)), BENCH):
        painted = Painted()
        window.show_task(number)
        time.sleep(0.05)  # as if showing it had taken so long
        page = window.stack.currentWidget().widget()
        whole.until(lambda page=page, painted=painted: page in painted.widgets)


def test_a_theme_reaches_every_page_at_the_latest_when_it_is_seen(whole):
    window = whole.window
    window.appearance.choose("dark")
    dark = load_theme("dark").plot.lower()
    for number, page in enumerate(window.pages):
        window.show_task(number)
        assert {chart.backgroundBrush().color().name() for chart in page.findChildren(Chart)} <= {dark}


def test_a_theme_reaches_a_chart_until_it_is_deleted(qtbot):
    chart, deleted = Chart("chart", "Position", "rad"), Chart("chart", "Position", "rad")
    qtbot.addWidget(chart)
    delete(deleted)
    themes.use(load_theme("dark"))
    assert chart.backgroundBrush().color().name() == load_theme("dark").plot.lower()


@pytest.mark.exhaustive("pages pixel by pixel; that each part takes a theme is tested with it")
def test_a_theme_changed_there_and_back_leaves_every_pixel(person):
    window = person.window

    def picture(task):
        window.show_task(task)
        window.setFocus()
        QApplication.processEvents()
        return window.grab().toImage()

    def pictures():
        return {task: picture(task) for task in (BENCH, IDENTIFY, COMPARE)}

    def there_and_back():
        """True if the light pages were the same before and after; what a page adds late takes another round."""
        before = pictures()
        window.appearance.choose("dark")
        assert all(picture(task) != light for task, light in before.items())
        window.appearance.choose("light")
        person.qtbot.wait(100)
        return pictures() == before

    person.until(there_and_back)


def test_a_session_that_is_none_is_said(whole, tmp_path):
    for kind in ("missing", "text", "empty folder", "damaged"):
        path = tmp_path / f"broken {kind}"
        if kind == "text":
            path.write_text("no session")
        elif kind != "missing":
            path.mkdir()
            if kind == "damaged":
                (path / "session.json").write_text('{"format": ')
        with whole.qtbot.waitSignal(whole.controller.library.problem):
            whole.controller.library.open(path)
        assert path.name in whole.message
        assert whole.controller.library.path is None
        assert not whole.controller.library.loading


def test_plotting_loses_no_references(whole, qapp):
    """PySide6 6.12 on Python 3.11 gives up several references to None with every curve and dies of it."""
    plots, live = whole.window.record.plots, whole.window.record.live
    rows = live_rows()
    live.take(rows)

    def draw(times):
        for _ in range(times):
            plots.show_run(live)
            qapp.processEvents()

    draw(50)
    before = sys.getrefcount(None)
    draw(200)
    assert before - sys.getrefcount(None) < 100


def live_rows(count=1000):
    import numpy as np

    from drivers.recorder.run import LIVE_DTYPE, Phase

    rows = np.zeros(count, LIVE_DTYPE)
    rows["time"] = np.arange(count) / 200.0
    rows["position"] = np.sin(rows["time"])
    rows["phase"] = Phase.RUN
    return rows


def test_a_page_out_of_sight_costs_nothing(person):
    person.connect()
    person.window.show_task(IDENTIFY)
    drawn = person.window.record.plots.curves["position"]
    person.controller.queue.record([make_trajectory("sin_sin", 600.0)])
    person.until(lambda: person.window.record.live.count > 40)
    assert not len(drawn.getData()[0])
    person.window.show_task(RECORD)
    person.until(lambda: len(drawn.getData()[0]) > 40)
    # Colours that change while the servo is driven cost no run.
    person.window.appearance.choose("dark")
    plot, dark = person.window.record.plots.position, load_theme("dark").plot.lower()
    person.until(lambda: plot.backgroundBrush().color().name() == dark)
    assert person.controller.servo.busy
    person.controller.queue.abort()
    person.until(lambda: [run.exit_status for run in person.controller.library.runs] == ["abort"])


CLOSING = """
import os, sys
def main():
    from pathlib import Path
    from PySide6.QtCore import QTimer
    from bench_gui import app as application, main_window
    from bench_gui.main_window import MainWindow

    main_window.AFTER_PAINT = {made_after}
    shown = []
    original = MainWindow.show
    def show(window):
        shown.append(window)
        original(window)
        window.record.form.field("duration").setValue(600)  # still on, however late the timer comes
        window.controller.servo.connected.connect(lambda _: QTimer.singleShot(200, window.record.run_button.click))
        window.controller.servo.connect_servo()
        QTimer.singleShot(100, recorded)
    def recorded():
        if shown[0].record.live.count > 10:
            ({act})()
        else:
            QTimer.singleShot(20, recorded)
    MainWindow.show = show
    return application.run_window(None)
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.mark.parametrize(
    ("act", "made_after"),
    [
        ("lambda: os.kill(os.getpid(), 15)", "main_window.AFTER_PAINT"),
        pytest.param("shown[0].leave", "1_000_000", marks=pytest.mark.exhaustive("the other way to close")),
    ],
)
def test_closing_while_recording_is_clean(tmp_path, act, made_after):
    """Also while the pages that nobody looks at are being made."""
    from sessions import Session

    program = tmp_path / "program.py"
    program.write_text(CLOSING.format(act=act, made_after=made_after), "utf-8")
    environment = {
        **os.environ,
        "SERVOBENCH_HOME": str(tmp_path / "home"),
        "PYTHONPATH": os.getcwd(),
    }
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    noise = [line for line in done.stderr.splitlines() if "propagateSizeHints" not in line]
    assert noise == []
    (folder,) = (entry for entry in (tmp_path / "home").iterdir() if entry.is_dir())
    (run,) = Session.open(folder).runs()
    assert run.exit_status == "abort"
    assert run.samples > 10


def test_neither_the_first_window_nor_any_page_loads_a_compiler(tmp_path):
    program = (
        "import sys\n"
        "from bench_gui import main_window\n"
        "from bench_gui.app import make_application, make_window\n"
        "from bench_gui.controller import Controller\n"
        "main_window.AFTER_PAINT = 1_000_000  # the other pages are made later, however slow this machine is\n"
        "app = make_application(); c = Controller(); w = make_window(c); w.show(); app.processEvents()\n"
        "heavy = {'numba', 'scipy', 'optuna', 'matplotlib', 'mujoco', 'cmaes'}\n"
        "print(sorted((heavy | {'h5py'}) & sys.modules.keys()))\n"
        "w.pages; print(sorted(heavy & sys.modules.keys()))\n"
        "w.close()\n"
    )
    home = {**os.environ, "SERVOBENCH_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=home, capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.split() == ["[]", "[]"]


def test_a_window_that_is_closed_waits_for_imports_under_way(tmp_path):
    """An interpreter that ends while a thread imports Qt's modules may crash."""
    program = (
        "import threading\n"
        "from bench_gui import main_window\n"
        "from bench_gui.app import make_application, make_window\n"
        "from bench_gui.controller import Controller\n"
        "main_window.AFTER_PAINT = 0\n"
        "app = make_application(); w = make_window(Controller()); w.show()\n"
        "while not any(thread.name == 'imports' for thread in threading.enumerate()): app.processEvents()\n"
        "w.leave(); print([thread.name for thread in threading.enumerate() if thread.name == 'imports'])\n"
    )
    home = {**os.environ, "SERVOBENCH_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=home, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout.strip()) == (0, "[]")


def test_pages_out_of_sight_are_made_once_the_window_is_seen(qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller()
    window = make_window(controller, "dark")
    assert "Identify" not in {path.split(" › ")[-1] for path, _ in window.menus.everything()}
    with qtbot.waitSignal(window.completed):
        window.show()
    assert {name for name, _, _ in TASKS} <= {path.split(" › ")[-1] for path, _ in window.menus.everything()}
    plots = window.identify.search.cost
    assert plots.backgroundBrush().color().name() == load_theme("dark").plot.lower()
    window.leave()
    dispose(window, controller)
