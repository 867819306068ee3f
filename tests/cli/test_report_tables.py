"""Every cell of every table of the report, from numbers that are all unlike: none stands in another's place."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace as Of
from typing import Any

import numpy as np
import pytest

from bench_gui.headless.report import ReportContents, page, report, write_report
from bench_gui.headless.report.sections import Examination, Part
from core.base.units import as_certain
from core.identification.evidence.grade import GOOD
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, Repeat
from core.identification.runs.split import Split
from core.motion.recording import Recording
from core.practice.placement import PlacedPoint
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from tests.core.fleet.specimens import unit

FIGURES = ("error_bars", "search_figure", "correlation_figure", "friction_residuals", "position_residuals",
           "profile_figure", "overlay", "diagram_figure")  # fmt: skip
POINT = PlacedPoint(motor_torque=0.1, angle=0.4, side="drive", bench=Bench(mass=0.5, length=0.1), servo="mx106")
PROVENANCE = {
    "data_hash": "a hash",
    "unused_channels": ["duty_cycle", "current"],
    "placed_points": {"mean_error": 0.0191},
    "versions": {"numpy": "1", "scipy": "2"},
}


class Tables(HTMLParser):
    """Cells of each row of each table, and the text of each paragraph."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.paragraphs: list[str] = []
        self._into: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self._into = self.tables[-1][-1]
            self._into.append("")
        if tag == "p":
            self._into = self.paragraphs
            self._into.append("")

    def handle_endtag(self, tag):
        if tag in ("td", "th", "p"):
            assert self._into is not None
            self._into[-1] = " ".join(self._into[-1].split())
            self._into = None

    def handle_data(self, data):
        if self._into is not None:
            self._into[-1] += data

    def table(self, *heads: str) -> list[list[str]]:
        """The rows below these headings."""
        [found] = [table for table in self.tables if table[0] == list(heads)]
        return found[1:]


def recording(number: int, trajectory: str) -> Recording:
    """Four samples and more, in conditions of their own."""
    time = 0.25 * np.arange(3 + number)
    return Recording(
        id=f"000{number}_run",
        trajectory=trajectory,
        bench=Bench(mass=0.1 * number, length=0.01 + 0.1 * number),
        settings=ServoSettings(servo="mx106", kp=10.0 * number, supply_voltage=11.0 + number),
        channels={"time": time, "goal_position": 0.0 * time, "position": 0.1 * time,
                  "torque_enable": np.ones(len(time), np.uint8)},
    )  # fmt: skip


def scores(*errors: float) -> tuple[Any, ...]:
    return tuple(Of(id=f"000{k}_run", mae=error) for k, error in enumerate(errors, 1))


def number(mean: float, error: float) -> Of:
    return Of(mean=mean, standard_error=error)


@pytest.fixture(scope="module")
def found() -> Identification:
    """M1 and M2 of two runs, and a third that was held out; M2 has less error there."""
    results = []
    for k, friction in enumerate(("m1", "m2")):
        result = unit("u", {"kt": 4.5} if friction == "m1" else {}, friction=friction).results[friction]
        known = [
            replace(p, standard_error=(n + 1) * 0.001, initial=p.value * (1.5 + 0.01 * n))
            for n, p in enumerate(result.evidence.parameters)
        ]
        known[2] = replace(known[2], standard_error=np.inf, at_bound="upper")
        known[3] = replace(known[3], frozen=True, standard_error=np.nan)
        parameters = result.model.parameters
        repeats = tuple(Repeat(0, error, None, None, 1, parameters) for error in (0.05, 0.0513 + 0.001 * k))
        evidence = replace(result.evidence, parameters=tuple(known))
        model = replace(result.model, provenance=PROVENANCE)
        numbers = {"train_mae": 0.0111 + 0.01 * k, "validation_mae": 0.0142 - 0.001 * k, "evaluations": 15015 + k}
        results.append(
            replace(result, **numbers, wall_seconds=16.5 + k, model=model, repeats=repeats, evidence=evidence)
        )
    split = Split("a rule", ("0001_run", "0002_run"), ("0003_run",))
    request = IdentificationRequest(
        servo="mx106", models=("m1", "m2"), seed=17, repeats=2, supply="header", metric="rmse", points=(POINT,),
        command_path=("command_delay", "dead_band"), start=(("kt", 1.0),),
    )  # fmt: skip
    return Identification(request, split, tuple(results), stopped=False)


