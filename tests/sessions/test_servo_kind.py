"""A session holds runs of one kind of servo, whichever way they come in; what makes a kind is stated once, here."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from bench_gui.headless.place.rests import Rest, Target, placed_point
from core.motion.recording import RunHeader
from core.practice.placement import points_from_json, points_to_json
from drivers.servo import Origin, ServoIdentity
from sessions import AnotherServoError, Session, export_bam, export_csv, export_single, import_paths, import_single
from sessions.servo_kind import kind_of

KINDS = {
    "real xl330": {},
    "real mx106": {"servo": "mx106"},
    "emulated xl330": {"device": {"origin": "emulated"}},
    "simulated xl330": {"servo_address": "simulated:xl330?seed=4&speed=8&model=m6"},
    "simulated xl330 (model m1)": {"servo_address": "simulated:xl330?model=m1&seed=4"},
    "simulated xl330 (contact elastoplastic)": {"servo_address": "simulated:xl330?contact=elastoplastic"},
    "simulated xl330 (actuator webots)": {"servo_address": "simulated:xl330?actuator=webots", "actuator": "webots"},
    "real xl330 (actuator sea)": {"actuator": "sea"},
}
"""Kind to what differs from a run of a real XL330: settings and provenance."""


@pytest.fixture
def of_kind(recording):
    """A run of a kind; `seed` changes its samples."""

    def make(kind, seed=0):
        plain = recording(seed=seed, id=kind)
        settings = {name: value for name, value in KINDS[kind].items() if name in ("servo", "actuator")}
        provenance = {name: value for name, value in KINDS[kind].items() if name not in settings}
        return replace(
            plain, settings=replace(plain.settings, **settings), provenance={**plain.provenance, **provenance}
        )

    return make


def by_files(export):
    def add(session, run, place):
        source = Session.create(place / "source")
        source.add(run)
        import_paths(export(source, place), session)

    return add


def by_recording(session, run, place):
    header = RunHeader(
        trajectory=run.trajectory, bench=run.bench, settings=run.settings, rate=200.0, provenance=run.provenance
    )
    session.sink().open(header)


WAYS = {
    "add": lambda session, run, _: session.add(run),
    "add_all": lambda session, run, _: session.add_all([run]),
    "recording": by_recording,
    "csv": by_files(lambda source, place: export_csv(source, None, place / "out")),
    "bam": by_files(lambda source, place: export_bam(source, None, place / "out")),
    "run file": by_files(lambda source, _: [source.path / "runs" / f"{source.runs()[0].id}.h5"]),
    "session": by_files(lambda source, _: [source.path]),
    "session file": by_files(lambda source, place: [export_single(source, place / "all.h5")]),
    "folder": by_files(lambda source, place: [export_csv(source, None, place / "out")[0].parent]),
}


def kept(session):
    ignored = ("index.json",)
    return {path: path.read_bytes() for path in sorted(session.path.rglob("*"))
            if path.is_file() and path.name not in ignored and not path.name.endswith(".lock")}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_makes_a_kind(of_kind, kind):
    run = of_kind(kind)
    assert kind_of(run.settings, run.provenance) == kind


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "real xl330"])
@pytest.mark.parametrize("way", ["add", "recording", "csv"])
def test_runs_of_another_kind_are_refused_and_leave_no_trace(session, of_kind, tmp_path, way, kind):
    session.add(of_kind("real xl330"))
    before = kept(session)
    with pytest.raises(
        AnotherServoError, match="one servo; its runs and points are of a real xl330, the new ones of a"
    ) as found:
        WAYS[way](session, of_kind(kind, seed=1), tmp_path)
    assert kind in str(found.value)
    assert kept(session) == before


@pytest.mark.parametrize("way", WAYS)
def test_every_way_into_a_session_has_the_rule(session, of_kind, tmp_path, way):
    session.add(of_kind("emulated xl330"))
    before = kept(session)
    with pytest.raises(AnotherServoError):
        WAYS[way](session, of_kind("real xl330", seed=1), tmp_path)
    assert kept(session) == before
    other = tmp_path / "same kind"
    other.mkdir()
    WAYS[way](session, of_kind("emulated xl330", seed=2), other)
    assert len(session.runs()) + len(list(session.path.glob("runs/*.part"))) == 2


def test_a_run_that_is_being_recorded_counts(session, of_kind, rows):
    first = of_kind("emulated xl330")
    header = RunHeader(
        trajectory="sin_sin", bench=first.bench, settings=first.settings, rate=200.0, provenance=first.provenance
    )
    writer = session.sink().open(header)
    with pytest.raises(AnotherServoError):
        session.add(of_kind("real xl330"))
    with pytest.raises(AnotherServoError):
        session.sink().open(replace(header, provenance={}))
    session.add(of_kind("emulated xl330", seed=1))
    writer.append(rows(5))
    writer.finish("success")
    assert [run.kind for run in session.runs()] == ["emulated xl330"] * 2


def test_an_exported_session_is_not_merged_with_another_kind(session, of_kind, tmp_path):
    source = Session.create(tmp_path / "source")
    source.add(of_kind("simulated xl330"))
    session.add(of_kind("real xl330"))
    with pytest.raises(AnotherServoError):
        import_single(export_single(source, tmp_path / "all.h5"), session)
    assert len(session.runs()) == 1


def test_runs_of_several_kinds_do_not_make_a_new_session_and_are_named(of_kind, session, tmp_path):
    runs = [of_kind("real xl330"), of_kind("emulated xl330", seed=1), of_kind("real xl330", seed=2)]
    with pytest.raises(AnotherServoError, match=r"of a real xl330 \(real xl330\) and an emulated xl330 \("):
        session.add_all(runs)
    files = []
    for number, run in enumerate(runs):
        source = Session.create(tmp_path / f"source{number}")
        source.add(run)
        files += export_csv(source, None, tmp_path / f"out{number}")
    new = tmp_path / "new"
    with pytest.raises(AnotherServoError):
        import_paths(files, new)
    assert not new.exists()
    assert len(import_paths([files[0], files[2]], new)) == 2


def test_conditions_and_simulated_noise_are_not_another_servo(session, of_kind):
    run = of_kind("simulated xl330")
    session.add(run)
    settings = replace(run.settings, kp=8.0, ki=1.0, kd=2.0, supply_voltage=5.0, damping=0.1, preset=0.3)
    session.add(replace(run, settings=settings, bench=replace(run.bench, mass=2.0)))
    session.add(replace(run, provenance={"servo_address": "simulated:xl330?seed=9&clock=virtual"}))
    assert len(session.runs()) == 3


@pytest.mark.parametrize(
    "address",
    [
        "dynamixel:/dev/pts/3:1:2:1000000",
        "dynamixel:/dev/ttys004:1",
        "dynamixel:/run/user/1000/servobench-servo-4711:1:2:57600",
    ],
)
def test_runs_of_earlier_versions_are_emulated_by_their_port(of_kind, address):
    run = of_kind("real xl330")
    assert kind_of(run.settings, {"servo_address": address}) == "emulated xl330"
    for other in ("dynamixel:/dev/ttyUSB0:1:2:57600", "dynamixel:COM3:1", "ethercat:eth0"):
        assert kind_of(run.settings, {"servo_address": other}) == "real xl330"


@pytest.mark.parametrize("address", ["simulated", "simulated?seed=3", "simulated:xl330"])
def test_every_address_of_a_simulated_servo_is_simulated(of_kind, address):
    assert kind_of(of_kind("real xl330").settings, {"servo_address": address}) == "simulated xl330"


def test_the_servos_own_report_says_what_it_is(header):
    for origin in get_args(Origin):
        signed = ServoIdentity(model="xl330", title="XL330", origin=origin).signed(header)
        assert kind_of(signed.settings, signed.provenance) == f"{origin} xl330"


def test_a_session_that_holds_several_kinds_already_is_read_but_takes_no_more(session, of_kind, tmp_path):
    session.add(of_kind("real xl330"))
    other = Session.create(tmp_path / "other")
    other.add_all([of_kind("simulated xl330", seed=1), of_kind("simulated xl330", seed=2)])
    [_, foreign] = other.runs()
    Path(session.path, foreign.file).write_bytes(Path(other.path, foreign.file).read_bytes())
    assert [run.kind for run in session.runs()] == ["real xl330", "simulated xl330"]
    assert len(session.load_all()) == 2
    with pytest.raises(AnotherServoError, match="its runs and points are of a real xl330 and a simulated xl330"):
        session.add(of_kind("real xl330", seed=3))


@pytest.mark.parametrize("way", WAYS)
def test_placed_points_count_like_runs(session, of_kind, tmp_path, way):
    run = of_kind("simulated xl330")
    header = RunHeader(trajectory="hold", bench=run.bench, settings=run.settings, rate=200.0, provenance=run.provenance)
    point = placed_point(Target(0.1, 1, "drive"), Rest(0.4, 0.001), header, {})
    session.set_document("placed_points", points_to_json([point]))
    assert points_from_json(session.document("placed_points")) == (point,)
    with pytest.raises(AnotherServoError, match="points are of a simulated xl330"):
        WAYS[way](session, of_kind("real xl330"), tmp_path)
    same = tmp_path / "same kind"
    same.mkdir()
    WAYS[way](session, of_kind("simulated xl330"), same)
