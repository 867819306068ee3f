"""Write the seeds anew from what the program writes today: `python -m tests.fuzz.make_seeds [RESULT …]`.

Seeds only have to be understood; they need not follow every change. RESULT: folders of `bench identify`, `certainty`
and `crossvalidate` on a few runs, from which the seeds of `results` are taken; without any those stay as they are.
"""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import shutil
import struct
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import numpy as np

from core.base.errors import ExportError
from core.export import export_model
from core.export.targets.genesis import DRIVE_NUMBERS
from core.export.targets.genesis import drive_text as genesis_text
from core.identification.coverage.report import coverage
from core.motion.recording import SAMPLE_DTYPE, Recording, RunHeader
from core.practice.placement import PlacedPoint, points_to_json
from core.practice.plan import dynamixel_plan
from core.servo.bench import Bench
from core.servo.model import with_contact
from core.servo.shipped import load_model
from core.studies.compliant.elastic import ACTUATORS
from core.studies.compliant.files import CompliantUnit, unit_to_json
from sessions import Session, export_csv
from sessions.annotations import Annotation
from sessions.documents import encoded
from sessions.folders import example_session
from sessions.single_file import export_single
from tests.fuzz.parser import SEEDS

SAMPLES = 6
SHORT_RUN = {"mass": 0.49, "length": 0.1, "kp": 400, "vin": 7.4, "motor": "xl330", "trajectory": "sin_sin"}


def main(results: list[str]) -> None:
    """Write them all."""
    with tempfile.TemporaryDirectory() as folder:
        _recordings(Path(folder))
        _models(Path(folder))
    _session_files()
    _bytes()
    _typed()
    for folder in map(Path, results):
        _results(folder)


def _put(parser: str, name: str, content: bytes | str) -> None:
    folder = SEEDS / parser
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def _short(recording: Recording) -> Recording:
    return dataclasses.replace(
        recording, channels={name: values[:SAMPLES] for name, values in recording.channels.items()}
    )


def _without_trailer(content: bytes) -> bytes:
    return content.partition(b"\nServoBench SHA-256 ")[0]


def _recordings(folder: Path) -> None:
    example = Session.open(example_session())
    recordings = [_short(example.load(run.id)) for run in example.runs()[:2]]
    session = Session.create(folder / "lab")
    first = session.add_all(recordings)[0]
    _put("run_bytes", "sound", _without_trailer((session.path / "runs" / f"{first}.h5").read_bytes()))
    session.annotate(first, Annotation(note="good", tags=("a",)))
    exported = export_single(session, folder / "session.h5")
    _put("exported_bytes", "sound", _without_trailer(exported.read_bytes()))
    _put("log_csv", "sound", export_csv(session, [first], folder)[0].read_bytes())
    part = _part(folder, recordings[0])
    _put("part_bytes", "sound", part)
    _put("part_header", "sound", part.partition(b"\n")[0].partition(b" ")[2])
    for kind in ("run", "exported"):
        for number in range(9):
            _put(f"{kind}_edited", f"edit{number}", bytes((number, 3, 1, 4, 1, 5, 2, 6)))
        _put(f"{kind}_edited", "none", b"")
    entries = [
        {"timestamp": i / 200, "position": 0.1, "goal_position": 0.2, "torque_enable": True, "load": 3, "speed": 0.5}
        for i in range(4)
    ]
    text = json.dumps({**SHORT_RUN, "servobench": {"rate": 200.0}, "entries": entries})
    _put("log_bam", "sound", text)
    _put("log_bam", "list", '["a.json", "b/c.json.gz"]')
    _put("log_gzip", "sound", gzip.compress(text.encode(), mtime=0))
    table = {"t": [0.0, 10.0, 21.0], "goal": [0.0, 1.5, 2.0], "pos": [0.1, 1.0, 1.8], "i": [5.0, 6.0, 7.0]}
    table["on"] = [1.0, 1.0, 0.0]
    rows = "".join(";".join(map(str, row)) + "\n" for row in zip(*table.values(), strict=True))
    _put("table_csv", "sound", (";".join(table) + "\n" + rows).replace(";", ","))
    _put("table_csv", "european", "# a rig\n" + ";".join(table) + "\n" + rows.replace(".", ","))
    stream = io.BytesIO()
    np.savez(stream, **{name: np.array(values) for name, values in table.items()})
    _put("table_npz", "sound", stream.getvalue())
    _put("table_columns", "sound", 'time=t:ms,"goal=a, b:deg",position=x:y:ticks:4096,current=i')
    rows = "".join(f"{i / 100},0.1,0.2,0,0,0.5,{i},1,1\n" for i in range(5))
    _put("arm_csv", "ours", "time,q1,q2,v1,v2,tau1,tau2,goal1,goal2\n" + rows)
    _put("arm_csv", "theirs", "time,pos_meas1,pos_meas2,tau_con1,tau_con2\n0,1,2,3,4\n0.1,1,2,3,4\n0.2,1,2,3,4\n")
    links = {
        "m1": 0.5,
        "m2": 0.6,
        "l1": 0.3,
        "l2": 0.3,
        "r1": 0.2,
        "r2": 0.2,
        "I1": 0.05,
        "I2": 0.06,
        "b1": 0.1,
        "cf2": 0.1,
    }
    _put("arm_links", "sound", "---\n" + "".join(f"{name}: {value}\n" for name, value in {**links, "g": 9.81}.items()))
    _put("reference_csv", "sound", "time,q1,q2\n" + "".join(f"{i / 100},{i / 10},0.1\n" for i in range(6)))
    found = coverage([example.load(run.id) for run in example.runs()[:3]])
    _put("coverage", "sound", json.dumps(found.to_json()))


