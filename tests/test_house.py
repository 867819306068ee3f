"""The house stays a house: no import circle, independent tasks, optional studies, and parts that a reader can take in.

Imports for types count. Contracts that import-linter can check are in pyproject.toml.
"""

import ast
import graphlib
import re
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("bench_gui", "core", "drivers", "sessions")
TASKS = ("compare", "connect", "export", "fleet", "help", "identify", "log", "place", "record", "session", "studies")
HANDED_IN = {("bench_gui.compare.view", "bench_gui.studies.arm.tab")}
"""A tab that its page receives."""
REGISTRIES = {"drivers.simulated.actuators"}
"""The actuators of a simulated servo. The registry of export targets names its modules without importing them."""
MOST_METHODS, MOST_LINES = 25, 60
LARGE_CLASSES = {
    # Contracts and facades: users of the room meet one class.
    "core/servo/model.py:ServoModel", "drivers/recorder/recorder.py:Recorder", "drivers/servo.py:Servo",
    "sessions/store.py:Session", "bench_gui/state/library.py:Library", "bench_gui/state/servo_link.py:ServoLink",
    # One state machine or one device, whose methods share its state.
    "bench_gui/place/placing.py:Placing", "drivers/emulators/serial_bus/device.py:Device",
    "drivers/serial_bus/servo.py:SerialServo",
    "bench_gui/connect/bench/zero_panel.py:ZeroPanel", "bench_gui/widgets/hand_pendulum.py:HandPendulum",
    # One page or form: it builds its widgets, shows data, and enables its buttons.
    "bench_gui/export/view.py:ExportView", "bench_gui/fleet/form.py:FleetForm", "bench_gui/fleet/view.py:FleetView",
    "bench_gui/identify/fit/settings_form.py:SettingsForm", "bench_gui/identify/view.py:IdentifyView",
    "bench_gui/main_window.py:MainWindow",
    "bench_gui/place/view.py:PlaceView", "bench_gui/record/plots.py:LivePlots",
    "bench_gui/plots/chart.py:Chart", "bench_gui/compare/plots.py:ComparePlots",
}  # fmt: skip
LONG_FUNCTIONS = {
    # Numba compiles a kernel as one function, inside the function that makes its variants.
    "core/kernel/population.py:_population_kernel", "core/kernel/population.py:kernel", "core/kernel/step.py:make_step",
    "core/kernel/step.py:step", "core/studies/arm/dynamics.py:_kernel", "core/studies/arm/dynamics.py:kernel",
    "core/studies/compliant/compiled.py:_program", "core/studies/compliant/compiled.py:run",
    # A program that is copied to users, which loads its engine on the first call.
    "core/export/standalone/servobench_drake.py:Servos_", "core/export/standalone/servobench_mujoco.py:_make_update",
    "core/export/standalone/servobench_mujoco.py:update",
    # Lists of fields, options, menus or widgets, without branches.
    "drivers/ethercat/form.py:family", "drivers/simulated/form.py:family",
    "bench_gui/cli/commands/studies/compliant_learn.py:add_arguments", "bench_gui/main_window.py:_build_menus",
    "bench_gui/session/head.py:__init__",
    "bench_gui/session/panel.py:__init__",
}  # fmt: skip


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


def test_the_core_has_few_rooms_with_few_arrows(imports):
    # That no arrow points back up is a contract of import-linter.
    def room(module):
        return module.split(".")[1] if within(module, "core") and "." in module else ""

    arrows = {(room(module), room(one)) for module, used in imports.items() for one in used if within(module, "core")}
    arrows = {(above, below) for above, below in arrows if above != below and above and below}
    assert len({room(module) for module in imports} - {""}) <= 13
    assert 30 <= len(arrows) <= 55


def test_no_folder_has_more_files_than_a_reader_takes_in():
    counted = {
        folder.relative_to(ROOT).as_posix(): len(list(folder.glob("*.py")))
        for room in ROOMS
        for folder in [ROOT / room, *(ROOT / room).rglob("*/")]
    }
    assert {folder: count for folder, count in counted.items() if count > 16} == {}


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


def test_the_library_knows_nothing_of_the_window():
    """It knows the drivers only to record. That the rooms below do not know the window is a contract."""
    text = (ROOT / "servobench.py").read_text(encoding="utf-8")
    assert text.count("bench_gui") == 1  # in its list of all rooms
    using_drivers = {
        getattr(part, "name", "")
        for part in ast.parse(text).body
        for node in ast.walk(part)
        if isinstance(node, ast.ImportFrom) and within(node.module, "drivers")
    }
    assert using_drivers == {"record", "load_servo", "load_model"}


def definitions():
    """(place, node) of each class and function of the product."""
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield f"{path.relative_to(ROOT).as_posix()}:{node.name}", node


def methods(node):
    return sum(isinstance(part, ast.FunctionDef) for part in node.body)


def lines(node):
    return node.end_lineno - node.lineno - len((ast.get_docstring(node) or "").splitlines())


def test_what_is_large_is_so_for_a_reason():
    classes, functions = set(), set()
    for place, node in definitions():
        if isinstance(node, ast.ClassDef) and methods(node) > MOST_METHODS:
            classes.add(place)
        if isinstance(node, ast.FunctionDef) and lines(node) >= MOST_LINES:
            functions.add(place)
    assert classes == LARGE_CLASSES
    assert functions == LONG_FUNCTIONS


def test_the_map_of_the_house_names_places_that_are_there():
    _, _, answers = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Where is")
    paths = re.findall(r"`([a-z_]+/[\w/.]+)`", answers)
    assert len(paths) >= 6
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_spine_can_be_read_in_an_afternoon():
    _, _, spine = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## The spine")
    files = re.findall(r"^\| `([a-z_/]+\.py)` ", spine.partition("## Packages")[0], re.M)
    assert 15 <= len(files) <= 25
    assert sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files) <= 6_800