@pytest.fixture(scope="module")
def examination(found) -> Examination:
    runs = [recording(1, "sin_sin"), recording(2, "steps"), recording(3, "sin_sin")]
    best = found.results[1].model
    truth = best.with_values({name: value * 1.1 for name, value in best.values.items()})
    contents = ReportContents(
        title="t", found=found, recordings=runs, truth=truth, run_hashes={r.id: f"{r.id[3]}{'f' * 20}" for r in runs}
    )
    cell = Of(mass=0.31, length=0.32, kp=33.0, supply_voltage=34.0, trajectory="steps", count=35)
    total = Of(speed_share=0.41, load_share=0.42, reversals=43, breakaways=44, saturated_share=0.45,
               released_share=0.46)  # fmt: skip
    covered = Of(
        grid=Of(cells=[cell], trajectories=["sin_sin", "steps"], possible=36), total=total, command_lag=0.047,
        terms=[Of(symbol="K_v", verdict="weak", text="why")], findings=(), of=lambda _: (),
        timing=[Of(run=r.id, step=0.051 + 0.001 * k, jitter=0.061 + 0.001 * k, gaps=[0] * (7 + k))
                for k, r in enumerate(runs)],
        excitation=[Of(run=r.id, speed_share=0.71 + 0.01 * k, saturated_share=0.81 + 0.01 * k)
                    for k, r in enumerate(runs)],
    )  # fmt: skip
    traces = [
        Of(name=f"search {k}", friction="m2", total=10 * k, surrogate=k + 1, descents=91 + k, settled=93 + k,
           late=k == 2, best=np.array([0.2, 0.0951 + 0.001 * k]))
        for k in (1, 2)
    ]  # fmt: skip
    floors = [
        Of(trajectory="steps", repetitions=101, runs=102, floor=0.1031, difference=0.1042, error=0.1053, ratio=1.064),
        Of(trajectory="", repetitions=111, runs=112, floor=0.1131, difference=0.1142, error=0.1153, ratio=None),
    ]
    variants = [Of(name="M1 held"), Of(name="M2 held")]
    of = {"M1 held": 0.12, "M2 held": 0.13}
    judged = Of(
        choice=Of(best=variants[1], chosen=variants[0], text="Chosen."), conditions=["kp"], variants=variants,
        error=lambda v: number(of[v.name] + 0.0011, of[v.name] + 0.0022),
        difference=lambda v, other: number(of[v.name] - of[other.name] + 0.5, of[v.name] + 0.0033),
        free_parameters=lambda v: {"M1 held": 134, "M2 held": 135}[v.name],
        skipped=[("mass", "one mass")], runs={"0001_run"},
    )  # fmt: skip
    certain = [
        Of(name="kt", symbol="k_t", grade=Of(figure="1.41", width="0.42"), unit="N·m/A",
           profile=Of(text="a profile"), spread=Of(text="a bootstrap"), remarks=("one", "two")),
        Of(name="R", symbol="R", grade=Of(figure="1.4", width="∞"), unit="Ω", profile=None,
           spread=Of(text="b"), remarks=()),
    ]  # fmt: skip
    return Examination(
        contents=contents,
        scores={"m1": scores(0.1511, 0.1522, 0.1533), "m2": scores(0.1644, 0.1655, np.inf)},
        coverage=Part(covered),
        doubts=Part(()),
        traces=Part(traces),
        correlations=Part(Of(pairs=[("kt", "R", 0.961), ("R", "J", -0.972)], idle=["b"])),
        residuals=Part(Of(position_rms=0.0171, torque_rms=0.00172, friction=0.00173, hints=(), bins=[])),
        repeats=Part(Of(table=lambda *_: floors, text=lambda _: "Repeated.")),
        crossvalidation=Part(Of(found=judged, transfers=[Of(text="Transfers.")], terms=Of(text="Terms."))),
        certainty=Part(Of(parameters=certain, notes=("a note",), stopped=True, draws=18)),
    )