def _part(folder: Path, recording: Recording) -> bytes:
    """What a dead recorder leaves."""
    session = Session.create(folder / "crashed")
    header = RunHeader(trajectory="sin_sin", bench=recording.bench, settings=recording.settings, rate=200.0)
    sink = session.sink().open(header)
    rows = np.zeros(SAMPLES, SAMPLE_DTYPE)
    for name, values in recording.channels.items():
        rows[name] = values
    sink.append(rows)
    sink.flush()
    [part] = (session.path / "runs").glob("*.part")
    content = part.read_bytes()
    sink.finish("success")
    return content


def _models(folder: Path) -> None:
    for friction in ("m1", "m6"):
        _put("model_ours", f"mx106_{friction}", load_model("mx106", friction).to_json_text())
    _put("model_ours", "elastoplastic", with_contact(load_model("mx106", "m6"), "elastoplastic").to_json_text())
    flat = {"actuator": "mx106", "model": "m1", "kt": 1.6, "R": 2.0, "armature": 0.005}
    _put("model_bam", "m1", json.dumps({**flat, "friction_base": 0.05, "friction_viscous": 0.02, "q_offset": 0.0}))
    for servo in ("mx106", "erob80_100"):
        _put("servo_toml", servo, (files("resources") / "servos" / f"{servo}.toml").read_text("utf-8"))
    for table in ("x", "mx1"):
        _put("control_table", table, (files("resources") / "control_tables" / f"{table}.toml").read_text("utf-8"))
    for name in ACTUATORS:
        _put("compliant_unit", name, json.dumps(unit_to_json(CompliantUnit(actuator=ACTUATORS[name]()))))
    model = load_model("mx106", "m1")
    exported = {
        "webots": {"vrml_world": "*.wbt", "servo_numbers": "*.json"},
        "webots-servo": {"vrml_servo": "*.wrl"},
        "choreonoid": {"choreonoid_body": "*.body", "choreonoid_friction": "*.yaml"},
        "mujoco": {"mujoco_setup": "*.xml"},
    }
    for target, wanted in exported.items():
        try:
            export_model(model, target, folder / target)
        except ExportError as error:
            print(f"{target}: {error}")
            continue
        for parser, pattern in wanted.items():
            found = sorted((folder / target).rglob(pattern))
            print(target, parser, [file.name for file in found])
            if found:
                shutil.copy(found[0], _place(parser))

    numbers = dict.fromkeys(DRIVE_NUMBERS, 0.5)
    _put("genesis_drive", "sound", genesis_text(numbers))


def _place(parser: str) -> Path:
    (SEEDS / parser).mkdir(parents=True, exist_ok=True)
    return SEEDS / parser / "sound"


