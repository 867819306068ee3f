"""Makes a session of very many runs quickly: a few are recorded, the rest are their samples under other facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.motion.recording import Recording, RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from drivers.recorder import MemorySink, record_inline
from drivers.registry import open_servo
from sessions import Session
from sessions.run_file.trailer import with_trailer

TRAJECTORIES = ("sin_time_square", "sin_sin", "up_and_down", "lift_and_drop")
MASSES = (0.5, 0.75, 1.0)
GAINS = (8.0, 16.0, 32.0)
KINDS = len(TRAJECTORIES) * len(MASSES) * len(GAINS)
LAST_COPIED = 9999
"""The last number of a run that has as many digits as the first."""
RATE = 200.0


def make_session(path: Path, count: int, duration: float) -> Session:
    """A session of `count` sealed runs of `duration` [s]; the first of each kind is written by the real writer."""
    session = Session.create(path, "long")
    recorded = _recorded(duration)
    kinds = [replace(kind, settings=replace(kind.settings, kp=gain)) for gain in GAINS for kind in recorded]
    written = session.add_all(kinds[:count])
    contents = [(identity, _content(session, identity)) for identity in written]
    for number in range(len(kinds) + 1, min(count, LAST_COPIED) + 1):
        identity, content = contents[number % len(contents)]
        _copy(path / "runs", content, identity, f"{number:04d}_{identity.partition('_')[2]}")
    session.add_all(kinds[: max(0, count - LAST_COPIED)])
    return session


def _content(session: Session, identity: str) -> bytes:
    """Bytes of a run's file without its trailer."""
    content = (session.path / "runs" / f"{identity}.h5").read_bytes()
    length = len(with_trailer(b""))
    return content[:-length]


def _copy(runs: Path, content: bytes, identity: str, fresh: str) -> None:
    """Write a run under an id of the same length: in these files an id is plain text without a checksum of its own."""
    (runs / f"{fresh}.h5").write_bytes(with_trailer(content.replace(identity.encode(), fresh.encode())))


def _recorded(duration: float) -> list[Recording]:
    """One run of each trajectory and load, on the virtual clock."""
    found: list[Recording] = []
    for name in TRAJECTORIES:
        for mass in MASSES:
            trajectory = make_trajectory(name, duration)
            sink = MemorySink()
            with open_servo("simulated:mx106?clock=virtual") as servo:
                servo.connect()
                settings = load_model("mx106", "m6").default_settings()
                bench = Bench(mass=mass, length=0.1)
                record_inline(
                    servo, trajectory, RunHeader(trajectory=name, bench=bench, settings=settings, rate=RATE), sink
                )
            rows = sink.rows
            channels = {field: np.ascontiguousarray(rows[field]) for field in rows.dtype.names or ()}
            identity = f"{len(found) + 1:04d}_{name}"
            found.append(Recording(id=identity, trajectory=name, bench=bench, settings=settings, channels=channels))
    return found
