"""Which springs there are, for their laws and the compiled twins of these."""

from enum import IntEnum

PIVOT_REACH = 0.95
"""AwAS-II: how far the pivot goes along the lever, at whose end the stiffness would be infinite."""


class Kind(IntEnum):
    """Which springs the compiled twin computes."""

    SEA = 0
    AWAS2 = 1
    BAVS = 2
    QBMOVE = 3
    OWN = 4
    """A user's: computed in Python, or by the compiled function the actuator gives."""
