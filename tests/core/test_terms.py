"""Records of physical terms: what derives from them is complete."""

import pytest

from core.identification.choice.terms import TERMS as COSTED
from core.identification.coverage.terms import _RULES
from core.kernel.layout import Slot, empty_rows
from core.servo.terms import (
    COMMAND_PATH,
    FRICTION_TERMS,
    MOUNTING_TERMS,
    NEUTRAL,
    RICHEST,
    SPEED_LOOP,
    SPLIT,
    TERMS,
)


def test_every_rule_of_the_coverage_serves_a_term():
    assert {term.evidence for term in TERMS.values()} == {*_RULES, ""}


@pytest.mark.parametrize("name", [name for name in COMMAND_PATH if name in NEUTRAL])
def test_a_command_path_term_is_off_at_its_neutral_value_and_has_a_cost(name):
    off = empty_rows(1)[0]
    assert all(TERMS[name].scales or off[slot] == NEUTRAL[name] for slot in TERMS[name].slots)
    assert [dict(cost.neutral) for cost in COSTED if cost.name == name] == [{name: NEUTRAL[name]}]


def test_the_richest_model_fills_every_slot_of_friction():
    def slots(names):
        return {slot for name in names for slot in TERMS[name].slots}

    assert slots(FRICTION_TERMS[RICHEST]) == slots(name for terms in FRICTION_TERMS.values() for name in terms)
    assert all(len(TERMS[one].slots) == len(two) for one, two in SPLIT.items())
    assert Slot.STRIBECK_VELOCITY in slots(FRICTION_TERMS[RICHEST])


@pytest.mark.parametrize("name", TERMS)
def test_a_gear_multiplies_torques_and_divides_angles(name):
    """The power of N follows from the unit; mounting and firmware act at the output, whatever the gear."""
    above, _, below = TERMS[name].unit.replace("kg·m²", "N·m·s²/rad").partition("/")
    powers = [part.count("N·m") - part.count("rad") for part in (above, below)]
    outside = name in {**MOUNTING_TERMS, **COMMAND_PATH, **SPEED_LOOP}
    assert TERMS[name].gear_power == (0 if outside else powers[0] - powers[1])