@pytest.fixture(scope="module")
def tables(examination, tmp_path_factory) -> Tables:
    with pytest.MonkeyPatch.context() as patch:
        for name in FIGURES:
            patch.setattr(page, name, lambda *_: None)
        patch.setattr(page, "as_svg", lambda _: "")
        patch.setattr(report, "examine", lambda _: examination)
        file = write_report(tmp_path_factory.mktemp("page") / "r.html", examination.contents)
    return Tables(file.read_text("utf-8"))


def test_parameters(tables, found, examination) -> None:
    """Values of M2 with unlike errors and starts: one is open and at a bound, one frozen."""
    best, truth = found.results[1], examination.contents.truth
    heads = ("parameter", "symbol", "value", "truth", "± 95 %", "start", "unit", "lower", "upper", "interval",
             "meaning")  # fmt: skip
    rows = tables.table(*heads)
    flags = {2: ("∞", "at upper bound not determined"), 3: ("–", "frozen")}
    parameters = best.model.parameters.values()
    for k, (p, known, row) in enumerate(zip(parameters, best.evidence.parameters, rows, strict=True)):
        assert (row[0], row[1], row[6]) == (p.name, re.sub("[_^]", "", p.symbol), p.unit)
        beside = (truth.values[p.name], known.initial, p.lower, p.upper)
        assert [row[3], row[5], row[7], row[8]] == [as_certain(value, known.half_width) for value in beside]
        assert row[2] == known.grade.figure
        interval, flag = flags.get(k, (known.grade.width, "" if known.grade.word == GOOD else known.grade.note))
        assert row[4] == interval
        assert row[10] == f"{p.description} {flag}".strip()


def test_certainty(tables) -> None:
    heads = ("parameter", "symbol", "value", "± 95 %, linearised", "profile, 95 %", "bootstrap, 18 draws", "unit",
             "remarks")  # fmt: skip
    assert tables.table(*heads) == [
        ["kt", "kt", "1.41", "0.42", "a profile", "a bootstrap", "N·m/A", "One. Two."],
        ["R", "R", "1.4", "∞", "–", "b", "Ω", ""],
    ]


def test_models_and_their_cross_validation(tables) -> None:
    heads = ("model", "friction", "free", "training / mrad", "held out / mrad", "worst run / mrad",
             "spread of repeats / mrad", "evaluations", "time / s", "at a bound")  # fmt: skip
    assert tables.table(*heads) == [
        ["M1", "Coulomb–viscous", "6", "11.1", "14.2", "153.3", "1.30", "15 015", "16.5", "kt"],
        ["M2", "Stribeck", "9", "21.1", "13.2", "diverges", "2.30", "15 016", "17.5", "–"],
    ]
    heads = ("variant", "free", "held out / mrad", "± / mrad", "to the best / mrad", "± / mrad")
    assert tables.table(*heads) == [
        ["M1 held", "134", "121.1", "122.2", "490.0", "123.3"],
        ["M2 held", "135", "131.1", "132.2", "500.0", "133.3"],
    ]


def test_errors_by_condition(tables) -> None:
    assert tables.table("mean absolute error / mrad", "runs", "M1", "M2") == [
        ["all runs", "3", "152.2", "diverges"],
        ["training runs", "2", "151.7", "164.9"],
        ["held-out runs", "1", "153.3", "diverges"],
        ["sin_sin", "2", "152.2", "diverges"],
        ["steps", "1", "152.2", "165.5"],
        *([label, "1", m1, m2] for labels in (("0.1 kg", "0.2 kg", "0.3 kg"), ("0.11 m", "0.21 m", "0.31 m"),
                                              ("kp 10", "kp 20", "kp 30"), ("12 V", "13 V", "14 V"))
          for label, m1, m2 in zip(labels, ("151.1", "152.2", "153.3"), ("164.4", "165.5", "diverges"), strict=True)),
    ]  # fmt: skip


