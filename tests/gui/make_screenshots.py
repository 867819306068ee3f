"""Draws the pictures of the help pages: each task in light and dark, small and large, as a person would see it.

    python tests/gui/make_screenshots.py [FOLDER]

A short session at a simulated servo is recorded, placed by hand, identified, compared and exported on the way.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

SIZES = {"": (1280, 720), "_1920": (1920, 1080)}
"""What a picture's name ends in, and how large the window is [px]."""
SERVO = "simulated:mx106?speed=2"
TRIALS = 1500
TORQUES = (0.4, 0.5, 0.6)
"""Placed by hand [N·m]."""
COMMON = 256
"""Colours that are kept as they are."""
LARGEST_FILE = 150_000
"""[bytes]"""
SMALLEST = 0
"""Quality that stands for the hardest compression."""
LONGEST_STEP = 180.0
"""[s]"""


def main() -> None:
    """Go through the tasks and save what is seen."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("resources/help/img")
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as home:
            os.environ["SERVOBENCH_HOME"] = str(Path(home) / "ServoBench")
            tour = Tour(theme, Path(home))
            tour.go()
            for name, picture in tour.pictures.items():
                _save(picture, folder / f"{name}.png")


class Tour:
    """A window, and what is seen of it on the way."""

    def __init__(self, theme: str, home: Path) -> None:
        from bench_gui.app import make_application
        from bench_gui.controller import Controller
        from bench_gui.main_window import MainWindow

        self.app: Any = make_application()
        self.home, self.theme = home, theme
        self.controller = Controller(SERVO)
        self.window = MainWindow(self.controller, theme)
        self.pictures: dict[str, Any] = {}
        self.window.resize(*SIZES[""])
        self.window.show()

    def go(self) -> None:
        """Everything a person does, in the order of the rail."""
        self.begin()
        self.record()
        self.place()
        self.identify()
        self.compare()
        self.export()
        self.go_wrong()
        self.window.leave()

    # Steps.

    def begin(self) -> None:
        """An empty window, then a servo and its bench."""
        from bench_gui.main_window import BENCH, IDENTIFY
        from drivers.servo import ServoState

        controller, window = self.controller, self.window
        window.show_task(IDENTIFY)
        self.save("empty")
        controller.prepare()
        self.click(window.status_bar.connect_button)
        self.until(lambda: controller.servo.view.state is ServoState.READY, "connect")
        controller.setup.set_bench(mass=1.0, length=0.15, arm_mass=0.1)
        window.show_task(BENCH)
        self.run_for(0.5)
        self.save("bench")

    def record(self) -> None:
        """Four runs beside their twin; the plan."""
        from bench_gui.main_window import RECORD
        from bench_gui.record.view import LIVE, PLAN

        controller, window = self.controller, self.window
        window.show_task(RECORD)
        controller.queue.record_paper_set()
        self.until(lambda: controller.servo.view.done > 900, "run")
        self.save("record")
        self.until(lambda: not controller.queue.active and len(controller.library.runs) == 4, "four runs")
        window.record.tabs.setCurrentIndex(PLAN)
        self.run_for(0.2)
        self.save("plan")
        window.record.tabs.setCurrentIndex(LIVE)

    def place(self) -> None:
        """Two extremes at each torque, the mouse at the pendulum at last."""
        from bench_gui.main_window import PLACE
        from bench_gui.place.placing import Stage

        controller, window = self.controller, self.window
        placing, servo = controller.placing, controller.servo
        window.show_task(PLACE)
        placing.set_torques(TORQUES)

        def rest(angle: float) -> None:
            end = time.monotonic() + 2.0
            while abs(servo.view.position - angle) > 0.01 and time.monotonic() < end:
                placing.pull_to(angle)
                self.run_for(0.02)
            placing.let_go()
            self.run_for(0.1)
            self.until(lambda: placing.level >= 1.0, "rest")

        placing.hold()
        for number, _ in enumerate(placing.plan):
            self.until(lambda: placing.stage is Stage.MEASURING, "hold")
            self.until(lambda: placing.level >= 1.0, "rest")
            expected = window.place.pendulum.expected
            inside = 0.02 if number % 2 == 0 else -0.02
            edge = expected[number % 2] + inside
            if number + 1 == len(placing.plan):
                for _ in range(40):
                    placing.pull_to(servo.view.position + 0.15)
                    self.run_for(0.01)
                self.save("place")
                placing.let_go()
            rest(edge)
            placing.next()
        self.until(lambda: placing.stage is Stage.IDLE, "the end")

    def identify(self) -> None:
        """While it searches, and what was found."""
        from bench_gui.main_window import IDENTIFY

        controller, page = self.controller, self.window.identify
        self.window.show_task(IDENTIFY)
        page.form.trials.setValue(TRIALS)
        page.form.command_path.setChecked(False)
        self.click(page.start_button)
        self.until(lambda: controller.fitting.latest is not None and controller.fitting.latest.model == "m3", "fit")
        self.save("identify_running")
        self.until(lambda: not controller.fitting.active, "result")
        page.tabs.setCurrentWidget(page.value_view)
        self.run_for(0.2)
        self.save("identify")
        page.tabs.setCurrentWidget(page.overlay)
        self.run_for(1.0)
        self.save("identify_overlay")
        page.tabs.setCurrentWidget(page.warnings)
        self.save("identify_warnings")

    def compare(self) -> None:
        """All four tabs."""
        from bench_gui.compare.view import DIAGRAM, ERRORS, MODELS
        from bench_gui.main_window import COMPARE

        comparison, page = self.controller.comparison, self.window.compare
        self.window.show_task(COMPARE)
        self.until(lambda: not comparison.waiting and comparison.picture.overlays is not None, "overlay")
        self.save("compare")
        for tab, name in ((ERRORS, "compare_errors"), (MODELS, "compare_models"), (DIAGRAM, "compare_diagram")):
            page.tabs.choose(tab)
            self.until(lambda: not comparison.waiting, name)
            self.run_for(0.5)
            self.save(name)

    def export(self) -> None:
        """A scene for MuJoCo, written."""
        from bench_gui.main_window import EXPORT

        exporting, page = self.controller.exporting, self.window.export
        self.window.show_task(EXPORT)
        self.until(lambda: bool(exporting.targets), "targets")
        page.targets["mujoco"].setChecked(True)
        page.set_folder(self.home / "robot")
        self.until(lambda: page.files.count() > 0, "preview")
        self.until(page.export_button.isEnabled, "export")
        self.click(page.export_button)
        self.until(page.show_folder.isVisible, "files")
        self.save("export")

    def go_wrong(self) -> None:
        """An emergency stop in a run, with the log in sight."""
        from bench_gui.main_window import RECORD
        from drivers.servo import ServoState

        controller, window = self.controller, self.window
        window.show_task(RECORD)
        controller.queue.record_paper_set()
        self.until(lambda: controller.queue.place[0] == 1 and 400 < controller.servo.view.done < 900, "run")
        controller.emergency_stop()
        self.until(lambda: controller.servo.view.state is ServoState.FAULT and not controller.servo.busy, "fault")
        window.show_log()
        self.run_for(0.3)
        self.save("fault")

    # Tools.

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Let the window live until a condition holds."""
        deadline = time.monotonic() + LONGEST_STEP
        while not condition():
            self.app.processEvents()
            time.sleep(0.005)
            if time.monotonic() > deadline:
                raise TimeoutError(what)

    def run_for(self, seconds: float) -> None:
        """Let the window live for a while."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, "time")

    def click(self, widget: Any) -> None:
        """Press a button."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def save(self, name: str) -> None:
        """Keep what is seen, in each size."""
        for ending, size in SIZES.items():
            self.window.resize(*size)
            self.run_for(0.15)
            self.pictures[f"{name}_{self.theme}{ending}"] = self.window.grab().toImage()
        self.window.resize(*SIZES[""])
        self.run_for(0.05)


