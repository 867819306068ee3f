"""The estimate of the time left, on a clock that the tests turn."""

import pytest

from core.base.time_left import TimeLeft
from core.base.units import about


class Watched:
    """A job of which the estimate is asked ten times a second, as the window does."""

    def __init__(self):
        self.now = 0.0
        self.estimate = TimeLeft(lambda: self.now)
        self.said = []

    def work(self, seconds, begin, end):
        """Go on at a steady pace from one share to another."""
        steps = round(10 * seconds)
        for step in range(1, steps + 1):
            self.now += 0.1
            self.estimate.told(begin + (end - begin) * step / steps)
            self.said.append((self.now, self.estimate.left()))

    def wrong(self, total, since):
        """By which factors the estimates were off, from a share of the time on until it hardly matters."""
        told = [(left, total - at) for at, left in self.said if since * total <= at <= 0.95 * total]
        return [max(left / true, true / left) for left, true in told]


@pytest.fixture
def job():
    return Watched()


def test_nothing_is_said_before_anything_is_known(job):
    assert job.estimate.left() is None
    job.estimate.told(0.0)
    job.now = 60.0
    job.estimate.told(0.0)
    assert job.estimate.left() is None
    job.estimate.told(0.2)
    assert job.estimate.left() == pytest.approx(240.0)


def test_a_steady_job_is_known_from_a_tenth_on(job):
    job.work(100.0, 0.0, 1.0)
    assert max(job.wrong(100.0, 0.1)) < 1.05


def test_what_is_on_record_says_nothing_about_the_rest(job):
    for share in (0.1, 0.2, 0.3, 0.4):
        job.now += 0.01
        job.estimate.told(share, recorded=True)
        assert job.estimate.left() is None
    job.work(60.0, 0.4, 1.0)
    assert max(job.wrong(60.0, 0.1)) < 1.1


def test_the_rest_goes_on_at_the_mean_pace_and_the_estimate_counts_down_between_two_shares(job):
    job.work(20.0, 0.0, 0.2)
    job.now += 10.0
    assert job.estimate.left() == pytest.approx(70.0, rel=0.01)
    job.estimate.told(0.5)
    assert job.estimate.left() == pytest.approx(30.0, rel=0.01)
    job.now += 100.0
    assert job.estimate.left() == 0.0


def test_an_estimate_is_said_no_finer_than_it_is():
    assert [about(s) for s in (3.0, 42.0, 150.0, 1490.0, 4000.0, 16_549_200.0)] == [
        "a few seconds", "about 40 s", "about 2 min", "about 25 min", "about 1 h 07 min", "about 4597 h",
    ]  # fmt: skip
