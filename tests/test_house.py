"""The house stays a house: no import circle, tasks that do not know each other, studies that nobody needs.

Imports for types count. What import-linter can say is said in pyproject.toml.
"""

import graphlib
import re
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("bench_gui", "core", "drivers", "sessions")
TASKS = ("compare", "connect", "export", "fleet", "help", "identify", "log", "place", "record", "session", "studies")
HANDED_IN = {("bench_gui.compare.view", "bench_gui.studies.arm.tab")}
"""A tab that its page is given."""
REGISTRIES = {"drivers.simulated.actuators"}
"""Of what a simulated servo may be driven by. That of export targets names its modules without importing them."""


@pytest.fixture(scope="module")
def imports():
    """Module to the modules that it imports."""
    graph = grimp.build_graph(*ROOMS, exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def within(module, package):
    return f"{module}.".startswith(f"{package}.")


def test_no_module_imports_itself_by_way_of_others(imports):
    # Raises CycleError, which names the modules of a circle in their order.
    graphlib.TopologicalSorter(imports).prepare()


def test_the_tasks_of_the_window_do_not_import_each_other(imports):
    tasks = [f"bench_gui.{name}" for name in TASKS]
    assert all(task in imports for task in tasks)
    across = {
        (module, imported)
        for module, all_imported in imports.items()
        for imported in all_imported
        for own in tasks
        if within(module, own) and any(within(imported, other) for other in tasks if other != own)
    }
    assert across == HANDED_IN


def test_below_the_window_only_registries_know_the_studies(imports):
    knowing = {
        module
        for module, all_imported in imports.items()
        if not any(within(module, above) for above in ("bench_gui", "core.studies"))
        and any(within(imported, "core.studies") for imported in all_imported)
    }
    assert knowing == REGISTRIES


def test_the_map_of_the_house_names_places_that_are_there():
    _, _, answers = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Where is")
    paths = re.findall(r"`([a-z_]+/[\w/.]+)`", answers)
    assert len(paths) >= 6
    assert [path for path in paths if not (ROOT / path).exists()] == []
