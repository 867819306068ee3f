"""Drive/coast bridges: the two-regime mean current against the bridge's electrical circuit, simulated at 1 µs.

The circuit of seed 004, section IV-B: while the switch is on, the motor sees the supply; while it is off, the current
freewheels through the diodes into the supply until it dies out. L·di/dt = u − R·i − e is integrated exactly over each
microsecond; the mean over a period is taken once the periods repeat.
"""

import math

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
COASTING = [(0.0, -14.9), (0.0, 0.0), (0.0, 5.0)]
"""No current at any speed below the one whose back-EMF exceeds the supply."""
BEYOND = [(0.0, 18.0), (0.2, 18.0), (0.7, 18.0), (0.3, -18.0)]
"""Back-EMF above the supply: the diodes conduct all the time, or the off phase cannot stop the current."""


@pytest.mark.parametrize(("inductance", "period"), [(2e-4, 40e-6), (2e-4, 200e-6), (1e-3, 100e-6)])
@pytest.mark.parametrize(("duty", "emf"), [*DISCONTINUOUS, *CONTINUOUS, *COASTING, *BEYOND])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_mean_current_is_the_circuits(duty, emf, inductance, period, sign):
    """The duty cycles are whole microseconds, so the circuit is exact and the two agree to rounding."""
    mean = coast_current(sign * duty, U, sign * emf, R, inductance, period)

    assert mean == pytest.approx(circuit(sign * duty, U, sign * emf, R, inductance, period), rel=1e-6, abs=1e-7)


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
