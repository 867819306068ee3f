"""Other people's programs against the emulator, each in a process of its own: two SDKs, and LeRobot's bus.

Both SDKs have a module `scservo_sdk`, so each is installed in a folder of its own, and LeRobot with what it needs in a
third one; it uses the first SDK:

    pip install --target FOLDER1 feetech-servo-sdk==1.0.0
    pip install --target FOLDER2 ftservo-python-sdk==2.0.1
    pip install --target FOLDER3 lerobot
    SERVOBENCH_FEETECH_SDKS=FOLDER1:FOLDER2:FOLDER3 pytest …

A transcript has the lines of a program after `>>>`, those for the emulator's console after `bench>`, and the answers
below them. Every answer is expected as it stands.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions

import pytest

from drivers.emulators.feetech import EmulatedFeetech, FeetechEmulation
from drivers.emulators.process import EmulatorProcess
from tests.waiting import LIMIT

pytestmark = pytest.mark.usefixtures("warm")

FOLDERS = os.environ.get("SERVOBENCH_FEETECH_SDKS", "").split(os.pathsep)
PROMPT, BENCH = ">>> ", "bench> "
END = "\x04"
INTERPRETER = f"""
import sys, time
def wait(condition, until=time.monotonic() + {LIMIT}):
    while not condition():
        if time.monotonic() > until:
            return False
    return True
names = {{"PORT": sys.argv[1], "wait": wait}}
for line in sys.stdin:
    try:
        exec(compile(line, "line", "single"), names)
    except Exception as error:
        print(type(error).__name__)
    print("{END}", flush=True)
