"""The export to Genesis: numbers that read back, and a pendulum that moves there as the model does.

Run in Genesis where it is installed, which takes some minutes; every run is a process of its own.
"""

import importlib.util
import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import ExportError
from core.export import protocol
from core.export.files import slug
from core.export.servo_file import STANDALONE
from core.export.targets import genesis
from core.export.targets.genesis import (
    DRIVE_NUMBERS,
    GenesisOptions,
    check_genesis,
    drive_text,
    read_drive,
    write_genesis,
)
from core.servo.model import build_model
from core.servo.shipped import load_model
from tests.core.conftest import catalogue_model

needs_genesis = pytest.mark.skipif(not importlib.util.find_spec("genesis"), reason="Genesis is not installed")
numbers = st.floats(0.0, 1e6)
drives = st.fixed_dictionaries(dict.fromkeys(DRIVE_NUMBERS, numbers))


def file_of(model, folder, kind):
    return folder / f"{slug(model.title)}.{kind}"


@pytest.fixture
def no_genesis(monkeypatch):
    monkeypatch.setitem(sys.modules, "genesis", None)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    model = load_model("mx106", "m1")
    options = GenesisOptions(drive="plain")
    return model, folder, options, write_genesis(model, folder, options)


class TestServo:
    def test_what_is_not_possible_is_refused(self, tmp_path):
        model = build_model("mx106", "m1")
        with pytest.raises(ExportError, match="no drive 'fast'; available: servo, plain"):
            write_genesis(model, tmp_path, GenesisOptions(drive="fast"))
        with pytest.raises(ExportError, match="integral gain"):
            write_genesis(model, tmp_path, GenesisOptions(drive="plain", ki=1.0))
        assert list(tmp_path.iterdir()) == []

    def test_a_check_moves_all_loads_and_gains_in_one_scene(self, tmp_path, monkeypatch):
        """Each pendulum has its own load, and a servo file with its own gain."""
        mujoco, model = pytest.importorskip("mujoco"), load_model("mx106", "m6")
        conditions = {"": (1.0, 1.0), "other": (0.5, 2.0)}
        found = []

        def positions(_program, files, trajectories, *_):
            scene = mujoco.MjModel.from_xml_path(str(files[0]))
            gains = [json.loads(file.read_text())["kp"] for file in files[1:]]
            found.append((scene.body_mass[1:] / scene.body_mass[1], np.array(gains) / gains[0]))
            return np.zeros((len(trajectories), 1))

        monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
        monkeypatch.setattr(genesis, "version", lambda _: "1")
        monkeypatch.setattr(genesis, "positions_apart", positions)
        monkeypatch.setattr(protocol, "CONDITIONS", conditions)
        write_genesis(model, tmp_path, GenesisOptions())
        check_genesis(model, tmp_path, GenesisOptions())
        np.testing.assert_allclose(np.transpose(found), np.array(list(conditions.values()))[:, :, None])


