"""The tasks in the order of work, and the page of each; hidden pages are loaded later."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from PySide6.QtWidgets import QPushButton

from bench_gui.controller import Controller
from bench_gui.record.view import RecordView
from bench_gui.widgets.page import TaskPage

BENCH, RECORD, PLACE, IDENTIFY, COMPARE, EXPORT, EXPLORE, FLEET = range(8)
TASKS = [
    ("Bench", "bench", "Connect the servo, set up the pendulum"),
    ("Record", "record", "Record motion"),
    ("Place", "place", "Measure drive and backdrive torque by hand"),
    ("Identify", "identify", "Identify friction and motor parameters"),
    ("Compare", "compare", "Overlay simulated and measured motion"),
    ("Export", "export", "Export a model to another program"),
    ("Explore", "explore", "Try stiction, compliant actuators, learning and the Webots servo"),
    ("Fleet", "fleet", "Identify many units of a servo and compare them"),
]
"""Name, icon and purpose."""
_MODULES = (
    "numpy.ma numpy.random .connect.view .place.view .identify.view .compare.view .studies.arm.tab .export.view "
    ".studies.view .fleet.view"
)
"""Modules of the pages that are hidden at the start, in the order of creation, after what numpy imports at need."""


def task_number(name: str) -> int:
    """Return the number of the task with this name; RECORD if unknown."""
    return next((number for number, (known, _, _) in enumerate(TASKS) if known == name), RECORD)


Suppliers = Callable[[], tuple[QPushButton, QPushButton]]
"""Creates the buttons of an empty state: record, or open the example."""


def import_pages(stopped: Callable[[], bool]) -> None:
    """Import the modules of the pages until `stopped` returns True; runs in a thread, so no page has to wait."""
    for module in _MODULES.split():
        if stopped():
            return
        import_module(module, "bench_gui")


def make_page(number: int, controller: Controller, suppliers: Suppliers) -> TaskPage:
    """Return the page of the task."""
    if number == RECORD:
        return RecordView(controller)
    if number == BENCH:
        from bench_gui.connect.view import BenchView

        return BenchView(controller)
    if number == PLACE:
        from bench_gui.place.view import PlaceView

        return PlaceView(controller)
    if number == IDENTIFY:
        from bench_gui.identify.view import IdentifyView

        return IdentifyView(controller, *suppliers())
    if number == COMPARE:
        from bench_gui.compare.view import CompareView
        from bench_gui.studies.arm.tab import ArmTab

        return CompareView(controller, ArmTab(controller), *suppliers())
    if number == EXPORT:
        from bench_gui.export.view import ExportView

        return ExportView(controller)
    if number == EXPLORE:
        from bench_gui.studies.view import ExploreView

        return ExploreView(controller)
    from bench_gui.fleet.view import FleetView

    return FleetView(controller)
