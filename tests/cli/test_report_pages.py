"""The report's page: complete, self-contained, true to the result, safe against any name, never without a reason."""

from __future__ import annotations

import html
import json
import math
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from bench_gui.cli import main
from bench_gui.headless.palette import LIGHT
from bench_gui.headless.report import ReportContents, write_report
from bench_gui.headless.report.traces import read_traces
from bench_gui.headless.symbols import with_symbols
from core.base.errors import IdentificationError
from core.base.units import typeset
from core.identification import diagnosis
from core.identification.cautions import cautions
from core.identification.choice.model_choice import CrossValidation, FoldFit, Variant
from core.identification.evidence.correlation import correlations
from core.identification.evidence.grade import GOOD
from core.identification.evidence.sensitivity import Sensitivity
from core.identification.result import Identification, step_in_words
from core.identification.runs.folds import Fold
from core.identification.runs.split import Split
from core.identification.search.study import JOURNAL_SCHEME, open_storage
from core.motion.recording import Recording
from core.motion.simulation import on_grid, simulate_recording
from core.practice.placement import BACKDRIVE, DRIVE, PlacedPoint
from core.servo.bench import Bench
from core.servo.model import build_model
from core.servo.parameters import Parameter
from sessions import Session
from sessions.results.crossvalidating import read_crossvalidation
from sessions.results.folder import DIAGNOSIS
from sessions.results.identification import load_identification

RUNS = ("0002_lift_and_drop_kp400", "0003_sin_sin_kp100", "0008_up_and_down_kp400")
SECTIONS = ["verdict", "warnings", "parameters", "evidence", "runs", "provenance"]
"""In this order: the answer first."""
FOLDED = {"certainty", "correlations", "crossvalidation", "conditions", "best", "repeatability", "coverage", "headers",
          "residuals", "search", "torques"}  # fmt: skip
HOSTILE = """<script>alert("x")</script>'"&<b>$\\frac{1}{$"""


class Page(HTMLParser):
    """Tags with their attributes, and the cells of every table row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.words = ""
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data):
        self.words += data
        if self._cell:
            self.rows[-1][-1] += data

    def row(self, first: str, least: int = 10) -> list[str]:
        """The row that begins so, of a table with at least so many columns."""
        return next(
            [cell.strip() for cell in row] for row in self.rows if len(row) >= least and row[0].strip() == first
        )

    def ids(self, of: str) -> list[str]:
        return [str(attributes["id"]) for tag, attributes in self.tags if tag == of and "id" in attributes]


@pytest.fixture(scope="module")
def result(example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """M1 and M2 of three runs, with the study and the recommended one's certainty beside them."""
    folder = tmp_path_factory.mktemp("result")
    words = ["--models", "m1,m2", "--runs", ",".join(RUNS), "--trials", "100", "--threads", "1", "--quiet"]
    assert main(["identify", str(example), *words, "--no-command-path", "-o", str(folder)]) == 0
    words = ["--profile", "q_offset", "--bootstrap", "2", "--threads", "1", "--quiet"]
    assert main(["certainty", str(example), "--result", str(folder), *words]) == 0
    return folder


@pytest.fixture(scope="module")
def page(example, result) -> str:
    file = result / "report.html"
    (result / DIAGNOSIS).rename(result / "kept.json")  # as in a result of an earlier version
    assert main(["report", str(example), str(result)]) == 0
    return file.read_text("utf-8")


@pytest.fixture
def found(result) -> Identification:
    return load_identification(result)


@pytest.fixture
def recordings(example) -> list[Recording]:
    return Session.open(example).load_for_fit(list(RUNS))


def test_every_section_is_there_and_nothing_from_outside(page) -> None:
    parsed = self_contained(page)
    assert parsed.ids("h2") == SECTIONS
    assert set(parsed.ids("details")) == FOLDED
    assert 8 <= page.count("<svg") <= 13
    assert page[page.index('id="certainty"') : page.index('id="correlations"')].count("<svg") == 1


