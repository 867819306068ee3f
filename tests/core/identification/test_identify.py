"""Identification: truth is simulated and recovered (seed 004, section V), and real recordings reach known errors."""

from __future__ import annotations

import functools
import math
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from threadpoolctl import threadpool_info, threadpool_limits

from core.base.errors import IdentificationError
from core.identification.choice.friction import friction_choice
from core.identification.evaluate import discretisation_error, evaluate
from core.identification.evidence.sensitivity import sensitivity, standard_errors
from core.identification.identify import IdentificationRequest, Progress, identify
from core.identification.result import Identification, ModelResult
from core.identification.search.polish import ALIKE
from core.identification.search.study import JOURNAL
from core.identification.search.timestep import INTERVAL_SHARE, SEARCH_SHARE, final_share
from core.motion.recording import Recording
from core.motion.trajectories import PAPER_TRAJECTORIES
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel, build_model, with_contact
from core.servo.shipped import load_model
from core.servo.terms import CONTACT_TITLES, FRICTION_MODELS
from sessions import Session
from sessions.folders import example_session
from tests.core.conftest import recorded
from tests.independent_servo import with_noise

SERVO = "mx106"


@functools.cache
def truth(friction: str) -> ServoModel:
    """The catalogue's parameters, read as the seed writes its equations."""
    return replace(load_model(SERVO, friction), integrator="leapfrog", dt=0.0025, quadratic_gate="larger_torque")


@functools.cache
def grid(friction: str) -> tuple[Recording, ...]:
    """The four trajectories × two loads × two gains, as Table I of the seed in small."""
    return tuple(
        recorded(truth(friction), trajectory, Bench(mass=mass, length=length), kp)
        for mass, length in ((0.5, 0.10), (1.5, 0.20))
        for kp in (8.0, 32.0)
        for trajectory in PAPER_TRAJECTORIES
    )


@pytest.mark.parametrize(
    "friction",
    [pytest.param(name, marks=pytest.mark.exhaustive("the other friction models")) for name in FRICTION_MODELS[:-1]]
    + [FRICTION_MODELS[-1]],
)
def test_truth_is_recovered(friction: str) -> None:
    """Trajectories within 0.2 mrad; parameters that the data can tell apart within 2 %.

    Of the grid the light load at the low gain and the heavy one at the high gain.
    """
    recordings = grid(friction)[:4] + grid(friction)[12:]
    request = IdentificationRequest(servo=SERVO, models=(friction,), validation="none", trials=1000)
    found = identify(request, recordings).results[0]
    assert found.train_mae < 0.2e-3
    # A parameter is told apart when a scatter of 1 mrad per sample, five times the error allowed above, would leave
    # it certain to 1 %.
    errors, _ = standard_errors(sensitivity(found.model, recordings), 1e-3**2)
    free = found.model.parameters.free
    known = [p.name for p, error in zip(free, errors, strict=True) if error < 0.01 * abs(p.value)]
    assert {"kt", "R", "armature"} <= set(known)
    for name in known:
        assert found.model.values[name] == pytest.approx(truth(friction).values[name], rel=0.02), name


@functools.cache
def delayed(delay: float, length: float = 0.15) -> list[Recording]:
    """Four noisy recordings of an M1 whose goals arrive late [s]."""
    template = build_model(SERVO, "m1", command_path=("command_delay",))
    model = template.with_values({**truth("m1").values, "command_delay": delay})
    runs = [
        recorded(model, trajectory, Bench(mass=1.0, length=length), kp, step=0.01, name=f"{trajectory}{kp}{length}")
        for kp in (8.0, 32.0)
        for trajectory in ("sin_time_square", "lift_and_drop")
    ]
    return [with_noise(run, [number]) for number, run in enumerate(runs)]


TRY_DELAY = IdentificationRequest(
    servo=SERVO, models=("m1",), command_path=("command_delay",), command_path_if_better=True, trials=200
)


def yielding(stiffness: float) -> list[Recording]:
    """Four noisy recordings of an M1 with a rational contact [N·m/rad] or, for infinite stiffness, a rigid one."""
    model = truth("m1")
    if stiffness < math.inf:
        model = with_contact(model, "elastoplastic_rational").with_values({"bristle_stiffness": stiffness})
    runs = [
        recorded(model, trajectory, Bench(mass=1.0, length=0.15), kp, step=0.01)
        for kp in (8.0, 32.0)
        for trajectory in ("sin_time_square", "lift_and_drop")
    ]
    return [with_noise(run, [number]) for number, run in enumerate(runs)]