def _save(picture: Any, file: Path) -> None:
    """Write a picture, with fewer shades if it would be large."""
    area = picture.width() * picture.height() / (SIZES[""][0] * SIZES[""][1])
    for kept in (0xF0, 0xE0):
        _few_colours(picture, kept).save(str(file), "PNG", SMALLEST)
        if file.stat().st_size < LARGEST_FILE * area:
            break


def _few_colours(picture, kept):
    """The same picture with the rare shades of smoothed edges rounded to the bits that are kept."""
    import numpy as np
    from PySide6.QtGui import QImage

    picture = picture.convertToFormat(QImage.Format.Format_RGB32)
    words = np.frombuffer(picture.constBits(), np.uint32).reshape(picture.height(), -1).copy()
    colours, place, counts = np.unique(words, return_inverse=True, return_counts=True)
    common = counts >= np.sort(counts)[-min(COMMON, len(counts))]
    rounded = np.where(
        common, colours, (colours & (0xFF000000 | kept * 0x010101)) | (0x100 - kept) // 2 * 0x010101
    ).astype(np.uint32)
    words = np.ascontiguousarray(rounded[place].reshape(words.shape))
    width, height = picture.width(), picture.height()
    return QImage(words.tobytes(), width, height, QImage.Format.Format_RGB32).convertToFormat(
        QImage.Format.Format_RGB888
    )


if __name__ == "__main__":
    main()
