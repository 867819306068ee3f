"""Ports, adapters and addresses: what a person may have typed, plugged or forgotten."""

import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serial import SerialException

import drivers.serial_bus.bus as bus_module
from drivers.dynamixel import DynamixelSource, family
from drivers.emulators.dynamixel import protocol2
from drivers.emulators.serial_bus import protocol1
from drivers.errors import AddressError, BusError, NoAnswer
from drivers.registry import BlindlyReleased, ServoAddress, ServoSource, resolve
from drivers.scan import scan
from drivers.serial_bus import checks
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.packets import packet_handler
from drivers.serial_port import BaudRateRefused, PortWatch, latency_file, shorten_latency


class Adapter:
    """A device whose driver may heed the wish to deliver at once."""

    def __init__(self, file=None):
        self.file = file

    def set_low_latency_mode(self, wanted):
        if self.file is None:
            raise ValueError("not supported")
        self.file.write_text("1\n")


def test_a_slow_adapter_is_told_to_be_prompt_or_named_with_the_remedy(tmp_path):
    link = tmp_path / "by-id"
    link.symlink_to("/dev/ttyUSB7")
    (tmp_path / "ttyUSB7").mkdir()
    file = tmp_path / "ttyUSB7" / "latency_timer"
    file.write_text("16\n")
    assert latency_file("/dev/ttyUSB7", tmp_path) == latency_file(str(link), tmp_path) == file
    warning = shorten_latency(str(link), Adapter(), tmp_path)
    assert "delays answers by 16 ms" in warning
    assert f"echo 1 | sudo tee {file}" in warning
    assert shorten_latency(str(link), Adapter(file), tmp_path) == ""
    assert file.read_text() == "1\n"
    # Ports without the file, e.g. pseudo terminals, deliver when they like.
    assert shorten_latency("/dev/pts/7", Adapter(), tmp_path) == ""


@pytest.mark.parametrize(
    ("latency", "told"),
    [("16\n", "delayed by 16 ms, which leaves about 31 cycles a second"), ("1\n", "delivered at once")],
)
def test_the_doctor_names_a_slow_adapter_with_the_remedy(monkeypatch, tmp_path, latency, told):
    """An answer in every cycle is one delay; a cycle of 1/31 s has two."""
    file = tmp_path / "latency_timer"
    file.write_text(latency)
    monkeypatch.setattr(checks, "serial_ports", lambda: [(str(file), "FTDI adapter")])
    monkeypatch.setattr(checks, "latency_file", lambda path: file)
    *_, port = checks.examine()
    assert (port.subject, port.text) == (f"serial port {file}", f"FTDI adapter: answers are {told}")
    assert port.remedy == ("" if port.status == "ok" else f"echo 1 | sudo tee {file}")


def test_a_missing_port_names_those_there_are():
    with pytest.raises(BusError, match="/dev/nowhere: there is no such port; plug the adapter in, or choose"):
        Bus("/dev/nowhere", 2, 57600).open()


def test_what_is_no_serial_port_says_so(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, tmp_path):
        with pytest.raises(BusError, match=r"is not a serial port|cannot be opened"):
            Bus(str(path), 2, 57600).open()


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (SerialException(13, "denied"), BusError, "usermod -aG dialout"),
        (SerialException(16, "busy"), BusError, "another program uses the port"),
        (SerialException(11, "lock"), BusError, "another program uses the port"),
        (ValueError("custom baud"), BaudRateRefused, "does not offer 57600 baud"),
        (SerialException(5, "odd"), BusError, "unplug the adapter and plug it in again"),
    ],
)
def test_each_reason_has_its_remedy(monkeypatch, tmp_path, raised, kind, message):
    def refuse(*arguments, **options):
        raise raised

    monkeypatch.setattr(bus_module, "Port", refuse)
    path = tmp_path / "port"
    path.write_text("")
    with pytest.raises(kind, match=message):
        Bus(str(path), 2, 57600).open()


def test_addresses():
    assert resolve("dynamixel:/dev/ttyUSB0:1") == DynamixelSource(port="/dev/ttyUSB0")
    full = resolve("dynamixel:/dev/serial/by-id/usb-FTDI-if00:7:1:1000000")
    assert full == DynamixelSource(port="/dev/serial/by-id/usb-FTDI-if00", id=7, protocol=1, baud=1_000_000)
    assert isinstance(full, ServoSource)
    assert isinstance(full, BlindlyReleased)
    assert pickle.loads(pickle.dumps(full)) == full
    assert full.open().hazardous
    assert str(ServoAddress.parse("dynamixel:COM3:1")) == "dynamixel:COM3:1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dynamixel", r"is written dynamixel:PORT:ID\[:PROTOCOL\[:BAUD\]\]"),
        ("dynamixel:/dev/ttyUSB0", "is written"),
        ("dynamixel:/dev/ttyUSB0:1:2:57600:3", "is written"),
        ("dynamixel:/dev/ttyUSB0:1?speed=2", "is written"),
        ("dynamixel:/dev/ttyUSB0:one", "ID: 'one' is not a whole number"),
        ("dynamixel:/dev/ttyUSB0:253", "ID: 253 .* enter 0 to 252"),
        ("dynamixel:/dev/ttyUSB0:1:3", "Protocol: there is no '3'"),
        ("dynamixel:/dev/ttyUSB0:1:2:fast", "Baud rate: 'fast' is not a whole number"),
    ],
)
def test_wrong_addresses_say_what_is_wrong(text, message):
    with pytest.raises(AddressError, match=message):
        resolve(text)