@pytest.mark.parametrize("tried", [False, True])
@pytest.mark.parametrize(("stiffness", "contact"), [(math.inf, "rigid"), (20.0, "elastoplastic_rational")])
def test_the_contact_is_that_which_the_runs_show(stiffness: float, contact: str, tried: bool, tmp_path: Path) -> None:
    """Resume finds the searches of both contacts, with and without a trial of the command path."""
    runs = yielding(stiffness)
    request = replace(TRY_DELAY, command_path_if_better=tried, command_path=TRY_DELAY.command_path if tried else ())
    found = identify(request, runs, folder=tmp_path)
    assert found.request.contact == found.results[0].model.contact == contact
    assert f"The contact is {CONTACT_TITLES[contact].lower()}: on the training runs M1 errs " in found.choice
    again: list[Progress] = []
    resumed = identify(request, runs, folder=tmp_path, resume=True, on_progress=again.append)
    assert not again
    assert resumed.results[0].model.values == found.results[0].model.values


def test_a_stop_while_the_models_are_fitted_with_another_contact_keeps_the_finished_ones() -> None:
    request = replace(TRY_DELAY, command_path_if_better=False, command_path=(), models=("m1", "m2"))
    rigid: list[ModelResult] = []
    generations: list[Progress] = []

    def on_progress(step: Progress) -> None:
        if len(rigid) == 2:
            generations.append(step)

    found = identify(
        request,
        yielding(20.0),
        on_progress=on_progress,
        on_result=rigid.append,
        should_stop=lambda: len(generations) > 0,
    )
    assert found.stopped
    for result in rigid:
        assert found[result.model.friction].is_not_worse(result)


@pytest.mark.parametrize("subset", [False, True])
def test_contacts_are_compared_on_the_same_runs(subset: bool) -> None:
    """Whatever error the model has where it comes from."""
    runs = yielding(math.inf)
    model = truth("m1").with_values({"friction_base": 1.02 * truth("m1").values["friction_base"]})
    request = replace(TRY_DELAY, command_path=())
    chosen, best, reason = friction_choice(request, model, runs[:2] if subset else runs)
    assert chosen.contact == "rigid"
    errors = [float(text) for text in re.findall(r"([\d.]+) (?:mrad )?with", reason)]
    assert errors == pytest.approx([errors[1]] * 2, rel=0.02)
    assert best.contact == "rigid"


@pytest.mark.parametrize(
    ("delay", "identified", "validation"),
    [
        pytest.param(0.0, (), "75%", marks=pytest.mark.exhaustive("a path that does not help")),
        (0.0175, ("command_delay",), "none"),
    ],
)
def test_a_command_path_that_lowers_the_held_out_error_is_identified(
    delay: float, identified: tuple[str, ...], validation: str, tmp_path: Path
) -> None:
    seen = []
    request = replace(TRY_DELAY, validation=validation)
    runs = [*delayed(delay), *delayed(delay, 0.1)]
    found = identify(request, runs, folder=tmp_path, on_progress=seen.append)
    assert found.request == replace(request.settled(identified), contact="rigid")
    assert found.results[0].model.command_path == identified
    held, total = (0, 8) if validation == "none" else (6, 2)
    assert (len(found.split.validation), len(found.split.train)) == (held, total)
    said = "identified" if identified else "left out"
    on = "6 held-out runs" if held else "the training runs, as fewer than 5 are held out,"
    assert f"The command path is {said}: on {on} M1 errs " in found.choice
    stages = ["without the command path", "with the command path", ""]
    assert list(dict.fromkeys(step.trial for step in seen)) == stages
    shares = [step.done for step in seen]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] <= 1.0
    assert identify(found.request, runs).results[0].model.values == found.results[0].model.values


def test_progress_is_linear_in_the_evaluations_and_names_what_is_no_search() -> None:
    frozen = tuple((name, value) for name, value in truth("m1").values.items() if name not in ("kt", "R"))
    request = replace(TRY_DELAY, models=("m1", "m2"), trials=None, frozen=frozen, seed=2)
    seen: list[tuple[float, str, Progress | None]] = []
    identify(
        request,
        delayed(0.0),
        on_progress=lambda step: seen.append((step.done, step.trial, step)),
        on_stage=lambda done, text: seen.append((done, text, None)),
    )
    shares = [done for done, *_ in seen]
    assert shares == sorted(shares)
    stages = list(dict.fromkeys(text for _, text, step in seen if step is None))
    assert stages[:2] == [
        "M2 without the command path: choosing the time step",
        "M2 without the command path: values and intervals",
    ]
    assert stages[-2:] == ["M1: values and intervals", "M2: values and intervals"]
    first = [step for _, trial, step in seen if step is not None and trial == "without the command path"]
    paces = [step.done / step.generation.evaluations for step in first]
    assert paces == pytest.approx([paces[0]] * len(paces))
    assert first[-1].done < 0.5


