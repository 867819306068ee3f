"""Every target, whatever the model is called: files are what their names say, in the folder, described once."""

import ast
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import yaml

from core.export import export_model, exporters
from core.export.files import README
from core.shipped import load_model
from core.studies.webots.export import fitted_node as webots_servo_fit

NAMES = (
    "../../etc/passwd",
    "a\"b'c<d>&]]>--><!-- e",
    r"*/ int main(){} /* ?\?/",
    "nul\x00byte\n<!-- servobench export: x.y -->\n# h\n- l",
    "{x!r} %s ${y} \\n \\",
    "伺服 été Ω",
)
STEP = {"c": {"timestep": 1e-3}}


@pytest.fixture(autouse=True)
def no_search(monkeypatch):
    """One generation: names are tried here, not fits."""
    fit = webots_servo_fit.fit_servo_node
    monkeypatch.setattr(
        "core.studies.webots.export.target.fit_servo_node", lambda *args, **kwargs: fit(*args, generations=1)
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