def _session_files() -> None:
    facts = {"format": "servobench-session", "format_version": 1, "uid": "u", "title": "t", "created": "2024-01-01"}
    _put("session_json", "sound", json.dumps(facts))
    _put("index_json", "sound", json.dumps({"format_version": 1, "runs": {"0001_a.h5": [1, 2, "damaged"]}}))
    note = Annotation(note="n", tags=("a", "b"), excluded=True, reason="r", trim_begin=0.5, trim_end=2.0)
    _put("annotations", "sound", encoded("annotations", {"0001_sin_sin_kp400": note.to_json()}, Path("x")))
    point = PlacedPoint(
        motor_torque=0.5,
        angle=0.3,
        side="drive",
        bench=Bench(mass=0.5, length=0.1),
        servo="mx106",
        current=0.2,
        uid="u",
    )
    _put("placed_points", "sound", encoded("placed_points", points_to_json([point]), Path("x")))
    _put("plan", "sound", json.dumps(dynamixel_plan().to_json()))
    gains = {"kp": 4.0, "ki": 0.0, "kd": 0.0, "damping": None}
    bench = {"name": "b", "bench": {"mass": 1.0, "length": 0.1}, "direction": 1, "servo": "mx106", "gains": gains}
    _put("presets", "sound", json.dumps({"format": "servobench-benches", "version": 1, "benches": [bench]}))
    values = {"format": 1, "theme": "dark", "recent": ["/a"], "countdown": 3.0, "geometry": "AA=="}
    _put("settings", "sound", json.dumps(values))


def _bytes() -> None:
    """Records as the parsers of buses take them."""
    one = (
        b"\x01\x01",
        b"\x01\x02\x24\x08",
        b"\x01\x03\x18\x01",
        b"\x01\x04\x1e\x00\x02",
        b"\x01\x05",
        b"\xfe\x83\x1e\x02\x01\x00\x02",
    )
    two = (
        b"\x01\x01",
        b"\x01\x02\x84\x00\x04\x00",
        b"\x01\x03\x40\x00\x01",
        b"\x01\x04\x74\x00\x00\x08\x00\x00",
        b"\x01\x05",
        b"\xfe\x82\x84\x00\x04\x00\x01\x02",
        b"\xfe\x8a\x84\x00\x04\x00\x01",
        b"\xfe\x92\x01\x84\x00\x04\x00\x02\x24\x00\x02\x00",
        b"\xfe\x83\x74\x00\x04\x00\x01\x00\x08\x00\x00",
        b"\xfe\x93\x01\x40\x00\x01\x00\x01",
        b"\x01\x10\x01\x44\x58\x4c\x22",
        b"\x01\x08",
        b"\x02\x06\x02",
    )
    _put("dynamixel_device_1", "sound", b"".join(bytes((len(record),)) + record for record in one))
    _put("dynamixel_device_2", "sound", b"".join(bytes((len(record),)) + record for record in two))
    from tests.fuzz.parsers.dynamixel import _framed_1, _framed_2

    for asked in range(4):
        data = (b"\1\2\3\4", b"", b"\x56\4\1", b"\1")[asked]
        _put("dynamixel_answers_1", f"asked{asked}", bytes((asked,)) + _framed_1(b"\x01\x00" + (data or b"")))
        _put("dynamixel_answers_2", f"asked{asked}", bytes((asked,)) + _framed_2(b"\x01\x55\x00" + data))

    def datagram(command: int, address: int, content: bytes, more: bool = False) -> bytes:
        return struct.pack("<BBHHHH", command, 0, 0, address, len(content) | more << 15, 0) + content + b"\0\0"

    frames = [
        datagram(1, 0x130, bytes(2)),
        datagram(2, 0x120, b"\x02\0"),
        datagram(7, 0, bytes(16), True) + datagram(8, 0x10, b"\1\0"),
        datagram(2, 0x600, struct.pack("<IHBBHBBBxxx", 0, 8, 0, 7, 0x1100, 0, 2, 1)),
        datagram(12, 0, bytes(8)),
        datagram(2, 0x502, b"\0\1\0\0\0\0"),
        datagram(1, 0x502, bytes(14)),
        datagram(2, 0x1000, b"\x0a\0\0\0\0\x13\0\x20\x40\x18\x10\1" + bytes(116)),
    ]
    for state in range(3):
        content = b"".join(struct.pack("<H", len(frame)) + frame for frame in frames)
        _put("ethercat_frames", f"state{state}", bytes((state,)) + content)

    def sdo(command: int, index: int, sub: int, value: bytes = b"") -> bytes:
        return struct.pack("<HBHB", 0x2000, command, index, sub) + value.ljust(4, b"\0")

    messages = [
        sdo(0x40, 0x1018, 1),
        sdo(0x40, 0x1008, 0),
        sdo(0x2F, 0x1C12, 0),
        sdo(0x2F, 0x1600, 0),
        sdo(0x23, 0x1600, 1, b"\x20\0\x7a\x60"),
        sdo(0x2F, 0x1600, 0, b"\1"),
        sdo(0x21, 0x2F00, 0, b"\x14\0\0\0") + b"abcdefghij",
        struct.pack("<HB", 0x2000, 0x01) + b"klmnopq",
        struct.pack("<HBBHH", 0x8000, 1, 0, 0, 1),
        struct.pack("<HBBHH", 0x8000, 3, 0, 0, 0x1018),
        struct.pack("<HBBHHB", 0x8000, 5, 0, 0, 0x1018, 1),
    ]
    _put("ethercat_mailbox", "sound", b"".join(bytes((len(message),)) + message for message in messages))
    from tests.fuzz.parsers.ethercat import _eeprom

    _put("ethercat_sii", "sound", _eeprom()[:512])
    numbers = (
        b"\x10\x27\0\0",
        b"\x10\x27\0\0",
        b"\xe8\x03",
        b"\0\0\x08\0",
        b"\1\0\0\0",
        b"\1\0\0\0",
        b"\x80\2\0\0",
        b"\0\0\0\0",
        b"ZeroErr",
        b"V1",
    )
    identity = struct.pack("<IIi", 0x5A65726F, 0x00029252, 0) + b"\0"
    answers = b"".join(bytes((len(number),)) + number for number in numbers).ljust(48, b"\0")
    _put("ethercat_answers", "sound", identity + answers + bytes(range(80)))


