"""Files that describe a servo: models, the catalogue's, compliant actuators."""

from __future__ import annotations

from core.base.errors import ModelError
from core.servo.bench import Bench
from core.servo.catalogue import parse_servo
from core.servo.model import ServoModel, model_to_bam
from core.servo.terms import FRICTION_MODELS
from core.studies.compliant.files import read_unit, unit_to_json
from drivers.serial_bus.table import parse_table
from tests.fuzz.mutation import changed_json, changed_text
from tests.fuzz.parser import Parser, from_file

BENCH = Bench(mass=0.5, length=0.1)


def _model(data: bytes) -> None:
    model = from_file("model.json", ServoModel.read)(data)
    assert ServoModel.from_json_text(model.to_json_text()).values == model.values
    model.bound_row(BENCH, model.default_settings(), model.dt)
    if model.contact == "rigid" and not model.command_path:
        model_to_bam(model)


def _servo(data: bytes) -> None:
    spec = parse_servo(_text(data))
    for friction in FRICTION_MODELS:
        spec.parameters(friction)


def _table(data: bytes) -> None:
    table = parse_table(_text(data))
    for register in table.registers.values():
        assert register.decode(register.encode(register.highest)) == register.highest
        assert register.decode(register.encode(register.lowest)) == register.lowest


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError("no text") from None


def _unit(data: bytes) -> None:
    unit = from_file("unit.json", read_unit)(data)
    unit_to_json(unit)
    unit.joint(BENCH)


_NAMES = (b'"parameters"', b'"control"', b'"contact"', b'"elastoplastic"', b'"value"', b'"upper"', b'"model"', b"1e400")
PARSERS = (
    Parser(name="model_ours", parse=_model, mutate=changed_json, longest=16_384, words=_NAMES),
    Parser(name="model_bam", parse=_model, mutate=changed_json, longest=4096, words=_NAMES),
    Parser(name="servo_toml", parse=_servo, mutate=changed_text, longest=4096, words=(b"[bus.x]", b"= inf", b"= nan")),
    Parser(name="control_table", parse=_table, mutate=changed_text, longest=8192, words=(b"size = 4", b"= -1")),
    Parser(name="compliant_unit", parse=_unit, mutate=changed_json, longest=4096),
)
