"""What stands beside a fit: coverage before it, the next recordings after it, cross-validation for the choice."""

import json
import os
import re
import shutil
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt

from bench_gui.controller import Controller
from bench_gui.identify.certainty.compute import CertaintyJob
from bench_gui.identify.certainty.panel import EMPTY as NOTHING_CERTAIN
from bench_gui.identify.certainty.panel import CertaintyPanel
from bench_gui.identify.certainty.running import Certifying
from bench_gui.identify.coverage.panel import HINT, TIMING
from bench_gui.identify.coverage.panel import TERMS as COVERED
from bench_gui.identify.crossvalidation.form import CrossValidationForm
from bench_gui.identify.crossvalidation.panel import EMPTY, FOLDS, REPETITIONS, TERMS, TRANSFER
from bench_gui.identify.fit.messages import FitOverlay
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.material import Material
from bench_gui.identify.next_recording.compute import ProposeJob, propose
from bench_gui.identify.next_recording.panel import ProposalPanel, ProposalTable
from bench_gui.shell.tasks import BENCH, IDENTIFY
from bench_gui.work.computation import Computation
from core.base.errors import IdentificationError
from core.base.sealed import parse_sealed
from core.identification.evidence.certainty import ALL
from core.identification.next.design import next_recordings
from core.identification.next.proposal import Narrowing, Proposal
from core.identification.overlay import RunOverlay
from core.identification.request import IdentificationRequest
from core.practice.plan import Cell, GridPlan
from core.servo.catalogue import load_servo
from core.servo.shipped import catalogue_model, load_model
from sessions import Session
from sessions.results.certifying import CertaintyQuestion, read_certainty
from sessions.results.crossvalidating import Question, folder_for, newest_crossvalidation, read_crossvalidation
from sessions.results.folder import CERTAINTY, CROSSVALIDATION, CROSSVALIDATION_REQUEST
from sessions.results.identification import load_identification
from tests.gui.session.test_run_words import RUN

FIRST_SEEN = IDENTIFY


@pytest.fixture
def view(person, session):
    """The page with three runs, one thread."""
    person.open(session)
    person.window.show_task(IDENTIFY)
    person.window.identify.form.fields["threads"].setValue(1)
    return person.window.identify


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_coverage_follows_the_chosen_runs_and_their_headers_are_audited(person, identified):
    """The audit is by the model in sight; a link of a computation leads to its part of the page."""
    person.open(identified)
    person.window.show_task(IDENTIFY)
    view, window, library = person.window.identify, person.window, person.controller.library
    evidence, checking, panel = view.evidence, view.evidence.checking, view.evidence.coverage
    person.until(lambda: person.controller.fitting.result is not None)
    view.form.fields["threads"].setValue(1)
    view.show_evidence("coverage")
    assert HINT[:40] in panel.findings.text.text()
    person.click(view.start.check_button)
    assert checking.checking
    # Other runs are chosen while it looks: it looks at those instead.
    chosen = [run.id for run in library.runs[:2]]
    library.select(chosen)
    person.until(lambda: checking.coverage.result is not None)
    assert [entry["run"] for entry in checking.coverage.result.data["excitation"]] == chosen
    assert panel.status.text() == "2 runs checked"
    words = panel.findings.text.text()
    assert "Warning" in words
    assert "ecord with another mass or length" in words
    verdicts = {row[0]: row[1] for row in texts(panel.tables.tables[COVERED])}
    assert verdicts["k_t"] in ("good", "weak")
    assert verdicts["K_m"] == "none"
    assert [row[0].split()[0] for row in texts(panel.tables.tables[TIMING])] == [run.split("_")[0] for run in chosen]
    assert texts(panel.tables.tables[TIMING])[0][1] == "5.00"
    assert not view.answer.view.isVisible(), "the panel fills the page"
    assert view.answer.card.isVisible(), "the answer stays in sight"

    person.click(panel.audit_button)
    assert not panel.audit_button.isEnabled()
    person.click(panel.stop_button)
    assert not checking.audit.active
    assert not panel.stop_button.isVisible()
    person.click(panel.audit_button)
    person.until(lambda: checking.audit.result is not None)
    words = panel.findings.text.text()
    assert f"asked: mx106 {person.controller.fitting.result.recommended.upper()}" in words
    assert "left unexplained" in words

    evidence.show_part("summary")
    window.show_task(BENCH)
    window.bring_into_sight(checking.audit.activity.view)
    assert (evidence.shown, evidence.coverage.isVisible()) == ("coverage", True)
    assert not evidence.certainty.isVisible()
    window.bring_into_sight(evidence.certifying.activity.view)
    person.until(evidence.certainty.isVisible)
    assert evidence.shown == "certainty"
    # What is known stays, and says that it is old.
    library.select([])
    assert checking.coverage.outdated
    assert not checking.checking
    assert "check again" in panel.status.text()


