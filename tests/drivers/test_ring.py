"""The ring: rows arrive whole and in order, or are counted as lost."""

from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drivers.recorder.ring import Ring, RingReader, RingWriter
from drivers.recorder.run import LIVE_DTYPE

CONTEXT = get_context("spawn")
DTYPE = np.dtype([("number", "f8"), ("square", "f8"), ("small", "u1"), ("text", "S3")])
"""Not a whole number of words, on purpose."""


def row(number):
    return (float(number), float(number) ** 2, number % 251, b"abc")


def check(rows, first):
    """Rows are whole and follow each other."""
    numbers = first + np.arange(len(rows))
    np.testing.assert_array_equal(rows["number"], numbers)
    np.testing.assert_array_equal(rows["square"], numbers**2)
    np.testing.assert_array_equal(rows["small"], numbers.astype(int) % 251)
    assert np.all(rows["text"] == b"abc")


@given(
    capacity=st.integers(1, 20),
    bursts=st.lists(st.integers(0, 50), max_size=20),
)
@example(capacity=1, bursts=[0, 1, 1, 0, 3])
def test_every_row_is_read_once_or_counted_as_lost(capacity, bursts):
    ring = Ring(CONTEXT, DTYPE, capacity)
    writer, reader = RingWriter(ring), RingReader(ring)
    written = 0
    for burst in bursts:
        for number in range(written, written + burst):
            writer.push(row(number))
        written += burst
        got = reader.read()
        assert len(got.rows) == min(burst, capacity)
        assert got.lost == max(0, burst - capacity)
        check(got.rows, written - len(got.rows))
        latest = reader.latest()
        assert (latest is None) == (written == 0)
        if latest is not None:
            assert latest["number"] == written - 1
    assert len(reader.read().rows) == 0


def test_readers_have_places_of_their_own():
    ring = Ring(CONTEXT, DTYPE, 8)
    writer, early = RingWriter(ring), RingReader(ring)
    writer.push(row(0))
    late, whole = RingReader(ring), RingReader(ring, from_start=True)
    writer.push(row(1))
    assert early.read().rows["number"].tolist() == [0.0, 1.0]
    assert late.read().rows["number"].tolist() == [1.0]
    assert whole.read().rows["number"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("word", range(5))
@pytest.mark.parametrize("capacity", [1, 4])
def test_a_row_that_was_half_overwritten_is_never_taken_for_a_whole_one(word, capacity):
    """Each word of a slot in turn is that of the row a full round later."""
    ring, other = Ring(CONTEXT, DTYPE, capacity), Ring(CONTEXT, DTYPE, capacity)
    writer, reader, later = RingWriter(ring), RingReader(ring), RingWriter(other)
    for number in range(capacity):
        writer.push(row(number))
    for number in range(capacity + 1):
        later.push(row(number))
    assert ring.slots.shape[1] == 5
    assert ring.slots[0, word] != other.slots[0, word]
    ring.slots[0, word] = other.slots[0, word]
    got = reader.read()
    assert got.lost + len(got.rows) <= capacity
    assert 0.0 not in got.rows["number"]
    assert (reader.latest() is None) == (capacity == 1)


def produce(rings, count):
    for writer in map(RingWriter, rings):
        for number in range(count):
            writer.push(row(number))


def test_another_process_writes_flat_out_and_no_row_is_torn_repeated_or_out_of_order():
    """Into a ring that it overruns many times, and into one that it overruns a few times."""
    rings, count = [Ring(CONTEXT, DTYPE, capacity) for capacity in (16, 4096)], 20_000
    readers = [RingReader(ring) for ring in rings]
    process = CONTEXT.Process(target=produce, args=(rings, count))
    process.start()
    for reader in readers:
        received = lost = 0
        numbers = []
        while received + lost < count:
            ended = not process.is_alive()
            got = reader.read()
            received += len(got.rows)
            lost += got.lost
            numbers.append(got.rows["number"].copy())
            np.testing.assert_array_equal(got.rows["square"], got.rows["number"] ** 2)
            assert not ended or received + lost == count
        together = np.concatenate(numbers)
        assert np.all(np.diff(together) > 0)
        assert together[-1] == count - 1
    process.join()


def test_a_live_row_survives_the_way_through_the_ring():
    ring = Ring(CONTEXT, LIVE_DTYPE, 4)
    reader = RingReader(ring)
    live = (0.5, 0.1, 1, 0.2, np.nan, -1.0, 0.3, 12.0, 30.0, 1e-3, 0.4998, 7, 5, 99.5, 3, 2, 0.4)
    RingWriter(ring).push(live)
    rows = reader.read().rows
    assert rows.dtype == LIVE_DTYPE
    np.testing.assert_array_equal(np.array(rows[0].tolist()), np.array(live))
