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
    words = [struct.unpack("<I", entry.mapping)[0] for entry in TORQUE_OUTPUTS]
    assert words == [0x60400010, 0x60710010, 0x60600008, 0x00000008]
    assert [struct.unpack("<I", entry.mapping)[0] for entry in INPUTS] == [
        0x60410010,
        0x60640020,
        0x606C0020,
        0x60770010,
    ]


@pytest.mark.parametrize(
    ("entries", "size"), [(TORQUE_OUTPUTS, 6), (POSITION_OUTPUTS, 10), (INPUTS, 12), (ALL_INPUTS, 20)]
)
def test_images_have_an_even_number_of_bytes(entries, size):
    assert Image(entries).size == size


@pytest.mark.parametrize("leave_out", range(2 ** len(OPTIONAL_INPUTS)))
def test_any_optional_inputs_may_be_missing(leave_out):
    taken = INPUTS
    for place, entries in enumerate(OPTIONAL_INPUTS):
        if leave_out >> place & 1:
            taken += entries
    image = Image(taken)
    inputs = image.unpack(bytes(image.size))
    assert (inputs.mode is None, inputs.error_code is None, inputs.supply is None) == tuple(
        not leave_out >> place & 1 for place in range(3)
    )


def test_an_image_of_odd_length_is_refused():
    with pytest.raises(ValueError, match="11 bytes: drives take only an even number"):
        Image((*INPUTS[:-1], PAD))


def test_outputs_become_bytes():
    told = Outputs(control_word=0x0F, target_torque=-250, mode=10, target_position=-2)
    assert Image(TORQUE_OUTPUTS).pack(told).hex() == "0f0006ff0a00"
    assert Image(POSITION_OUTPUTS).pack(told).hex() == "0f0006fffeffffff0a00"


def test_a_number_that_does_not_fit_is_no_other_number():
    with pytest.raises(struct.error):
        Image(TORQUE_OUTPUTS).pack(Outputs(control_word=0x0F, target_torque=40_000, mode=10))


def test_bytes_of_another_length_are_no_inputs():
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
