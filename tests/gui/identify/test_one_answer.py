"""One answer: window, report, terminal and notebook give the same verdict, warnings and next step for a result."""

import html
import math
import re
from argparse import Namespace
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from bench_gui.cli.commands.model import identify as terminal
from bench_gui.headless.report import ReportContents, page, report, write_report
from bench_gui.headless.report.sections import Examination, Part
from bench_gui.headless.symbols import with_symbols
from bench_gui.identify.answer.answer import AnswerPart
from bench_gui.identify.fit.messages import FitResult
from bench_gui.identify.fit.warning_list import WarningList
from bench_gui.state.models import ModelList
from core.base.units import typeset
from core.base.words import capitalised
from core.identification.coverage.findings import EXPORT, Diagnosis, Finding
from core.identification.evaluate import RunScore
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, ModelResult
from core.identification.runs.split import Split
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.model import build_model
from core.servo.settings import ServoSettings

SERVO = "mx106"
EVIDENCE = {
    "sound": {},
    "unconfirmed": {"search": "one search did not reach this fit: increase the evaluations"},
    "elsewhere": {"elsewhere": "other fits predict another motion at 2 kg: record a run there"},
    "one gain": {"conditions": ("every run has the same gain: record another",)},
    "open": {"parameters": {"R": {"standard_error": math.inf, "traded_with": ("k_t",)}}},
    "at bounds": {"parameters": {"kt": {"at_bound": "upper"}, "friction_viscous": {"at_bound": "lower"}}},
}
RUNS = {
    "not examined": None,
    "sound": (),
    "header": (("header_kp", "warning", "kp should be 32 instead of 16", "correct kp of these runs"),),
    "clock and residual": (
        ("gap", "error", "run a has a gap of 0.3 s", "trim it"),
        ("residual_speed", "note", "friction that the model lacks increases with speed", "free the viscous term"),
    ),
}
CASES = [*product(EVIDENCE, RUNS)]
assert len(CASES) >= 20


def parameter(p, **changes):
    plain = {name: getattr(p, name) for name in ("name", "symbol", "unit", "value", "lower", "upper", "frozen")}
    return ParameterEvidence(**{**plain, "initial": p.value, "at_bound": "", "standard_error": 1e-3, **changes})


def identification(evidence, runs, number):
    """Two models of these doubts; the number varies whether runs were held out, and whether it was stopped."""
    held_out = ("h1", "h2", "h3", "h4", "h5", "h6")[: (0, 1, 6)[number % 3]]
    results = []
    for friction, error in (("m1", 8e-3), ("m2", 3e-3)):
        model = build_model(SERVO, friction)
        changes = dict(EVIDENCE[evidence])
        of_parameters = changes.pop("parameters", {})
        parameters = tuple(parameter(p, **of_parameters.get(p.name, {})) for p in model.parameters.values())
        found = Evidence(
            **{"parameters": parameters, "conditions": (), "noise": 1e-3, "samples": 99, "independent": 9.0, **changes}
        )
        results.append(
            ModelResult(
                model=replace(model, provenance={"discretisation_error": 1e-5, "unused_channels": []}),
                train_mae=error, validation_mae=1.1 * error if held_out else None, validation_rmse=None,
                evaluations=900, wall_seconds=1.0, repeats=(), evidence=found,
                held_out=dict.fromkeys(held_out, 1.1 * error),
            )
        )  # fmt: skip
    findings = RUNS[runs]
    names = ("kind", "severity", "text", "remedy")
    diagnosis = None if findings is None else Diagnosis(
        friction="m2", findings=tuple(Finding(**dict(zip(names, one, strict=True))) for one in findings),
        hold_out="kp=16", rounding=3.8e-4, noise=2e-4, repeatability=math.nan if number % 2 else 1e-3,
    )  # fmt: skip
    request = IdentificationRequest(servo=SERVO, models=("m1", "m2"))
    split = Split("25%" if held_out else "none", ("a", "b"), held_out)
    return Identification(request, split, tuple(results), number % 4 == 3, diagnosis=diagnosis)


