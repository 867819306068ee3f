"""The interface for scripts and notebooks: its examples run, it is light, and it leaves other packages alone."""

import contextlib
import doctest
import importlib
import inspect
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

import servobench as sb
from core.base.errors import InputError
from core.export.exporting import exporters
from core.identification.options import IdentificationOptions, options_of
from core.motion.recording import CHANNELS
from core.practice.placement import PlacedPoint
from core.servo.terms import COMMAND_PATH_TERMS
from sessions.importers.names import FACTS
from sessions.results.certifying import CertaintyQuestion

ROOT = Path(sb.__file__).parent
HEAVY = ("PySide6", "pyqtgraph", "numba", "numpy", "scipy", "matplotlib", "h5py")
OTHERS = ("core", "drivers", "sessions", "resources", "bench_gui")
OPTIONS = {
    "trials": 77, "repeats": 2, "seed": 5, "validation": "none", "metric": "rmse", "polish": False,
    "contact": "elastoplastic", "integrator": "bam", "dt": 0.004, "substeps": 3, "run_offsets": False,
    "quadratic_gate": "opposing", "supply": "header", "frozen": (("kt", 0.9),), "bounds": (("R", 1.0, 9.0),),
    "start": (("kt", 0.8),), "prior": 0.02, "threads": 3, "drive_from": "current",
}  # fmt: skip
"""Options of an identification that differ from the defaults, but for offsets, which contradict points."""
LONG = ("certainty", "cross_validate", "propose")
"""Their examples fit or search for seconds."""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A working folder and a home of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    matplotlib.use("agg")
    return tmp_path


@pytest.fixture
def session():
    return sb.example()


