"""`bench compliant export`: URDF and manager configuration from the command line."""

import argparse
import json
import xml.etree.ElementTree as ET

import pytest
import yaml

from bench_gui.cli.commands import compliant_export
from core.errors import ModelError


def run(*words):
    parser = argparse.ArgumentParser()
    compliant_export.add_arguments(parser)
    return compliant_export.run(parser.parse_args([str(word) for word in words]))


def test_joints_are_written_as_asked(tmp_path, capsys):
    words = ("--actuator", "sea", "--set", "stiffness=200", "--mode", 3, "--joints", "shoulder,elbow", "--robot", "arm")
    run(*words, "-o", tmp_path, "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["references"] == {
        "shoulder": ["arm/shoulder/equilibrium_position", "arm/shoulder/disabled"],
        "elbow": ["arm/elbow/equilibrium_position", "arm/elbow/disabled"],
    }
    urdf, manager = (tmp_path / name for name in ("arm.urdf", "arm_manager.yaml"))
    assert said["files"] == [str(urdf), str(manager)]
    plugins = ET.parse(urdf).findall("gazebo/plugin")
    assert [[p.findtext(tag) for tag in ("joint", "operation_mode", "spring_k")] for p in plugins] == [
        [name, "3", "200.0"] for name in ("shoulder", "elbow")
    ]
    assert yaml.safe_load(manager.read_text())["joints_name"] == ["shoulder", "elbow"]


def test_without_json_the_files_are_named(tmp_path, capsys):
    run("-o", tmp_path)
    assert "compliant_bench.urdf" in capsys.readouterr().out


def test_a_name_that_gazebo_cannot_take_is_refused(tmp_path):
    with pytest.raises(ModelError, match="joint name 'a b'"):
        run("--joints", "a b", "-o", tmp_path)
