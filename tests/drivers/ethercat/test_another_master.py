"""Another master on the wire, whatever it writes and when: no run or hold is a success, no motor stays driven."""

import struct
import threading

import pytest

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from drivers.ethercat import nic
from drivers.recorder import Phase
from drivers.recorder.cycle import Cycle
from drivers.recorder.link import Unlinked
from drivers.recorder.loop import HoldJob, Loop, RunJob
from drivers.recorder.run import RunPlan
from drivers.recorder.storage import Immediately
from tests.drivers.ethercat.conftest import BENCH

pytestmark = pytest.mark.own_network

RATE = 250.0
APWR, FPWR, LWR = 2, 5, 11
STATION, MAILBOX, OUTPUTS = 0x1001, 0x1000, 0x1100


def datagram(command, address, data):
    """A frame with one datagram; address: the station or position and the memory, or the logical address."""
    body = struct.pack("<BBIHH", command, 0xEE, address, len(data), 0) + data + b"\0\0"
    return b"\xff" * 6 + b"\x02OTHER" + b"\x88\xa4" + struct.pack("<H", len(body) | 0x1000) + body


def outputs(word=0x0F, torque=0, mode=10):
    return datagram(LWR, 0, struct.pack("<HhbB", word, torque, mode, 0))


def physical(station, memory):
    return station | memory << 16


def download(index, subindex, value, size):
    """An expedited SDO download, as it lies in the mailbox."""
    coe = struct.pack("<HBHB", 0x2000, 0x23 | (4 - size) << 2, index, subindex) + value.to_bytes(4, "little")
    return (struct.pack("<HHBB", len(coe), 0, 0, 0x13) + coe).ljust(128, b"\0")


WRITES = {
    "torque off": [outputs(word=0)],
    "off then on": [outputs(word=word) for word in (0, 6, 7, 15)],
    "mode": [outputs(mode=8)],
    "goal": [outputs(torque=900)],
    "goal by its memory": [datagram(FPWR, physical(STATION, OUTPUTS), struct.pack("<HhbB", 15, 900, 10, 0))],
    "limit": [datagram(FPWR, physical(STATION, MAILBOX), download(0x60E0, 0, 10, 2))],
    "gain": [datagram(FPWR, physical(STATION, MAILBOX), download(0x60B2, 0, 100, 2))],
    "ID": [datagram(APWR, physical(0, 0x0010), struct.pack("<H", 0x1005))],
}


class Another(Unlinked):
    """Another master that sends frames once, some time into a phase."""

    def __init__(self, phase, frames):
        self._wanted, self._frames = phase, frames
        self._timer = threading.Timer(0.15, self._send)

    def phase(self, phase):
        if phase is self._wanted and not self._timer.is_alive():
            self._timer.start()

    def _send(self):
        with nic._open("ecm0") as raw:
            for frame in self._frames:
                raw.send(frame.ljust(60, b"\0"))


def more(*values):
    return pytest.param(*values, marks=pytest.mark.exhaustive("every write in every phase"))


@pytest.mark.parametrize(
    ("what", "phase"),
    [
        ("goal", Phase.RUN),
        ("torque off", Phase.HOLD),
        *(
            more(what, phase)
            for what in WRITES
            for phase in (Phase.APPROACH, Phase.RUN, Phase.HOLD)
            if (what, phase) not in {("goal", Phase.RUN), ("torque off", Phase.HOLD)}
        ),
    ],
)
def test_what_another_master_writes_ends_the_run_and_the_motor(servo, segment, what, phase):
    spec = load_servo("erob80_50")
    settings = ServoSettings(servo=spec.name, kp=spec.default_kp, supply_voltage=spec.supply_voltage)
    header = RunHeader(trajectory="another", bench=BENCH, settings=settings, rate=RATE)
    link = Another(phase, WRITES[what])
    loop = Loop(Cycle(servo, link), Immediately())
    if phase is Phase.HOLD:
        segment.say("hand angle 0")
        holding = loop.hold(HoldJob(header=header, limits=servo.limits))
        try:
            next(holding)
            for _ in range(round(60 * RATE)):
                holding.send(1.0)
        except StopIteration as end:
            result = end.value
    else:
        # The approach of lift_and_drop leads far from where the pendulum hangs.
        trajectory = make_trajectory("lift_and_drop" if phase is Phase.APPROACH else "sin_time_square", 60.0)
        plan = RunPlan.sample(trajectory, RATE)
        result = loop.perform(RunJob(run=1, plan=plan, header=header, sink=None, limits=servo.limits))
    assert result.exit_status == "fail"
    assert "another master" in result.reason or "switched itself off" in result.reason
    segment.until_off()


def test_frames_of_ours_and_frames_that_read_are_no_other_master(servo, segment):
    ours = struct.pack("<HhbB", 15, 5, 10, 0)
    listener = nic.Listener("ecm0", 1)
    returned = [outputs(torque=5), outputs(torque=6), datagram(4, physical(STATION, 0x130), b"\0\0")]
    returned = [frame[:-2] + b"\1\0" for frame in returned]
    assert [listener._is_foreign(frame, [ours]) for frame in returned] == [False, True, False]
    listener.close()