"""

FEETECH_SERVO_SDK = """
>>> from scservo_sdk import *
>>> import scservo_sdk; scservo_sdk.port_handler.LATENCY_TIMER = 500
>>> port, sdk = PortHandler(PORT), PacketHandler(0)
>>> port.openPort()
True
>>> [sdk.ping(port, id) for id in (1, 2)]
[(777, 0, 0), (777, 0, 0)]
>>> sdk.ping(port, 3)[1] == COMM_RX_TIMEOUT
True
>>> sdk.read2ByteTxRx(port, 1, 56), sdk.read2ByteTxRx(port, 2, 56)
((2048, 0, 0), (1948, 0, 0))
>>> sdk.write1ByteTxRx(port, 1, 55, 1), sdk.write1ByteTxRx(port, 1, 21, 16), sdk.read1ByteTxRx(port, 1, 21)
((0, 0), (0, 0), (32, 0, 0))
>>> sdk.write1ByteTxRx(port, 1, 55, 0), sdk.write1ByteTxRx(port, 1, 21, 16), sdk.read1ByteTxRx(port, 1, 21)
((0, 0), (0, 0), (16, 0, 0))
bench> power-cycle
ok
>>> wait(lambda: sdk.ping(port, 1) == (777, 0, 0)), sdk.read1ByteTxRx(port, 1, 21)
(True, (16, 0, 0))
>>> sdk.write4ByteTxRx(port, 1, 9, 4000 << 16 | 100), sdk.read4ByteTxRx(port, 1, 9) == (4000 << 16 | 100, 0, 0)
((0, 0), True)
>>> sdk.write1ByteTxRx(port, 2, 40, 128), sdk.read2ByteTxRx(port, 2, 56), sdk.read2ByteTxRx(port, 2, 31)
((0, 0), (2048, 0, 0), (0, 0, 0))
>>> reader = GroupSyncRead(port, sdk, 56, 7)
>>> reader.addParam(2), reader.addParam(1), reader.txRxPacket()
(True, True, 0)
>>> [reader.getData(id, 56, 2) for id in (1, 2)], reader.getData(1, 62, 1)
([2048, 2048], 121)
>>> writer = GroupSyncWrite(port, sdk, 42, 2)
>>> writer.addParam(1, [SCS_LOBYTE(2248), SCS_HIBYTE(2248)]), writer.addParam(2, [SCS_LOBYTE(1848), SCS_HIBYTE(1848)])
(True, True)
>>> writer.txPacket()
0
>>> wait(lambda: sdk.read2ByteTxRx(port, 1, 56)[0] > 2200), wait(lambda: sdk.read2ByteTxRx(port, 2, 56)[0] < 1900)
(True, True)
>>> [sdk.read1ByteTxRx(port, id, 40) for id in (1, 2)]
[(1, 0, 0), (1, 0, 0)]
>>> sdk.regWriteTxRx(port, 1, 42, 2, [SCS_LOBYTE(2000), SCS_HIBYTE(2000)]), sdk.read1ByteTxRx(port, 1, 64)
((0, 0), (1, 0, 0))
>>> sdk.read2ByteTxRx(port, 1, 42), sdk.action(port, BROADCAST_ID), sdk.read2ByteTxRx(port, 1, 42)
((2248, 0, 0), 0, (2000, 0, 0))
>>> [sdk.write1ByteTxRx(port, id, 40, 0) for id in (1, 2)]
[(0, 0), (0, 0)]
>>> sdk.write1ByteTxRx(port, 1, 5, 7), sdk.ping(port, 7)
((0, 0), (777, 0, 0))
>>> sdk.write1ByteTxRx(port, 7, 6, 4), port.setBaudRate(115200), sdk.ping(port, 7)
((0, 0), True, (777, 0, 0))
bench> get torque_enable id=7
0
"""

FTSERVO_PYTHON_SDK = """
>>> from scservo_sdk import *
>>> import scservo_sdk; scservo_sdk.port_handler.LATENCY_TIMER = 500
>>> port = PortHandler(PORT); sdk = sms_sts(port)
>>> port.openPort()
True
>>> [sdk.ping(id) for id in (1, 2)]
[(777, 0, 0), (777, 0, 0)]
>>> sdk.ReadPos(1), sdk.ReadPos(2), sdk.ReadPosSpeed(1), sdk.ReadMoving(1)
((2048, 0, 0), (1948, 0, 0), (2048, 0, 0, 0), (0, 0, 0))
>>> sdk.LockEprom(1), sdk.write1ByteTxRx(1, 21, 16), sdk.read1ByteTxRx(1, 21)
((0, 0), (0, 0), (32, 0, 0))
>>> sdk.unLockEprom(1), sdk.write1ByteTxRx(1, 21, 16), sdk.read1ByteTxRx(1, 21)
((0, 0), (0, 0), (16, 0, 0))
>>> sdk.write2ByteTxRx(1, 31, sdk.scs_toscs(-100, 11)), sdk.ReadPos(1)
((0, 0), (2148, 0, 0))
>>> sdk.write1ByteTxRx(1, 40, 128), sdk.ReadPos(1), sdk.read2ByteTxRx(1, 31)
((0, 0), (2048, 0, 0), (0, 0, 0))
>>> sdk.WritePosEx(1, 2448, 300, 50)
(0, 0)
>>> wait(lambda: sdk.ReadSpeed(1)[0] > 200), sdk.ReadMoving(1), wait(lambda: sdk.ReadPos(1)[0] > 2400)
(True, (1, 0, 0), True)
>>> sdk.WritePosEx(1, 2048, 300, 50)
(0, 0)
>>> wait(lambda: sdk.ReadSpeed(1)[0] < -200), wait(lambda: sdk.ReadPos(1)[0] < 2100)
(True, True)
>>> reader = GroupSyncRead(sdk, 56, 4)
>>> reader.addParam(1), reader.addParam(2), reader.txRxPacket()
(True, True, 0)
>>> reader.isAvailable(2, 56, 4), reader.getData(2, 56, 2), reader.getData(2, 58, 2)
((True, 0), 1948, 0)
>>> [sdk.SyncWritePosEx(id, 1848, 1000, 50) for id in (1, 2)], sdk.groupSyncWrite.txPacket()
([True, True], 0)
>>> wait(lambda: max(sdk.ReadPos(id)[0] for id in (1, 2)) < 1900)
True
>>> sdk.RegWritePosEx(1, 2048, 1000, 50), sdk.read2ByteTxRx(1, 42), sdk.RegAction(), sdk.read2ByteTxRx(1, 42)
((0, 0), (1848, 0, 0), 0, (2048, 0, 0))
>>> sdk.WheelMode(2), sdk.WriteSpec(2, -500, 50), wait(lambda: sdk.ReadSpeed(2)[0] <= -400)
((0, 0), (0, 0), True)
>>> [sdk.write1ByteTxRx(id, 40, 0) for id in (1, 2)]
[(0, 0), (0, 0)]
bench> get torque_enable id=2
0
"""

LEROBOT = """
>>> from lerobot.motors import Motor, MotorCalibration, MotorNormMode
>>> from lerobot.motors.feetech import FeetechMotorsBus
>>> motors = {name: Motor(id, "sts3215", MotorNormMode.DEGREES) for id, name in ((1, "pan"), (2, "lift"))}
>>> bus = FeetechMotorsBus(PORT, motors)
>>> bus.port_handler.setPacketTimeout = lambda length: bus.port_handler.setPacketTimeoutMillis(1000)
>>> bus.connect()
>>> bus.broadcast_ping(raise_on_error=True)
{1: 777, 2: 777}
>>> bus.enable_torque(); bus.disable_torque(); bus.configure_motors()
>>> for name in motors: bus.write("Operating_Mode", name, 0)
>>> for name in motors: [bus.write(f"{gain}_Coefficient", name, value) for gain, value in zip("PID", (16, 0, 32))]
[None, None, None]
[None, None, None]
>>> [bus.read(f"{gain}_Coefficient", "pan") for gain in "PID"], bus.read("Acceleration", "pan")
([16, 0, 32], 254)
bench> get return_delay_time id=2
0
>>> bus.sync_read("Present_Position", normalize=False)
{'pan': 2048, 'lift': 1948}
>>> bus.set_half_turn_homings()
{'pan': 1, 'lift': 1}
>>> bus.sync_read("Present_Position", normalize=False)
{'pan': 2047, 'lift': 2047}
>>> of = lambda id: MotorCalibration(id, drive_mode=0, homing_offset=-80 * id, range_min=1000, range_max=3000)
>>> bus.write_calibration({"pan": of(1), "lift": of(2)})
>>> bus.is_calibrated, bus.read_calibration()["lift"]
(True, MotorCalibration(id=2, drive_mode=0, homing_offset=-160, range_min=1000, range_max=3000))
bench> power-cycle
ok
>>> wait(lambda: bus.ping("pan") == bus.ping("lift") == 777), bus.is_calibrated
(True, True)
>>> {name: round(degrees, 2) for name, degrees in bus.sync_read("Present_Position").items()}
{'pan': 11.25, 'lift': 18.29}
>>> bus.enable_torque(); bus.sync_write("Goal_Position", {"pan": 20.0, "lift": 0.0})
>>> wait(lambda: bus.read("Present_Position", "pan") > 17), wait(lambda: bus.read("Present_Position", "lift") < 3)
(True, True)
bench> get lock id=2
1
>>> bus.disable_torque(); bus.read("Torque_Enable", "lift"), bus.read("Lock", "lift")
(0, 0)
>>> bus.disconnect()
>>> bus.scan_port(PORT)
Motors found for baudrate=1000000: {1: 777, 2: 777}
{1000000: [1, 2]}
>>> new = FeetechMotorsBus(PORT, {"wrist": Motor(5, "sts3215", MotorNormMode.DEGREES)})
>>> new.port_handler.setPacketTimeout = lambda length: new.port_handler.setPacketTimeoutMillis(1000)
>>> new.setup_motor("wrist", initial_baudrate=1000000, initial_id=2); new.ping("wrist")
777
bench> get torque_enable id=5
0
"""

SCSCL = """
>>> from scservo_sdk import *
>>> import scservo_sdk; scservo_sdk.port_handler.LATENCY_TIMER = 500
>>> port = PortHandler(PORT); sdk = scscl(port)
>>> port.openPort()
True
>>> [sdk.ping(id) for id in (1, 2)]
[(1284, 0, 0), (1284, 0, 0)]
>>> sdk.ReadPos(1), sdk.ReadPosSpeed(2), sdk.ReadMoving(1)
((512, 0, 0), (512, 0, 0, 0), (0, 0, 0))
>>> sdk.LockEprom(1), sdk.write1ByteTxRx(1, 21, 16), sdk.read1ByteTxRx(1, 21)
((0, 0), (0, 0), (15, 0, 0))
>>> sdk.unLockEprom(1), sdk.write1ByteTxRx(1, 21, 16), sdk.read1ByteTxRx(1, 21)
((0, 0), (0, 0), (16, 0, 0))
>>> sdk.WritePos(1, 600, 0, 100), wait(lambda: sdk.ReadPos(1)[0] > 580)
((0, 0), True)
>>> [sdk.SyncWritePos(id, 450, 0, 0) for id in (1, 2)], sdk.groupSyncWrite.txPacket()
([True, True], 0)
>>> wait(lambda: max(sdk.ReadPos(id)[0] for id in (1, 2)) < 470)
True
>>> sdk.RegWritePos(1, 512, 0, 0), sdk.read2ByteTxRx(1, 42), sdk.RegAction(), sdk.read2ByteTxRx(1, 42)
((0, 0), (450, 0, 0), 0, (512, 0, 0))
>>> sdk.unLockEprom(2), sdk.PWMMode(2), sdk.WritePWM(2, -1000), wait(lambda: sdk.ReadPos(2)[0] > 560)
((0, 0), (0, 0), (0, 0), True)
>>> [sdk.write1ByteTxRx(id, 40, 0) for id in (1, 2)]
[(0, 0), (0, 0)]
"""

LEROBOT_SCS = """
>>> from lerobot.motors import Motor, MotorCalibration, MotorNormMode
>>> from lerobot.motors.feetech import FeetechMotorsBus
>>> motors = {name: Motor(id, "scs0009", MotorNormMode.RANGE_0_100) for id, name in ((1, "index"), (2, "thumb"))}
>>> bus = FeetechMotorsBus(PORT, motors, protocol_version=1)
>>> bus.port_handler.setPacketTimeout = lambda length: bus.port_handler.setPacketTimeoutMillis(1000)
>>> bus.connect()
>>> bus.disable_torque(); bus.configure_motors()
>>> [bus.read("Present_Position", name, normalize=False) for name in motors]
[512, 512]
>>> of = lambda id: MotorCalibration(id, drive_mode=0, homing_offset=0, range_min=300 + id, range_max=700)
>>> bus.write_calibration({"index": of(1), "thumb": of(2)})
>>> bus.is_calibrated, bus.read_calibration()["thumb"]
(True, MotorCalibration(id=2, drive_mode=0, homing_offset=0, range_min=302, range_max=700))
>>> bus.enable_torque(); bus.sync_write("Goal_Position", {"index": 60.0, "thumb": 40.0})
>>> wait(lambda: bus.read("Present_Position", "index") > 57), wait(lambda: bus.read("Present_Position", "thumb") < 43)
(True, True)
>>> bus.disconnect()
bench> get torque_enable id=2
0
"""


def found(name: str) -> Distribution | None:
    """The distribution in one of the folders, or among the installed ones."""
    return next(iter(distributions(name=name, path=[*FOLDERS, *sys.path])), None)


@pytest.fixture
def sts() -> tuple[EmulatedFeetech, ...]:
    """The second one hangs at 1948."""
    return EmulatedFeetech(id=1), EmulatedFeetech(id=2, registers={"homing_offset": 100})


@pytest.fixture
def scs() -> tuple[EmulatedFeetech, ...]:
    return EmulatedFeetech(servo="scs0009", id=1), EmulatedFeetech(servo="scs0009", id=2)


def replayed(transcript: str, emulator: EmulatorProcess, folders: list[str]) -> Iterator[str]:
    """Run the commands of a transcript; yields it with the answers that came."""
    port = emulator.addresses[0].split(":")[1]
    with subprocess.Popen(
        [sys.executable, "-c", INTERPRETER, port],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for command in transcript.splitlines():
            if command.startswith(BENCH):
                yield from (command, emulator.say(command.removeprefix(BENCH)))
            elif command.startswith(PROMPT):
                yield command
                print(command.removeprefix(PROMPT), file=process.stdin, flush=True)
                while (answer := process.stdout.readline().rstrip("\n")) != END:
                    assert answer or process.poll() is None, "the program ended"
                    yield answer
        process.stdin.close()


@pytest.mark.parametrize(
    ("needed", "servos", "transcript"),
    [
        pytest.param(["feetech-servo-sdk"], "sts", FEETECH_SERVO_SDK, id="feetech-servo-sdk"),
        pytest.param(["ftservo-python-sdk"], "sts", FTSERVO_PYTHON_SDK, id="ftservo-python-sdk"),
        pytest.param(["ftservo-python-sdk"], "scs", SCSCL, id="ftservo-python-sdk, SCS"),
        pytest.param(["lerobot", "feetech-servo-sdk"], "sts", LEROBOT, id="lerobot"),
        pytest.param(["lerobot", "feetech-servo-sdk"], "scs", LEROBOT_SCS, id="lerobot, SCS"),
    ],
)
def test_a_program_works_with_emulated_servos(request, needed, servos, transcript):
    """These servos drop writes to a locked EEPROM."""
    folders = []
    for name in needed:
        if (distribution := found(name)) is None:
            pytest.skip(f"{name} is not installed in a folder of SERVOBENCH_FEETECH_SDKS")
        folders.append(str(distribution.locate_file("")))
    emulation = FeetechEmulation(servos=request.getfixturevalue(servos), drops_locked=True)
    with EmulatorProcess(emulation) as emulator:
        assert list(replayed(transcript, emulator, folders)) == transcript.strip().splitlines()