def test_proposed_recordings_go_into_the_queue(person, view, session):
    controller, panel = person.controller, view.evidence.proposals
    kp = load_servo("mx106").default_kp
    plan = GridPlan(masses=(0.5, 0.7), lengths=(0.1,), kps=(kp,), trajectories=("sin_sin",), duration=1.0)
    controller.plan.edit(plan, "plan")
    view.show_evidence("proposals")
    assert "catalogue" in panel.status.text()
    assert not panel.queue_button.isEnabled()
    panel.count.setValue(2)
    person.click(panel.propose_button)
    assert panel.stop_button.isVisible()
    person.until(lambda: not view.evidence.proposing.active)
    assert view.evidence.proposing.problem == ""
    found = view.evidence.proposing.result
    # `bench next` goes through the same function.
    recordings = Session.open(session).load_all()
    same = next_recordings(catalogue_model("mx106"), recordings, plan, count=2, threads=1)
    assert found.to_json() == same.to_json()
    assert [row[0] for row in texts(panel.table)] == [p.cell.trajectory for p in same.proposals]
    assert "after 3 runs" in panel.status.text()

    panel.view.setCurrentIndex(panel.table.index(0, 0))
    person.qtbot.keyClick(panel.view, Qt.Key.Key_Space)
    assert panel.table.checked == (same.proposals[1].cell,)
    person.click(panel.queue_button)
    (waiting,) = controller.queue.waiting
    assert waiting.cell == same.proposals[1].cell
    assert (waiting.header.bench.mass, waiting.trajectory.duration) == (waiting.cell.mass, 1.0)
    assert not controller.queue.active, "nothing begins by itself"
    assert "start it in Record" in person.message
    person.click(panel.queue_button)
    assert len(controller.queue.waiting) == 1, "once is enough"

    controller.library.select([controller.library.runs[0].id])
    assert "propose again" not in panel.status.text(), "a single run is only looked at"
    controller.library.select([run.id for run in controller.library.runs[:2]])
    assert "propose again" in panel.status.text()
    controller.connecting.choose_servo("simulated:xl330")
    assert not panel.queue_button.isEnabled()
    assert "choose that servo under Bench" in panel.queue_button.toolTip()


def test_proposals_need_no_recordings(person):
    """The catalogue's model of the bench's servo judges; back on another tab the page says what is missing."""
    controller, window = person.controller, person.window
    window.show_task(IDENTIFY)
    view = window.identify
    assert view.is_empty
    person.click(view.propose_button)
    assert not view.is_empty
    panel = view.evidence.proposals
    view.form.fields["threads"].setValue(1)
    kp = load_servo("mx106").default_kp
    plan = GridPlan(masses=(0.5,), lengths=(0.1,), kps=(kp,), trajectories=("sin_sin",), duration=1.0)
    controller.plan.edit(plan, "plan")
    panel.count.setValue(1)
    person.click(panel.propose_button)
    person.until(lambda: not view.evidence.proposing.active)
    found = view.evidence.proposing.result
    assert found is not None, view.evidence.proposing.problem
    assert [proposal.cell for proposal in found.proposals] == list(plan.cells())
    assert "after 0 runs" in panel.status.text()
    person.click(panel.queue_button)
    assert [row.cell for row in controller.queue.waiting] == list(plan.cells())
    view.tabs.segments.choose(0)
    assert view.is_empty


