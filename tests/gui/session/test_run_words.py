"""What is said of a run and how runs are found: the filter line, words, tags, stamps. No window."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from bench_gui.session.runs.cells import split_tags
from bench_gui.session.runs.filter import parse_filter
from bench_gui.session.runs.sketch import sketch
from bench_gui.session.runs.table import STATUS, RunTable
from bench_gui.session.runs.wording import judgement, story
from bench_gui.theme import load_theme
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions import Annotation, RunSummary

RUN = RunSummary(
    id="0012_sin_sin_kp16",
    trajectory="sin_sin",
    duration=6.0,
    samples=1200,
    mass=0.567,
    length=0.15,
    arm_mass=0.1,
    kp=16.0,
    ki=0.0,
    kd=0.0,
    supply_voltage=14.8,
    servo="mx106",
    exit_status="abort",
    reason="emergency stop",
    started="2026-11-21T10:00:00+00:00",
    finished="",
    rate=200.0,
    uid="u",
    source="log.json",
    file="runs/0012_sin_sin_kp16.h5",
    sha256="",
    content_sha256="",
)
NOTED = Annotation(
    note="Coupling re-tightened", tags=("good", "bench 2"), excluded=True, reason="hit a stop", trim_end=4.0
)


# The filter line.


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sin_s",
        "0012",
        "ABORTED",
        "coupling",
        "kp=16",
        "kp:16 KI=0",
        "mass>0.5 mass<0.6kg",
        "load >= 0.567",
        "run:3..12",
        "run!=3..11",
        "duration<=6s samples>1000",
        "tag:good",
        'tag:"bench 2"',
        "status:aborted",
        "status=abort",
        "servo=MX106",
        "trajectory:sin",
        "reason:emergency",
        "reason:stop note:tight",
        "excluded trimmed tagged noted imported",
        "-kp=32 -tag:bad",
        "servo!=xl330",
        '"re-tightened"',
    ],
)
def test_a_filter_finds(text):
    wanted = parse_filter(text)
    assert wanted.problems == ()
    assert wanted.accepts(RUN, NOTED)


@pytest.mark.parametrize(
    "text",
    [
        "lift",
        "kp=32",
        "mass>0.567",
        "mass<0.567",
        "run:13..20",
        "tag:goo",
        "status:complete",
        "servo=mx1",
        "-excluded",
        "-sin_sin",
        'excluded "excluded"',
        "kp=16 kp=17",
    ],
)
def test_a_filter_leaves_out(text):
    wanted = parse_filter(text)
    assert wanted.problems == ()
    assert not wanted.accepts(RUN, NOTED)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("foo=3", "no foo"),
        ("kp=", "value"),
        ("kp=abc", "number"),
        ("mass>0.5g", "kg"),
        ("kp=16kg", "unit"),
        ("kp>3..9", "range"),
        ("run:9..3", "before it begins"),
        ("status:done", "aborted"),
        ("servo>3", "not a number"),
        (">3", "name"),
        ("-", "word"),
        ("größe=3", "name"),
    ],
)
def test_a_term_that_is_not_understood_is_named_and_not_applied(text, named):
    wanted = parse_filter(f"sin_sin {text}")
    (problem,) = wanted.problems
    assert named in problem
    assert wanted.accepts(RUN, NOTED)
    assert not wanted.accepts(replace(RUN, trajectory="lift"), NOTED)


@given(st.one_of(st.text(), st.lists(st.sampled_from(list('kp=<>!:-".3tagrun sm ..é')), max_size=12).map("".join)))
def test_a_filter_never_fails_and_never_ignores(text):
    wanted = parse_filter(text)
    assert bool(wanted.tests or wanted.problems) == bool(text.strip())
    # A term before or behind another takes runs away, and its opposite takes the others.
    apart = parse_filter(f"kp=8 {text}")
    accepted = wanted.accepts(RUN, NOTED)
    assert apart.accepts(RUN, NOTED) == (accepted and parse_filter("kp=8").accepts(RUN, NOTED))
    assert not apart.accepts(replace(RUN, kp=7.0), NOTED)


def test_no_name_of_a_filter_term_is_left_out_of_its_hint():
    from bench_gui.session.runs import filter as filters

    for name in (*filters._NUMBERS, *filters._TEXTS, *filters._QUESTIONS, "tag", "status"):
        assert name in filters.HINT or name in ("load", "arm", "id"), name


# What is said about a run.


def test_a_run_says_how_it_is_used():
    assert judgement(RUN, Annotation()) == "aborted"
    assert judgement(RUN, Annotation(trim_begin=1.25)) == "aborted, 1.25–6.00 s"
    assert judgement(RUN, NOTED) == "aborted, excluded"
    lines = story(RUN, NOTED).splitlines()
    assert lines == [
        "0012_sin_sin_kp16, imported from log.json",
        "trajectory: sin_sin",
        "aborted: emergency stop",
        "excluded from fits: hit a stop",
        "used part: 0.00 s to 4.00 s of 6.00 s",
        "tags: good, bench 2",
        "Coupling re-tightened",
    ]


def test_the_outcome_of_a_run_has_its_colour(qapp):
    """That of an excluded one is muted and struck out."""
    runs = [replace(RUN, id=f"{n:04}_x", exit_status=status) for n, status in enumerate(("success", "fail", "abort"))]
    notes = {runs[0].id: Annotation(), runs[1].id: Annotation(), runs[2].id: Annotation()}
    library = SimpleNamespace(annotations=notes, annotation=notes.get, read_only=False)
    sketches = SimpleNamespace(arrived=SimpleNamespace(connect=lambda _: None), of=lambda _: None)
    table, theme = RunTable(library, sketches, lambda *_: None), load_theme("light")
    table.set_runs(runs)

    def colours():
        found = [table.index(row, STATUS).data(Qt.ItemDataRole.ForegroundRole) for row in range(3)]
        return [colour and colour.name() for colour in found]

    assert colours() == [None, QColor(theme.fault).name(), QColor(theme.moving).name()]
    notes[runs[1].id] = NOTED
    assert colours()[1] == QColor(theme.muted).name()
    struck = [table.index(row, 0).data(Qt.ItemDataRole.FontRole) for row in range(3)]
    assert [font is not None for font in struck] == [False, True, False]


def test_tags_are_taken_apart():
    assert split_tags(" good,bench  2 ,, good") == ("good", "bench 2")


# Stamps.


def recording(count=5000, identity="0001_step_kp16"):
    time = np.arange(count) / 1000.0
    goal = np.where(time < 1.0, 0.0, 1.0)
    position = np.sin(time)
    position[count // 2] = 2.0
    channels = {"time": time + 7.0, "goal_position": goal, "position": position, "torque_enable": np.ones(count, "u1")}
    settings = ServoSettings(servo="mx106", kp=16.0, supply_voltage=14.8)
    return Recording(
        id=identity, trajectory="step", bench=Bench(mass=0.5, length=0.1), settings=settings, channels=channels
    )


def test_a_stamp_keeps_the_extremes_in_few_points():
    found = sketch(recording(), 100)
    for points in (found.measured, found.goal):
        assert len(points) <= 2 * 100 + 50
        assert points.min() >= 0.0
        assert points.max() <= 1.0
        assert np.all(np.diff(points[:, 0]) >= 0.0)
    peak = found.measured[found.measured[:, 1].argmax()]
    assert peak == pytest.approx([0.5, 1.0], abs=1e-3)
    lowest = found.measured[:, 1].min()
    assert lowest == pytest.approx(0.0, abs=1e-6)


def test_a_stamp_of_a_run_at_rest_is_a_line_in_the_middle():
    run = recording(50)
    still = {**run.channels, "position": np.full(50, 0.3), "goal_position": np.full(50, 0.3)}
    assert np.all(sketch(replace(run, channels=still), 100).measured[:, 1] == 0.5)
