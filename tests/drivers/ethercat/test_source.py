"""Addresses, the form behind them, and the catalogue's table."""

import pickle

import pytest

from core.base.errors import ModelError
from core.servo.catalogue import load_servo
from drivers.errors import AddressError, BusError
from drivers.ethercat import EthercatSource, nic
from drivers.ethercat.profile import Profile, drives, fitting
from drivers.registry import BlindlyReleased, ServoAddress, family, resolve
from drivers.servo import ServoState


def test_an_address_says_interface_and_slave_and_may_say_more():
    assert resolve("ethercat:eth1:3") == EthercatSource(interface="eth1", slave=3)
    assert resolve("ethercat:averyverylongna:1?cycle=4").interface == "averyverylongna"
    assert resolve("ethercat:eth1") == EthercatSource(interface="eth1", slave=1)
    text = "ethercat:eth1:1?servo=erob80_100&mode=csp&cycle=1&dc=safeop&zero=-4096"
    source = resolve(text)
    assert source == EthercatSource(
        interface="eth1", servo="erob80_100", mode="csp", cycle=0.001, dc_order="safeop", zero=-4096
    )
    assert pickle.loads(pickle.dumps(source)) == source
    values = {"interface": "eth1", "slave": "1", "servo": "erob80_100", "mode": "csp", "cycle": "1", "dc": "safeop"}
    values["zero"] = "-4096"
    assert family("ethercat").address(values) == text
    assert family("ethercat").values(text) == values


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ethercat", "written ethercat:INTERFACE:SLAVE"),
        ("ethercat:eth0:1:2", "written ethercat:INTERFACE:SLAVE"),
        ("ethercat::1", "'' cannot be a network interface"),
        ("ethercat:averyverylongnam:1", "cannot be a network interface"),
        ("ethercat:../eth0:1", "'../eth0' cannot be a network interface"),
        ("ethercat:eth0:0", "invalid slave 0; the first one on the bus is 1"),
        ("ethercat:eth0:one", "slave: 'one' is not a whole number"),
        ("ethercat:eth0:1?zero=1.5", "zero: '1.5' is not a whole number"),
        ("ethercat:eth0:1?cycle=fast", "cycle: 'fast' is not a number"),
        ("ethercat:eth0:1?cycle=nan", "cycle: 'nan' is not a number"),
        ("ethercat:eth0:1?servo=mx106", "unknown servo 'mx106' on this bus; there are erob80_100, erob80_50"),
        ("ethercat:eth0:1?mode=pp", "unknown mode 'pp'; there are cst, csp"),
        ("ethercat:eth0:1?dc=late", "unknown order 'late' of clocks; there are preop, safeop, off"),
        ("ethercat:eth0:1?cycle=0.49", "a cycle of 0.49 ms is not possible; choose 0.5 to 4 ms"),
        ("ethercat:eth0:1?cycle=4.1", "a cycle of 4.1 ms is not possible; choose 0.5 to 4 ms"),
        ("ethercat:eth0:1?speed=1", "unknown option 'speed'; there are servo, mode, dc, cycle, zero"),
    ],
)
def test_an_address_that_cannot_be_is_refused(address, message):
    with pytest.raises(AddressError, match=message):
        resolve(address)


def test_nothing_is_touched_before_a_servo_is_connected():
    source = resolve("ethercat:nowhere0:1")
    servo = source.open()
    assert servo.state is ServoState.DISCONNECTED
    assert servo.hazardous
    assert not servo.clock.virtual
    assert isinstance(source, BlindlyReleased)
    assert str(ServoAddress.parse("ethercat:nowhere0:1")) == "ethercat:nowhere0:1"


def test_a_drive_whose_interface_has_a_new_owner_is_left_to_it():
    source, lock = EthercatSource(interface="imagined0"), nic.Lock("imagined0")
    with pytest.raises(BusError, match="imagined0 is in use by this program"):
        source.release_blindly(alone=True)
    lock.release()
    # Each attempt gives the interface back.
    for alone in (True, True, False):
        with pytest.raises(BusError, match="no network interface 'imagined0'"):
            source.release_blindly(alone=alone)


TABLE = {"vendor_id": 0x5A65726F, "product_codes": [0x29252]}


def test_the_table_of_the_catalogue():
    profile = Profile.read(load_servo("erob80_50").buses["ethercat"])
    assert (profile.vendor_id, profile.product_codes) == (0x5A65726F, (load_servo("erob80_50").model_number,))
    assert profile == Profile(**{**TABLE, "product_codes": (0x29252,), "harmless_emergencies": (0x730F,)})
    # Longer than three lost frames on a usual kernel take, shorter than the drive's own 100 ms.
    assert 3 * 0.016 <= profile.watchdog < 0.1
    assert list(drives()) == ["erob80_100", "erob80_50"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dc_order": "late"}, "dc_order = 'late'; there are preop, safeop, off"),
        ({"torque_reference": "amps"}, "there are rated_current, rated_torque"),
        ({"cycle": 0.0041}, "cycle = 0.0041 s; choose 0.0005 to 0.004 s"),
        ({"cycle": 0.0004}, "cycle = 0.0004 s; choose 0.0005 to 0.004 s"),
        ({"watchdog": 0.11}, "watchdog = 0.11 s; choose 0.02 to 0.1 s"),
        ({"watchdog": 0.019}, "watchdog = 0.019 s; choose 0.02 to 0.1 s"),
        ({"period": 1}, "unknown entry 'period'; there are vendor_id"),
    ],
)
def test_a_table_that_cannot_be_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        Profile.read(TABLE | change)
    with pytest.raises(ModelError, match="vendor_id"):
        Profile.read({"product_codes": [1]})


@pytest.mark.parametrize("times", [{"cycle": 0.0005, "watchdog": 0.02}, {"cycle": 0.004, "watchdog": 0.1}])
def test_times_of_a_table_may_be_at_the_ends_of_their_ranges(times):
    profile = Profile.read(TABLE | times)
    assert {"cycle": profile.cycle, "watchdog": profile.watchdog} == times


def test_where_drives_look_alike_the_one_with_more_torque_per_ampere_comes_first():
    assert fitting(0x5A65726F, 0x29252) == ["erob80_100", "erob80_50"]
    assert fitting(0x5A65726F, 1) == []