class TestPlain:
    @given(drives)
    def test_a_drive_reads_back_bit_for_bit(self, tmp_path_factory, drive):
        path = tmp_path_factory.mktemp("drive") / "drive.json"
        path.write_text(drive_text(drive))

        assert read_drive(path) == drive

    def test_the_program_expects_these_numbers(self):
        text = (STANDALONE / genesis.PROGRAM).read_text("utf-8")
        names = re.search(r"DRIVE_NUMBERS = \((.+)\)", text)[1]
        assert names.replace('"', "").split(", ") == list(DRIVE_NUMBERS)

    def test_read_back_a_voltage_law_is_the_model(self, plain, no_genesis):
        model, folder, options, result = plain

        found = check_genesis(model, folder, options)

        assert "not installed" in found.how
        assert not result.approximated
        assert found.mean_mrad < 1e-9

    def test_read_back_a_current_law_is_what_was_stated(self, tmp_path, no_genesis):
        model, options = load_model("erob80_50", "m1"), GenesisOptions(drive="plain")
        result = write_genesis(model, tmp_path, options)

        found = check_genesis(model, tmp_path, options)

        assert "limit by the supply voltage" in result.notes[0]
        assert found.mean_mrad < 1.0

    @pytest.mark.parametrize(("servo", "share"), [("erob80_50", 0.5), ("mx106", 1.0)])
    def test_a_quarter_of_the_gain_halves_the_damping_of_a_current_law(
        self, tmp_path, no_genesis, monkeypatch, servo, share
    ):
        """kd = k_t·damping·√kp; that of a voltage law does not depend on kp."""
        model, errors = load_model(servo, "m1"), []
        kp = model.default_settings().kp
        drive = dict.fromkeys(DRIVE_NUMBERS, 0.0) | {"kp": 40.0, "kv": 4.0, "torque_limit": 30.0, "armature": 0.1}
        soft = drive | {"kp": 10.0, "kv": share * 4.0}
        monkeypatch.setattr(protocol, "PAPER_TRAJECTORIES", ("up_and_down",))
        for numbers, own, gain in ((drive, kp, 0.25), (soft, 0.25 * kp, 1.0)):
            monkeypatch.setattr(protocol, "CONDITIONS", {"": (1.0, gain)})
            file_of(model, tmp_path, "genesis.json").write_text(drive_text(numbers))
            errors.append(check_genesis(model, tmp_path, GenesisOptions(drive="plain", kp=own)).mean_mrad)
        assert errors[0] == pytest.approx(errors[1], rel=1e-9)

    @pytest.mark.parametrize(
        ("before", "after", "reason"),
        [
            ('"kp": ', '"kp": -', "a drive with kp = -"),
            ('"kv"', '"speed"', "not a drive of Genesis"),
            ('"version": 1', '"version": 2', "of version 2"),
            ('"damping": ', '"damping": true, "x": ', "not a drive"),
            ('"armature": ', '"armature": NaN, "armature": "', "cannot be read"),
            ("{", "[", "cannot be read"),
        ],
    )
    def test_another_file_is_refused(self, plain, tmp_path, before, after, reason):
        text = file_of(plain[0], plain[1], "genesis.json").read_text()
        assert before in text
        path = tmp_path / "drive.json"
        path.write_text(text.replace(before, after, 1))
        with pytest.raises(ExportError, match=re.escape(reason)):
            read_drive(path)


@needs_genesis
class TestInGenesis:
    def test_friction_m6_moves_as_the_model(self, tmp_path):
        """0.74 mrad at 5 ms: 0.46, 0.04, 0.003 and, released, 2.5."""
        model, options = load_model("mx106", "m6"), GenesisOptions(timestep=0.005)
        write_genesis(model, tmp_path, options)

        found = check_genesis(model, tmp_path, options)

        assert "run in Genesis" in found.how
        assert found.mean_mrad < 1.0

    def test_the_plain_drive_moves_as_the_model(self, plain):
        """1.06 mrad at 2 ms: it leads held goals by half a step."""
        model, folder, *_ = plain

        found = check_genesis(model, folder, GenesisOptions(drive="plain", timestep=0.002))

        assert found.mean_mrad < 1.3

    def test_what_genesis_cannot_read_is_refused(self, tmp_path):
        model, options = catalogue_model("mx106", "m1"), GenesisOptions(timestep=0.005)
        write_genesis(model, tmp_path, options)
        servo = file_of(model, tmp_path, "servo.json")
        servo.write_text(servo.read_text().replace('"kp": ', '"kp": -'))

        with pytest.raises(ExportError, match="Genesis failed to run it: ValueError"):
            check_genesis(model, tmp_path, options)
        (tmp_path / genesis.PROGRAM).write_text("print(1)\n")
        with pytest.raises(ExportError, match="differs from an export of this model with these options"):
            check_genesis(model, tmp_path, options)