def ask(view):
    """One model, three trajectories held out."""
    panel = view.evidence.crossvalidation
    view.show_evidence("crossvalidation")
    panel.form.models.check(("m1",))
    panel.form.path.setCurrentIndex(panel.form.path.findData("off"))
    return panel


def test_a_cross_validation_is_stopped_kept_and_shown_again(person, view, session):
    crossvalidating, library = view.evidence.crossvalidating, person.controller.library
    panel = ask(view)
    assert panel.text.text() == EMPTY
    assert panel.form.by.checked == ("trajectory",)
    assert "Every run has 1 kg" in panel.form.by.choices["mass"].toolTip()
    assert panel.form.searches == 3
    panel.form.trials.setValue(2_000_000)
    with person.qtbot.waitSignal(crossvalidating.progressed):
        person.click(panel.start_button)
    assert panel.progress.status.text().startswith("0 of 3 searches, fitting M1 without lift_and_drop, ")
    assert panel.progress.bar.isVisible()
    assert not view.start_button.isEnabled()
    assert "cross-validation is running" in view.start_button.toolTip()
    assert [line.split(";")[0] for line in person.controller.busy()] == ["a cross-validation"]
    person.click(panel.stop_button)
    person.until(lambda: not crossvalidating.active)
    assert person.controller.busy() == []
    assert (crossvalidating.problem, person.message) == ("", ""), "a stop is no error"
    assert panel.progress.status.text() == "Paused at 0 of 3 searches"
    assert panel.start_button.text() == "Continue"
    assert view.start_button.isEnabled()
    (stopped,) = (session / "results").iterdir()

    # Other searches do not mix with those on record.
    panel.form.trials.setValue(32)
    assert panel.start_button.text() == "Cross-validate"
    person.click(panel.start_button)
    person.until(lambda: len(crossvalidating.errors) > 0)
    cells = texts(panel.parts.tables[FOLDS])
    assert [bool(cell) for cell in cells[0][1:]].count(True) == len(crossvalidating.errors)
    person.until(lambda: crossvalidating.kept is not None or crossvalidating.problem != "")
    assert crossvalidating.problem == ""
    kept = crossvalidating.kept
    (folder,) = (path for path in (session / "results").iterdir() if path != stopped)
    assert kept.folder == folder
    assert not (stopped / CROSSVALIDATION).exists()

    (row,) = texts(panel.parts.tables[0])
    assert row[0] == "M1  ★"
    assert row[1].startswith(f"{1e3 * kept.found.error(kept.found.variants[0]).mean:.1f} ± ")
    assert kept.found.choice.text in panel.text.text()
    for part in (TERMS, TRANSFER, REPETITIONS):
        panel.parts.segments.choose(part)
        assert panel.parts.words.isVisible(), "an empty part says how to fill it"
        assert panel.parts.words.text()

    with person.qtbot.waitSignal(library.opened):
        library.create(session.parent / "other")
    assert panel.text.text() == EMPTY
    person.open(session)
    person.until(lambda: crossvalidating.kept is not None)
    assert texts(panel.parts.tables[0]) == [row]


def test_a_cross_validation_that_ends_beside_the_result_recommends_anew(person, identified, tmp_path):
    """The result in sight stays, its recommendation is the cross-validation's: the same as when it is read later."""
    path = shutil.copytree(identified, tmp_path / "copy")
    person.open(path)
    person.window.show_task(IDENTIFY)
    view, fitting = person.window.identify, person.controller.fitting
    person.until(lambda: fitting.result is not None)
    before = fitting.result
    view.form.fields["threads"].setValue(1)
    panel = ask(view)
    panel.form.models.check(("m1", "m2"))
    panel.form.trials.setValue(32)
    assert "By cross-validation" not in view.answer.card.choice.toolTip()
    person.click(panel.start_button)
    person.until(lambda: len(view.evidence.crossvalidating.errors) >= 3 or fitting.result is not before)
    person.until(lambda: fitting.result is not before)
    assert view.evidence.crossvalidating.problem == ""
    assert "Good evidence: cross-validated" in view.answer.card.choice.text()
    assert "By cross-validation" in view.answer.card.choice.toolTip()
    assert fitting.result.models == before.models
    later = load_identification(before.folder)
    assert (fitting.result.recommended, fitting.result.choice) == (later.recommended.model.friction, later.choice)
    row = view.answer.ladder.index(view.answer.ladder.recommended_row, 0)
    assert row.data() == f"{fitting.result.recommended.upper()}  ★  ●"
    assert person.controller.model_list.recommended.endswith(fitting.result.recommended)