def self_contained(text: str) -> Page:
    parsed = Page(text)
    for tag, attributes in parsed.tags:
        assert tag not in ("script", "link", "img", "iframe", "object", "base"), tag
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "action", "srcset"):
                assert str(value).startswith("#"), (tag, name, value)
            if not name.startswith("xmlns"):
                assert not re.search(r"https?://", str(value)), (tag, name, value)
    assert "@import" not in text
    assert not re.search(r"url\(\s*['\"]?(?!#)", text)
    return parsed


def test_the_page_may_load_and_run_nothing(page) -> None:
    head = page[: page.index("<style>")]
    assert "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"" in head


def as_read(text: str) -> str:
    """Words of a text whose symbols and minus signs are set, without their tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", with_symbols(typeset(text))))


def test_symbols_are_set_with_subscripts(page, found) -> None:
    """ "K_c" is no word of a page: neither in tables and sentences nor in pictures."""
    assert "K<sub>v</sub>" in page
    said = re.sub(r"<!--.*?-->|<style>.*?</style>", "", page, flags=re.DOTALL)
    for parameter in found.recommended.model.parameters.values():
        if "_" in parameter.symbol:
            assert not re.search(rf"(?<![\w^]){re.escape(parameter.symbol)}(?![\w^])", said), parameter.symbol


def test_bars_have_the_colours_of_their_models(found, page) -> None:
    """Those of every other plot; pale and full tell training from validation."""
    from bench_gui.headless.report.figures import error_bars

    (axes,) = error_bars(found.results).axes
    colours = [LIGHT.model(r.model.friction) for r in found.results]
    assert [bar.get_facecolor()[:3] for bar in axes.patches] == 2 * [to_rgb(colour) for colour in colours]
    train, judged = ([1e3 * getattr(r, name) for r in found.results] for name in ("train_mae", "validation_mae"))
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([*train, *judged])
    amounts = re.findall(r'class="amount" style="[^"]*background:([^"]+)"', page)
    assert amounts[: len(colours)] == colours


def test_plots_scale_and_tables_scroll_in_a_narrow_window(page) -> None:
    """Nothing is cut at 400 px: a plot is as wide as the page, and a table has a box of its own."""
    assert all("viewBox" in svg for svg in re.findall(r"<svg[^>]*>", page))
    assert "min-width" not in re.search(r"svg \{[^}]*\}", page)[0]
    assert "svg { min-width" not in page
    boxes = page.count('<div class="scroll" tabindex="0"><table')
    assert page.count("<table") == boxes


def test_numbers_are_the_results(page, found, example) -> None:
    parsed, best = Page(page), found.recommended
    for parameter, known in zip(best.model.parameters.values(), best.evidence.parameters, strict=True):
        _, _, value, interval, *_, meaning = parsed.row(parameter.name)
        grade = known.grade
        assert (value, interval) == (grade.figure, grade.width or "–")
        if grade.word == GOOD:
            assert float(value.replace("−", "-")) == pytest.approx(parameter.value, abs=known.half_width)
            assert float(interval) == pytest.approx(known.half_width, rel=0.06)
        assert (grade.note in meaning) == (grade.word != GOOD)
        assert ("bound" in meaning) == bool(known.at_bound)
    opened = Session.open(example)
    for run in RUNS:
        assert parsed.row(run)[-1] == opened.data_hash([run])[:12]
    assert best.model.provenance["data_hash"] in page
    assert as_read(best.evidence.torque_off(best.model.control).text[1:]) in parsed.words
    assert f"{step_in_words(best.model, best.train_mae)}." in parsed.words
    told = cautions(found)
    assert told
    for caution in told:
        assert as_read(caution.text[1:]) in parsed.words
        assert as_read(caution.remedy[1:]) in parsed.words


def test_a_report_diagnoses_a_result_of_an_earlier_version(page, found, result) -> None:
    """Like the identification would have; the window then shows the same."""
    assert json.loads((result / DIAGNOSIS).read_text()) == json.loads((result / "kept.json").read_text())
    assert "undiagnosed" not in {caution.kind for caution in cautions(found)}
    alone = cautions(replace(found, diagnosis=None))
    assert (alone[-1].kind, alone[-1].remedy) == ("undiagnosed", "write its report, which does that")


def test_the_answer_comes_first_and_few_warnings_are_not_folded(page, found) -> None:
    """Model, error, strength of the evidence, the next step; then two overlays; then at most three warnings."""
    told = found.answer().verdict
    first = as_read(page[page.index("<body>") : page.index('id="warnings"')])
    figures = (found.recommended.model.friction.upper(), f"{1e3 * told.error:.1f} mrad", told.strength.capitalize())
    for shown in (*figures, f"mean error on {told.judged_by}", f"evidence: {told.reason}"):
        assert shown in html.unescape(first)
    assert page[: page.index('id="warnings"')].count("<svg") == 2
    warnings = page[page.index('id="warnings"') : page.index('id="parameters"')]
    assert 1 <= warnings.partition("<details")[0].count('<p class="note') <= 3


def test_no_reader_is_told_to_type_an_option(page) -> None:
    """Only the commands that repeat the result hold options; the numbers have true minus signs."""
    words = Page(re.sub(r"<pre>.*?</pre>|<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)).words
    assert not re.findall(r"(?<![\w-])--[a-z]\S*|bench [a-z]+", words)
    assert not re.findall(r"(?<![\w.])-[\d.]+", words)


def test_the_page_prints_without_torn_tables(page) -> None:
    """Every table has a head to repeat, scrolls in itself, and is kept together on paper."""
    tables = re.findall(r"<table.*?</table>", page, flags=re.DOTALL)
    assert page.count('<div class="scroll" tabindex="0"><table') == len(tables)
    assert all("<thead>" in table for table in tables if 'class="names"' not in table)
    printed = page[page.index("@media print") : page.index("</style>")]
    assert re.search(r"table, tr, figure[^}]*break-inside: avoid", printed)
    assert "thead { display: table-header-group" in printed
    assert "size:" not in page[page.index("@page") : page.index("@media print")]


def test_an_overlay_has_goal_and_both_motions_above_their_difference(found, recordings) -> None:
    from bench_gui.headless.report.figures import overlay

    [run, *_], model = recordings, found.recommended.model
    above, below = overlay(run, {"M2": model}).axes
    lines = {line.get_label(): line.get_ydata() for line in above.lines}
    motion, (grid, _) = simulate_recording(model, run), on_grid(run)
    for label, values in (("goal", grid.goal_position), ("measured", grid.position), ("M2", motion.position)):
        np.testing.assert_array_equal(lines[label], values)
    np.testing.assert_allclose(below.lines[0].get_ydata(), 1e3 * (motion.position - grid.position))


@pytest.mark.parametrize(
    ("integrator", "substeps", "remedy"),
    [
        ("leapfrog", None, "identify with 8 substeps or more"),
        ("leapfrog", 4, "leave the substeps automatic"),
        ("algorithm1", 4, "identify with the leapfrog integrator"),
    ],
)
def test_a_step_that_costs_too_much_is_warned_of(found, integrator, substeps, remedy) -> None:
    best = found.recommended

    def warnings(cost: float) -> str:
        model = replace(
            best.model,
            integrator=integrator,
            substeps=4,
            provenance={**best.model.provenance, "discretisation_error": cost},
        )
        request = replace(found.request, integrator=integrator, substeps=substeps)
        one = replace(found, request=request, results=(replace(best, model=model),))
        return " ".join(map(str, cautions(one)))

    assert "the time step costs" not in warnings(0.09 * best.train_mae)
    costly = warnings(0.11 * best.train_mae)
    assert "the time step costs" in costly
    assert remedy in costly


def test_intervals_are_drawn_where_they_are(page, found) -> None:
    bars = [dict(a) for t, a in Page(page).tags if t == "i" and str(a["class"]).startswith("interval")]
    shown = [p for p in found.recommended.evidence.parameters if not p.frozen]
    assert len(bars) == len(shown)
    for bar, known in zip(bars, shown, strict=True):
        left, width = (float(part) for part in re.findall(r"([\d.]+)%", str(bar["style"])))
        low = max(known.value - known.half_width, known.lower) if known.narrowed else known.lower
        assert left == pytest.approx(100 * (low - known.lower) / (known.upper - known.lower), abs=0.02)
        assert 0.0 <= left <= left + width <= 100.01


def test_names_are_shown_and_never_obeyed(found, recordings, tmp_path, monkeypatch) -> None:
    """One model, nothing held out, nothing beside the result, hostile names everywhere: sentences, no script."""
    monkeypatch.setattr(diagnosis, "AUDIT_MOST", 0.0)
    named = [replace(run, id=f"{i}{HOSTILE}", trajectory=f"{HOSTILE}{i % 2}") for i, run in enumerate(recordings)]
    alone = replace(
        found.results[0],
        validation_mae=None,
        validation_rmse=None,
        evidence=replace(found.results[0].evidence, conditions=(HOSTILE,)),
    )
    contents = ReportContents(
        title=HOSTILE,
        found=replace(found, results=(alone,), split=Split("none", tuple(run.id for run in named), ())),
        recordings=named,
        command=HOSTILE,
        remarks=(HOSTILE,),
        run_hashes={run.id: HOSTILE for run in named},
    )
    text = write_report(tmp_path / "report.html", contents).read_text("utf-8")
    parsed = self_contained(text)
    assert parsed.words.count(HOSTILE) >= 5
    assert "<script" not in text
    assert parsed.ids("h2") == SECTIONS
    for sentence in (
        "The search is not shown: there is no study.journal beside the result.",
        "The headers were not audited: it takes too long with 18 s of motion.",
        "No condition was recorded twice",
        "The models were not cross-validated: there is no crossvalidation.json beside the result.",
        "Profiles and a bootstrap were not computed: there is no certainty.json beside the result.",
        "no other model was identified to compare it with",
        "No points were placed by hand.",
    ):
        assert sentence in parsed.words
    assert "no run was held out" in parsed.words.lower()


def test_placed_points_are_drawn_within_the_diagram(found, recordings, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(diagnosis, "AUDIT_MOST", 0.0)
    drawn = {}
    monkeypatch.setattr("bench_gui.headless.report.page.diagram_figure", lambda diagrams, *_: drawn.update(diagrams))
    monkeypatch.setattr("bench_gui.headless.report.page.as_svg", lambda figure: "")
    points = [
        PlacedPoint(motor_torque=torque, angle=0.3, side=side, servo="xl330", bench=Bench(mass=0.5, length=0.1))
        for torque, side in ((0.2, DRIVE), (-0.4, BACKDRIVE))
    ]
    contents = ReportContents(title="placed", found=found, recordings=recordings, points=points)
    parsed = Page(write_report(tmp_path / "report.html", contents).read_text("utf-8"))
    assert "Marked: 2 points placed by hand." in parsed.words
    for diagram in drawn.values():
        assert (diagram.motor_torque[0], diagram.motor_torque[-1]) == pytest.approx((-0.6, 0.3))


def test_the_search_is_read_from_its_study(result, found) -> None:
    traces = read_traces(result)
    assert [trace.name for trace in traces] == ["M1", "M2"]
    for trace in traces:
        assert (np.diff(trace.best) <= 0.0).all()
        assert (np.diff(trace.evaluations) > 0.0).all()
        assert 0 <= trace.surrogate < trace.total
        end = trace.best[trace.searched - 1]
        assert trace.best[trace.evaluations >= trace.settled][0] <= 1.01 * end
        assert (trace.best[trace.evaluations < trace.settled] > 1.01 * end).all()
    with pytest.raises(IdentificationError, match=r"there is no study\.journal"):
        read_traces(result / "nowhere")


def test_the_search_with_the_finest_step_is_read(result, tmp_path) -> None:
    """Where the step proved too long, the search came again, in a study named after the steps of a sample."""
    import optuna

    file = shutil.copy(result / "study.journal", tmp_path / "study.journal")
    storage = open_storage(f"{JOURNAL_SCHEME}{file}")
    first = optuna.load_study(study_name="m1/0", storage=storage)
    again = optuna.create_study(study_name="m1/0/4", storage=storage)
    again.add_trials(first.get_trials()[:5])
    traces = read_traces(tmp_path)
    assert [trace.name for trace in traces] == ["M1", "M2"]
    assert traces[0].total == first.get_trials()[4].user_attrs["evaluations"]


def test_a_journal_that_is_none_gives_a_reason(tmp_path) -> None:
    for text in ("", "rubbish\n", '{"op_code": 0}\n'):
        (tmp_path / "study.journal").write_text(text)
        with pytest.raises(IdentificationError, match=r"study\.journal"):
            read_traces(tmp_path)


def test_a_crossvalidation_beside_the_result_is_read(tmp_path) -> None:
    """M4 errs by 10 and 14 mrad on the two gains held out, M1 cannot be simulated on one of them."""
    fits = []
    for friction, errors in (("m1", (0.02, math.inf)), ("m4", (0.01, 0.014))):
        model = build_model("xl330", friction)
        for kp, held, train, error in ((100.0, "a", "b", errors[0]), (400.0, "b", "a", errors[1])):
            fold = Fold(condition="kp", value=kp, train=(train,), held_out=(held,))
            fits.append(
                FoldFit(
                    variant=Variant(friction=friction),
                    fold=fold,
                    model=model,
                    train_mae=0.01,
                    trained_on=(train,),
                    evaluations=1,
                    errors={held: error},
                )
            )
    found = CrossValidation(fits=tuple(fits), skipped=(("mass", "one value"),))
    data = {**found.to_json(), "transfer": [], "terms": None, "repeatability": []}
    file = tmp_path / "crossvalidation.json"
    file.write_text(json.dumps(data))
    kept = read_crossvalidation(tmp_path)
    m1, m4 = kept.found.variants
    assert kept.found.choice.chosen == m4
    assert kept.found.difference(m1, m4).mean == np.inf
    assert kept.found.error(m4).mean == pytest.approx(0.012)
    assert kept.found.free_parameters(m4) == len(build_model("xl330", "m4").parameters.free)
    assert (kept.found.conditions, kept.found.skipped) == (("kp",), (("mass", "one value"),))
    assert kept.found.runs == {"a", "b"}
    for broken in ("[]", "{", '{"variants": [{}], "chosen": 1}'):
        file.write_text(broken)
        with pytest.raises(IdentificationError, match=r"crossvalidation\.json: .*cross-validate these runs again"):
            read_crossvalidation(tmp_path)


def test_correlations_of_a_known_jacobian() -> None:
    """y = a + b·x with x̄ ≠ 0: corr(a, b) = −x̄/√(mean x²); what trades exactly is ±1, what moves nothing is NaN."""
    x = np.linspace(0.0, 1.0, 101)
    jacobian = np.stack([np.ones_like(x), x, 2.0 * x**2, -(x**2), np.zeros_like(x)], axis=1)
    free = tuple(Parameter(name=n, symbol=n, unit="1", value=0.5, lower=0.0, upper=1.0) for n in "abcde")

    def of(columns):
        kept = tuple(free[i] for i in columns)
        return correlations(Sensitivity(kept, np.ones(len(columns)), jacobian[:, columns], (x,)))

    line = of([0, 1, 4])
    assert line.matrix[0, 1] == pytest.approx(-x.mean() / np.sqrt((x**2).mean()), rel=1e-9)
    assert line.idle == ("e",)
    assert line.pairs == ()
    # 2·c − d is all that shows: more of c is made up for by more of d.
    traded = of([0, 2, 3])
    assert traded.matrix[1, 2] == pytest.approx(1.0, abs=1e-6)
    assert [pair[:2] for pair in traded.pairs] == [("c", "d")]
