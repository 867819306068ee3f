"""Runs by their numbers: the sentence about those of a result, and the order of what is noted about them."""

from dataclasses import replace

import pytest

from core.base.errors import IdentificationError
from sessions import store
from sessions.annotations import Annotation, revised
from sessions.sampling import sample_of
from sessions.selection import MOST_NAMED, LeftOut, Selection, damage_text, selection_note, selection_text

FEW, MANY = range(1, MOST_NAMED + 1), range(1, MOST_NAMED + 2)
NAMES = ", ".join(f"{n:04d}" for n in FEW)


def runs(numbers):
    return tuple(f"{n:04d}_sin_sin_kp8" for n in numbers)


@pytest.mark.parametrize(
    ("numbers", "left_out", "not_chosen", "equal"),
    [
        (
            FEW,
            ": " + ", ".join(f"{n:04d} aborted" for n in FEW),
            f": {NAMES} not chosen",
            "; " + ", ".join(f"{n:04d} repeats 0000" for n in FEW),
        ),
        (
            MANY,
            ": " + ", ".join(f"{n:04d} aborted" for n in FEW) + ", 1 more excluded, unfinished or damaged",
            f": {len(MANY)} not chosen",
            "; " + ", ".join(f"{n:04d} repeats 0000" for n in FEW) + " and 1 more alike",
        ),
    ],
)
def test_a_few_runs_are_named_and_more_are_counted(numbers, left_out, not_chosen, equal):
    used, others = runs((0,)), runs(numbers)
    of = f"1 of {len(others) + 1} runs"

    assert Selection(runs=used, left_out=tuple(LeftOut(run, "aborted") for run in others)).text == of + left_out
    assert Selection(runs=used, not_chosen=others).text == of + not_chosen
    everything = Selection(runs=used + others, equal=(used + others,))
    assert everything.text == f"all {len(others) + 1} runs{equal} byte for byte (kept together)"


def test_only_a_persons_reason_is_in_the_sentence():
    assert (
        Selection(
            runs=runs((0,)),
            left_out=(LeftOut(*runs((1,)), "damaged", "truncated"), LeftOut(*runs((2,)), "excluded", "it slipped")),
        ).text
        == "1 of 3 runs: 0001 damaged, 0002 excluded (it slipped)"
    )


def test_notes_are_kept_in_the_order_of_the_runs_numbers():
    ids = ("0002_a", "0010_a", "9999_z", "10000_a", "123456_a")
    document = revised(None, reversed(ids), lambda identity, _: Annotation(note=identity))
    assert list(document) == list(ids)
    assert [entry["note"] for entry in document.values()] == list(ids)


@pytest.fixture
def mixing(monkeypatch):
    """Sessions of earlier versions may hold runs of several kinds of servo."""
    monkeypatch.setattr(store, "require_one_kind", lambda *_: None)


def test_simulated_runs_are_kept_apart_from_real_ones_unless_named(session, recording, mixing):
    """The way a run was made is read from the servo's address in its header."""
    plain = recording()
    real = [session.add(plain) for _ in range(2)]
    made = replace(plain, provenance={**plain.provenance, "servo_address": "simulated:mx106?seed=1"})
    simulated = session.add(made)
    aborted = session.add(plain, "abort")
    assert [run.simulated for run in session.runs()] == [False, False, True, False]
    assert session.fit_ids() == real
    assert session.fit_ids([simulated]) == [simulated]
    kept_apart = session.selection(session.load_for_fit())
    assert kept_apart.text.startswith("2 of 4 runs: 0003 simulated, 0004 aborted")
    assert kept_apart.brief == "2 of 4 runs (1 simulated, 1 not complete)"
    together = session.selection(session.load_for_fit([real[0], simulated]))
    assert together.text.endswith("; 1 of them simulated")
    assert not together.complete
    for run in (*real, aborted):
        session.annotate(run, Annotation(excluded=True))
    assert session.fit_ids() == [simulated]


