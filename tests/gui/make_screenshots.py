"""Draws the pictures of the help pages: each task in light and dark, as a person would see it.

    python tests/gui/make_screenshots.py [FOLDER] [WIDTH HEIGHT]

A short session at the simulated servo is recorded, identified, compared and exported on the way.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

TRIALS = 1500
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
    size = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (1280, 720)
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as home:
            os.environ["HOME"] = home
            _tour(folder, size, Path(home) / "ServoBench", theme)


def _tour(folder: Path, size: tuple[int, int], home: Path, theme: str) -> None:
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    from bench_gui.app import make_application
    from bench_gui.controller import Controller
    from bench_gui.main_window import BENCH, COMPARE, EXPORT, IDENTIFY, RECORD, MainWindow
    from drivers.servo import ServoState

    app = make_application()
    pictures = {}
    controller = Controller()
    window = MainWindow(controller, theme)
    window.resize(*size)
    window.show()

    def until(condition, what: str) -> None:
        deadline = time.monotonic() + LONGEST_STEP
        while not condition():
            app.processEvents()
            time.sleep(0.005)
            if time.monotonic() > deadline:
                raise TimeoutError(what)

    def settle() -> None:
        for _ in range(5):
            app.processEvents()

    def save(name: str) -> None:
        settle()
        picture = window.grab().toImage()
        settle()
        pictures[name] = picture

    def click(widget) -> None:
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    window.show_task(IDENTIFY)
    save("empty")
    window.show_task(RECORD)
    controller.prepare()
    click(window.status_bar.connect_button)
    until(lambda: controller.servo.view.state is ServoState.READY, "connect")
    controller.setup.set_bench(mass=1.0, length=0.15, arm_mass=0.1)
    window.show_task(BENCH)
    controller.queue.record_paper_set()
    until(lambda: controller.servo.view.position > 0.4 and controller.servo.view.phase.name == "RUN", "moving")
    save("bench")
    window.show_task(RECORD)
    until(lambda: controller.servo.view.done > 900, "run")
    save("record")
    until(lambda: not controller.queue.active and len(controller.library.runs) == 4, "four runs")
    window.show_task(IDENTIFY)
    window.identify.form.trials.setValue(TRIALS)
    window.identify.form.command_path.setChecked(False)
    click(window.identify.start_button)
    until(lambda: controller.fitting.latest is not None and controller.fitting.latest.model == "m3", "fit")
    save("identify_running")
    until(lambda: not controller.fitting.active, "result")
    settle()
    save("identify")
    window.show_task(COMPARE)
    until(lambda: not controller.comparison.waiting and controller.comparison.picture.overlays is not None, "overlay")
    save("compare")
    window.show_task(EXPORT)
    until(lambda: bool(controller.exporting.targets), "targets")
    window.export.targets["bam"].setChecked(True)
    window.export.set_folder(home / "export")
    click(window.export.export_button)
    until(lambda: not controller.exporting.active, "export")
    settle()
    save("export")
    window.show_task(RECORD)
    controller.queue.record_paper_set()
    until(lambda: controller.queue.place[0] == 1 and 400 < controller.servo.view.done < 900, "run")
    controller.emergency_stop()
    until(lambda: controller.servo.view.state is ServoState.FAULT and not controller.servo.busy, "fault")
    settle()
    save("fault")
    window.close()
    for name, picture in pictures.items():
        file = folder / f"{name}_{theme}.png"
        for kept in (0xF0, 0xE0):
            _few_colours(picture, kept).save(str(file), "PNG", SMALLEST)
            if file.stat().st_size < LARGEST_FILE:
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