@pytest.mark.parametrize(("delay", "path"), [(0.0175, ("command_delay",)), (0.0, ())])
def test_the_training_error_decides_on_the_command_path_if_few_runs_are_held_out(delay, path) -> None:
    found = identify(replace(TRY_DELAY, validation="none"), delayed(delay)[:1])
    assert found.request.command_path == path
    assert "on the training runs, as fewer than 5 are held out, M1 errs" in found.choice


def quick(recordings: tuple[Recording, ...] | list[Recording], **changes: object) -> Identification:
    settings = {"servo": SERVO, "trials": 400, "validation": "none", **changes}
    return identify(IdentificationRequest(**settings), recordings)  # type: ignore[arg-type]


def test_richer_models_never_score_worse_in_training() -> None:
    """Nested starts: M1 ⊂ M2 ⊂ M4 ⊂ M5 ⊂ M6 and M1 ⊂ M3 ⊂ M4, whatever the budget."""
    recordings = grid("m6")[3:4]
    errors = {r.model.friction: r.train_mae for r in quick(recordings, trials=20).results}
    for simpler, richer in (("m1", "m2"), ("m1", "m3"), ("m2", "m4"), ("m3", "m4"), ("m4", "m5"), ("m5", "m6")):
        assert errors[richer] <= ALIKE * errors[simpler]


def test_same_seed_same_bits_whatever_the_threads() -> None:
    recordings = grid("m1")[3:5]
    alone, together = (
        quick(recordings, models=("m1",), command_path=("command_delay",), threads=threads, trials=50)
        for threads in (1, 3)
    )
    assert alone.results[0].model.values == together.results[0].model.values
    assert alone.results[0].train_mae == together.results[0].train_mae
    other = quick(recordings, models=("m1",), command_path=("command_delay",), trials=50, seed=1)
    assert other.results[0].model.values != alone.results[0].model.values


def test_linear_algebra_stays_in_one_thread() -> None:
    """More of them take turns with the simulations, which made a fit with the command path eight times as long."""
    request, seen = IdentificationRequest(servo=SERVO, models=("m1",), trials=16, validation="none"), set()

    def look(_: object) -> None:
        seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    with threadpool_limits(limits=2, user_api="blas"):
        identify(request, grid("m1")[:1], on_progress=look)
    assert seen == {1}


def test_repeats_keep_the_best_and_state_their_spread() -> None:
    found = quick(grid("m3")[:2], models=("m3",), trials=50, repeats=3).results[0]
    errors = [repeat.train_mae for repeat in found.repeats]
    assert found.train_mae <= 1.001 * min(errors)
    assert found.model.provenance["repeat_spread"] == pytest.approx(max(errors) - min(errors))
    assert len({repeat.seed for repeat in found.repeats}) == 3


def test_the_study_opens_with_optuna(tmp_path) -> None:
    found = identify(
        IdentificationRequest(servo=SERVO, models=("m1",), trials=100, validation="none", polish=False),
        grid("m1")[:2],
        folder=tmp_path,
    )
    storage = JournalStorage(JournalFileBackend(str(tmp_path / JOURNAL)))
    study = optuna.load_study(study_name="m1/0", storage=storage)
    error = found.results[0].train_mae
    assert error <= study.best_value <= 1.01 * error, "the prior adds little"
    assert study.best_params == pytest.approx(found.results[0].model.values, rel=1e-12)
    assert study.trials[-1].user_attrs["evaluations"] == found.results[0].evaluations


def test_frozen_parameters_stay_where_they_were_put() -> None:
    found = quick(grid("m1")[:1], models=("m1",), trials=16, frozen=(("R", 2.5), ("q_offset", 0.0))).results[0]
    assert found.model.values["R"] == 2.5
    assert found.model.parameters["R"].frozen
    assert not found.model.parameters["R"].at_bound


def test_held_out_recordings_are_not_trained_on_and_errors_are_those_of_the_requests_simulation() -> None:
    """With samples every 20 ms at the nominal supply, whatever was logged."""
    runs = [
        replace(run, channels={**run.channels, "supply_voltage": np.full(run.samples, 9.0)}) for run in grid("m1")[2:6]
    ]
    how = {"dt": 0.02, "supply": "header"}
    found = quick(runs, models=("m1",), trials=16, validation="kp=32", repeats=2, polish=False, seed=3, **how)
    assert set(found.split.validation) == {r.id for r in runs if r.settings.kp == 32.0}
    result = found.results[0]
    held, trained = (
        evaluate(result.model, [r for r in runs if r.id in side], **how)
        for side in (found.split.validation, found.split.train)
    )
    assert (result.train_mae, result.validation_mae, result.validation_rmse) == (
        trained.mean_mae,
        held.mean_mae,
        held.mean_rmse,
    )
    assert result.held_out == {run.id: run.mae for run in held.runs}
    best = min(result.repeats, key=lambda repeat: repeat.train_mae)
    told = result.model.provenance
    assert (told["seed"], told["repeat_seed"], told["evaluations"]) == (3, best.seed, best.evaluations)
    assert told["discretisation_error"] == discretisation_error(result.model, [runs[0], runs[1]], **how)
    for name in ("train_mae", "validation_mae", "validation_rmse"):
        assert told[name] == getattr(best, name) == getattr(result, name)
    assert (told["train"], told["validation"]) == (list(found.split.train), list(found.split.validation))


