"""What a drive says about itself against what the catalogue says: the drive is believed, a person is told."""

import re

import pytest

from core.servo.catalogue import load_servo
from core.servo.shipped import nominal_model
from drivers.errors import NoAnswer, ServoFault
from drivers.ethercat.identity import choose, read_nameplate, within_a_turn
from drivers.ethercat.profile import Profile

VENDOR, PRODUCT = 0x5A65726F, 0x29252
SPEC = load_servo("erob80_50")
PROFILE = Profile.read(SPEC.buses["ethercat"])
KT = nominal_model(SPEC).values["kt"]

PLAUSIBLE = {
    (0x6075, 0): 6000,
    (0x6076, 0): 29381,
    (0x6072, 0): 2000,
    (0x608F, 1): 524288,
    (0x608F, 2): 1,
    (0x1018, 4): 17,
    (0x6064, 0): 0,
    (0x6502, 0): 0x280,
}


class Drive:
    """Answers from a table; None is an object it does not have."""

    def __init__(self, **changes):
        self.numbers = PLAUSIBLE | {_key(name): value for name, value in changes.items()}

    def read_number(self, index, subindex=0, *, signed=False):
        return self.numbers.get((index, subindex))

    def read_text(self, index):
        return {0x1008: "ZeroErr Driver", 0x100A: "V1.0"}.get(index, "")


def _key(name):
    index, _, subindex = name.removeprefix("x").partition("_")
    return int(index, 16), int(subindex or 0)


def plate(profile=PROFILE, zero=0, **changes):
    return read_nameplate(Drive(**changes), SPEC, profile, zero, [], {"vendor_id": "0x5A65726F"})


def test_a_plausible_drive_gives_facts_and_no_warning():
    read = plate()
    assert read.warnings == ()
    assert (read.firmware, read.serial) == ("V1.0", "17")
    assert read.facts == {
        "vendor_id": "0x5A65726F",
        "rated_current_mA": 6000.0,
        "rated_torque_mNm": 29381.0,
        "max_torque_permille": 2000.0,
        "encoder_increments": 524288.0,
        "encoder_revolutions": 1.0,
        "serial_number": 17.0,
        "supported_modes": 640.0,
        "manufacturer_device_name": "ZeroErr Driver",
        "counts_per_turn": 524288.0,
        "zero_counts": 0.0,
        "current_A_per_permille": pytest.approx(0.006),
        "torque_constant_Nm_per_A": KT,
        "largest_current_A": 12.0,
        "torque_reference": "rated_current",
    }
    # 0x6071 counts per mille of 0x6075 in mA.
    assert read.scale.amps_per_permille == read.facts["current_A_per_permille"] == pytest.approx(0.006)
    assert read.scale.permille(6.0) == 1000
    assert read.scale.permille(-100.0) == -2000
    assert read.scale.torque_constant == KT


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x608F_1": 262144}, "262144 counts a turn .* the catalogue 524288; the drive's are used"),
        ({"x608F_1": None}, "does not report its encoder's resolution .* 524288 counts a turn are assumed"),
        ({"x608F_2": 0}, "does not report its encoder's resolution"),
        ({"x608F_1": 1, "x608F_2": 4}, "does not report its encoder's resolution"),
        ({"x6072": 1000}, "limits its torque to 1000 ‰ .* 6.00 A instead of the 12 A of erob80_50"),
        ({"x6064": 3 * 524288 + 5}, "has counted 3 whole turns"),
        ({"x6502": 0x80}, r"does not list cyclic synchronous torque among its modes \(0x6502 = 0x80\)"),
    ],
)
def test_what_is_odd_is_told(changes, message):
    (warning,) = plate(**changes).warnings
    assert re.search(message, warning)


def test_the_drives_own_numbers_are_used():
    assert plate(x608F_1=262144).scale.counts_per_turn == 262144
    assert plate(x608F_1=1048576, x608F_2=2).scale.counts_per_turn == 524288
    limited = plate(x6072=1000)
    assert limited.scale.largest_current == limited.facts["largest_current_A"] == pytest.approx(6.0)
    # A drive that would give more does not make the servo stronger.
    assert plate(x6072=3000).scale.largest_current == 12.0
    assert plate(x6072=3000).warnings == ()
    assert plate().scale.no_load_speed == SPEC.no_load_speed
    assert plate(x6072=0).scale.largest_current == 12.0
    assert plate(x6072=None).scale.largest_current == 12.0


def test_what_a_per_mille_of_torque_is_comes_from_the_drive_or_the_catalogue():
    def profile(**options):
        return Profile(vendor_id=VENDOR, product_codes=(PRODUCT,), **options)

    by_torque = profile(torque_reference="rated_torque")
    assert plate(by_torque).scale.amps_per_permille * KT == pytest.approx(29.381e-3)
    assert plate(profile(rated_current=5.0), x6075=None).scale.amps_per_permille == pytest.approx(0.005)
    for reference, changes, message in (
        (profile(), {"x6075": None}, r"rated current \(0x6075\).*write it as rated_current"),
        (profile(), {"x6075": 0}, r"rated current \(0x6075\)"),
        (by_torque, {"x6076": None}, r"rated torque \(0x6076\)"),
    ):
        with pytest.raises(ServoFault, match=message):
            plate(reference, **changes)


@pytest.mark.parametrize(
    ("counts", "turns"), [(0, 0), (262143, 0), (262144, 1), (-262144, 0), (-262145, -1), (5 * 524288, 5)]
)
def test_whole_turns_are_left_out(counts, turns):
    scale, found = within_a_turn(plate().scale, counts)
    assert found == turns
    assert -262144 <= counts - scale.zero < 262144
    assert (scale.zero - plate().scale.zero) % 524288 == 0
    near = plate(zero=1000, x6064=1000 + counts)
    assert near.scale.zero == near.facts["zero_counts"] == 1000 + 524288 * turns


def test_a_drive_is_taken_for_the_first_that_fits_unless_the_address_decides():
    spec, profile, warnings = choose(VENDOR, PRODUCT, "")
    assert (spec.name, profile) == ("erob80_100", PROFILE)
    assert warnings == ["taken for erob80_100, but others report the same identity; if it is not, add servo=erob80_50"]
    spec, _, warnings = choose(VENDOR, PRODUCT, "erob80_50")
    assert (spec.name, warnings) == ("erob80_50", [])
    spec, _, (warning,) = choose(0x1234, 1, "erob80_50")
    assert spec.name == "erob80_50"
    assert "vendor 0x00001234, product 0x00000001" in warning
    with pytest.raises(NoAnswer, match=r"vendor 0x00001234.*name its servo in the address: servo=erob80_100"):
        choose(0x1234, 1, "")