@given(
    st.sampled_from(["/dev/ttyUSB0", "COM12", "/dev/port with spaces"]),
    st.integers(0, 252),
    st.sampled_from(["1", "2"]),
    st.integers(9600, 4_500_000),
)
def test_the_form_makes_addresses_and_reads_them_back(port, id, protocol, baud):
    form = family()
    values = {"port": port, "id": str(id), "protocol": protocol, "baud": str(baud)}
    text = form.address(values)
    assert form.values(text) == values
    assert resolve(text) == DynamixelSource(port=port, id=id, protocol=int(protocol), baud=baud)


def test_parts_left_out_of_an_address_are_defaults_in_the_form():
    values = family().values("dynamixel:/dev/ttyUSB3:4")
    assert values == {"port": "/dev/ttyUSB3", "id": "4", "protocol": "2", "baud": "57600"}


def test_the_form_offers_the_ports_there_are(monkeypatch):
    monkeypatch.setattr("drivers.serial_bus.family.serial_ports", lambda: [("/dev/ttyACM5", "OpenRB-150")])
    port = family().fields[0]
    assert port.default == "/dev/ttyACM5"
    assert port.choices == (("/dev/ttyACM5 (OpenRB-150)", "/dev/ttyACM5"),)
    # Links and pseudo terminals are typed.
    port.check("/dev/pts/3")


@pytest.fixture
def terminal():
    """Path of a port nobody listens at."""
    ours, theirs = os.openpty()
    yield os.ttyname(theirs)
    os.close(ours)
    os.close(theirs)


def test_a_port_nobody_listens_at_does_not_block(terminal):
    with Bus(terminal, 2, 57600) as bus:
        bus.open()
        with pytest.raises(NoAnswer):
            bus.ping(1)
        bus.send(1, 64, b"\x00")


def test_a_second_program_is_kept_away_and_a_blind_release_is_not(terminal):
    values = {"port": terminal}
    with Bus(terminal, 2, 57600) as bus:
        bus.open()
        with pytest.raises(BusError, match="another program uses the port"):
            DynamixelSource(port=terminal).open().connect()
        with pytest.raises(BusError, match="another program uses the port"):
            scan("dynamixel", values, lambda step: None, lambda: False)
        # It was sent; nobody is there to confirm it.
        with pytest.raises(NoAnswer):
            DynamixelSource(port=terminal).release_blindly()
        with pytest.raises(BusError, match="another program uses the port"):
            DynamixelSource(port=terminal).release_blindly(alone=True)
    stop = iter((False, True))
    assert scan("dynamixel", values, lambda step: None, lambda: next(stop, True)) == []


def test_what_another_program_writes_to_the_port_is_noticed(terminal):
    watch = PortWatch(terminal)
    if not watch.works:
        pytest.skip("no inotify, or no instance of it left for this user")
    watch.close()
    with Bus(terminal, 2, 57600) as bus:
        bus.open()
        bus.send(1, 64, b"\x00")
        assert not bus.others_wrote(1)
        other = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
        bus.send(1, 64, b"\x00")
        assert not bus.others_wrote(1)  # it only opened the port
        os.write(other, b"anything")
        bus.send(1, 64, b"\x00")
        assert bus.others_wrote(1)
        bus.send(1, 64, b"\x00")
        assert not bus.others_wrote(1)
        os.close(other)


@pytest.mark.parametrize("protocol", [1, 2])
@given(
    noise=st.lists(st.sampled_from([b"", b"\xff", b"\xff\xff", b"\xff\xff\xfd", b"\x01\x00"]), min_size=3, max_size=3)
)
def test_packets_that_change_a_servo_are_found_among_answers_and_noise(protocol, noise):
    made = (protocol1, protocol2)[protocol - 1]
    write, answer = made.write(3, 30, b"\xff\xff"), made.status(3, 0, b"\xff\xff")
    damaged = write[:-1] + bytes((write[-1] ^ 1,))
    handler = packet_handler(protocol)
    received = bytearray(noise[0] + answer + write + noise[1] + damaged + answer + noise[2] + write[:-3])
    assert handler.writes(received) == [write]
    received += write[-3:] + answer
    assert handler.writes(received) == [write]
    assert handler.writes(received) == []