def test_recordings_of_another_servo_are_refused() -> None:
    with pytest.raises(IdentificationError, match="recordings of mx106"):
        identify(IdentificationRequest(servo="mx64", validation="none"), grid("m1"))


@pytest.mark.parametrize(("integrator", "order"), [("algorithm1", 1), ("leapfrog", 2)])
def test_discretisation_error_shrinks_with_the_step(integrator: str, order: int) -> None:
    model = replace(truth("m1"), integrator=integrator, dt=0.005, substeps=1)
    coarse = discretisation_error(model, grid("m1")[:4])
    fine = discretisation_error(replace(model, substeps=4), grid("m1")[:4])
    assert 0.7 * 4**order < coarse / fine < 1.4 * 4**order


def at_50_hz() -> tuple[Recording, ...]:
    """A well-resolved simulation, logged every 20 ms."""
    loads = ((Bench(mass=0.5, length=0.10), 8.0), (Bench(mass=1.5, length=0.20), 32.0))
    return tuple(recorded(truth("m1"), "sin_sin", bench, kp, step=0.02) for bench, kp in loads)


def test_the_step_is_chosen_by_what_it_costs() -> None:
    """With one step a sample the values of a log at 50 Hz make up for the step; those of the default do not."""
    coarse, found = (quick(at_50_hz(), models=("m1",), substeps=substeps).results[0].model for substeps in (1, None))
    assert coarse.substeps == 1
    assert found.substeps > 4
    off = [
        max(abs(model.values[name] / truth("m1").values[name] - 1.0) for name in ("friction_base", "armature"))
        for model in (coarse, found)
    ]
    assert off[1] < min(0.01, 0.1 * off[0])


def test_a_step_that_costs_little_stays() -> None:
    wave = 0.2 * np.sin(2.0 * np.pi * grid("m1")[0].time)
    recordings = tuple(replace(r, channels={**r.channels, "position": r.position + wave}) for r in grid("m1")[:2])
    assert quick(recordings, models=("m1",), trials=50).results[0].model.substeps == 1


def test_a_search_whose_step_proves_too_long_is_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("core.identification.fitting.chosen_parts", lambda *_: 1)
    request = IdentificationRequest(servo=SERVO, models=("m1",), trials=400, validation="none")
    found = identify(request, at_50_hz(), folder=tmp_path).results[0]
    names = optuna.get_all_study_names(JournalStorage(JournalFileBackend(str(tmp_path / JOURNAL))))
    assert names[0] == "m1/0"
    assert len(names) > 1
    assert found.model.provenance["discretisation_error"] < SEARCH_SHARE * load_servo(SERVO).encoder_step
    assert found.model.values["friction_base"] == pytest.approx(truth("m1").values["friction_base"], rel=0.01)


def test_the_more_independent_readings_the_less_the_step_of_a_result_may_cost() -> None:
    white = np.random.default_rng(0).normal(size=(4, 10_000))
    alike = np.repeat(white[:, :2_500], 4, axis=1)
    assert final_share(white) == pytest.approx(INTERVAL_SHARE / 200.0, rel=0.05)
    assert final_share(alike) == pytest.approx(INTERVAL_SHARE / 100.0, rel=0.1)
    assert final_share([np.ones(10)]) == SEARCH_SHARE


def test_a_first_order_integrator_keeps_one_step_a_sample() -> None:
    assert quick(at_50_hz(), models=("m1",), trials=16, integrator="bam").results[0].model.substeps == 1


@functools.cache
def example() -> tuple[Recording, ...]:
    """The eight XL330 recordings that come with the program."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(Session.open(example_session(Path(folder))).load_all())


@pytest.mark.exhaustive("the error that another program reaches on real recordings")
@pytest.mark.parametrize(("friction", "seed", "mrad"), [("m1", 0, 45.6), ("m6", 0, 24.0), ("m6", 1, 24.0)])
def test_real_recordings(friction: str, seed: int, mrad: float) -> None:
    """The peer's fits of M1 and M6 to these recordings end at 45.5 and 27.6 mrad after as many evaluations."""
    request = IdentificationRequest(
        servo="xl330", models=(friction,), validation="none", trials=4000, seed=seed, supply="header", dt=0.005
    )
    assert identify(request, example()).results[0].train_mae <= 1e-3 * mrad