def run():
    time = 0.01 * np.arange(100)
    still = {"time": time, "position": 0.0 * time, "goal_position": 0.0 * time}
    channels = {**still, "torque_enable": np.ones(100, dtype=bool)}
    return Recording(
        id="a", trajectory="sin_sin", bench=Bench(mass=0.5, length=0.15),
        settings=ServoSettings(servo=SERVO, kp=16.0, supply_voltage=12.0), channels=channels,
    )  # fmt: skip


@pytest.fixture
def reported(monkeypatch, tmp_path):
    """Return a function that writes a report without its figures and returns its words."""
    for name in ("error_bars", "search_figure", "correlation_figure", "overlay", "_diagram", "as_svg"):
        monkeypatch.setattr(page, name, lambda *_: "")

    def written(found):
        nothing = Part(None, "Not computed.")
        seen = Examination(
            contents=ReportContents(title="t", found=found, recordings=[run()]),
            scores={friction: (RunScore("a", 3e-3, 4e-3, 100),) for friction in ("m1", "m2")},
            coverage=nothing, doubts=nothing, traces=nothing, correlations=nothing, residuals=nothing,
            repeats=nothing, crossvalidation=nothing, certainty=nothing,
        )  # fmt: skip
        monkeypatch.setattr(report, "examine", lambda _: seen)
        text = write_report(tmp_path / "r.html", seen.contents).read_text("utf-8")
        return html.unescape(re.sub(r"</?(?:sub|sup)>", "", text))

    return written


@pytest.fixture
def shown(qtbot):
    """Return a function that shows a result in the window's answer and list of warnings."""
    controller = SimpleNamespace(model_list=ModelList(), fitting=SimpleNamespace(active=False, result=None))
    part, listed = AnswerPart(controller, lambda: None), WarningList()
    for widget in (part, listed):
        qtbot.addWidget(widget)

    def show(found):
        result = FitResult.of(found, None)
        part.show_result(result)
        row = part.selected
        answer = result.answers[row.model.friction]
        part.show_answer(answer, answer.step, "")
        listed.show_warnings(answer.warnings, row)
        return part, listed

    return show


@pytest.mark.parametrize("number", range(len(CASES)))
def test_every_place_gives_the_same_answer(number, shown, reported, capsys, tmp_path):
    found = identification(*CASES[number], number)
    answer = found.answer()
    told = [str(warning) for warning in answer.warnings]
    assert len(set(told)) == len(told)

    part, listed = shown(found)
    assert part.card.title.text() == answer.verdict.headline
    assert part.card.next.text() == with_symbols(answer.next_step)
    assert part.card.step_button.text() == answer.step.label
    assert part.card.choice.text() == f"{answer.verdict.quality} <b>{answer.verdict.evidence}</b>".strip()
    symbols = [p.symbol for p in found.recommended.evidence.parameters]
    in_window = re.findall(r"•&nbsp; (.*?)(?: <a .*?</a>)?</p>", listed.text.text())
    assert in_window == [with_symbols(capitalised(text), symbols) for text in told]
    assert listed.text.text().count("<a ") == sum(bool(warning.action) for warning in answer.warnings)
    assert part.ladder.cell_at(part.ladder.recommended_row, 4).text == (str(len(told)) if told else "none")
    shown_buttons = [not button.isHidden() for button in (part.card.export_button, part.card.warnings_button)]
    assert shown_buttons == [answer.step.action != EXPORT, bool(told) and bool(answer.step.action)]

    text = reported(found)
    whole = re.sub(r"[_^]", "", typeset(answer.next_step))
    assert f"<span>{whole}</span>" in text
    in_report = re.findall(r'<p class="note (\w+)">', text)
    assert in_report == [warning.severity for warning in answer.warnings]
    below = text[text.index('id="warnings"') :]
    places = [below.index(re.sub(r"[_^]", "", typeset(warning.text[1:]))) for warning in answer.warnings]
    assert places == sorted(places)

    terminal._print_verdict(found, tmp_path, Namespace(all=True, storage=""))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(("error: ", "warning: ", "note: "))] == [
        f"{warning.severity}: {warning}" for warning in answer.warnings
    ]
    assert f"next: {answer.next_step}" in lines
    assert any(line.startswith(answer.verdict.headline) for line in lines)

    row = found.row(found.recommended.model.friction)
    assert (row["warnings"], row["next_step"]) == (told, answer.next_step)
    assert answer.next_step in str(found)
    assert found.columns()["warnings"][1] == len(told)
