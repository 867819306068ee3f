"""Families as forms, and looking for servos: what the window is made from, with a port that stays silent."""

import pytest

from core.servo.shipped import shipped_models
from drivers.errors import AddressError, DriverError
from drivers.registry import FAMILIES, AddressField, Family, ServoAddress, families, family, resolve
from drivers.scan import Found, scan
from drivers.simulated import SimulatedSource


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setitem(FAMILIES, "silent", "tests.drivers.silent_family")
    return family("silent")


def test_every_family_describes_addresses_that_exist_and_can_be_read_back(silent):
    assert [known.name for known in families()] == list(FAMILIES)
    assert {"simulated", "silent"} <= set(FAMILIES)
    for known in families():
        assert known.title
        names = [field.name for field in known.fields]
        assert len(set(names)) == len(names)
        # Parts come before options, as in the address.
        assert [field.part for field in known.fields] == sorted((f.part for f in known.fields), reverse=True)
        for field in known.fields:
            assert field.title
            assert field.tip
            for _, value in field.choices or (("", field.default),):
                # Another field may decide whether this one has an effect.
                beside = {field.only_with[0]: field.only_with[1][0]} if field.only_with else {}
                address = known.address({field.name: value, **beside})
                assert known.values(address) == {f.name: f.default for f in known.fields} | {
                    field.name: value,
                    **beside,
                }
                resolve(address)


def test_a_field_without_effect_is_not_in_the_address():
    form = family("simulated")
    assert form.address({"preset": "stiff", "actuator": "webots"}) == "simulated:mx106?actuator=webots"
    assert form.address({"model": "m3", "actuator": "bavs"}) == "simulated:mx106?actuator=bavs"


def test_the_form_of_the_simulated_servo_makes_its_addresses():
    form = family("simulated")
    assert form.address({}) == "simulated:mx106"
    values = {"servo": "xl330", "model": "m3", "seed": "7", "speed": "8"}
    text = form.address(values)
    assert text == "simulated:xl330?model=m3&seed=7&speed=8"
    source = resolve(text)
    assert isinstance(source, SimulatedSource)
    assert (source.name, source.seed, source.speed) == ("xl330", 7, 8.0)
    assert form.values(text) == {"contact": "rigid", "actuator": "servo", "preset": "soft", **values}
    # What the form has no field for is left alone.
    assert form.values("simulated?clock=virtual")["servo"] == "mx106"
    offered = [value for _, value in form.fields[0].choices]
    assert offered == sorted(name for name in offered if "m6" in shipped_models(name))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"servo": "mx9999"}, "there is no 'mx9999'; choose one of"),
        ({"model": ""}, "there is no ''"),
        ({"seed": "1.5"}, "not a whole number"),
        ({"seed": "-1"}, "enter 0 to"),
        ({"speed": "fast"}, "not a number"),
        ({"speed": "nan"}, "is not a number"),
        ({"speed": "1000"}, "1000 × is not possible"),
        ({"port": "COM3"}, "no field 'port'; there are servo, model, contact, actuator, preset, seed, speed"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line_that_names_the_field(values, message):
    with pytest.raises(AddressError, match=message) as caught:
        family("simulated").address(values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "field", "unit", "lowest", "beneath", "highest", "beyond"),
    [
        ("simulated", "seed", "", "0", "-1", "2147483647", "2147483648"),
        ("simulated", "speed", "×", "0.1", "0.09", "20", "20.1"),
        ("dynamixel", "id", "", "0", "-1", "252", "253"),
        ("dynamixel", "baud", "baud", "9600", "9599", "10500000", "10500001"),
        ("ethercat", "slave", "", "1", "0", "200", "201"),
        ("ethercat", "cycle", "ms", "0.5", "0.49", "4", "4.01"),
        ("ethercat", "zero", "", "-2147483648", "-2147483649", "2147483647", "2147483648"),
    ],
)
def test_a_number_of_an_address_may_be_at_either_end_of_its_range_but_not_beyond(
    name, field, unit, lowest, beneath, highest, beyond
):
    form = family(name)
    for value in (lowest, highest):
        assert form.values(form.address({field: value}))[field] == value
    for value in (beneath, beyond):
        with pytest.raises(AddressError) as refused:
            form.address({field: value})
        assert f": {value} {unit} is not possible; enter {float(lowest):g} to {float(highest):g}" in str(refused.value)


@pytest.mark.parametrize("speed", ["0.09", "20.1"])
def test_an_address_is_not_faster_or_slower_than_its_form_allows(speed):
    for possible in ("0.1", "20"):
        assert resolve(f"simulated:mx106?speed={possible}").speed == float(possible)
    with pytest.raises(AddressError, match=r"a speed of .* is not possible; choose 0\.1 to 20"):
        resolve(f"simulated:mx106?speed={speed}")


def test_text_that_would_break_the_address_is_refused_or_escaped(silent):
    for wrong in ("", "a:b", "a?b=1"):
        with pytest.raises(AddressError, match="Port"):
            silent.address({"port": wrong})
    form = Family(
        name="silent",
        title="Odd",
        fields=(AddressField(name="note", title="Note", tip="Any text", kind="text"),),
    )
    odd = {"note": "50 % & more = 1?"}
    assert form.values(form.address(odd)) == odd
    assert dict(ServoAddress.parse(form.address(odd)).options) == odd
    with pytest.raises(AddressError, match="not of the family silent"):
        form.values("simulated:mx106")
    with pytest.raises(AddressError, match="unknown kind"):
        AddressField(name="x", title="X", tip="", kind="colour")


def test_a_scan_of_simulated_servos_finds_each_of_them():
    steps = []
    found = scan("simulated", {}, steps.append, lambda: False)
    assert [servo.address for servo in found] == [step.tried for step in steps]
    assert Found("simulated:mx106", "Dynamixel MX-106 (simulated)", "Dynamixel MX-106 M6") in found
    for servo in found:
        assert isinstance(resolve(servo.address), SimulatedSource)
    some = scan("simulated", {}, steps.append, lambda: len(steps) == len(found) + 2)
    assert some == found[:2]


def test_a_family_that_cannot_be_scanned_or_does_not_exist_says_so(monkeypatch):
    with pytest.raises(AddressError, match="no family 'serial'; there are simulated"):
        scan("serial", {}, lambda step: None, lambda: False)
    monkeypatch.setattr(
        "drivers.simulated.family", lambda: Family(name="simulated", title="Simulated servo", fields=())
    )
    with pytest.raises(DriverError, match="nothing to scan; enter the servo's address"):
        scan("simulated", {}, lambda step: None, lambda: False)
