"""The segment and a master nobody here wrote for it: KickCAT has no part in pysoem."""

from __future__ import annotations

from contextlib import suppress

import pytest

from drivers.emulators.ethercat import EthercatEmulation
from drivers.emulators.process import EmulatorProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.own_network

kickcat = pytest.importorskip("kickcat", reason="the second master, kickcat, is not installed")

PATIENCE = 0.01
"""For a frame [s], and what each one takes: KickCAT waits for one on its other, missing wire, too."""


def patiently(act):
    """Do it until no frame was late, which on a busy machine it may be."""

    def done():
        with suppress(RuntimeError):
            return act() or True

    return wait_until(done)


def operational(count: int):
    """Bring the slaves to OP from wherever they are; returns the bus."""
    link = kickcat.create_link("ecm0", "")
    link.set_timeout(PATIENCE)
    bus = kickcat.Bus(link)
    bus.init(0.5)
    slaves = bus.slaves()
    assert len(slaves) == count
    bus.create_mapping(4096)
    assert bus.read_sdo(slaves[0], 0x1008, 0, kickcat.Access.PARTIAL, 64, 1.0) == b"ZeroErr Driver"
    assert bus.read_object_description(slaves[0], 0x6071)[0] == "Target torque"
    bus.request_state(kickcat.State.SAFE_OP)
    bus.wait_for_state(kickcat.State.SAFE_OP, 2.0)
    bus.request_state(kickcat.State.OPERATIONAL)
    bus.wait_for_state(kickcat.State.OPERATIONAL, 2.0, bus.process_data)
    return bus


@pytest.mark.parametrize("count", [1, 2])
def test_slaves_reach_op(count):
    # It knows nothing of SYNC0.
    with EmulatorProcess(EthercatEmulation(servos=("erob80_50",) * count, strict=False)) as emulator:
        bus = patiently(lambda: operational(count))
        patiently(bus.process_data)
        assert all(slave.input_data[8:10] == b"\x50\x12" for slave in bus.slaves())
        assert [line.split()[0] for line in emulator.say("esc").splitlines()] == ["al=OP"] * count
