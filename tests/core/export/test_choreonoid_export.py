"""Choreonoid: seed 001's friction against its published constants, files that come back, the simulated customizer."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import ExportError
from core.contact.bristle import Bristle
from core.contact.laws import Stribeck
from core.export import export_model
from core.export.approximation import Approximation
from core.export.contract import ServoOptions
from core.export.drives.fit import DriveFit
from core.export.drives.plain import PlainDrive
from core.export.files import README, slug
from core.export.targets.choreonoid.body import (
    body_of,
    check_choreonoid,
    read_body,
    read_friction,
    write_choreonoid,
)
from core.export.targets.choreonoid.friction import (
    ChoreonoidFriction,
    can_follow,
    friction_constants,
    simulate_choreonoid,
)
from core.servo.model import with_contact
from core.servo.shipped import load_model
from core.studies.stiction.friction import ElastoplasticFriction
from tests.core.conftest import PENDULUM

SEED = ChoreonoidFriction(Ts=2.5, Tc=0.2, Tv=4.5, w_brk=0.04, Kf=5000.0, Bf=50.0, dt=1e-3)
"""Constants of seed 001's figure 7."""
DRIVE = PlainDrive(
    stiffness=20.0, damping=0.5, torque_limit=3.0, no_load_speed=6.0, friction=0.2, viscous=0.05, armature=0.01
)
magnitudes = st.floats(1e-3, 10.0)


class TestFriction:
    def test_the_seeds_constants(self):
        assert pytest.approx(0.9664, abs=1e-4) == SEED.u

    @settings(max_examples=100)
    @given(magnitudes, magnitudes, st.floats(0.0, 5.0), st.floats(1e-4, 10.0), magnitudes)
    def test_the_rule_for_kf_and_bf(self, extra, coulomb, viscous, speed, inertia):
        """u ≤ 1 always; 1/Z at most what stops the joint in a step, with room; w_brk raised only if it must be."""
        step = 1e-3
        friction = friction_constants(coulomb + extra, coulomb, viscous, speed, inertia, step)

        assert friction.u <= 1.0
        assert friction.Kf == pytest.approx(0.04 * inertia / step**2)
        assert 1.05 * inertia / step >= 1.0 / friction.bristle.Z
        if friction.w_brk > speed:
            with pytest.raises(ExportError, match="> 1"):
                replace(friction, w_brk=0.9 * friction.w_brk)
        else:
            assert friction.w_brk == speed
            assert friction.Bf >= 2.0 * np.sqrt(friction.Kf * inertia) * (1.0 - 1e-12)

    def test_constants_that_jump_are_refused(self):
        with pytest.raises(ExportError, match="raise Kf"):
            replace(SEED, w_brk=0.03)
        with pytest.raises(ExportError, match="Ts ≥ Tc"):
            replace(SEED, Ts=0.1)

    @settings(max_examples=5)
    @given(st.floats(0.05, 0.8))
    def test_stiction_holds_without_drift(self, share):
        """A pull moves the joint by the bristle's T/Kf and no further; its sudden start overshoots by up to a fifth."""
        friction = friction_constants(0.5, 0.1, 0.01, 0.1, 0.02, 1e-3)
        # A pendulum of length 0 with a constant pull: gravity at 90° of offset, moved by less than a milliradian.
        path = simulate_choreonoid(
            friction, (0.0, 0.0, 0.0), (0.02, share * 0.5, -np.pi / 2), np.zeros(5000), np.zeros(5000)
        )

        assert path[-1] == pytest.approx(share * 0.5 / friction.Kf, rel=1e-3)
        assert path[-1] == pytest.approx(path[-1000], abs=1e-9)


class TestOwnBristle:
    @pytest.mark.parametrize("damping", [0.5, 2.0, 15.0])
    @pytest.mark.parametrize(("share", "grows"), [(0.98, False), (1.02, True)])
    def test_a_bristle_may_be_as_stiff_as_what_does_not_grow(self, damping, share, grows):
        """A joint that sticks, by Algorithm 1 with the velocity before the step: K·h² + 2·B·h < 4·J."""
        h, inertia = 1e-3, 0.01
        stiffness = share * (4.0 * inertia - 2.0 * damping * h) / h**2
        bristle = Bristle(stiffness=stiffness, damping=damping, step=h)
        law = Stribeck(static=1e9, coulomb=1e9, breakaway_speed=1.0, viscous=0.0)
        friction, velocity, sizes = ElastoplasticFriction(law, bristle), 1e-3, []

        for _ in range(2000):
            velocity -= h / inertia * friction.step(velocity)
            sizes.append(abs(velocity))

        assert (max(sizes[-100:]) > 1e-3) is grows
        assert can_follow(law, bristle, inertia) is not grows

    def test_friction_that_would_jump_is_not_followed(self):
        """u ≤ 1, here u = (Ts − Tc)/(w·(K·h + B)) without viscosity."""
        law = Stribeck(static=1.5, coulomb=0.5, breakaway_speed=0.1, viscous=0.0)

        for damping, follows in ((9.9, False), (10.1, True)):
            assert can_follow(law, Bristle(stiffness=1e-6, damping=damping, step=1e-3), 1.0) is follows


