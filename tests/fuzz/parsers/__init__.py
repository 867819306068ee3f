"""Every parser of outside bytes, by room; a module here has a tuple PARSERS."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from tests.fuzz.parser import Parser

# What is most at risk comes first.
MODULES = {
    "runs": (
        "run_edited",
        "exported_edited",
        "run_bytes",
        "part_bytes",
        "part_header",
        "exported_bytes",
    ),
    "dynamixel": (
        "dynamixel_device_1",
        "dynamixel_device_2",
        "dynamixel_answers_1",
        "dynamixel_answers_2",
    ),
    "ethercat": ("ethercat_frames", "ethercat_mailbox", "ethercat_sii", "ethercat_answers"),
    "logs": (
        "log_bam",
        "log_csv",
        "log_gzip",
        "table_csv",
        "table_npz",
        "table_columns",
        "arm_csv",
        "arm_links",
        "reference_csv",
    ),
    "models": ("model_ours", "model_bam", "servo_toml", "control_table", "compliant_unit"),
    "session_files": ("session_json", "index_json", "annotations", "placed_points", "plan", "presets", "settings"),
    "results": (
        "record",
        "result",
        "certainty",
        "crossvalidation",
        "coverage",
        "fleet_plan",
        "fleet_transfer",
        "fleet_spread",
    ),
    "exports": (
        "vrml_world",
        "vrml_servo",
        "choreonoid_body",
        "choreonoid_friction",
        "genesis_drive",
        "mujoco_setup",
        "servo_numbers",
    ),
    "typed": ("address", "emulator", "console", "options", "command_line"),
}
PARSERS = tuple(name for names in MODULES.values() for name in names)
"""Names of all parsers."""


@cache
def parser_named(name: str) -> Parser:
    """The parser of a name; only its own module is imported."""
    module = next(module for module, names in MODULES.items() if name in names)
    return next(parser for parser in import_module(f"{__name__}.{module}").PARSERS if parser.name == name)
