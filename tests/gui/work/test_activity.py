"""Work under way: one list, what the line at the foot and the question at closing take from it, rows and buttons."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from bench_gui.widgets.activity_list import ActivityList
from bench_gui.widgets.status_line import StatusLine
from bench_gui.work.activity import KEPT, SOON, Activities, Activity, State
from bench_gui.work.process import Share


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def activities(clock, qapp):
    return Activities(clock)


def pass_by(activities, clock, seconds):
    clock.now += seconds
    activities.tick()


def test_work_is_listed_once_it_takes_more_than_a_moment_and_stays_a_while_after_its_end(activities, clock):
    job = Activity("Report")
    activities.begin(job)
    pass_by(activities, clock, 0.5 * SOON)
    assert (activities.running, activities.listed, activities.foremost) == ([job], [], None)
    pass_by(activities, clock, SOON)
    assert (activities.listed, activities.foremost) == ([job], job)
    activities.end(job, State.DONE, "written")
    pass_by(activities, clock, 1.0)
    assert (activities.running, activities.listed, job.words) == ([], [job], "written")
    pass_by(activities, clock, KEPT)
    assert activities.listed == []


def test_what_moves_the_servo_is_foremost_then_what_somebody_asked_for(activities, clock):
    run, fit, look = Activity("Recording", moves=True), Activity("Fit", missed="a fit"), Activity("Coverage")
    for job in (run, fit, look):
        activities.begin(job)
    pass_by(activities, clock, SOON)
    assert activities.foremost is run
    activities.end(run, State.DONE, "")
    assert activities.foremost is fit
    assert activities.missed == ["a fit"]
    activities.forget(fit)
    assert activities.foremost is look
    assert activities.missed == []


def test_the_time_is_told_beside_what_a_job_is_at(activities, clock):
    job = Activity("Fleet")
    activities.begin(job)
    for done in range(11):
        activities.tell(job, Share(done / 100, f"{done} of 100"))
        pass_by(activities, clock, 1.0)
    assert job.words == "10 of 100, 10 s of about 2 min"
    activities.stopping(job)
    assert job.words == "stopping…"
    activities.end(job, State.STOPPED, "10 of 100 fits")
    assert job.words == "10 of 100 fits"


def test_the_line_and_the_list_show_it_end_it_and_lead_to_its_result(activities, clock, qtbot, tmp_path, monkeypatch):
    opened, asked, page = [], [], QWidget()
    monkeypatch.setattr("PySide6.QtGui.QDesktopServices.openUrl", lambda url: opened.append(url.toLocalFile()))
    window = QWidget()
    qtbot.addWidget(window)
    qtbot.addWidget(page)
    window.resize(900, 400)
    listing = ActivityList(window, activities, asked.append)
    line = StatusLine(activities, listing.setVisible, lambda: None)
    qtbot.addWidget(line)
    window.show()
    line.show()
    job = Activity("Report", lambda: asked.append("stop"), cancel_tip="Cancel; no file is written", view=page)
    activities.begin(job, "starting")
    pass_by(activities, clock, SOON)
    assert line.foremost.isVisible()
    assert line.foremost.bar.maximum() == 0, "a busy bar while nothing is known"
    assert line.list_button.text() == "1 under way"
    line.list_button.click()
    (row,) = listing.rows
    assert row.isVisible()
    assert row.text.text() == "Report: starting"
    activities.tell(job, Share(0.25, "drawing"))
    pass_by(activities, clock, 0.1)
    assert row.bar.value() / row.bar.maximum() == 0.25
    assert row.stop_button.toolTip() == "Cancel; no file is written"
    assert not row.open_button.isVisible()
    row.stop_button.click()
    row.show_button.click()
    assert asked == ["stop", page]
    activities.end(job, State.DONE, "written to report.html")
    job.file = tmp_path / "report.html"
    pass_by(activities, clock, 0.1)
    assert not line.foremost.isVisible()
    assert line.note.text() == "Report: written to report.html"
    row.open_button.click()
    assert opened == [str(job.file)]
    assert not row.stop_button.isVisible()
    assert listing.geometry().right() <= window.width()
    line.list_button.click()
    assert not listing.isVisible()
