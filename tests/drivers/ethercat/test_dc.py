"""Time on the bus: a host's cycles come into step with a drive's crystal and stay there; a clock counts in them."""

import itertools
import random
import threading

import pytest

from drivers.ethercat.dc import PHASE, BusClock, PhaseLock
from tests.waiting import LIMIT

CYCLE = 0.002


def run(drift, start, cycles):
    """Distances of the deadlines from their place, for a crystal faster by `drift`; start: phase of the first one.

    The thread is late at random, up to half a cycle, which is not to pull the cycles along.
    """
    lock, chance = PhaseLock(CYCLE), random.Random(1)
    host, distances = 0.0, []
    lasting = CYCLE
    for number in range(cycles):
        late = min(chance.expovariate(1 / 2e-4), 0.5 * CYCLE)
        bus = start + (host + late) * (1.0 + drift)
        if number == 0:
            host += lock.first_shift(bus % CYCLE, late)
        else:
            lasting = CYCLE + lock.correction(bus % CYCLE, late)
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