def test_repetitions_coverage_and_searches(tables) -> None:
    heads = ("trajectory", "sets", "runs", "floor / mrad", "between two / mrad", "M2 / mrad", "times the floor")
    assert tables.table(*heads) == [
        ["steps", "101", "102", "103.1", "104.2", "105.3", "1.1"],
        ["all", "111", "112", "113.1", "114.2", "115.3", "–"],
    ]
    assert tables.table("condition", "sin_sin", "steps") == [["0.31 kg at 0.32 m, kp 33, 34 V", "–", "35"]]
    assert tables.table("term", "excited", "why") == [["Kv", "weak", "why"]]
    heads = ("search", "evaluations", "multiple shooting", "descents", "within 1 % of the end after", "end / mrad")
    assert tables.table(*heads) == [
        ["search 1", "10", "20 %", "92", "94", "96.1"],
        ["search 2", "20", "15 %", "93", "95 still improving", "97.1"],
    ]


def test_runs(tables) -> None:
    heads = ("run", "trajectory", "load", "kp", "supply / V", "samples", "time / s", "sample time / ms", "gaps",
             "top speed", "at limit", "use", "M2 / mrad", "hash")  # fmt: skip
    f = "f" * 11
    assert tables.table(*heads) == [
        ["0001_run", "sin_sin", "0.1 kg at 0.11 m", "10", "12", "4", "0.8", "51.0 ± 61.0", "7", "71 %", "81 %",
         "training", "164.4", f"1{f}"],
        ["0002_run", "steps", "0.2 kg at 0.21 m", "20", "13", "5", "1.0", "52.0 ± 62.0", "8", "72 %", "82 %",
         "training", "165.5", f"2{f}"],
        ["0003_run", "sin_sin", "0.3 kg at 0.31 m", "30", "14", "6", "1.2", "53.0 ± 63.0", "9", "73 %", "83 %",
         "held out", "diverges", f"3{f}"],
    ]  # fmt: skip


def test_provenance(tables) -> None:
    assert dict(tables.tables[-1]) == {
        "servo": "Dynamixel MX-106 (mx106)",
        "data hash": "a hash",
        "split": "a rule: 2 training runs, 1 held out",
        "training runs": "0001_run, 0002_run",
        "held-out runs": "0003_run",
        "seed": "17, 2 searches per model",
        "metric": "rmse",
        "integrator": "leapfrog (second order), step 1 ms",
        "supply": "header",
        "recorded but not used": "duty_cycle, current",
        "contact": "rigid",
        "quadratic term": "opposing",
        "command path": "command_delay, dead_band",
        "start values": "a known model and the catalogue's values",
        "placed points in the fit": "1, 19.10 mrad",
        "versions": "numpy 1, scipy 2",
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "The computation was stopped early. Suggested fix: run it again.",
        "A note.",
        "Hard to separate (correlated beyond ±0.95): kt and R increase together (+0.961); R and J compensate each "
        "other (−0.972). Suggested fix: freeze a known one, or record other loads and gains.",
        "No effect on the motion of these runs: b.",
        "M2 is recommended: lowest validation error, 13.2 mrad.",
        "Mean error of M2: 21.1 mrad on training runs, 13.2 mrad on held-out runs. Repetitions of a run differ from "
        "their median by 113.1 mrad. M2: step 1 ms, second order: its cost was not measured.",
        "Chosen. Conditions held out, value by value: kp.",
        "Transfers.",
        "Terms.",
        "mass was not held out: one mass.",
        "The cross-validation used other runs than this result. Suggested fix: run it again.",
        "Repeated.",
        "1 of 36 combinations of the conditions below are recorded; the numbers count runs.",
        "Together the runs reach 41 % of the no-load speed and 42 % of the stall torque, with 43 reversals and 44 "
        "breakaways. The output is at its limit for 45 % of the driven time, and the torque is off for 46 % of the "
        "time. The motion lags the goal by 47 ms (command, control loop and load together).",
        "Unexplained by the model: 17.1 mrad (RMS) of the angle and 1.72 mN·m of torque in motion, where its friction "
        "is 1.73 mN·m.",
    ],
)
def test_sentences(tables, sentence) -> None:
    assert sentence in tables.paragraphs
