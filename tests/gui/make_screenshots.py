"""Draws each task in light and dark, small and large, as a person would see it.

    python tests/gui/make_screenshots.py           # draws the pictures of the help pages again
    python tests/gui/make_screenshots.py FOLDER    # writes all of them there

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

from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from bench_gui.app import make_application, make_window
from bench_gui.compare.view import ARM, DIAGRAM, ERRORS, MODELS
from bench_gui.controller import Controller
from bench_gui.fleet.view import PARAMETERS, SPREAD, TRANSFER
from bench_gui.place.placing import Stage
from bench_gui.record.view import LIST, LIVE
from bench_gui.shell.tasks import BENCH, COMPARE, EXPLORE, EXPORT, FLEET, IDENTIFY, PLACE, RECORD
from drivers.recorder import Phase
from drivers.servo import ServoState

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

SIZES = {"": (1280, 720), "_1920": (1920, 1080)}
"""What a picture's name ends in, and how large the window is [px]."""
HELP = Path("resources/help/img")
SERVO = "simulated:mx106?speed=2"
TRIALS = 1500
TORQUES = (0.4, 0.5, 0.6)
"""Placed by hand [N·m]."""
NEAR = 0.03
"""A point is placed as near to where the shown model expects it [rad]."""
LONGEST_PULL, LONGEST_STEP = 10.0, 180.0
"""[s]"""


