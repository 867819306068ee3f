"""The library's calls without a wire: what a drive lacks or refuses, what fails, and what is given back."""

from types import SimpleNamespace

import pysoem
import pytest

from drivers.errors import BusError, NoAnswer
from drivers.ethercat import nic
from drivers.ethercat.master import AlState, Master
from drivers.ethercat.pdo import INPUTS, OPTIONAL_INPUTS, PAD, POSITION_OUTPUTS, TORQUE_OUTPUTS, Image

MISSING = (0x06020000, 0x06090011, 0x06040041, 0x06040042, 0x06010000, 0x06010001, 0x06010002)
REFUSED = 0x08000022


class Slave:
    """Has every object but those in `without`, and maps every one but those in `unmappable`."""

    state, al_status = pysoem.SAFEOP_STATE, 0
    output, input = b"", b""

    def __init__(self, without=(), unmappable=(), code=MISSING[0]):
        self.without, self.unmappable, self.code = without, unmappable, code
        self.written = []

    def sdo_read(self, index, subindex, size, release_gil):
        if index in self.without:
            raise pysoem.SdoError(1, index, subindex, self.code, "no")
        return b"ab\0"

    def sdo_write(self, index, subindex, data, release_gil):
        if int.from_bytes(data[2:4], "little") in self.unmappable:
            raise pysoem.SdoError(1, index, subindex, 0x06040041, "no")
        self.written.append((index, subindex, data))

    def state_check(self, state, limit):
        return self.state


def master_of(slave, **functions):
    made = Master("imagined0", 1)
    made._slave = slave
    made._master = SimpleNamespace(slaves=[slave], read_state=lambda: None, config_map=lambda: None, expected_wkc=3)
    vars(made._master).update(functions)
    return made


def test_what_a_drive_does_not_have_is_none_and_what_it_refuses_is_told():
    for code in MISSING:
        master = master_of(Slave(without=[0x6075], code=code))
        assert (master.read(0x6075), master.read_number(0x6075), master.read_text(0x6075)) == (None, None, "")
    master = master_of(Slave(without=[0x6075], code=REFUSED))
    with pytest.raises(BusError, match=r"slave 1: reading 0x6075:3 was refused: no \(0x08000022\)"):
        master.read(0x6075, 3)


@pytest.mark.parametrize(
    "problem", [pysoem.MailboxError(1, 5, "mailbox full"), pysoem.PacketError(1, 3), pysoem.WkcError("nobody", -1)]
)
def test_a_transfer_that_fails_is_tried_three_times(problem):
    answers = []

    def read(index, subindex, size, release_gil):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    master = master_of(SimpleNamespace(sdo_read=read))
    answers[:] = [problem, problem, b"\xfe\xff"]
    assert master.read_number(0x6071, signed=True) == -2
    answers[:] = [b"\xfe\xff"]
    assert master.read_number(0x6071) == 0xFFFE
    answers[:] = [b" eRob \0junk"]
    assert master.read_text(0x1008) == "eRob"
    answers[:] = [problem] * 4
    with pytest.raises(BusError, match=r"slave 1: reading 0x6071:0 failed: .+; check cable and power"):
        master.read(0x6071)
    assert len(answers) == 1


@pytest.mark.parametrize("outputs", [TORQUE_OUTPUTS, POSITION_OUTPUTS])
def test_process_data_are_mapped_without_what_the_drive_does_not_have(outputs):
    for lacking in ((), *OPTIONAL_INPUTS):
        for way in ("without", "unmappable"):
            indices = [entry.index for entry in lacking if entry is not PAD]
            slave = Slave(**{way: indices})
            images = master_of(slave).map_images(outputs)
            kept = INPUTS + sum((entries for entries in OPTIONAL_INPUTS if entries != lacking), ())
            assert [image.entries for image in images] == [outputs, kept]
            last = {(index, subindex): data for index, subindex, data in slave.written}
            for mapping, assign, entries in ((0x1600, 0x1C12, outputs), (0x1A00, 0x1C13, kept)):
                assert last[mapping, 0] == bytes([len(entries)])
                assert [last[mapping, number] for number in range(1, len(entries) + 1)] == [e.mapping for e in entries]
                assert (last[assign, 0], last[assign, 1]) == (b"\1", mapping.to_bytes(2, "little"))


@pytest.mark.parametrize("entry", [*TORQUE_OUTPUTS[:3], *INPUTS])
def test_a_drive_that_does_not_map_what_is_needed_is_named(entry):
    message = "target torque and mode" if entry in TORQUE_OUTPUTS else "position, velocity and torque"
    with pytest.raises(BusError, match=f"the drive does not .* {message} as cyclic data"):
        master_of(Slave(unmappable=[entry.index])).map_images(TORQUE_OUTPUTS)


@pytest.mark.parametrize(("cycle", "value", "power"), [(5e-4, 5, -4), (1e-3, 1, -3), (2e-3, 2, -3), (4e-3, 4, -3)])
def test_the_drive_is_told_the_period_of_its_targets(cycle, value, power):
    slave = Slave()
    master_of(slave).tell_cycle(cycle)
    assert slave.written == [(0x60C2, 1, bytes([value])), (0x60C2, 2, (power % 256).to_bytes())]


