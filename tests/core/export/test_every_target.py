"""What every target does alike: files that are what their names say, options and files that are refused.

Files are in the folder and described once, whatever the model is called.
"""

import ast
import json
import math
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import yaml

from core.base.errors import ExportError, NotChecked
from core.export import check_export, export_model, exporters
from core.export.files import README
from core.servo.shipped import load_model
from core.studies.webots.export import fitted_node as webots_servo_fit

NAMES = (
    "../../etc/passwd\x00\n<!-- servobench export: x.y -->\n# h\n- l",
    "a\"b'c<d>&]]>--><!-- e {x!r} %s ${y} \\n \\",
    r"*/ int main(){} /* ?\?/ 伺服 été Ω",
)
pytestmark = pytest.mark.usefixtures("hardly_refitted")
STEP = {"c": {"timestep": 1e-3}}


@pytest.fixture(autouse=True)
def no_search(monkeypatch):
    """Names are tried here, not fits."""
    fit = webots_servo_fit.fit_servo_node
    monkeypatch.setattr(
        "core.studies.webots.export.target.fit_servo_node", lambda *args, **kwargs: fit(*args, generations=0)
    )


def valid(path):
    """Raise where a file's text is not of its kind."""
    text = path.read_text("utf-8")
    assert text
    assert "\x00" not in text
    if path.suffix in (".xml", ".urdf", ".sdf", ".world"):
        ET.fromstring(text)
    elif path.suffix == ".json":
        json.loads(text)
    elif path.suffix in (".yaml", ".yml", ".body"):
        yaml.safe_load(text)
    elif path.suffix == ".py":
        ast.parse(text)
    elif path.suffix in (".h", ".c"):
        assert "??/" not in text
        if shutil.which("gcc") and "mujoco" not in path.name:
            subprocess.run(["gcc", "-std=c99", "-fsyntax-only", path], check=True)
    return path.suffix


@pytest.mark.parametrize("target", list(exporters()))
def test_hostile_names_stay_inside_and_files_are_valid(target, tmp_path):
    model = load_model("xl330", "m1")
    for number, name in enumerate(NAMES):
        folder = tmp_path / f"outer{number}" / "inner"

        result = export_model(replace(model, name=name), target, folder, **STEP.get(target, {}))

        assert [path.name for path in folder.parent.iterdir()] == ["inner"]
        assert sorted(result.files) == sorted(path for path in folder.rglob("*") if path.is_file())
        assert all(path.parent == folder for path in result.files)
        assert result.files[-1].name == README
        for path in result.files:
            assert path.name.isascii()
            valid(path)
        readme = (folder / README).read_text("utf-8")
        assert readme.count("<!-- servobench export: ") == 1
        for said in ("SI units", "counter-clockwise is positive", "gear ratio", "output shaft"):
            assert said in readme
        for note in result.notes:
            assert note in readme


MODEL = load_model("xl330", "m1")
DRIVEN = [target for target, exporter in exporters().items() if "kp" in exporter.options.__dataclass_fields__]


@pytest.mark.parametrize("target", DRIVEN)
def test_impossible_options_are_refused(target, tmp_path):
    impossible = {
        "kp": (-1.0, math.nan),
        "ki": (-1.0, math.inf),
        "damping": (-0.5, math.nan),
        "supply_voltage": (0.0, -12.0),
        "timestep": (0.0, math.inf),
    }
    for name, values in impossible.items():
        for value in values:
            with pytest.raises(ExportError, match=f"{name} = |a time step of .* is not possible"):
                export_model(MODEL, target, tmp_path, **{name: value})
    with pytest.raises(ExportError, match="no option colour; available: bench, damping"):
        export_model(MODEL, target, tmp_path, colour="red")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "options"),
    [("usd", {}), ("urdf", {}), ("sdformat", {}), ("webots-servo", {}), ("choreonoid", {}),
     ("genesis", {"drive": "plain"})],
)  # fmt: skip
def test_a_position_drive_has_no_integral_gain(target, options, tmp_path):
    model = replace(MODEL, control=replace(MODEL.control, integral_ratio=1.0))
    with pytest.raises(ExportError, match=r"integral gain|leave ki at 0"):
        export_model(model, target, tmp_path, ki=1.0, **options)


@pytest.mark.parametrize(
    ("target", "package", "install"),
    [("mujoco-hook", "mujoco", r"'servobench\[mujoco\]'"), ("drake", "pydrake", "drake"),
     ("pybullet", "pybullet", "pybullet"), ("mjlab", "mjlab", "mjlab"), ("newton", "newton", "newton torch"),
     ("genesis", "genesis", "genesis-world"), ("usd", "ovphysx", "'ovphysx>=0.7'")],
)  # fmt: skip
def test_a_check_without_its_engine_says_what_to_install(target, package, install, tmp_path, monkeypatch):
    export_model(MODEL, target, tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotChecked, match=f"is not installed here: pip install {install}"):
        check_export(MODEL, target, tmp_path)


@pytest.mark.parametrize(
    ("target", "ending"),
    [("mujoco-hook", "servobench_mujoco.py"), ("mujoco-hook", "servobench_servo.py"),
     ("mujoco-plugin", "servobench_mujoco_plugin.c"), ("mujoco-plugin", "servobench_friction.h"),
     ("drake", "servobench_drake.py"), ("pybullet", "servobench_pybullet.py"), ("isaaclab", "servobench_torch.py"),
     ("webots", "servobench_servo.py"), ("usd", ".servo.usda"), ("usd", ".pendulum.usda"),
     ("sdformat", ".pendulum.sdf"), ("c", ".servo.h"), ("c", "servobench_friction.h")],
)  # fmt: skip
def test_a_check_refuses_files_that_are_not_the_exported_ones(target, ending, tmp_path):
    """A program that was changed is not run."""
    pytest.importorskip(exporters()[target].package.replace("ovphysx", "core") or "core")
    with pytest.raises(ExportError, match=r"cannot be read|no record|holds no"):
        check_export(MODEL, target, tmp_path)
    export_model(MODEL, target, tmp_path, **STEP.get(target, {}))
    (file,) = tmp_path.glob(f"*{ending}")
    file.write_text(file.read_text("utf-8") + "\n", "utf-8")
    with pytest.raises(ExportError, match="differs from an export of this model with these options"):
        check_export(MODEL, target, tmp_path, **STEP.get(target, {}))