def test_every_field_of_a_certainty_and_of_proposals_is_asked_as_it_was_entered(qapp, qtbot, monkeypatch, tmp_path):
    """Of the recommended model and the runs in sight, by the plan of the bench."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller, asked = Controller("simulated:mx106"), []
    monkeypatch.setattr(type(controller.library), "path", tmp_path / "session")
    monkeypatch.setattr(Computation, "start", lambda self, job: asked.append(job))
    models = [SimpleNamespace(model=load_model("mx106", name), evidence=None) for name in ("m1", "m4")]
    fitted = SimpleNamespace(folder=tmp_path / "results", recommended="m4", models=models, train=("1", "2"))
    form = SettingsForm(controller.undo, controller.model_list)
    form.fields["threads"].setValue(3)
    form.fields["dt"].setValue(8.0)
    form.fields["supply"].setCurrentIndex(form.fields["supply"].findData("header"))
    certifying = Certifying(controller.computations, controller.background)
    certainty = CertaintyPanel(controller, form, certifying)
    proposals = ProposalPanel(controller, form, Computation(controller.computations, "Proposals", propose))
    for part in (form, certainty, proposals):
        qtbot.addWidget(part)
    controller.fitting.result = fitted
    certainty.draws.setValue(17)
    certainty.profiled.setCurrentIndex(certainty.profiled.findText("all"))
    certainty.start()
    question = CertaintyQuestion(
        session=tmp_path / "session", folder=fitted.folder, friction="m4", profiled=(ALL,), draws=17, threads=3
    )
    assert asked == [CertaintyJob(question=question)]
    for draws, train, why in (
        (1, ("1", "2"), "one draw shows no spread"),
        (2, ("1",), "the fit has one run only"),
        (2, (), "the fit has one run only"),
        (2, ("1", "2"), ""),
    ):
        fitted.train = train
        certifying._in_sight = SimpleNamespace(models=models, recommended="m4")
        models[1].evidence = SimpleNamespace(parameters=())
        certainty.draws.setValue(draws)
        certainty.refresh()
        assert (why in certainty.start_button.toolTip(), certainty.start_button.isEnabled()) == (True, not why)
    runs = [replace(RUN, id=name, exit_status="success") for name in ("0001_a", "0002_b")]
    monkeypatch.setattr(controller.library, "for_fit", lambda: runs)
    monkeypatch.setattr(controller.library, "main_servo", lambda: "mx106")
    proposals.count.setValue(5)
    proposals.objective.setCurrentIndex(1)
    proposals.propose()
    material = Material(session=tmp_path / "session", runs=("0001_a", "0002_b"), dt=0.008, supply="header", threads=3)
    wanted = {"material": material, "servo": "mx106", "model": models[1].model, "plan": controller.plan.plan}
    assert asked[1] == ProposeJob(**wanted, count=5, objective="widths")
    controller.fitting.result = None
    controller.close()


def test_searches_and_their_time_are_those_of_the_conditions_held_out(qtbot):
    """Two masses and three gains: 5 folds, each with the runs of the other values."""
    form = CrossValidationForm()
    qtbot.addWidget(form)
    form.offer([replace(RUN, mass=mass, kp=kp) for mass in (0.5, 1.0) for kp in (8.0, 16.0, 32.0)])
    form.models.check(("m1", "m4"))
    form.by.check(("mass", "kp"))
    form.path.setCurrentIndex(form.path.findData("off"))
    assert form.searches == 2 * (2 + 3)
    assert form.seconds({"m1": 1.0, "m4": 10.0}) == pytest.approx(11.0 * (1 + 2))
    assert form.seconds({"m1": 1.0}) is None
    form.path.setCurrentIndex(form.path.findData("both"))
    assert (form.searches, form.seconds({"m1": 1.0, "m4": 10.0})) == (20, pytest.approx(66.0))
    form.by.check(("kp",))
    assert form.searches == 2 * 2 * 3
    form.trials.setValue(500)
    assert form.seconds({"m1": 1.0, "m4": 10.0}) is None


def test_a_proposal_s_numbers_stand_below_their_headings(qapp):
    """exp(0.7) = 2.01; intervals that hardly shrink are not listed."""
    cell = Cell(trajectory="sin_sin", mass=0.5, length=0.15, kp=16.0, repetition=1)
    narrowings = (
        Narrowing(name="kt", symbol="k_t", unit="N·m/A", widest=9.0, before=0.5, after=0.25),
        Narrowing(name="R", symbol="R", unit="Ω", widest=9.0, before=0.3, after=0.299),
    )
    proposal = Proposal(cell=cell, nats=0.7, narrowings=narrowings)
    table = ProposalTable()
    table.show_proposals([proposal, replace(proposal, cell=replace(cell, mass=0.75))])
    titles = [table.headerData(place, Qt.Orientation.Horizontal) for place in range(table.columnCount())]
    assert dict(zip(titles, [cell.text for cell in table.rows[0]], strict=True)) == {
        **{"Trajectory": "sin_sin", "Load [kg]": "0.5", "Length [m]": "0.15", "Gain kp": "16", "Volume": "÷ 2.0"},
        "Benefit": proposal.words,
    }
    assert table.cell_at(0, 5).tip == "k_t: ± 0.50 → ± 0.25 N·m/A"
    assert table.checked == (cell, replace(cell, mass=0.75))
    table.setData(table.index(0, 0), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    assert table.checked == (replace(cell, mass=0.75),)


def test_searches_are_gone_on_with_only_where_they_are_the_same(tmp_path):
    question = Question(request=IdentificationRequest(servo="mx106", models=("m1",), frozen=(("R", 2.0),)))
    other = Question(request=IdentificationRequest(servo="mx106", models=("m1",), seed=1))
    fitted = tmp_path / "results" / "fit"
    fitted.mkdir(parents=True)
    assert folder_for(question, tmp_path, fitted) == fitted
    (fitted / CROSSVALIDATION_REQUEST).write_text(json.dumps(question.searches()))
    assert folder_for(question, tmp_path, None) == fitted
    assert folder_for(other, tmp_path, fitted).parent == fitted.parent
    assert folder_for(other, tmp_path, fitted) != fitted
    (fitted / CROSSVALIDATION_REQUEST).write_text("{")
    assert folder_for(question, tmp_path, None) != fitted


def test_a_stored_result_says_what_is_awaited_until_its_curves_are_there(person, identified):
    """In the place of the residual beside a measured motion, otherwise in that of both."""
    page, controller, simulate = person.window.identify, person.controller, threading.Event()
    page.tabs.show_part(page.overlay)
    controller.background.submit("compute", simulate.wait)
    person.open(identified)
    person.until(lambda: page.overlay.position.empty_text == "Simulating the runs…")
    controller.compute.doing = "reading run 1 of 3"
    person.until(lambda: page.overlay.residual.empty_text == "Reading run 1 of 3…")
    measured = FitOverlay("", (), RunOverlay("0001", np.arange(2.0), np.zeros(2)))
    page.overlay.show_overlay(measured)
    beside_measured = page.overlay.residual.isVisible()
    controller.compute.doing = ""
    simulate.set()
    person.until(lambda: page.overlay.shown.run is not None and page.overlay.shown.run.simulated is not None)
    assert beside_measured
    assert page.overlay.residual.isVisible()
    page.overlay.show_overlay(measured)
    assert not page.overlay.residual.isVisible()


def test_profiles_and_a_bootstrap_are_kept_beside_the_result(person, view, identified, tmp_path):
    panel, certifying, fitting = view.evidence.certainty, view.evidence.certifying, person.controller.fitting
    view.show_evidence("certainty")
    assert panel.progress.status.text().startswith(NOTHING_CERTAIN)
    assert panel.start_button.toolTip() == "Not possible: no identification is shown; identify first"
    path = shutil.copytree(identified, tmp_path / "copy")
    person.open(path)
    person.until(lambda: fitting.result is not None)
    assert panel.progress.status.text() == NOTHING_CERTAIN
    panel.draws.setValue(1)
    assert "at least 2" in panel.start_button.toolTip()
    panel.draws.setValue(1000)
    person.click(panel.start_button)
    assert panel.progress.bar.isVisible()
    assert "profiles and a bootstrap are under way" in view.start_button.toolTip()
    assert [line.split(";")[0] for line in person.controller.busy()] == ["profiles and a bootstrap"]
    # A stop keeps the draws that are complete.
    third = re.compile(r"draw ([3-9]|\d\d+) of")
    person.until(lambda: certifying.latest is not None and bool(third.search(certifying.latest.text)))
    person.click(panel.stop_button)
    person.until(lambda: certifying.kept is not None or certifying.problem != "")
    assert certifying.problem == ""
    assert view.start_button.isEnabled()
    assert "Stopped before the end" in panel.progress.status.text()

    folder, best = fitting.result.folder, certifying.recommended.model
    kept = read_certainty(folder, best)
    assert certifying.kept == kept
    assert kept.friction == fitting.result.recommended
    assert 2 <= kept.draws < 1000
    rows = texts(panel.table)
    assert [row[1] for row in rows] == [p.symbol for p in best.parameters.free]
    assert [row[5] for row in rows] == ["–" if p.profile is None else p.profile.text for p in kept.parameters]
    assert [row[6] for row in rows] == [p.spread.text for p in kept.parameters]
    said = panel.progress.status.text()
    assert said.startswith(f"{kept.friction.upper()}, {len(kept.runs)} runs: ")
    assert f"{kept.draws} draws" in said

    # It is forgotten with the session, read again with it, and what is of another fit is not taken for it.
    with person.qtbot.waitSignal(person.controller.library.opened):
        person.controller.library.create(tmp_path / "other")
    assert certifying.kept is None
    person.open(path)
    person.until(lambda: certifying.kept is not None)
    assert texts(panel.table) == rows
    data = parse_sealed((folder / CERTAINTY).read_text("utf-8"))
    data["parameters"][0]["value"] *= 1.01
    (folder / CERTAINTY).write_text(json.dumps(data))
    person.open(path)
    person.until(lambda: certifying.problem != "")
    assert "to another fit; profile and bootstrap again" in panel.progress.status.text()
    assert not panel.view.isVisible()


@pytest.mark.parametrize("text", ["", "[]", '{"folds": [], "fits": [], "skipped": {}, "stopped": false}'])
def test_a_damaged_cross_validation_is_said(tmp_path, text):
    folder = tmp_path / "results" / "one"
    folder.mkdir(parents=True)
    assert newest_crossvalidation(tmp_path) is None
    (folder / CROSSVALIDATION).write_text(text)
    for read, place in ((newest_crossvalidation, tmp_path), (read_crossvalidation, folder)):
        with pytest.raises(IdentificationError, match=r"crossvalidation\.json.*cross-validat"):
            read(place)
    # The newest is the one written last, whatever its folder is called.
    older = tmp_path / "results" / "two"
    older.mkdir()
    (older / CROSSVALIDATION).write_text(text)
    os.utime(older / CROSSVALIDATION, (0, 0))
    with pytest.raises(IdentificationError, match=r"one/crossvalidation\.json"):
        newest_crossvalidation(tmp_path)
