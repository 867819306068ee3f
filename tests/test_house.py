"""The house stays a house: no import circle, those for types included."""

import graphlib

import grimp

ROOMS = ("bench_gui", "core", "drivers", "sessions")


def test_no_module_imports_itself_by_way_of_others():
    graph = grimp.build_graph(*ROOMS, exclude_type_checking_imports=False, cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # Raises CycleError, which names the modules of a circle in their order.
    graphlib.TopologicalSorter(imported).prepare()
