"""The tasks in the order of work, and the page of each; what is not seen at once is not loaded at once."""

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
    ("Place", "place", "Measure drive and backdrive torques by hand"),
    ("Identify", "identify", "Find the parameters of friction and motor"),
    ("Compare", "compare", "See simulated over measured motion"),
    ("Export", "export", "Hand a model to another program"),
    ("Explore", "explore", "Try stiction, compliant actuators, learning and the Webots servo"),
    ("Fleet", "fleet", "Identify many units of a servo and see what they have in common"),
]
"""Name, icon and purpose."""
_MODULES = "connect.view place.view identify.view compare.view studies.arm.tab export.view studies.view fleet.view"
"""Those of the pages that are not seen at once, in the order the pages are made."""


def task_number(name: str) -> int:
    """Number of the task of this name; RECORD for an unknown one."""
    return next((number for number, (known, _, _) in enumerate(TASKS) if known == name), RECORD)


Suppliers = Callable[[], tuple[QPushButton, QPushButton]]
"""Makes the buttons of an empty state: record, or look at the example."""


def import_pages(stopped: Callable[[], bool]) -> None:
    """Import what the pages need until told to stop; in a thread, so that no page waits for it."""
    for module in _MODULES.split():
        if stopped():
            return
        import_module(f"bench_gui.{module}")


def make_page(number: int, controller: Controller, suppliers: Suppliers) -> TaskPage:
    """The page of a task."""
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

        return CompareView(controller, ArmTab, *suppliers())
    if number == EXPORT:
        from bench_gui.export.view import ExportView

        return ExportView(controller)
    if number == EXPLORE:
        from bench_gui.studies.view import ExploreView

        return ExploreView(controller)
    from bench_gui.fleet.view import FleetView

    return FleetView(controller)
