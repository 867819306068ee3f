"""The wire without a wire: the frame that stops every drive, and who owns an interface."""

import pytest

from drivers.errors import BusError
from drivers.ethercat import nic


def test_one_frame_asks_every_slave_for_init():
    """One broadcast write (8) of INIT with acknowledgement (0x0011) to AL Control (0x0120), IEEE type 0x88A4."""
    frame = nic.all_to_init()
    assert len(frame) == 60  # the shortest an Ethernet has
    assert frame[:6] == b"\xff" * 6
    assert frame[12:14].hex() == "88a4"
    # Header: length 14, type 1. Datagram: command, index, address, offset, length, interrupt, data, counter.
    assert frame[14:16].hex() == "0e10"
    assert frame[16:30].hex() == "08ff" + "0000" + "2001" + "0200" + "0000" + "1100" + "0000"
    # Masters on pysoem's library number their datagrams below 16 and leave others alone.
    assert frame[17] >= 16


def test_only_its_own_answer_with_a_counter_counts():
    answer = bytearray(nic.all_to_init())
    assert not nic._heeded(bytes(answer))
    answer[28] = 1
    assert nic._heeded(bytes(answer))
    assert not nic._heeded(bytes(answer[:29]))
    answer[17] = 3
    assert not nic._heeded(bytes(answer))


def test_an_interface_has_one_owner_until_it_is_given_back():
    lock = nic.Lock("imagined0")
    with pytest.raises(BusError, match="network interface imagined0 is in use by this program"):
        nic.Lock("imagined0")
    nic.Lock("imagined1").release()
    lock.release()
    lock.release()
    nic.Lock("imagined0").release()


def test_the_loopback_carries_no_drives():
    assert "lo" not in nic.interfaces()
