"""What a person types at a terminal, or a terminal that closes: no program of ours leaves its servo driven."""

import os
import signal
from contextlib import ExitStack

import pytest

from tests.drivers.faults.programs import PROGRAMS, running
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals")


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTSTP], ids=lambda number: number.name)
def test_a_signal_to_a_terminals_programs_releases_their_servos(rig, number, impatient, tmp_path):
    with ExitStack() as stack:
        rigs, owners = [], []
        for name, program in PROGRAMS.items():
            folder = tmp_path / name
            folder.mkdir()
            made = stack.enter_context(rig("dynamixel:mx106", folder))
            rigs.append(made)
            owners.append(stack.enter_context(running(program, made.address, folder)))
        wait_until(lambda: all(made.driven() for made in rigs))
        for owner in owners:
            os.killpg(owner, number)
        wait_until(lambda: not any(made.driven() for made in rigs))