def python(program, folder, *path):
    """What a program prints in an interpreter of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT)))}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def keywords(name):
    return {p.name for p in inspect.signature(getattr(sb, name)).parameters.values() if p.kind is p.KEYWORD_ONLY}


class TestNames:
    def test_every_name_is_there_and_is_described(self):
        assert sorted(sb.__all__) == dir(sb)
        for name in sb.__all__:
            assert getattr(sb, name).__doc__, name

    def test_an_unknown_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = sb.no_such_name

    def test_importing_loads_nothing_heavy(self, place):
        program = f"import sys, servobench; print([name for name in {HEAVY} if name in sys.modules])"
        assert python(program, place) == "[]"


class TestSignatures:
    """The signatures repeat what is declared elsewhere, for editors; nothing may be missing or differ."""

    @pytest.mark.parametrize("name", ["identify", "cross_validate"])
    def test_the_options_of_an_identification(self, name):
        declared = {option: field.default for option, (field, _) in options_of(IdentificationOptions).items()}
        models = inspect.signature(getattr(sb, name)).parameters["models"].default
        given = {**getattr(sb, name).__kwdefaults__, "models": tuple(models.split(","))}
        assert {option: given.get(option, "missing") for option in declared} == declared

    @pytest.mark.parametrize("name", ["export", "check_export"])
    def test_the_options_of_the_targets(self, name):
        targets = [exporter.options for exporter in exporters().values()]
        declared = {field.name: field.default for options in targets for field in fields(options)}
        given = getattr(sb, name).__kwdefaults__
        assert {option: given[option] for option in given if option not in ("name", "force")} == declared

    def test_the_channels_of_a_recording(self):
        assert {channel.name for channel in CHANNELS} <= {*inspect.signature(sb.recording).parameters}

    def test_the_facts_of_an_import(self):
        assert keywords("import_logs") == {
            *FACTS,
            "columns",
            "from_name",
            "where",
            "split_by",
            "joints",
            "goal_shift",
            "calibration",
            "progress",
        }

    def test_every_argument_is_described(self):
        elsewhere = {"cross_validate": keywords("identify"), "check_export": keywords("export")}
        for name in filter(lambda name: inspect.isfunction(getattr(sb, name)), sb.__all__):
            function = getattr(sb, name)
            _, _, described = function.__doc__.partition("Args:\n")
            for argument in {*inspect.signature(function).parameters} - elsewhere.get(name, set()):
                assert f"        {argument}: " in described or f" {argument}: " in described, (name, argument)

    def test_an_unknown_option_is_refused(self, session):
        for call in (sb.identify, sb.cross_validate):
            with pytest.raises(TypeError, match="trails"):
                call(session, "m1", trails=400)
        with pytest.raises(TypeError, match="gain"):
            sb.export("mx106:m6", "mujoco", "out", gain=3.0)
        with pytest.raises(sb.ServoBenchError, match="export to c: no option drive"):
            sb.export("mx106:m6", "c", "out", drive="plain")


class TestExamples:
    LONG = ("certainty", "cross_validate", "propose")

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=[pytest.mark.exhaustive("the long examples")] if name in LONG else [])
            for name in sb.__all__
            if ">>>" in (getattr(sb, name).__doc__ or "")
        ],
    )
    def test_the_example_of(self, name, session, capsys):
        if name == "import_logs":
            run = session.load_all()[0]
            table = np.column_stack([run.time * 1e3, np.degrees(run.goal_position), np.degrees(run.position)])
            np.savetxt("log.csv", table, delimiter=",", header="t,target,angle", comments="")
        tests = doctest.DocTestFinder(recurse=False).find(getattr(sb, name), name, globs={"sb": sb, "np": np})
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        for test in tests:
            runner.run(test)
        assert runner.summarize(verbose=False) == (0, runner.tries), capsys.readouterr().out


class TestData:
    def test_a_data_frame_is_read_by_the_rules_of_an_import(self):
        time = np.arange(0.0, 2.0, 0.01)
        log = {"t": 1e3 * time, "q": 40 * np.sin(3 * time - 0.2), "u": 40 * np.sin(3 * time), "part": time.astype(int)}
        given = {"columns": "time=t:ms,goal=u:deg,position=q:deg", "servo": "xl330", "mass": 0.2, "length": 0.1}
        frames = [log]
        with contextlib.suppress(ImportError):
            frames.append(importlib.import_module("pandas").DataFrame(log))
        for frame in frames:
            [run] = sb.from_frame(frame, **given, angle_offset=0.1)
            assert (run.bench.angle_offset, run.settings.kp) == (0.1, sb.load_servo("xl330").default_kp)
            np.testing.assert_allclose(run.position, np.radians(log["q"]), atol=1e-12)
            assert [run.samples for run in sb.from_frame(frame, **given, split_by="part")] == [100, 100]
            assert sb.from_frame(frame, **given, where={"part": 1})[0].samples == 100
        with pytest.raises(InputError, match="no column u2, do you mean u"):
            sb.from_frame(log, **{**given, "columns": "time=t:ms,goal=u2,position=q"})

    def test_a_calibration_gives_the_unit_of_arrays_and_files(self, tmp_path):
        motor = {"id": 1, "drive_mode": 0, "homing_offset": 0, "range_min": 1000, "range_max": 3000}
        (tmp_path / "arm.json").write_text(json.dumps({"elbow": motor}))
        time = np.arange(0.0, 2.0, 0.01)
        log = {"t": time, "elbow.goal": 40 * np.sin(3 * time), "elbow.pos": 40 * np.sin(3 * time - 0.2)}
        np.savez(tmp_path / "log.npz", **log)
        given = {"columns": "time=t,goal=elbow.goal,position=elbow.pos", "calibration": tmp_path / "arm.json"}
        given |= {"servo": "xl330", "mass": 0.2, "length": 0.1, "kp": 400}
        [run] = sb.from_frame(log, **given)
        np.testing.assert_allclose(run.position, log["elbow.pos"] * 10.0 * 2.0 * np.pi / 4096.0, atol=1e-12)
        [stored] = sb.import_logs(tmp_path / "log.npz", tmp_path / "lab", progress=False, **given).load_all()
        np.testing.assert_allclose(stored.position, run.position, atol=1e-12)

    def test_a_recording_of_arrays_is_simulated_on_its_own_grid(self):
        time = np.arange(0.0, 2.0, 0.01)
        run = sb.recording(
            time, 0.5 * np.sin(3 * time), 0.45 * np.sin(3 * time - 0.2), servo="xl330", mass=0.2, length=0.1
        )
        compared = sb.simulate("xl330:m6", run)
        np.testing.assert_array_equal(compared.measured, run.position)
        np.testing.assert_array_equal(compared.residual, compared.simulated - run.position)
        assert compared.mae == pytest.approx(np.mean(np.abs(compared.residual)))
        assert compared.rmse == pytest.approx(np.sqrt(np.mean(compared.residual**2)))

    def test_measured_supply_is_a_channel_and_its_median_the_nominal_one(self):
        time = np.arange(0.0, 1.0, 0.01)
        volts = np.linspace(4.8, 5.2, len(time))
        run = sb.recording(time, time, time, servo="xl330", mass=0.2, length=0.1, supply_voltage=volts)
        np.testing.assert_array_equal(run.channels["supply_voltage"], volts)
        assert run.settings.supply_voltage == pytest.approx(5.0)

    def test_a_session_uses_the_runs_that_a_fit_uses(self, session):
        left_out = session.runs()[0].id
        session.revise([left_out], lambda _, note: type(note)(excluded=True))
        assert left_out not in [run.id for run in sb.evaluate("xl330:m6", session).runs]

    def test_nothing_is_no_recordings(self):
        with pytest.raises(InputError, match="no recordings"):
            sb.evaluate("xl330:m6", [])


class Reached(BaseException):
    """Carries the arguments with which the function that computes was called."""


@pytest.mark.parametrize("given", [3, None, ["xl330:m6"]])
def test_what_cannot_be_a_model_is_named(given):
    with pytest.raises(sb.ServoBenchError, match=f"or a ServoModel, not {type(given).__name__}; of an identification"):
        sb.evaluate(given, sb.example())


@pytest.mark.parametrize(("load", "suffix"), [(sb.load_servo, ""), (sb.load_model, ":m2")])
def test_a_servo_file_with_an_unknown_bus_is_refused_and_not_kept(load, suffix, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "kept"))
    file = tmp_path / "mine.toml"
    text = (ROOT / "resources" / "servos" / "mx106.toml").read_text(encoding="utf-8")
    for name, own in (('"mx106"', '"mine"'), ('"mx-106"', '"my-own"'), ("[bus.dynamixel]", "[bus.nonsense]")):
        text = text.replace(name, own)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(sb.ServoBenchError, match=r"\[bus.nonsense\] is not a known bus"):
        load(f"{file}{suffix}")
    assert not [*(tmp_path / "kept").rglob("mine.toml")]


class TestArguments:
    """Each of them reaches what computes."""

    @pytest.fixture
    def reach(self, monkeypatch):
        """Arguments by name with which a function calls what computes, where the call ends."""

        def call(target, function, *arguments, **named):
            assert keywords(function.__name__) <= set(named) | {"progress"}, "every argument is given"
            module, _, name = target.rpartition(".")
            place = importlib.import_module(module)
            signature = inspect.signature(getattr(place, name))

            def reached(*arguments, **named):
                raise Reached(signature.bind(*arguments, **named).arguments)

            with monkeypatch.context() as patch:
                patch.setattr(place, name, reached)
                with pytest.raises(Reached) as caught:
                    function(*arguments, **named)
            return caught.value.args[0]

        return call

    def test_of_a_recording(self):
        time = np.arange(0.0, 1.0, 0.01)
        run = sb.recording(time, time, time, servo="mx64", mass=0.3, length=0.2, angle_offset=0.1, kp=9.0,
                           supply_voltage=11.0, id="a", trajectory="b", torque_enable=np.zeros(100),
                           current=0.5 * time)  # fmt: skip
        assert (run.id, run.trajectory) == ("a", "b")
        assert run.bench == sb.Bench(mass=0.3, length=0.2, angle_offset=0.1)
        assert {*run.channels} == {"time", "goal_position", "position", "torque_enable", "current"}
        assert run.settings == sb.ServoSettings(servo="mx64", kp=9.0, supply_voltage=11.0)
        assert not run.torque_enable.any()
        np.testing.assert_allclose(run.channels["current"], 0.5 * time)

    def test_of_a_recording_without_a_goal_angle(self):
        time = np.arange(0.0, 1.0, 0.01)
        for goal, kind in (("goal_voltage", "voltage"), ("goal_torque", "torque")):
            named = {goal: 3.0 * time}
            run = sb.recording(time, None, np.sin(time), servo="xl330", mass=0.1, length=0.1, **named)
            assert (run.command.kind, run.goal.tolist()) == (kind, named[goal].tolist())

    def test_of_a_record(self, reach, place):
        target, motions = "drivers.recorder.planned.record_plan", ["sin_sin"]
        given = reach(target, sb.record, "mx64", place / "lab", mass=0.3, length=0.2, trajectories=motions, kp=9.0)
        plan = given["plan"]
        assert (plan.servo, plan.kp, plan.fast) == ("simulated:mx64", 9.0, True)
        assert plan.bench == sb.Bench(mass=0.3, length=0.2)
        assert [trajectory.name for trajectory in plan.trajectories] == ["sin_sin"]
        assert given["open_store"].args == (place / "lab",)

    def test_of_an_import(self, reach, place):
        given = reach("sessions.import_paths", sb.import_logs, "a.csv", place / "lab", columns="time=t:ms",
                      from_name="{trajectory}", where={"id": 3}, split_by="episode", joints="a=b", goal_shift=-1,
                      calibration=None, servo="MX-64", mass=0.3, length=0.2, arm_mass=0.0, angle_offset=0.1, kp=9.0,
                      ki=1.0, kd=2.0, damping=None, supply_voltage=11.0, trajectory=None)  # fmt: skip
        paths, session, _, tables = given.values()
        assert (paths, session) == (["a.csv"], place / "lab")
        assert tables.facts == {"servo": "mx64", "mass": 0.3, "length": 0.2, "arm_mass": 0.0, "angle_offset": 0.1,
                                "kp": 9.0, "ki": 1.0, "kd": 2.0, "supply_voltage": 11.0}  # fmt: skip
        assert tables.name_pattern == "{trajectory}"
        assert (tables.where, tables.split_by, tables.goal_shift) == ({"id": "3"}, "episode", -1)
        assert tables.joints == {"a": "b"}
        assert [(column.name, column.unit) for column in tables.columns.values()] == [("t", "ms")]

    def test_of_a_simulation(self, reach, session):
        run = session.load(session.runs()[0].id)
        given = reach("core.motion.comparison.compare", sb.simulate, "xl330:m6", run, dt=0.02, supply="header")
        assert given == {"model": sb.load_model("xl330:m6"), "recording": run, "dt": 0.02, "supply": "header"}

    @pytest.mark.parametrize(
        ("path", "terms", "if_better"),
        [(None, COMMAND_PATH_TERMS, True), (True, COMMAND_PATH_TERMS, False), (False, (), False)],
    )
    def test_of_an_identification(self, reach, session, place, path, terms, if_better):
        target = "sessions.results.identifying.run_identification"
        point = PlacedPoint(
            servo="mx64", bench=sb.Bench(mass=0.3, length=0.2), angle=0.1, motor_torque=0.2, side="drive"
        )
        given = reach(target, sb.identify, session, "m2, m4", servo="mx64", command_path=path, points=[point],
                      output=place / "kept", **OPTIONS)  # fmt: skip
        request = given["request"]
        assert (request.servo, request.models, request.points) == ("mx64", ("m2", "m4"), (point,))
        assert {name: getattr(request, name) for name in OPTIONS} == OPTIONS
        assert (request.command_path, request.command_path_if_better) == (terms, if_better)
        assert (request.data_hash, given["folder"]) == (session.data_hash(), place / "kept")
        assert given["selection"].runs == tuple(run.id for run in given["recordings"])

    @pytest.mark.parametrize(("path", "searched"), [(None, "both"), (True, "on"), (False, "off")])
    def test_of_a_cross_validation(self, reach, session, place, path, searched):
        target, added = (
            "sessions.results.crossvalidating.run_crossvalidation",
            () if path is False else ("elastoplastic",),
        )
        given = reach(target, sb.cross_validate, session, "m2, m4", by="kp, unit", command_path=path, servo="mx64",
                      additions=added, output=place / "kept", **OPTIONS)  # fmt: skip
        question = given["question"]
        assert question.additions == added
        assert (question.by, question.command_path) == (("kp", "unit"), searched)
        assert (question.request.servo, question.request.models) == ("mx64", ("m2", "m4"))
        assert {name: getattr(question.request, name) for name in OPTIONS} == OPTIONS
        assert (question.request.data_hash, given["folder"]) == (session.data_hash(), place / "kept")

    def test_of_a_training(self, reach, session, place):
        given = reach("core.learn.learning.learn", sb.learn, session, "xl330:m2", by="kp, unit",
                      output=place / "kept", iterations=3, trials=77, seed=5)  # fmt: skip
        request = given["request"]
        assert (request.servo, request.models, request.trials, request.seed) == ("xl330", ("m6",), 77, 5)
        assert (given["model"].friction, given["by"], given["iterations"]) == ("m2", ("kp", "unit"), 3)
        assert (given["folder"], given["final"]) == (place / "kept" / "search", True)
        assert request.data_hash == session.data_hash()

    def test_of_a_certainty(self, reach, session, place):
        target = "sessions.results.certifying.run_certainty"
        given = reach(target, sb.certainty, session, place, model="m2", parameters="kt, R", draws=7, seed=5)
        assert given["question"] == CertaintyQuestion(
            session=session.path, folder=place, friction="m2", profiled=("kt", "R"), draws=7, seed=5
        )

    def test_of_a_proposal(self, reach, session):
        target = "core.identification.next.design.next_recordings"
        given = reach(target, sb.propose, session, "xl330:m2", count=2, objective="widths")
        assert (given["model"], given["count"], given["objective"]) == (sb.load_model("xl330:m2"), 2, "widths")
        assert [run.id for run in given["recordings"]] == [run.id for run in session.runs()]

    def test_of_a_proposal_for_a_robot(self, reach):
        run = SimpleNamespace(settings=SimpleNamespace(servo="sts3215"))
        runs = SimpleNamespace(joints={"lift": (run,)})
        given = reach(
            "core.robot.next.next_motions", sb.propose_motions, runs, "lift", count=2, ranges={"lift": (0, 1)}
        )
        assert given["model"] == sb.load_model("sts3215:m6")
        assert (given["runs"], given["joint"], given["count"], given["ranges"]) == (runs, "lift", 2, {"lift": (0, 1)})

    def test_of_an_export(self, reach, place):
        target = "core.export.exporting.export_model"
        options = {"kp": 9.0, "ki": 1.0, "damping": 2.0, "supply_voltage": 11.0, "timestep": 0.002, "syntax": "3.1",
                   "bench": sb.Bench(mass=0.3, length=0.2), "friction": "lugre", "drive": "plain",
                   "missing": "refuse"}  # fmt: skip
        written = {"model": sb.load_model("mx106:m2"), "target": "drake", "folder": place / "out", "name": "arm"}
        given = reach(target, sb.export, "mx106:m2", "drake", place / "out", name="arm", force=True, **options)
        assert given == {**written, "force": True, "options": options}
        given = reach("core.export.exporting.check_export", sb.check_export, "mx106:m2", "drake", place / "out",
                      name="arm", **options)  # fmt: skip
        assert given == {**written, "options": options}

    def test_options_of_other_targets_do_not_reach_one(self, reach, place, monkeypatch):
        monkeypatch.setattr("core.export.exporting.export_model", lambda *_, **given: given)
        assert sb.export("mx106:m2", "drake", place, kp=9.0) == {"name": None, "force": False, "kp": 9.0}

    def test_of_a_diagram_and_of_a_coverage(self, reach, session):
        given = reach(
            "core.practice.diagram.drive_backdrive_diagram", sb.drive_backdrive, "mx106:m2", [0.5], [0.0, 2.0]
        )
        assert given == {"model": sb.load_model("mx106:m2"), "motor_torque": [0.5], "velocity": [0.0, 2.0]}
        given = reach("core.identification.coverage.report.coverage", sb.coverage, session, "xl330:m2")
        assert given["model"] == sb.load_model("xl330:m2")


class TestResults:
    def test_an_identification_of_a_session_is_kept_as_the_command_keeps_it(self, session):
        found = sb.identify(session, "m1", trials=60, command_path=False, seed=0, progress=False)
        (folder,) = (session.path / "results").iterdir()
        assert (
            json.loads((folder / "m1.json").read_text())["parameters"]
            == json.loads(found.recommended.model.to_json_text())["parameters"]
        )

    def test_recordings_without_a_session_leave_no_files(self, session, place):
        runs = session.load_all()
        before = set(place.iterdir())
        sb.identify(runs, "m1", trials=60, command_path=False, seed=0, validation="none", progress=False)
        assert set(place.iterdir()) == before

    def test_results_are_one_line_a_table_and_html(self, session):
        for shown in (session, session.load(session.runs()[0].id), sb.load_model("xl330:m6"), sb.coverage(session)):
            assert len(repr(shown)) < 200
            assert "\n" not in repr(shown)
            assert str(shown).count("\n") >= 2
            assert shown._repr_html_().count("<tr>") == len(str(shown).splitlines()) - 1

    def test_data_frames_hold_every_row(self, session):
        pandas = pytest.importorskip("pandas", reason="needs pandas")
        run = session.load(session.runs()[0].id)
        frame = run.to_frame()
        assert isinstance(frame, pandas.DataFrame)
        assert len(frame) == run.samples

    def test_plots_show_what_was_compared(self, session):
        compared = sb.simulate("xl330:m6", session.load(session.runs()[0].id))
        lines = {line.get_label().split(",")[0]: line for line in compared.plot().get_lines()}
        np.testing.assert_array_equal(lines["measured"].get_ydata(), compared.measured)
        np.testing.assert_array_equal(lines["simulated"].get_ydata(), compared.simulated)
        diagram = sb.drive_backdrive("mx106:m6")
        np.testing.assert_array_equal(diagram.plot().get_lines()[0].get_ydata(), diagram.drive[:, 0])


class TestFolders:
    def test_packages_of_the_same_names_keep_theirs(self, place):
        for name in OTHERS:
            (place / name).mkdir()
            (place / name / "__init__.py").write_text("MINE = True\n")
        program = (
            "import servobench as sb, core, sessions\n"
            "run = sb.example().load('0001_lift_and_drop_kp100')\n"
            "print(core.MINE, sessions.MINE, run.samples > 100, sb.Recording.__module__)\n"
        )
        assert python(program, place, place).split() == ["True"] * 3 + ["servobench.core.motion.recording"]