def main() -> None:
    """Go through the tasks and save what is seen."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HELP
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as home:
            os.environ["SERVOBENCH_HOME"] = str(Path(home) / "ServoBench")
            Tour(theme, Path(home), folder).go()


class Tour:
    """A window, and what is seen of it on the way."""

    def __init__(self, theme: str, home: Path, folder: Path) -> None:

        self.app: Any = make_application()
        self.home, self.theme, self.folder = home, theme, folder
        self.controller = Controller(SERVO)
        self.window = make_window(self.controller, theme)
        self.window.resize(*SIZES[""])
        self.window.show()

    def go(self) -> None:
        """Everything a person does, in the order of the rail."""
        self.begin()
        self.record()
        self.place()
        self.identify()
        self.compare()
        self.compare_on_an_arm()
        self.export()
        self.explore()
        self.fleet()
        self.go_wrong()
        self.emulate()
        self.feetech()
        self.window.leave()

    # Steps.

    def begin(self) -> None:
        """An empty window, then a servo and its bench."""
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
        controller, window = self.controller, self.window
        window.show_task(RECORD)
        controller.recording.record_paper_set()
        self.until(lambda: controller.servo.view.done > 900, "run")
        self.save("record")
        self.until(lambda: not controller.queue.active and len(controller.library.runs) == 4, "four runs")
        window.record.tabs.choose(LIST)
        self.run_for(0.2)
        self.save("plan")
        window.record.tabs.choose(LIVE)

    def place(self) -> None:
        """Two extremes at each torque, the mouse at the pendulum at last."""
        controller, window = self.controller, self.window
        placing, servo = controller.placing, controller.servo
        window.show_task(PLACE)
        placing.plan.set_torques(TORQUES)

        def rest(angle: float) -> None:
            # A tool and no test: it waits as a person does, here and below. Friction holds until one pulls harder.
            while placing.best is None or abs(placing.best.angle - angle) > NEAR:
                aim, end = angle, time.monotonic() + LONGEST_PULL
                while abs(servo.view.position - angle) > NEAR / 2 and time.monotonic() < end:
                    aim += 0.03 * (angle - servo.view.position)
                    placing.hand.pull_to(aim)
                    self.run_for(0.02)
                placing.hand.let_go()
                self.run_for(1.0)

        placing.hold()
        for number, _ in enumerate(placing.plan.targets):
            self.until(lambda: placing.stage is Stage.MEASURING, "hold")
            self.until(lambda: placing.level >= 1.0, "rest")
            expected = window.place.pendulum.expected
            inside = 0.02 if number % 2 == 0 else -0.02
            edge = expected[number % 2] + inside
            if number + 1 == len(placing.plan.targets):
                for _ in range(40):
                    placing.hand.pull_to(servo.view.position + 0.15)
                    self.run_for(0.01)
                self.save("place")
                placing.hand.let_go()
            rest(edge)
            placing.next()
        self.until(lambda: placing.stage is Stage.IDLE, "the end")

    def identify(self) -> None:
        """While it searches, and what was found."""
        controller, page = self.controller, self.window.identify
        self.window.show_task(IDENTIFY)
        page.form.fields["trials"].setValue(TRIALS)
        page.form.fields["command_path"].setCurrentIndex(page.form.fields["command_path"].findData("off"))
        self.click(page.start_button)
        self.until(lambda: controller.fitting.latest is not None and controller.fitting.latest.model == "m3", "fit")
        self.save("identify_running")
        self.until(lambda: not controller.fitting.active, "result")
        page.tabs.show_part(page.parameters)
        self.run_for(0.2)
        self.save("identify")
        page.tabs.show_part(page.overlay)
        self.run_for(1.0)
        self.save("identify_overlay")
        page.show_evidence("warnings")
        self.save("identify_warnings")

    def compare(self) -> None:
        """The tabs of recordings."""
        comparison, page = self.controller.comparison, self.window.compare
        self.window.show_task(COMPARE)
        self.until(lambda: not comparison.waiting and comparison.picture.overlays is not None, "overlay")
        self.save("compare")
        for tab, name in ((ERRORS, "compare_errors"), (MODELS, "compare_models"), (DIAGRAM, "compare_diagram")):
            self.click(page.tabs.buttons[tab])
            self.until(lambda: not comparison.waiting, name)
            self.run_for(0.5)
            self.save(name)

    def compare_on_an_arm(self) -> None:
        """The seed's Dynamixel arm with M1, M4 and M6."""
        page = self.window.compare
        self.click(page.tabs.buttons[ARM])
        self.click(page.arm.run_button)
        self.until(lambda: page.arm.comparison.active, "arm")
        self.until(lambda: not page.arm.comparison.active, "arm compared")
        self.save("arm")

    def export(self) -> None:
        """A servo for MuJoCo, written."""
        exporting, page = self.controller.exporting, self.window.export
        self.window.show_task(EXPORT)
        self.until(lambda: bool(exporting.targets), "targets")
        page.choose_target("mujoco-hook")
        page.set_folder(self.home / "robot")
        self.until(lambda: page.files.count() > 0, "preview")
        self.until(page.export_button.isEnabled, "export")
        self.click(page.export_button)
        self.until(page.show_folder.isVisible, "files")
        self.save("export")

    def explore(self) -> None:
        """Each tab with what it shows at first; a Webots servo fitted to the MX-106."""
        window = self.window
        window.show_task(EXPLORE)
        page = window.explore
        stiction, compliance, learning, webots = page.stiction, page.compliance, page.learning, page.webots
        for tab, name, shown in (
            (stiction, "stiction", lambda: stiction.simulating.result is not None),
            (compliance, "compliance", lambda: compliance.view is not None),
            (learning, "learning", lambda: learning.running.iterations and not learning.running.active),
            (webots, "webots", webots.fit_button.isEnabled),
        ):
            page.show_tab(tab)
            if tab is learning:
                self.click(learning.learn_button)
            self.until(shown, name)
            if tab is webots:
                self.click(webots.fit_button)
                self.until(lambda: webots.fitting.result is not None, "fit")
            self.run_for(1.0)
            self.save(f"explore_{name}")

    def fleet(self) -> None:
        """Simulated units: their table, their parameters, who can stand for whom, and ranges to draw from."""
        self.window.show_task(FLEET)
        view = self.window.fleet
        view.form.try_simulated()
        view.form.models.check(("m1", "m4"))
        view.form.trials.setValue(TRIALS)
        view.form.set_folder(self.home / "fleet")
        self.until(view.start_button.isEnabled, "folder")
        self.click(view.start_button)
        self.until(lambda: view.running.summary is not None and not view.running.active, "fleet")
        self.save("fleet")
        for tab, name in ((PARAMETERS, "parameters"), (TRANSFER, "transfer"), (SPREAD, "spread")):
            view.tabs.choose(tab)
            self.until(lambda tab=tab: tab != SPREAD or view.spread.bars.isVisible(), "mean model judged")
            self.run_for(2.0)
            self.save(f"fleet_{name}")

    def go_wrong(self) -> None:
        """An emergency stop in a run, with the log in sight."""
        controller, window = self.controller, self.window
        window.show_task(RECORD)
        controller.recording.record_paper_set()
        self.until(lambda: controller.queue.place[0] == 1 and 400 < controller.servo.view.done < 900, "run")
        controller.recording.emergency_stop()
        self.until(lambda: controller.servo.view.state is ServoState.FAULT and not controller.servo.busy, "fault")
        window.show_log()
        self.run_for(0.3)
        self.save("fault")

    def emulate(self) -> None:
        """A servo on an emulated bus that overheats in a run."""
        controller, view = self.controller, self.window.bench
        self.window.work.docks["log"].close()
        controller.servo.disconnect_servo()
        controller.setup.rate = 200.0
        self.window.show_task(BENCH)
        view.emulate()
        dialog = view.emulation_dialog
        assert dialog is not None
        self.click(dialog.start_button)
        self.until(dialog.use_button.isEnabled, "emulator")
        controller.servo.stop_lock = 0.0
        self.click(dialog.use_button)
        self.run_for(5.0)  # the emergency stop before
        self.click(view.connect_button)
        self.until(lambda: controller.servo.view.state is ServoState.READY, "connect")
        self.save("emulated")
        controller.recording.record_paper_set()
        self.until(lambda: controller.servo.view.phase is Phase.RUN, "run")
        view.emulate()  # *Use* has closed it
        dialog = view.emulation_dialog
        for line in ("drop 3", "fault overheating", "state", "bus"):
            dialog.line.setText(line)
            dialog.line.returnPressed.emit()
            self.run_for(0.5)
        self.write(f"emulator_{self.theme}", dialog)
        dialog.close()

    def feetech(self) -> None:
        """An emulated Feetech servo, connected."""
        controller, view = self.controller, self.window.bench
        controller.servo.disconnect_servo()
        controller.connecting.emulation.stop()
        self.window.show_task(BENCH)
        view.emulate()
        dialog = view.emulation_dialog
        assert dialog is not None
        dialog.bus.setCurrentIndex(dialog.bus.findData("feetech"))
        dialog.bus.activated.emit(dialog.bus.currentIndex())
        self.click(dialog.start_button)
        self.until(dialog.use_button.isEnabled, "emulator")
        self.click(dialog.use_button)
        self.click(view.connect_button)
        self.until(lambda: controller.servo.view.state is ServoState.READY, "connect")
        self.run_for(1.0)
        self.save("feetech")

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
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def save(self, name: str) -> None:
        """Keep what is seen, in each size."""
        for ending, size in SIZES.items():
            self.window.resize(*size)
            self.run_for(0.15)
            self.write(f"{name}_{self.theme}{ending}", self.window)
        self.window.resize(*SIZES[""])
        self.run_for(0.05)

    def write(self, name: str, widget: QWidget) -> None:
        """Write a picture of a widget; among the help's pictures only where a page has it."""
        file = self.folder / f"{name}.png"
        if self.folder != HELP or file.exists():
            save_picture(widget.grab().toImage(), file)


def save_picture(picture: QImage, file: Path) -> None:
    """Write a picture with every colour it has: a palette would merge the pale lines of a legend."""
    plain = picture.convertToFormat(QImage.Format.Format_RGBA8888)
    whole = Image.frombuffer("RGBA", (plain.width(), plain.height()), bytes(plain.constBits()))
    whole.convert("RGB").save(file, optimize=True)


if __name__ == "__main__":
    main()
