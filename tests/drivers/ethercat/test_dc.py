"""Time on the bus: a host's cycles come into step with a drive's crystal and stay there; a clock counts in them."""

import itertools
import random
import threading

import pytest

from drivers.emulators.ethercat import registers as r
from drivers.emulators.ethercat.clock import DistributedClock
from drivers.ethercat.dc import PHASE, BusClock, PhaseLock
from tests.waiting import LIMIT

CYCLE = 0.002


def run(drift, start, cycles):
    """Distances of the deadlines from their place, for a crystal faster by `drift`; start: phase of the first one."""
    lock = PhaseLock(CYCLE)
    host, distances = 0.0, []
    lasting = CYCLE
    for number in range(cycles):
        bus = start + host * (1.0 + drift)
        if number == 0:
            host += lock.first_shift(bus % CYCLE, 0.0)
        else:
            lasting = CYCLE + lock.correction(bus % CYCLE, 0.0)
        distances.append((start + host * (1.0 + drift) - PHASE * CYCLE + 0.5 * CYCLE) % CYCLE - 0.5 * CYCLE)
        host += lasting
    return lock, distances


@pytest.mark.parametrize(("start", "drift"), [(0.0, 1e-3), (0.3, 0.0), (0.79, -100e-6), (0.81, 20e-6), (0.999, -1e-3)])
def test_frames_come_into_step_and_stay(drift, start):
    lock, distances = run(drift, start * CYCLE, 5000)
    assert lock.locked
    assert max(abs(distance) for distance in distances[1000:]) < 1e-3 * CYCLE
    # What every cycle is corrected by is what the crystals differ by.
    assert lock.drift == pytest.approx(CYCLE * (1.0 / (1.0 + drift) - 1.0), abs=2e-6 * CYCLE)


@pytest.mark.parametrize("drift", [1e-3, -1e-3])
def test_frames_come_one_in_each_period_of_the_drives_clock(drift):
    """The emulated drive counts the frames between its pulses; the host's thread is late at random."""
    chance = random.Random(1)
    cycle, memory = round(1e9 * CYCLE), bytearray(r.END)
    clock = DistributedClock(memory, now=0, drift=drift)
    memory[r.SYNC0_CYCLE : r.SYNC0_CYCLE + 4] = cycle.to_bytes(4, "little")
    memory[r.SYNC0_START : r.SYNC0_START + 8] = (10 * cycle).to_bytes(8, "little")
    memory[r.ACTIVATION] = 0x03
    clock.activate(0)
    lock = PhaseLock(CYCLE)
    deadline = 10.001 * CYCLE
    for number in range(5000):
        late = min(chance.expovariate(1 / 1e-4), 0.5 * CYCLE)
        arrival = round(1e9 * (deadline + late))
        if number == 1000:
            clock.forget_windows()
        clock.count(arrival)
        bus_time = 1e-9 * (clock.system_time(arrival) % cycle)
        deadline += CYCLE + (lock.correction(bus_time, late) if number else lock.first_shift(bus_time, late))
    windows = clock.windows
    assert (windows.one, windows.empty, windows.more) == (3999, 0, 0)


def test_the_first_shift_is_the_shortest_and_out_of_step_is_told():
    for phase in range(100):
        shift = PhaseLock(CYCLE).first_shift(phase / 100 * CYCLE, 0.0)
        assert abs(shift) <= 0.5 * CYCLE
        assert (phase / 100 * CYCLE + shift) % CYCLE == pytest.approx(PHASE * CYCLE)
    lock = PhaseLock(CYCLE)
    for _ in range(100):
        lock.correction((PHASE + 0.3) * CYCLE, 0.0)
    assert not lock.locked
    assert lock.error == pytest.approx(0.3 * CYCLE)


def test_the_clock_counts_cycles_however_long_they_last():
    clock = BusClock(CYCLE)
    deadline, moments = 100.0, []
    for number in range(1000):
        lasting = CYCLE * (1.0 + 0.01 * (-1) ** number)
        before = clock.at(deadline)
        moments.append(clock.begin(deadline, lasting))
        assert moments[-1] == pytest.approx(before, abs=1e-12)
        deadline += lasting
    steps = [after - before for before, after in itertools.pairwise(moments)]
    assert steps == pytest.approx([CYCLE] * 999, abs=1e-12)
    clock.begin(50.0, CYCLE)
    assert clock.at(53.0) - clock.at(50.0) == pytest.approx(3.0), "it goes on without cycles"


def never():
    return False


def test_a_wait_is_over_when_the_nearest_cycle_came_back_and_was_not_used():
    clock = BusClock(100.0)  # so slow that nothing but the cycles ends a wait
    begin = clock.now()
    ended = []

    def wait(deadline):
        clock.wait_until(deadline, never)
        ended.append(deadline)

    thread = threading.Thread(target=wait, args=(begin + 1000.0,))
    thread.start()
    clock.complete(begin + 940.0)
    thread.join(0.05)  # long enough to notice on most machines that it is over; none says it is without being so
    assert not ended
    clock.complete(begin + 960.0)
    thread.join(LIMIT)
    assert ended == [begin + 1000.0]
    # It came back, so that a wait for it again is over at once, unless somebody used it.
    wait(begin + 1000.0)
    clock.use()
    thread = threading.Thread(target=wait, args=(begin + 1000.0,))
    thread.start()
    thread.join(0.05)
    assert len(ended) == 2
    clock.complete(begin + 1060.0)
    thread.join(LIMIT)
    assert len(ended) == 3


def test_a_wait_ends_a_cycle_late_on_a_dead_bus_and_at_once_when_interrupted():
    clock = BusClock(CYCLE)
    deadline = clock.now() + CYCLE
    clock.wait_until(deadline, never)
    assert clock.now() >= deadline + CYCLE
    clock.wait_until(clock.now() + 1000.0, lambda: True)
    assert clock.waited_at > 0.0
