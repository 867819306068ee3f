"""Learned servos: without training they are the model; trained through roll-outs they recover what was planted."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError, ModelError, StoppedEarly
from core.identification.request import IdentificationRequest
from core.identification.runs.folds import folds
from core.learn.learning import BASELINES, learn
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.model import with_contact
from tests.core.conftest import LAW_MODELS, catalogue_model, recorded

PATH = {
    "command_delay": 0.0123,
    "release_delay": 0.0071,
    "error_gain_ratio": 1.1,
    "goal_slew": 4.0,
    "dead_band": 0.004,
    "pwm_lag": 0.006,
    "supply_sag": 0.4,
    "pulse_sag": 0.3,
    "release_braking": 0.6,
}
ACTING = 0.4
"""Current limit that acts in these runs [A]."""
FRICTION = {"friction_base": 0.2, "friction_stribeck": 0.1, "load_friction_external": 0.1}


@pytest.fixture(scope="module", autouse=True)
def _torch():
    """Import PyTorch only where these tests run: every process of the tests collects this file."""
    global torch, nets, runs, servos, training
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'servobench[learn]'")
    from core.learn import export as nets
    from core.learn import runs, servos, training

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def model_of(law="voltage", friction="m6", path=PATH, **values):
    options = {**LAW_MODELS[law], **({"current_limit": ACTING} if law == "limited" else {})}
    return catalogue_model(friction=friction, command_path=tuple(path), values={**path, **values}, **options)


def request_of(model, **changes):
    return IdentificationRequest(**{"servo": model.servo, "threads": 1, "trials": 20, "polish": False, **changes})


def tensors(recordings):
    return runs.runs_of(recordings, IdentificationRequest(servo=recordings[0].settings.servo))


def short_runs(model, kps=(16.0, 32.0), duration=1.0):
    return [
        recorded(model, trajectory, Bench(mass=mass, length=0.15), kp, step=0.01, duration=duration)
        for kp in kps
        for mass, trajectory in ((0.5, "sin_sin"), (1.5, "sin_time_square"))
    ]


def others(*rows):
    return [pytest.param(row, marks=pytest.mark.exhaustive("the other laws")) for row in rows]


class TestResidualNet:
    @pytest.mark.parametrize("law", ["voltage", *others("current", "limited")])
    @pytest.mark.parametrize("trajectory", ["lift_and_drop", "steps"])
    def test_is_the_model_before_training(self, law, trajectory) -> None:
        """Leapfrog in float32 against the kernel over a whole run, with a release and with jumps of the goal."""
        friction, path = (
            (FRICTION, PATH) if law != "current" else ({}, {k: v for k, v in PATH.items() if k != "pwm_lag"})
        )
        model = model_of(law, path=path, **friction)
        truth = recorded(model, trajectory, step=0.005)
        grid = tensors([truth])
        servo = servos.ResidualNet(model, grid.step, speed=3.0, torque=1.0)
        start = servos.Moved(*grid.starting_states(), ())
        inputs = servo.inputs(grid)
        start = start._replace(state=servo.at_rest(*start[:2]))
        with torch.no_grad():
            found = training.roll_out(servo, inputs, start)[0, :, 0].numpy()
        expected = simulate_recording(model, truth).position
        assert np.abs(found - expected).max() < (1e-3 if law == "limited" else 0.5e-3)

    def test_recovers_friction_that_the_model_lacks(self) -> None:
        model = model_of(**FRICTION)
        truth = model.with_values({name: 1.5 * value for name, value in FRICTION.items()})
        grid = tensors(short_runs(truth, kps=(16.0,)))
        torch.manual_seed(0)
        servo = servos.ResidualNet(model, grid.step, speed=3.0, torque=2.0)
        before = np.mean(list(training.whole_errors(servo, grid).values()))
        training.train(servo, grid, 8)
        assert np.mean(list(training.whole_errors(servo, grid).values())) < 0.5 * before

    def test_its_factor_is_the_same_in_both_directions_and_bounded(self) -> None:
        torch.manual_seed(0)
        factor = servos.FrictionFactor(5)
        torch.nn.init.normal_(factor.net[-1].weight)
        seen = torch.randn(50, 6)
        mirrored = torch.cat([-seen[:, :-1], seen[:, -1:]], dim=1)
        found = factor(seen)
        torch.testing.assert_close(factor(mirrored), found)
        assert found.std() > 0.05
        assert (100.0 * found.log().abs() / np.log(servos.LARGEST_FACTOR)).max() <= 100.0

    def test_a_stribeck_exponent_below_one_has_finite_gradients_at_rest(self) -> None:
        model = model_of(**FRICTION, alpha=0.6)
        grid = tensors(short_runs(model, duration=0.3))
        servo = servos.ResidualNet(model, grid.step, speed=3.0, torque=1.0)
        training.train(servo, grid, 1)
        assert all(torch.isfinite(p.grad).all() for p in servo.parameters())


class TestActuatorNet:
    def test_learns_through_roll_outs(self) -> None:
        grid = tensors(short_runs(model_of(**FRICTION)))
        torch.manual_seed(0)
        servo = servos.ActuatorNet(grid.step, kp=16.0, error=0.4, speed=3.0, torque=2.2, inertia=0.02)
        losses: list[float] = []
        training.train(servo, grid, 40, lambda loss: losses.append(loss) is None)
        assert losses[-1] < 0.4 * losses[0]

    def test_stops_when_asked(self) -> None:
        grid = tensors(short_runs(model_of(), duration=0.2))
        servo = servos.ActuatorNet(grid.step, kp=16.0, error=0.4, speed=3.0, torque=2.2, inertia=0.02)
        losses: list[float] = []
        training.train(servo, grid, 60, lambda loss: losses.append(loss) is not None)
        assert len(losses) == 1


def learned(truth, recordings, **options):
    return learn(request_of(truth, models=("m1",)), recordings, ("kp", "length"), iterations=2, **options)


class TestComparison:
    def test_scores_all_baselines_on_the_same_held_out_runs(self) -> None:
        model = model_of(friction="m1", path={"command_delay": 0.01})
        recordings = short_runs(model, duration=0.3)
        shares: list[float] = []
        found = learned(model, recordings, model=model, on_progress=lambda share, text: shares.append(share))
        assert [each.fold for each in found.folds] == list(folds(recordings, ("kp",)).folds)
        for each in found.folds:
            assert all(set(each.errors[b]) == set(each.fold.held_out) for b in BASELINES)
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)
        assert (found.variant.name, found.skipped[0][0], found.nets) == ("M1 + command path", "length", {})
        assert found.sizes["physics"] == len(model.parameters.free)
        data = json.loads(json.dumps(found.to_json()))
        assert data["median"]["physics"] == pytest.approx(
            np.median([np.mean(list(each.errors["physics"].values())) for each in found.folds])
        )
        document = found.document()
        assert [row[0] for row in document.tables[0].rows][-3:] == ["median", "parameters", "processor seconds"]
        assert len(document.plot().panels[0].series) == len(BASELINES)

    def test_a_repetition_gives_the_same_nets(self) -> None:
        model = model_of(friction="m1", path={})
        first, second = (learned(model, short_runs(model, duration=0.25)).folds[0] for _ in range(2))
        assert first.errors == second.errors

    def test_a_stop_keeps_complete_conditions(self) -> None:
        model = model_of(friction="m1", path={})
        recordings, texts = short_runs(model, duration=0.3), []
        second = "actuator net without kp 32"
        stopped = learned(
            model,
            recordings,
            on_progress=lambda share, text: texts.append(text),
            should_stop=lambda: any(text.startswith(second) for text in texts),
        )
        assert stopped.stopped
        assert [each.fold.label for each in stopped.folds] == ["kp 16"]
        with pytest.raises(StoppedEarly):
            learned(model, recordings, should_stop=lambda: True)

    def test_refuses_what_it_cannot_train(self, monkeypatch) -> None:
        model = model_of(friction="m1", path={})
        recordings = short_runs(model, duration=0.2)
        for match, other in {
            "rigid contact": with_contact(model, "elastoplastic"),
            "leapfrog": replace(model, integrator="algorithm1"),
            "slow decay": model_of("coast", "m1", {}),
            "without memory of the load": model_of(friction="m3", path={"load_memory": 0.2}),
        }.items():
            with pytest.raises(ModelError, match=match):
                learned(model, recordings, model=other)
        with pytest.raises(ModelError, match="commanded by an angle"):
            learn(request_of(model, drive_from="duty_cycle"), recordings, ("kp",))
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r"pip install 'servobench\[learn\]'"):
            learned(model, recordings)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Comparison, recordings and folder of exported nets."""
    model = model_of(friction="m1", path={})
    recordings = short_runs(model, duration=0.4)
    found = learned(model, recordings, model=model, final=True)
    folder = tmp_path_factory.mktemp("nets")
    nets.write_nets(found, recordings, folder)
    return found, recordings, folder