def test_the_watchdog_is_what_the_drive_made_of_it():
    told = []
    slave = SimpleNamespace(set_watchdog=lambda *words: told.append(words), get_watchdog=lambda name: 49.5)
    assert master_of(slave).watchdog(0.05) == pytest.approx(0.0495)
    assert told == [("processdata", 50.0)]
    with pytest.raises(BusError, match="slave 1: setting its watchdog failed"):
        master_of(SimpleNamespace()).watchdog(0.05)


def test_safeop_is_reached_with_the_images_or_the_reason_told():
    outputs, inputs = Image(TORQUE_OUTPUTS), Image(INPUTS)
    slave = Slave()

    def fail():
        raise pysoem.ConfigMapError([ValueError("too long")])

    with pytest.raises(BusError, match="slave 1: its process data could not be mapped: too long"):
        master_of(slave, config_map=fail).to_safeop(outputs, inputs, 0.002)
    with pytest.raises(BusError, match="slave 1 has process data of 0 and 0 bytes instead of 6 and 12"):
        master_of(slave).to_safeop(outputs, inputs, 0.002)
    slave.output, slave.input = bytes(6), bytes(12)
    master_of(slave).to_safeop(outputs, inputs, 0.002)
    for state, code, name in ((4, 0x1E, "SAFEOP with AL error 0x001E"), (0x12, 0x1D, "PREOP with AL error 0x001D")):
        slave.state, slave.al_status = state, code
        with pytest.raises(BusError, match=rf"slave 1 is in {name} \(.*\) instead of SAFEOP; try another dc option"):
            master_of(slave).to_safeop(outputs, inputs, 0.002)


def test_a_slave_is_taken_in_preop_alone():
    slave = Slave()
    slave.add_emergency_callback = lambda heed: None
    for state, name in ((pysoem.INIT_STATE, "INIT"), (pysoem.SAFEOP_STATE, "SAFEOP")):
        slave.state = state
        with pytest.raises(BusError, match=f"slave 1 stays in {name} instead of PREOP; switch it off and on"):
            master_of(slave).take(lambda code, register: None)
    master = master_of(slave)
    master.number = 2
    with pytest.raises(NoAnswer, match="there is no slave 2 on network interface imagined0, which has 1"):
        master.take(lambda code, register: None)


def test_only_a_frame_that_came_back_whole_from_everybody_counts():
    """The working counter is that of all, and a drive with a clock has stamped it."""
    came, slave = [], Slave()
    master = master_of(slave, send_processdata=lambda release_gil: None, config_dc=lambda: True)
    master._master.receive_processdata = lambda limit, release_gil: came[0]
    slave.output, slave.input = bytes(6), bytes(12)
    master.to_safeop(Image(TORQUE_OUTPUTS), Image(INPUTS), 0.002)
    for counter in (-1, 0, 1, 2, 4, 3):
        came[:] = [counter]
        assert (master.exchange(b"abcdef") is not None) == (counter == 3)
    assert slave.output == b"abcdef"
    assert master.find_clocks()
    stamps = [5, 5, 2_000_007, 2_000_007, 4_000_001]
    answers = []
    for master._master.dc_time in stamps:
        answers.append(master.exchange(b"abcdef") is not None)
    assert answers == [True, False, True, False, True]
    assert master.bus_time(0.002) == pytest.approx(1e-9)
    with pytest.raises(BusError, match="outputs of 5 bytes do not fit its 6"):
        master.exchange(b"abcde")


def test_states_have_their_names():
    names = {0: "no reported state", 1: "INIT", 2: "PREOP", 3: "BOOT", 4: "SAFEOP", 8: "OP", 5: "state 5"}
    for state, name in names.items():
        assert str(AlState(state)) == name
        assert str(AlState(state | 0x10)) == f"{name} with an error"
        assert str(AlState(state | 0x10, 0x1B)) == f"{name} with AL error 0x001B (Sync manager watchdog)"
        assert AlState(state | 0x10).base == state
        assert AlState(state | 0x10).without_process_data == (state in (1, 2))


def test_the_state_is_that_of_its_own_slave():
    master = master_of(Slave())
    master.number = 2
    master._master.slaves.append(SimpleNamespace(state=0x14, al_status=0x1B))
    assert master.al_states() == [AlState(4), AlState(0x14, 0x1B)]
    assert master.al_state() == AlState(0x14, 0x1B)


@pytest.mark.parametrize(
    ("outcome", "found"), [(0, False), (1, True), (pysoem.MailboxError(1, 5, "full"), True), (-1, False)]
)
def test_a_message_in_the_mailbox_is_told_whatever_it_is(outcome, found):
    def receive():
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert master_of(SimpleNamespace(mbx_receive=receive)).fetch_emergency() == found


def test_closing_asks_for_init_on_a_dead_wire_too_and_gives_the_interface_back():
    asked = []

    def write_state():
        asked.append(library.state)
        raise pysoem.WkcError("dead", -1)

    master = master_of(Slave(), write_state=write_state, close=lambda: asked.append("closed"))
    library, master._lock = master._master, nic.Lock("imagined0")
    master.close()
    master.close()
    assert asked == [pysoem.SAFEOP_STATE, pysoem.INIT_STATE, "closed"]
    nic.Lock("imagined0").release()
