"""Process data: bytes as in the vendor's torque example, lengths that a drive takes, numbers that fit."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.ethercat.pdo import (
    INPUTS,
    OPTIONAL_INPUTS,
    PAD,
    POSITION_OUTPUTS,
    TORQUE_OUTPUTS,
    Image,
    Inputs,
    Outputs,
)

ALL_INPUTS = INPUTS + sum(OPTIONAL_INPUTS, ())


def test_entries_are_written_as_index_subindex_and_length():
    """0xIIIISSLL of each object, in the order of the vendor's torque example."""
    for entries, words in (
        (TORQUE_OUTPUTS, [0x60400010, 0x60710010, 0x60600008, 0x00000008]),
        (POSITION_OUTPUTS, [0x60400010, 0x60710010, 0x607A0020, 0x60600008, 0x00000008]),
        (INPUTS, [0x60410010, 0x60640020, 0x606C0020, 0x60770010]),
        (sum(OPTIONAL_INPUTS, ()), [0x60610008, 0x00000008, 0x603F0010, 0x60790020]),
    ):
        assert [struct.unpack("<I", entry.mapping)[0] for entry in entries] == words
        assert Image(entries).size == sum(word & 0xFF for word in words) // 8


@pytest.mark.parametrize("leave_out", range(2 ** len(OPTIONAL_INPUTS)))
def test_any_optional_inputs_may_be_missing(leave_out):
    taken = INPUTS
    for place, entries in enumerate(OPTIONAL_INPUTS):
        if leave_out >> place & 1:
            taken += entries
    image = Image(taken)
    inputs = image.unpack(bytes(range(1, image.size + 1)))
    assert (inputs.mode is None, inputs.error_code is None, inputs.supply is None) == tuple(
        not leave_out >> place & 1 for place in range(3)
    )
    assert (inputs.status_word, inputs.position) == (0x0201, 0x06050403)


def test_an_image_of_odd_length_is_refused():
    with pytest.raises(ValueError, match="11 bytes: drives take only an even number"):
        Image((*INPUTS[:-1], PAD))


def test_outputs_become_bytes():
    told = Outputs(control_word=0x0F, target_torque=-250, mode=10, target_position=-2)
    assert Image(TORQUE_OUTPUTS).pack(told).hex() == "0f0006ff0a00"
    assert Image(POSITION_OUTPUTS).pack(told).hex() == "0f0006fffeffffff0a00"


def test_numbers_and_bytes_that_do_not_fit_are_no_others():
    with pytest.raises(struct.error):
        Image(TORQUE_OUTPUTS).pack(Outputs(control_word=0x0F, target_torque=40_000, mode=10))
    with pytest.raises(struct.error):
        Image(INPUTS).unpack(bytes(10))


@given(
    st.integers(0, 0xFFFF),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**15), 2**15 - 1),
    st.integers(-128, 127),
    st.integers(0, 0xFFFF),
    st.integers(0, 2**32 - 1),
)
def test_inputs_are_what_the_drive_sent(status, position, velocity, torque, mode, error, supply):
    data = struct.pack("<HiihbxHI", status, position, velocity, torque, mode, error, supply)
    assert Image(ALL_INPUTS).unpack(data) == Inputs(status, position, velocity, torque, mode, error, supply)