class TestExport:
    def test_engines_get_the_torque_of_the_net(self, written) -> None:
        """Inputs as Isaac Lab and mjlab form them, with the scales and the history in the README."""
        found, recordings, folder = written
        net = found.nets["actuator"]
        text = (folder / nets.README).read_text("utf-8")
        scale = {name: float(value) for name, value in re.findall(r"(\w+_scale)=([-\d.e]+)", text)}
        length = int(re.search(r"history_length=(\d+)", text)[1])
        assert f"input_idx=range({length})" in text
        script = torch.jit.load(str(folder / nets.ACTUATOR_FILE))
        grid = tensors(recordings[:1])
        goal, enable = net.inputs(grid)
        position, velocity = grid.position[:1], grid.velocity[:1]
        state, errors, speeds = net.at_rest(position, velocity), [0.0] * length, [0.0] * length
        bench, kp = recordings[0].bench, recordings[0].settings.kp
        with torch.no_grad():
            for k in range(20):
                moved = net.advance(position, velocity, state, (goal[:, k], enable[:, k]))
                load = bench.gravity_torque * np.sin(float(position) + float(net.offset))
                inertia = bench.inertia + float(net.armature)
                expected = inertia * float(moved.velocity - velocity) / grid.step + load
                errors = [float(goal[0, k, 0] - position), *errors[:-1]]
                speeds = [float(velocity), *speeds[:-1]]
                seen = [*(scale["pos_scale"] * kp * e for e in errors), *(scale["vel_scale"] * v for v in speeds)]
                torque = scale["torque_scale"] * float(script(torch.tensor([seen])))
                assert torque == pytest.approx(expected, abs=2e-4)
                position, velocity, state = grid.position[k + 1 : k + 2], grid.velocity[k + 1 : k + 2], moved.state

    def test_files_state_what_they_are_valid_for(self, written) -> None:
        _, recordings, folder = written
        loads = [recording.bench.gravity_torque for recording in recordings]
        for name in (nets.ACTUATOR_FILE, nets.RESIDUAL_FILE):
            extra = {nets.VALIDITY: ""}
            torch.jit.load(str(folder / name), _extra_files=extra)
            ranges = json.loads(extra[nets.VALIDITY])
            assert ranges["gain kp"] == [16.0, 32.0]
            assert ranges["gravity torque of the load [N·m]"] == pytest.approx([min(loads), max(loads)])
        assert "| gain kp | 16 | 32 |" in (folder / nets.README).read_text("utf-8")

    def test_the_residual_script_is_the_factor_of_the_net(self, written) -> None:
        found, _, folder = written
        factor = found.nets["residual"].factor
        seen = torch.randn(7, len(found.nets["residual"].frames) + 3)
        torch.testing.assert_close(torch.jit.load(str(folder / nets.RESIDUAL_FILE))(seen), factor(seen))