def _typed() -> None:
    for number, text in enumerate(
        (
            "simulated:mx106?seed=3&clock=virtual&speed=2&command_delay=0.01&contact=elastoplastic&model=m6",
            "simulated:xl330?actuator=sea",
            "simulated:mx64?actuator=qbmove&preset=0.1",
            "dynamixel:/dev/ttyUSB0:1:2:1000000",
            "ethercat:eth0:1?servo=erob80_100&mode=csp&cycle=1&dc=&zero=12",
        )
    ):
        _put("address", f"address{number}", text)
    _put("emulator", "dynamixel", "dynamixel:xl330?id=3&baud=1000000&usb_latency=1&link=lab/bus")
    _put("emulator", "ethercat", "ethercat:erob80_100?interface=a&master=b")
    dynamixel = (
        "help,drop 3 id=1,delay 5 2,corrupt,echo on,mute off,fault overload,get id,set id 4,power off,hand torque 1,bus"
    )
    ethercat = (
        "drop,fault 0x2310,al-error 0x1b,warning on,delay 1 1,heat 50,supply 24,hand angle 10 slave=1,stick on,heal"
    )
    _put("console", "dynamixel", dynamixel.replace(",", "\n"))
    _put("console", "ethercat", ethercat.replace(",", "\n"))
    _put(
        "options",
        "sound",
        "kt=0.1:3\nR=2.5\n25%\nsin_sin\n1.5\na,b\nfriction_base=0:1\nkt=1\nkp=2\nlift_and_drop\nm1,m6\nx",
    )
    for number, line in enumerate(
        (
            "identify lab --models m1,m6 --trials 100 --bounds kt=0.1:3 --frozen R=2 --validation kp=400 -o out --json",
            "record --servo simulated:mx106 --mass 0.5 --length 0.1 -o lab",
            "export m.json --to mujoco --check -o out",
            "rollout --model mx106:m6 --trajectory sin_sin --dt 0.001 -o out.npz",
            "fleet a b --repeats 3 -o out",
        )
    ):
        _put("command_line", f"line{number}", line)


def _results(folder: Path) -> None:
    """Those of one folder, whatever of them lies there."""
    for file, parser in (("identification", "record"), ("result", "result"), ("certainty", "certainty")):
        if (folder / f"{file}.json").is_file():
            # Without the place where it lay.
            text = (folder / f"{file}.json").read_text("utf-8").replace(f"{folder.absolute()}/", "result/")
            _put(parser, "sound", json.dumps(json.loads(text)))
    for name in ("m1", "m2"):
        if (folder / f"{name}.json").is_file():
            _put("model_ours", name, (folder / f"{name}.json").read_bytes())
    kept = folder / "crossvalidation.json"
    if kept.is_file():
        data = json.loads(kept.read_text("utf-8"))
        data["fits"] = data["fits"][:6]
        _put("crossvalidation", "sound", json.dumps(data))


if __name__ == "__main__":
    main(sys.argv[1:])
