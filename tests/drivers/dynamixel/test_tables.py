"""Control tables and profiles: against the vendor's own lists of registers, and a model nobody has made yet."""

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import ModelError
from core.servo.catalogue import parse_servo, servos
from drivers.dynamixel import profile_of
from drivers.dynamixel.form import DYNAMIXEL
from drivers.serial_bus.profile import SerialProfile, members, servos_by_model_number
from drivers.serial_bus.table import Register, load_table, parse_table

TABLES = ("x", "mx1", "xl320", "sts", "scs")
VENDOR_LISTS = {
    "xl330": "xl330_m288",
    "xm430_w350": "xm430_w350",
    "xh540_w150": "xh540_w150",
    "xh540_w270": "xh540_w270",
    "mx64_2": "mx_64",
    "mx106_2": "mx_106",
    "xl320": "xl320",
}
"""Catalogue name to the file of registers that comes with dynamixel-sdk; there is none for protocol 1."""
OTHER_NAMES = {"secondary_id": "secondary(shadow)_id"}

MADE_UP = """
name = "xq999"
title = "Dynamixel XQ999"
vendor = "ROBOTIS"
model_number = 9990
[control]
law = "voltage"
error_gain = 0.005
max_duty = 1.0
default_kp = 700
[ratings]
supply_voltage = 24.0
supply_range = [20.0, 28.0]
stall_torque = 20.0
no_load_speed = 3.0
max_current = 4.0
max_temperature = 80.0
encoder_counts_per_turn = 16384
position_range = [-3.1, 3.1]
[motor]
kt = [5.0, 1.0, 10.0]
R = [6.0, 1.0, 20.0]
armature = [0.1, 0.01, 1.0]
[bus.dynamixel]
table = "x"
protocol = 2
model_numbers = [9990, 9991]
torque_mode = "current"
current_unit = 0.004
[bus.dynamixel.units]
position_counts = 16384
position_centre = 8192
[bus.dynamixel.registers]
external_port_mode_1 = { address = 56, size = 1, access = "rw", eeprom = true, initial = 3 }
[bus.dynamixel.initial]
position_p_gain = 700
"""


def vendor_registers(name: str) -> dict[str, tuple[int, int]]:
    """Name to address and size, from the file of the SDK."""
    text = (files("dynamixel_easy_sdk") / "control_table" / f"{name}.model").read_text("utf-8")
    rows = [line.split("\t") for line in text.partition("[control table]")[2].strip().splitlines()[1:]]
    return {title.strip().lower().replace(" ", "_"): (int(address), int(size)) for address, size, title in rows}


@pytest.mark.parametrize("servo", VENDOR_LISTS)
def test_every_register_stands_where_the_vendor_says(servo):
    there = vendor_registers(VENDOR_LISTS[servo])
    table = profile_of(servos()[servo]).table
    for name, register in table.registers.items():
        assert there[OTHER_NAMES.get(name, name)] == (register.address, register.size), name
    # What is left out is what the driver has no use for.
    ours = {OTHER_NAMES.get(name, name) for name in table.registers}
    assert all(name.startswith(("indirect", "external")) for name in set(there) - ours)


def test_the_firmware_decides_which_table_an_mx_has():
    # Protocol 1 [e-manual MX-106]: torque enable 24, P gain 28, current 68, goal torque 71.
    old = profile_of(servos()["mx106"]).table
    assert [old[name].address for name in ("torque_enable", "p_gain", "current", "goal_torque")] == [24, 28, 68, 71]
    assert profile_of(servos()["mx106_2"]).table["torque_enable"].address == 64
    assert servos_by_model_number(DYNAMIXEL, 320, 1)[0].name == "mx106"
    assert servos_by_model_number(DYNAMIXEL, 321, 2)[0].name == "mx106_2"


@pytest.mark.parametrize("name", list(members(DYNAMIXEL)))
def test_catalogue_and_profile_agree(name):
    spec = servos()[name]
    profile = profile_of(spec)
    assert spec.model_number in profile.model_numbers
    assert round(profile.position_counts) == spec.encoder_counts_per_turn
    gain = profile.table[profile.table.gains["kp"]]
    assert gain.initial is not None
    # Where the catalogue suggests another gain than a new servo has, it is because recordings were made with it.
    assert spec.default_kp == gain.initial or name in ("mx64", "mx106")
    assert servos_by_model_number(DYNAMIXEL, spec.model_number, profile.protocol)[0] is spec


def test_an_unknown_model_number_says_what_to_do():
    with pytest.raises(ModelError, match=r"model number 1060 .* add a file like .*model_numbers = \[1060\]"):
        servos_by_model_number(DYNAMIXEL, 1060, 2)[0]


def test_a_servo_set_to_the_other_protocol_is_named():
    with pytest.raises(ModelError, match=r"XM430-W350 .* is driven with protocol 2, not 1; choose that protocol"):
        servos_by_model_number(DYNAMIXEL, 1020, 1)[0]