def test_every_run_is_in_one_place_and_runs_that_were_not_asked_for_are_not_chosen(session, recording, mixing):
    """Twelve runs, of each kind one that was asked for and one that was not."""
    real, excluded, aborted, damaged = (session.add_all([recording(seed=2 * k), recording(seed=2 * k + 1)]) for k in
                                        range(4))  # fmt: skip
    made = [session.add(recording(seed=seed, provenance={"simulated": True})) for seed in (8, 9)]
    crashed = session.add_all([recording(seed=10), recording(seed=11)], "crashed")
    for run in excluded:
        session.annotate(run, Annotation(excluded=True, reason="slipped"))
    for run in (*damaged, *aborted):
        path = session.path / "runs" / f"{run}.h5"
        path.write_bytes(path.read_bytes()[:-200])
    session.annotate(aborted[0], Annotation(excluded=True, reason="torn"))
    asked = {kind[0] for kind in (real, excluded, aborted, damaged, made, crashed)}
    found = session.selection(session.load_all([real[0]]), asked)
    assert found.runs == (real[0],)
    assert [(out.run, out.why, out.reason) for out in found.left_out] == [
        (aborted[0], "excluded", "torn"),
        (damaged[0], "damaged", session.damaged()[damaged[0]]),
        *((run, "excluded", "slipped") for run in excluded),
        *((run, "simulated", "") for run in made),
        *((run, "recovered", "") for run in crashed),
    ]
    assert found.not_chosen == (aborted[1], damaged[1], real[1])
    assert found.total == 12


def test_a_result_of_simulated_runs_alone_mixes_nothing(session, recording):
    for seed in range(2):
        session.add(recording(seed=seed, provenance={"simulated": True}))
    found = session.selection(session.load_for_fit())
    assert (found.simulated, found.complete, found.text) == ((), True, "all 2 runs")


def test_damage_is_a_sentence_that_names_three_runs_and_counts_more():
    reasons = {f"{n:04d}_a": f"{n}.h5: cut" for n in range(1, 6)}

    def told(count):
        return damage_text(dict(list(reasons.items())[:count]), 9)

    assert told(0) == ""
    assert told(1) == "1 of 9 runs cannot be read and is left out: 1.h5: cut"
    three = " of 9 runs cannot be read and are left out: 1.h5: cut; 2.h5: cut; 3.h5: cut"
    assert [told(count) for count in (3, 4, 5)] == [f"3{three}", f"4{three}; and 1 more", f"5{three}; and 2 more"]


@pytest.mark.parametrize(
    "lacking",
    [
        {"left_out": (LeftOut("0003_a", "aborted"),)},
        {"not_chosen": ("0003_a",)},
        {"equal": (("0001_a", "0002_a"),)},
        {"simulated": ("0001_a",)},
    ],
)
def test_a_result_has_a_note_unless_its_selection_is_complete(lacking):
    used = Selection(runs=("0001_a", "0002_a"))
    assert used.complete
    assert (selection_text({"selection": used.to_json()}), selection_note({"selection": used.to_json()})) == (
        "all 2 runs",
        "",
    )
    data = {"selection": replace(used, **lacking).to_json()}
    assert data["selection"]["complete"] is False
    assert selection_note(data) == selection_text(data) == data["selection"]["text"] != "all 2 runs"


def test_a_long_reason_is_cut_to_40_characters():
    for reason, said in (("x" * 34 + " fits", "x" * 34 + " fits"), ("x" * 34 + " beyond", "x" * 34 + " …")):
        left_out = (LeftOut(*runs((1,)), "excluded", reason),)
        assert Selection(runs=(), left_out=left_out).text == f"0 of 1 run: 0001 excluded ({said})"


def test_a_sample_has_at_least_one_run_and_at_most_all():
    assert sample_of([1, 2], None) == sample_of([1, 2], 2) == sample_of([1, 2], 3) == [1, 2]
    for count in (0, -1):
        with pytest.raises(IdentificationError, match=f"a sample of {count} runs is too small; give at least 1"):
            sample_of([1, 2], count)
