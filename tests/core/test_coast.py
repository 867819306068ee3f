"""Drive/coast bridges: the two-regime mean current against the bridge's electrical circuit, simulated at 1 µs.

The circuit of seed 004, section IV-B: while the switch is on, the motor sees the supply; while it is off, the current
freewheels through the diodes into the supply until it dies out. L·di/dt = u − R·i − e is integrated exactly over each
microsecond; the mean over a period is taken once the periods repeat.
"""

import math

import numpy as np
import pytest

from core.kernel.step import coast_bridge, coast_current

TICK = 1e-6


def circuit(duty, supply, emf, resistance, inductance, period):
    """Mean current over a settled PWM period of a drive/coast bridge [A]."""
    direction = 1.0 if duty >= 0.0 else -1.0
    along = direction * emf
    ticks = round(period / TICK)
    on = round(abs(duty) * ticks)
    share = math.exp(-TICK * resistance / inductance)
    # Exact integral of an exponential over one tick, relative to its start and its end value.
    weight = (1.0 - share) * inductance / resistance / TICK
    periods = max(4, math.ceil(20.0 * inductance / resistance / period))
    current, mean = 0.0, 0.0
    for _ in range(periods):
        total = 0.0
        for tick in range(ticks):
            upper_diode = along > supply and current <= 0.0
            if tick < on or upper_diode:
                target = (supply - along) / resistance
                following = target + (current - target) * share
                total += target + (current - target) * weight
            elif current > 0.0 or along < -supply:
                target = (-supply - along) / resistance
                following = target + (current - target) * share
                if following <= 0.0 and target < 0.0:
                    # Gone within this tick.
                    rest = inductance / resistance * math.log(1.0 - current / target)
                    total += (target * rest + (current - target) * inductance / resistance
                              * (1.0 - math.exp(-rest * resistance / inductance))) / TICK  # fmt: skip
                    following = 0.0
                else:
                    total += target + (current - target) * weight
            else:
                following = 0.0
            current = following
        mean = total / ticks
    return direction * mean


R, U = 3.0, 15.0
DISCONTINUOUS = [(0.1, 0.0), (0.3, 5.0), (0.2, 12.0), (0.45, 3.0), (0.05, 14.0), (0.3, -2.0)]
CONTINUOUS = [(0.8, 1.0), (0.95, 5.0), (0.7, -4.0), (1.0, 3.0), (0.9, -12.0), (0.55, -14.0)]


@pytest.mark.parametrize("period", [40e-6, 100e-6, 200e-6])
@pytest.mark.parametrize("inductance", [2e-4, 1e-3])
@pytest.mark.parametrize(("duty", "emf"), [*DISCONTINUOUS, *CONTINUOUS])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_mean_current_is_the_circuits(duty, emf, inductance, period, sign):
    """The duty cycles are whole microseconds, so the circuit is exact and the two agree to rounding."""
    mean = coast_current(sign * duty, U, sign * emf, R, inductance, period)

    assert mean == pytest.approx(circuit(sign * duty, U, sign * emf, R, inductance, period), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(("duty", "emf"), DISCONTINUOUS)
def test_low_duty_is_interrupted(duty, emf):
    """In discontinuous conduction more current flows than the drive/brake mean with both halves counted would say."""
    continuous = ((2 * duty - 1) * U - emf) / R

    assert coast_current(duty, U, emf, R, 2e-4, 200e-6) > continuous


@pytest.mark.parametrize(("duty", "emf"), [(0.8, 1.0), (0.95, 5.0), (1.0, 3.0)])
def test_high_duty_is_continuous(duty, emf):
    assert coast_current(duty, U, emf, R, 1e-3, 100e-6) == pytest.approx(((2 * duty - 1) * U - emf) / R, rel=1e-12)


def test_zero_duty_lets_go():
    """The motor coasts: no current at any speed below the one whose back-EMF exceeds the supply."""
    for emf in (-14.9, -5.0, 0.0, 5.0, 14.9):
        assert coast_current(0.0, U, emf, R, 1e-3, 100e-6) == 0.0


@pytest.mark.parametrize("duty", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_back_emf_above_the_supply_charges_it(duty, sign):
    """The diodes conduct all the time: ī = (U − e)/R, a braking current."""
    expected = sign * (U - 18.0) / R

    mean = coast_current(sign * duty, U, sign * 18.0, R, 1e-3, 100e-6)

    assert mean == pytest.approx(expected, rel=1e-12)
    assert mean == pytest.approx(circuit(sign * duty, U, sign * 18.0, R, 1e-3, 100e-6), rel=1e-6)


def test_driving_against_a_back_emf_beyond_the_supply_is_continuous():
    """e < −U: the off phase cannot stop the current either, ī = ((2·D − 1)·U − e)/R."""
    mean = coast_current(0.3, U, -18.0, R, 1e-3, 100e-6)

    assert mean == pytest.approx((-0.4 * U + 18.0) / R, rel=1e-12)
    assert mean == pytest.approx(circuit(0.3, U, -18.0, R, 1e-3, 100e-6), rel=1e-6)


@pytest.mark.parametrize("emf", [-6.0, 0.0, 6.0])
def test_both_regimes_meet(emf):
    """Across the duty cycle the mean current is continuous; its jump per step is that of its slope, 2·U/R at most."""
    duty = np.linspace(0.0, 1.0, 20_001)
    current = np.array([coast_current(d, U, emf, R, 3e-4, 100e-6) for d in duty])

    assert np.all(np.diff(current) >= -1e-12)
    assert np.diff(current).max() <= 1.05 * 2.0 * U / R * (duty[1] - duty[0])
    regimes = np.isclose(current, ((2 * duty - 1) * U - emf) / R, rtol=1e-9)
    assert not regimes[1]
    assert regimes[-1]


def test_the_sign_of_both_turns_the_current():
    for duty, emf in (*DISCONTINUOUS, *CONTINUOUS):
        forward = coast_current(duty, U, emf, R, 1e-3, 100e-6)
        assert coast_current(-duty, U, -emf, R, 1e-3, 100e-6) == -forward


@pytest.mark.parametrize(("inductance", "period"), [(2e-4, 200e-6), (1e-3, 100e-6)])
@pytest.mark.parametrize(("duty", "emf"), [*DISCONTINUOUS, *CONTINUOUS, (0.3, 18.0), (0.3, -18.0)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slopes_are_the_derivatives_of_the_current(duty, emf, sign, inductance, period):
    """−R·∂ī/∂e and ∂ī/∂D by central differences; ī is homogeneous in U and e: ī = U·∂ī/∂U + e·∂ī/∂e."""

    def current(duty, emf, supply=U):
        return coast_current(sign * duty, supply, sign * emf, R, inductance, period)

    mean, conducting, per_duty = coast_bridge(sign * duty, U, sign * emf, R, inductance, period)
    small = 1e-5
    per_emf = (current(duty, emf + small) - current(duty, emf - small)) / (2.0 * small)
    per_volt = (current(duty, emf, U + small) - current(duty, emf, U - small)) / (2.0 * small)

    assert conducting == pytest.approx(-R * sign * per_emf, rel=1e-6, abs=1e-8)
    assert per_volt * U == pytest.approx(mean + sign * emf * conducting / R, rel=1e-6, abs=1e-8)
    if duty < 1.0:
        expected = sign * (current(duty + small, emf) - current(duty - small, emf)) / (2.0 * small)
        assert per_duty == pytest.approx(expected, rel=1e-5, abs=1e-7)