class TestFiles:
    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("format_version: 2.0", "format_version: 1.0", "2.0"),
            ("angle_unit: degree", "angle_unit: radian", "degrees"),
            ("rotor_inertia: ", "rotor_inertias: ", "rotor_inertias"),
            ("rotor_inertia: ", "rotor_inertia: x", "has the wrong type"),
            ("joint_axis: [0.0", "joint_axis: [0.5", "not the exported pendulum"),
            ("mass: 1.0", "mass: .inf", "has the wrong type"),
            ("name: BASE", "name: &a BASE", "anchors"),
            ("links:", "links: [", "YAML"),
            ("links:", "links: !!python/name:os.system\nother:", "YAML"),
        ],
    )
    def test_another_body(self, tmp_path, old, new, complaint):
        text = yaml.safe_dump(body_of("a", DRIVE, PENDULUM, 0.0), sort_keys=False, default_flow_style=None)
        assert old in text
        (tmp_path / "a.body").write_text(text.replace(old, new, 1))

        with pytest.raises(ExportError, match=complaint):
            read_body(tmp_path / "a.body")

    def test_another_friction(self, tmp_path):
        for text, complaint in (("[]", "not a mapping"), ("format: x", "version 1"), ("a: [", "YAML")):
            (tmp_path / "a.yaml").write_text(text)
            with pytest.raises(ExportError, match=complaint):
                read_friction(tmp_path / "a.yaml")


class TestExport:
    def test_m1_is_written_as_it_is(self, tmp_path):
        """Ts = Tc; what remains is the customizer's step of 1 ms."""
        model = load_model("erob80_50", "m1")
        write_choreonoid(model, tmp_path, ServoOptions())
        friction, gains = read_friction(tmp_path / f"{slug(model.title)}.friction.yaml")

        assert friction.Ts == friction.Tc == model.values["friction_base"]
        assert friction.Tv == model.values["friction_viscous"]
        assert gains[2] == pytest.approx(model.values["kt"] * model.control.output_limit)
        assert check_choreonoid(model, tmp_path, ServoOptions()).mean_mrad < 1.5

    @pytest.mark.usefixtures("hardly_refitted")
    @pytest.mark.parametrize(("timestep", "own"), [(0.001, True), (0.02, False)])
    def test_an_elastoplastic_contact_has_its_own_bristle_where_the_step_allows(self, tmp_path, timestep, own):
        """mx106: K·h² + 2·B·h is 0.009 kg·m² at 1 ms and 0.24 at 20 ms; 4·J is 0.15."""
        model = with_contact(load_model("mx106", "m1"), "elastoplastic")
        result = export_model(model, "choreonoid", tmp_path, bench=PENDULUM, timestep=timestep)

        found, _ = read_friction(next(path for path in result.files if path.name.endswith("friction.yaml")))

        values = model.values
        kept = (found.Kf, found.Bf) == (values["bristle_stiffness"], values["bristle_damping"])
        assert kept is own
        beginning = "Kf and Bf are the model's own" if own else "The model's bristle"
        assert sum(note.startswith(beginning) for note in result.notes) == 1
        assert not any("written as a rigid one" in note for note in result.notes)

    @pytest.mark.parametrize(("timestep", "raised"), [(0.001, False), (0.02, True)])
    def test_a_breakaway_speed_that_is_not_the_fitted_one_is_said(self, tmp_path, monkeypatch, timestep, raised):
        """K_c^s/(J/h + K_v) is 0.02 rad/s at 1 ms and 0.45 at 20 ms."""
        model, drive = load_model("mx106", "m6"), replace(DRIVE, extra_at_rest=0.5, stribeck_speed=0.1)
        known = Approximation(model=model, refitted=(), errors=np.zeros(1), runs=(), held_back_error=0.0)
        fit = DriveFit(approximation=known, drive=drive, notes=())
        monkeypatch.setattr("core.export.targets.choreonoid.body.fit_drive", lambda *_: fit)

        result = write_choreonoid(model, tmp_path, ServoOptions(bench=PENDULUM, timestep=timestep))

        found, _ = read_friction(tmp_path / f"{slug(model.title)}.friction.yaml")
        assert (found.w_brk > 0.1) is raised
        said = f"w_brk is {found.w_brk:.4g} rad/s, not the fitted 0.1, which no bristle can follow"
        assert sum(note.startswith(said) for note in result.notes) == raised

    def test_m6_is_fitted_with_the_seeds_exponent(self, tmp_path):
        """Ts = K_c + K_c^s, Tc = K_c, w_brk = v_s of the refitted model."""
        model = load_model("mx106", "m6")
        write_choreonoid(model, tmp_path, ServoOptions())
        found = check_choreonoid(model, tmp_path, ServoOptions())
        friction, _ = read_friction(tmp_path / f"{slug(model.title)}.friction.yaml")
        text = (tmp_path / README).read_text("utf-8")

        assert friction.Ts > friction.Tc > 0.0
        assert f"friction_base = {friction.Tc:.6g}" in text
        assert "Stribeck friction of exponent 1" in text
        assert found.mean_mrad < 20.0