def test_a_new_model_is_a_file():
    profile = profile_of(parse_servo(MADE_UP))
    assert isinstance(profile, SerialProfile)
    assert profile.model_numbers == (9990, 9991)
    assert profile.table["position_p_gain"].initial == 700
    assert profile.table["external_port_mode_1"].address == 56
    # 16384 counts a turn: half a turn above the centre is the last count and one more.
    assert profile.from_counts(profile.table["present_position"], 8192) == 0.0
    assert profile.to_counts(profile.table["goal_position"], 1.5707963) == 8192 + 4096
    # The series' own table is not touched.
    assert load_table("x")["position_p_gain"].initial == 800
    assert "external_port_mode_1" not in load_table("x")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('table = "x"', "", "'table' is missing"),
        ('table = "x"', 'table = "y"', "unknown control table 'y'; there are mx1, scs, sts, x, xl320"),
        ('torque_mode = "current"', 'torque_mode = "magic"', "torque_mode = 'magic' must be one of"),
        ('torque_mode = "current"', 'torque_mode = "wheel"', "the control table x has no such mode"),
        ("protocol = 2", "protocol = 1", "protocol = 1: the control table x is of 2"),
        ("current_unit = 0.004", "", "current_unit = nan must be above 0"),
        ("current_unit = 0.004", "curent_unit = 0.004", "unknown entry 'curent_unit'"),
        ("[9990, 9991]", "[]", "must name at least one"),
        ("position_p_gain = 700", "p_gain = 700", "unknown register 'p_gain'"),
        ("position_p_gain = 700", "position_p_gain = 70000", "register position_p_gain: initial: 70000 does not fit"),
        ("address = 56, size = 1", "address = 55, size = 4", "external_port_mode_1 overlaps min_position_limit"),
        ("address = 56, size = 1", "address = 56, size = 3", "external_port_mode_1: size = 3 must be 1, 2 or 4"),
        ("address = 56, size = 1", "address = 56", "external_port_mode_1.*size"),
        ("address = 56, size = 1", "adress = 56, size = 1", "external_port_mode_1.*adress"),
    ],
)
def test_a_broken_profile_is_refused_naming_the_entry(old, new, named):
    assert old in MADE_UP
    with pytest.raises(ModelError, match=rf"xq999: \[bus.dynamixel\].*{named}"):
        profile_of(parse_servo(MADE_UP.replace(old, new)))


def test_a_servo_without_a_dynamixel_section_is_none():
    with pytest.raises(ModelError, match="no section"):
        profile_of(servos()["sts3215"])


@pytest.mark.parametrize("name", TABLES)
def test_shipped_tables_hold_only_known_entries(name):
    text = (files("resources") / "control_tables" / f"{name}.toml").read_text("utf-8")
    known = {"name", "protocol", "units", "registers", "reading", "gains", "modes", "hardware_errors", "sources"}
    assert set(tomllib.loads(text)) - {"byte_order", "phase"} == known
    table = parse_table(text)
    assert load_table(name) == table
    addresses = [register.address for register in table.registers.values()]
    assert addresses == sorted(addresses)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("protocol = 2", "protocol = 3", "protocol = 3 must be one of 1, 2, scs"),
        ("duty_steps", "duty_step", "'duty_steps' is missing"),
        ("torque_enable = {", "torque_on = {", "register 'torque_enable' is missing"),
        ('kp = "', 'kq = "', "gains: 'kp' is missing"),
        ('position = "present_position"', 'where = "present_position"', "reading: no 'where'"),
        ("[gains]", "[gain]", "entry 'gains' is missing"),
        ('register = "operating_mode"\n', "", "entry 'register' is missing"),
        ("address = 116", "address = 115", "goal_position overlaps profile_velocity"),
        ('signed = "twos_complement"', 'signed = "yes"', "signed = 'yes' must be one of"),
        ('quantity = "duty"', 'quantity = "duties"', "quantity = 'duties' must be one of"),
        ('access = "rw"', 'access = "w"', "access = 'w' must be"),
        ("address = 98", 'address = "98"', "x.toml"),
    ],
)
def test_a_broken_table_is_refused_naming_the_entry(old, new, named):
    text = (files("resources") / "control_tables" / "x.toml").read_text("utf-8")
    assert old in text
    with pytest.raises(ModelError, match=named):
        parse_table(text.replace(old, new), "x.toml")


REGISTERS = [
    Register(name=f"{signed}_{size}", address=0, size=size, signed=signed)
    for size in (1, 2, 4)
    for signed in ("none", "twos_complement", "sign_magnitude")
    if (size, signed) != (1, "sign_magnitude")
]


@given(st.sampled_from(REGISTERS), st.integers(-(2**33), 2**33))
def test_what_a_register_holds_comes_back_and_what_it_cannot_hold_is_refused(register, value):
    if register.lowest <= value <= register.highest:
        data = register.encode(value)
        assert len(data) == register.size
        assert register.decode(data) == value
    else:
        with pytest.raises(ValueError, match=register.name):
            register.encode(value)
