"""Kinds of springs, shared by their laws and the compiled twins."""

from enum import IntEnum

PIVOT_REACH = 0.95
"""Range of an AwAS-II's pivot, as a share of the lever, at whose end the stiffness would be infinite."""


class Kind(IntEnum):
    """Springs computed by the compiled twin."""

    SEA = 0
    AWAS2 = 1
    BAVS = 2
    QBMOVE = 3
    OWN = 4
    """User-defined springs, computed in Python or by the actuator's own compiled function."""
