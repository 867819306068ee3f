"""The command line, as scripts use it: contracts, exit codes, one clear line for what went wrong."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import servobench as sb
from bench_gui.cli import COMMANDS, build_parser, main
from core.identification.cautions import cautions
from core.identification.coverage.findings import SEVERITIES
from core.identification.result import step_in_words
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS
from sessions import Session
from sessions.results.identification import load_identification
from tests.core.conftest import recorded


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, bench_gui.cli as c; c.build_parser().format_help(); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "scipy", "PySide6", "optuna", "h5py", "matplotlib"} & set(modules)


def test_what_searches_nothing_does_not_wait_for_statistics(tmp_path, example) -> None:
    """scipy.stats, which cmaes and scipy.signal bring along, takes longer to import than the rest together."""
    commands = [
        ["evaluate", str(example), "--model", "xl330:m4"],
        ["export", "mx106:m4", "--to", "json", "-o", str(tmp_path)],
        ["doctor"],
    ]
    code = "import sys; from bench_gui.cli import main; "
    code += f"print([main(words) for words in {commands}], *sys.modules, file=sys.stderr, sep='\\n')"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.splitlines()
    assert "[0, 0, 0]" in said
    assert "numba" in said
    assert "scipy.stats" not in said


def test_wrong_usage_exits_with_2(capsys) -> None:
    wrong = [["rollout"], ["no-such-command"], ["identify", "x", "--models", "m7", "-o", "y"]]
    for arguments in wrong + [[command, "--no-such-option"] for command in COMMANDS]:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 2


@pytest.mark.parametrize("extra", [[], ["--integrator", "bam", "--substeps", "2"]])
def test_rollout_writes_the_arrays(bench, tmp_path, extra) -> None:
    out = tmp_path / "deep" / "out.npz"
    bench(
        "rollout", "--model", "mx106:m6", "--trajectory", "lift_and_drop", "--duration", "4", "--dt", "0.01",
        "--mass", "1", "--arm-mass", "0.1", "--length", "0.15", "--kp", "16", "--supply-voltage", "14",
        *extra, "-o", out,
    )  # fmt: skip
    arrays = np.load(out)
    assert {"time", "goal_position", "position", "velocity", "control"} <= set(arrays.files)
    assert all(len(arrays[name]) == 400 for name in arrays.files)
    assert np.abs(arrays["control"]).max() <= 14 * 0.9625 + 1e-12


def test_simulate_writes_every_run(bench, tmp_path, example) -> None:
    out = tmp_path / "out.npz"
    summary = bench("simulate", example, "--model", "xl330:m6", "-o", out, "--json").data
    arrays = np.load(out)
    for run_id in summary["runs"]:
        assert arrays[f"{run_id}/position"].shape == arrays[f"{run_id}/time"].shape


def test_identify_evaluate_export(bench, tmp_path, example) -> None:
    """The path of a user, with a tiny budget."""
    result = tmp_path / "result"
    found = bench("identify", example, "--servo", "xl330", "--models", "m1,m3", "--trials", "60", "--threads", "1",
            "--no-command-path", "--repeats", "2",
            "--dt", "0.01", "--seed", "3", "--validation", "kp=400", "-o", result, "--json").data  # fmt: skip
    assert [entry["model"] for entry in found] == ["m1", "m3"]
    for entry in found:
        assert len(entry["repeats"]) == 2
        for name, p in entry["parameters"].items():
            assert set(p) >= {"value", "unit", "lower", "upper", "at_bound"}, name
        assert ServoModel.read(entry["file"]).provenance["train_mae"] == entry["train_mae"]
    assert (result / "study.journal").exists()
    model = found[1]["file"]
    held = bench("evaluate", example, "--model", model, "--dt", "0.01", "--json").data
    assert set(held) == {"mean_mae", "mean_rmse", "runs", "selection", "warning"}
    by_id = {entry["id"]: entry["mae"] for entry in held["runs"]}
    kp400 = [mae for name, mae in by_id.items() if name.endswith("kp400")]
    assert sum(kp400) / len(kp400) == pytest.approx(found[1]["validation_mae"], rel=1e-12)
    for target in ("json", "bam", "mujoco"):
        files = bench("export", model, "--to", target, "-o", tmp_path / target, "--json").data["files"]
        assert all(Path(file).stat().st_size for file in files)


def test_the_step_and_its_cost_are_the_first_line_under_the_table(bench, tmp_path, example) -> None:
    words = ("identify", example, "--models", "m1", "--runs", "0003_sin_sin_kp100", "--validation", "none",
             "--trials", "60", "--no-polish", "--quiet", "--threads", "1", "-o", tmp_path)  # fmt: skip
    lines = bench(*words).out.splitlines()
    model = ServoModel.read(tmp_path / "m1.json")
    (entry,) = json.loads((tmp_path / "result.json").read_text())
    assert lines[1].startswith("M1  ")
    assert lines[2] == step_in_words(model, entry["train_mae"])
    assert (entry["integrator"], entry["step"]) == ("leapfrog", model.dt / model.substeps)
    assert entry["discretisation_error"] < 0.1 * entry["train_mae"]


def test_values_come_with_intervals_and_the_gravest_warnings_first(bench, tmp_path, example) -> None:
    words = ("identify", example, "--models", "m1,m2", "--trials", "60", "--no-polish", "--quiet", "--threads", "1",
             "--no-command-path", "--seed", "2", "--bounds", "kt=0.9:1.0", "-o", tmp_path)  # fmt: skip
    text = bench(*words).out
    found = load_identification(tmp_path)
    best = found.recommended
    assert found.choice in text
    assert "(2 of 8)\nrecorded but not used: duty_cycle (fits compare positions)\nvalues of" in text
    assert f"values of {best.model.friction.upper()} with their 95 % intervals" in text
    shown = {p.symbol: p for p in best.evidence.parameters if p.narrowed}
    assert shown
    for symbol, p in shown.items():
        assert f" {symbol} {p.grade.text}" in text
    open_ones = {p.symbol for p in best.evidence.parameters if not p.narrowed}
    [line] = [line for line in text.splitlines() if line.startswith("not determined")] or [""]
    assert {word.split()[0] for word in line.partition(": ")[2].split(", ") if word} == open_ones
    told = [str(caution) for caution in cautions(found)]
    warnings = [line.partition(": ")[2] for line in text.splitlines() if line.startswith(SEVERITIES)]
    assert len(told) > 3
    assert warnings == told[:3]
    assert f"{len(told) - 3} more: --all" in text
    everything = bench(*words[:-1], tmp_path / "again", "--all").out
    warnings = [line.partition(": ")[2] for line in everything.splitlines() if line.startswith(SEVERITIES)]
    assert warnings == told
    assert f"next: {found.answer().next_step}" in text.splitlines()
    assert len(text.splitlines()) <= 24


def test_the_command_path_is_tried_unless_it_is_said_what_to_do(bench, tmp_path, example) -> None:
    words = ["identify", example, "--models", "m1", "--trials", "32", "--dt", "0.02", "--no-polish", "--quiet",
             "--threads", "1"]  # fmt: skip
    assert "The command path is " in bench(*words, "-o", tmp_path / "tried").out
    text = bench(*words, "--no-command-path", "-o", tmp_path / "without").out
    assert "The command path is " not in text
    assert load_identification(tmp_path / "without").results[0].model.command_path == ()
    bench(*words, "--command-path", "-o", tmp_path / "with")
    assert set(load_identification(tmp_path / "with").results[0].model.command_path) == (
        # No goal of the example outruns a limit.
        set(COMMAND_PATH_TERMS) - {"supply_sag", "goal_slew"} | {"pulse_sag"}
    )
    both = [*words, "--no-command-path", "--command-path-terms", "command_delay", "-o", tmp_path / "both"]
    assert "give one of them" in bench(*both, code=1).err


def test_repeats_show_how_far_they_spread_and_terms_that_only_they_are_identified(bench, tmp_path, example) -> None:
    words = ["identify", example, "--models", "m1", "--trials", "60", "--no-polish", "--quiet", "--threads", "1",
             "--validation", "none", "--repeats", "2", "--command-path", "--command-path-terms", "command_delay",
             "-o", tmp_path]  # fmt: skip
    shown = bench(*words)
    assert shown.err == "bench: only these command path terms are identified: command_delay\n"
    heading, row = (line.split() for line in shown.out.splitlines()[:2])
    spread = load_identification(tmp_path).results[0].spread
    assert spread > 0.0
    # "held out/mrad" is two words, and no run was held out.
    assert float(row[heading.index("spread/mrad") - 1]) == pytest.approx(1e3 * spread, rel=5e-3)


def test_refine_is_not_offered(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["identify", "--help"])
    assert "refine" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("integrator", "cost", "words"),
    [
        ("leapfrog", 3e-5, "second order: it costs 0.03 mrad, 1 % of the error"),
        ("leapfrog", 1e-6, "second order: it costs less than 0.01 mrad, less than 1 % of the error"),
        ("leapfrog", None, "second order: its cost was not measured"),
        (
            "algorithm1",
            3.6e-3,
            "first order (algorithm1): it costs 3.60 mrad, 120 % of the error; the values are valid for this step only",
        ),
    ],
)
def test_a_step_in_words(integrator, cost, words) -> None:
    known = {"integrator": integrator, "dt": 0.005, "substeps": 2, "provenance": {"discretisation_error": cost}}
    assert step_in_words(replace(load_model("mx106", "m4"), **known), 0.003) == f"M4: step 2.5 ms, {words}"


def test_import_and_export_round_trip(bench, tmp_path, example) -> None:
    bench("export", example, "--to", "bam", "-o", tmp_path / "bam")
    bench("import", tmp_path / "bam", "-o", tmp_path / "again")
    original = bench("runs", example, "--json").data
    again = bench("runs", tmp_path / "again", "--json").data
    keys = ("trajectory", "duration", "samples", "kp", "mass")
    assert [[r[k] for k in keys] for r in original] == [[r[k] for k in keys] for r in again]


def test_record_fast_is_reproducible(bench, tmp_path) -> None:
    for name in ("a", "b"):
        bench("record", "--servo", "simulated:xl330?seed=5", "--fast", "--trajectory", "sin_sin", "--mass", "0.1",
            "--length", "0.1", "-o", tmp_path / name)  # fmt: skip
        bench("simulate", tmp_path / name, "--model", "xl330:m6", "-o", tmp_path / f"{name}.npz")
    first, second = (np.load(tmp_path / f"{name}.npz") for name in ("a", "b"))
    (key,) = {n for n in first.files if n.endswith("measured_position")}
    assert np.array_equal(first[key], second[key])
    assert np.abs(first[key]).max() > 0.3


def test_drive_backdrive(bench, tmp_path) -> None:
    picture = tmp_path / "d.svg"
    data = bench(
            "drive-backdrive", "--model", "mx106:m1-published", "--torque-max", "2", "--points", "3",
            "-o", picture, "--json",
        ).data  # fmt: skip
    coulomb = 0.10352026623606064
    assert data["drive"][0][2] == pytest.approx(-(2.0 - coulomb))
    assert data["backdrive"][0][2] == pytest.approx(-(2.0 + coulomb))
    assert picture.read_text().startswith("<?xml")


def test_models(bench) -> None:
    servos = {entry["servo"]: entry for entry in bench("models", "--json").data}
    assert {"mx64", "mx106", "xl320", "xl330", "erob80_50", "erob80_100", "sts3215", "sts3250"} <= set(servos)
    assert servos["sts3250"]["error_gain"] == 0.16382926
    assert servos["mx106"]["published"][0] == "m1-published"
    assert "m6-published" in bench("models").out
    assert "friction_viscous" in bench("models", "erob80_100:m6").out
    assert "Carried over from published values" in bench("models", "mx106:m6").out
    assert "integrator bam (first order)" in bench("models", "mx106:m6-published").out


def test_a_model_is_shown_with_its_integrator(bench, tmp_path) -> None:
    model = load_model("mx106", "m1")
    for integrator, words in (
        ("leapfrog", "leapfrog (second order), step 2.5 ms"),
        ("bam", "bam (first order), steps per sample: 2"),
    ):
        file = tmp_path / f"{integrator}.json"
        file.write_text(replace(model, integrator=integrator, dt=0.005, substeps=2).to_json_text())
        assert f"integrator {words}" in bench("models", file).out


def test_doctor_finds_this_machine_fit(bench) -> None:
    findings = bench("doctor", "--json").data
    assert all(finding["remedy"] for finding in findings if finding["status"] == "error")


def bad_files(folder: Path) -> dict[str, bytes]:
    return {
        "empty.json": b"",
        "text.json": b"hello",
        "list.json": b"[1, 2, 3]",
        "cut.json": (b'{"mass": 1, "length": 0.1, "kp": 8, "vin": 12, "motor": "mx106", "entries": [{"timestamp": 0'),
        "foreign.json": b'{"name": "a web page", "version": 3}',
        "deep.json": b"[" * 100_000,
        "broken.json.gz": b"\x1f\x8b\x08\x00rubbish",
        "broken.h5": b"\x89HDF\r\n\x1a\nrubbish",
        "broken.csv": b"a,b\n1,2\n",
    }


def test_bad_files_give_one_line_and_leave_nothing(fails, tmp_path) -> None:
    for name, content in bad_files(tmp_path).items():
        file = tmp_path / name
        file.write_bytes(content)
        fails("import", file, "-o", tmp_path / "session")
        fails("evaluate", file, "--model", "mx106:m1")
        fails("rollout", "--model", file, "--trajectory", "sin_sin", "-o", tmp_path / "out.npz")
        fails("identify", file, "-o", tmp_path / "result")
        assert sorted(path.name for path in tmp_path.iterdir()) == [name]
        file.unlink()


def test_errors_name_the_remedy(fails, tmp_path, example) -> None:
    assert "there are mx106" not in fails("models", "mx106:m1.json")
    assert "no servo 'mx999'" in fails("models", "mx999:m1")
    assert "no trajectory named 'loop'" in fails(
        "rollout", "--model", "mx106:m1", "--trajectory", "loop", "-o", tmp_path / "x.npz"
    )
    assert "recordings of xl330" in fails("evaluate", example, "--model", "mx106:m1")
    assert "kp takes" in fails("identify", example, "--validation", "kp=3", "-o", tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_demo_overwrites_nothing(fails, tmp_path) -> None:
    Session.create(tmp_path / "demo" / "session", "mine")
    assert "another folder" in fails("demo", "--fast", "-o", tmp_path / "demo")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its commands and tasks."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


def test_examples_in_the_help_are_valid(monkeypatch, tmp_path) -> None:
    """Each example parses; "example" is a folder here, so that none is copied."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example").mkdir()
    texts = [parser.epilog.replace("\\\n", "") for parser in parsers(build_parser()) if parser.epilog]
    examples = [line.split() for text in texts for line in text.splitlines() if line.startswith("  bench ")]
    assert len(examples) > 30
    for words in examples:
        build_parser().parse_args(shlex.split(" ".join(words[1:])))


def test_help_says_what_every_argument_is() -> None:
    for parser in parsers(build_parser()):
        for action in parser._actions:
            assert action.help or isinstance(action, argparse._SubParsersAction), f"{parser.prog} {action.dest}"


def test_an_error_that_all_runs_share_comes_with_its_likeliest_causes(bench, tmp_path) -> None:
    """The right model, and angles that count from pointing up."""
    session, model = Session.create(tmp_path / "up"), load_model("mx106", "m1")
    for kp in (8, 32):
        run = recorded(model, "lift_and_drop", kp=kp, duration=6.0, name=f"kp {kp}")
        angles = {name: run.channels[name] + math.pi for name in ("position", "goal_position")}
        session.add(replace(run, channels={**run.channels, **angles}))
    words = ("evaluate", session.path, "--model", "mx106:m1", "--threads", "1")
    warning = bench(*words, "--json").data["warning"]
    assert "each would leave: the zero turned by +180° (0.0" in warning
    assert warning.count("; ") >= 2
    assert warning.endswith("correct the angle offset of these runs by +3.14 rad")
    assert f"warning: {warning}" in bench(*words).out
    assert str(sb.evaluate(model, session.path).cause) == warning
