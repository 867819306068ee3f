"""The export to USD: layers that follow their schemas, and per degree what is per radian.

The layers are opened and validated by OpenUSD itself; with ovphysx the pendulum runs in PhysX.
"""

import importlib.util
from dataclasses import asdict

import numpy as np
import pytest

from core.base.errors import NotChecked
from core.export import protocol
from core.export.drives.envelope import as_model, envelope_drive_of
from core.export.files import slug
from core.export.targets import usd
from core.export.targets.usd import DRIVE, ENGINE_PACKAGES, UsdOptions, check_usd
from core.servo.shipped import load_model

Usd, UsdGeom, UsdPhysics = (
    pytest.importorskip(f"pxr.{name}", reason="usd-core is not installed") for name in ("Usd", "UsdGeom", "UsdPhysics")
)
in_physx = all(importlib.util.find_spec(package) for package in ENGINE_PACKAGES)
needs_physx = pytest.mark.skipif(not in_physx, reason="PhysX (ovphysx with its schemas) is not installed")


def written(model, folder, **options):
    """Paths of the servo's and the pendulum's layer of an export."""
    usd.write_usd(model, folder, UsdOptions(**options))
    return tuple(folder / f"{slug(model.title)}.{kind}.usda" for kind in ("servo", "pendulum"))


def opened(pendulum):
    """The stage of a file."""
    return Usd.Stage.Open(str(pendulum))


@pytest.fixture(scope="module")
def stage(m1):
    return opened(m1[3])


@pytest.fixture(scope="module")
def m1(tmp_path_factory):
    folder = tmp_path_factory.mktemp("m1")
    model = load_model("mx106", "m1")
    return model, folder, *written(model, folder)


class TestNumbers:
    @pytest.mark.parametrize("servo", ["mx106", "erob80_50"])
    def test_the_model_of_a_servo_is_that_servo_again(self, servo):
        model = load_model(servo, "m1")
        there = envelope_drive_of(model, model.default_settings())

        assert asdict(envelope_drive_of(*as_model(there, servo))) == pytest.approx(asdict(there))


class TestCheck:
    def test_without_physx_it_is_not_checked(self, m1, monkeypatch):
        """Its motors brake less than the model's: simulated here, an M1 would err by nothing."""
        monkeypatch.setattr(usd, "ENGINE_PACKAGES", ("no_such_engine",))
        with pytest.raises(NotChecked, match="PhysX is not installed here: pip install 'ovphysx"):
            check_usd(*m1[:2], UsdOptions())

    @pytest.mark.exhaustive("a whole refit; how well it fits is asked of MuJoCo")
    def test_m6_is_the_best_m1(self, tmp_path):
        result = usd.write_usd(load_model("mx106", "m6"), tmp_path, UsdOptions())

        assert "friction M6" in result.notes[0]
        assert result.approximated

    @needs_physx
    def test_the_pendulum_moves_in_physx_as_the_model(self, m1):
        """1.9 mrad at 1 ms, in single precision."""
        model, folder, *_ = m1

        found = check_usd(model, folder, UsdOptions(timestep=0.002))

        assert "run in PhysX" in found.how
        assert found.mean_mrad < 4.0


class TestInOpenUsd:
    def test_the_joint_is_composed_of_both_layers(self, stage):
        joint = stage.GetPrimAtPath("/Pendulum/Joint")

        assert list(joint.GetPrimTypeInfo().GetAppliedAPISchemas()) == list(usd.SERVO_APIS)
        assert joint.GetTypeName() == "PhysicsRevoluteJoint"
        assert joint.GetAttribute(f"{DRIVE}type").Get() == "force"

    def test_a_check_moves_a_pendulum_for_each_run(self, m1, tmp_path, monkeypatch):
        """In a scene that has all of them, each with its run's load and gain."""
        usd_core = pytest.importorskip("pxr.Usd")
        found = []

        def positions(_program, files, trajectories, *_):
            stage = usd_core.Stage.Open(str(files[0]))
            for number in range(len(trajectories)):
                arm, joint = (stage.GetPrimAtPath(f"/Pendulum{number or ''}/{name}") for name in ("Arm", "Joint"))
                stiffness = joint.GetAttribute("drive:angular:physics:stiffness").Get()
                found.append((arm.GetAttribute("physics:mass").Get(), stiffness))
            return np.zeros((len(trajectories), 1))

        monkeypatch.setattr(usd, "ENGINE_PACKAGES", ())
        monkeypatch.setattr(usd, "version", lambda _: "1")
        monkeypatch.setattr(usd, "positions_apart", positions)
        monkeypatch.setattr(protocol, "CONDITIONS", {"": (1.0, 1.0), "other": (0.5, 2.0)})
        check_usd(m1[0], m1[1], UsdOptions())
        assert len(found) == 8
        np.testing.assert_allclose(found[4:], np.array(found[:4]) * (0.5, 2.0), rtol=1e-6)

    def test_metadata_is_that_of_an_asset(self, stage):
        assert stage.GetDefaultPrim().GetPath() == "/Pendulum"
        assert UsdGeom.GetStageUpAxis(stage) == "Z"
        assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
        assert UsdPhysics.GetStageKilogramsPerUnit(stage) == 1.0
        assert stage.GetPrimAtPath("/Pendulum").HasAPI(UsdPhysics.ArticulationRootAPI)

    @pytest.mark.parametrize("servo", ["mx106", "erob80_50"])
    def test_types_are_those_of_the_schemas(self, tmp_path, servo):
        """OpenUSD's own of the attributes that it knows, float of PhysX' and Newton's."""
        _, pendulum = written(load_model(servo, "m1"), tmp_path)
        stage, checked = opened(pendulum), 0
        for prim in stage.Traverse():
            for attribute in prim.GetAuthoredAttributes():
                name, (authored, *_) = attribute.GetName(), attribute.GetPropertyStack()
                known = prim.GetPrimDefinition().GetSchemaAttributeSpec(name)
                if known is not None:
                    assert (authored.typeName, authored.variability) == (known.typeName, known.variability), name
                    checked += 1
                elif name != "xformOp:translate":
                    assert name.startswith(("physx", "newton:"))
                    assert authored.typeName == "float"
        assert checked >= 17

    def test_openusds_validators_find_nothing(self, stage):
        validation = pytest.importorskip("pxr.UsdValidation")
        validators = validation.ValidationRegistry().GetOrLoadAllValidators()
        names = {validator.GetMetadata().name for validator in validators}

        found = validation.ValidationContext(validators).Validate(stage)

        assert {"usdPhysicsValidators:PhysicsJointChecker", "usdPhysicsValidators:ArticulationChecker"} <= names
        assert [error.GetErrorAsString() for error in found] == []
