"""Seals of JSON files: what they notice, what they let pass, and who is told."""

import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.sealed import (
    SEAL,
    is_broken,
    is_edited,
    parse_sealed,
    sealed,
    sealed_text,
    with_seal_line,
    without_seal_line,
)
from core.servo.model import EDITED_ENTRY, ServoModel
from core.servo.shipped import load_model

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
DATA = {"kt": 2.5, "name": "größer", "pair": (1, 2), "by run": {3: 0.5, 20: 1.0}}


@given(st.dictionaries(st.text(max_size=5).filter(lambda name: name != SEAL), VALUES, max_size=4))
@settings(max_examples=40)
def test_what_was_written_is_read_back(data):
    assert parse_sealed(sealed_text(data)) == data
    assert parse_sealed(sealed_text([data, data], indent=None)) == [data, data]


def test_another_number_or_name_is_noticed_and_another_layout_is_not():
    text = sealed_text(DATA)
    assert not is_broken(json.loads(text))
    assert not is_broken(json.loads(json.dumps(json.loads(text), indent=7)))
    for old, new in (("2.5", "2.7"), ("kt", "ks"), ("0.5", "0.4"), ('"20"', '"21"'), ("größer", "grösser")):
        with pytest.raises(ValueError, match="damaged"):
            parse_sealed(text.replace(old, new))
    with pytest.raises(ValueError, match="damaged"):
        parse_sealed(sealed_text([DATA, DATA]).replace("2.5", "2.7", 1))


def test_a_file_without_a_seal_is_read_as_ever(caplog):
    text = json.dumps({"kt": 2.5})
    assert parse_sealed(text) == {"kt": 2.5}
    assert not is_edited(json.loads(text), "old.json")
    assert without_seal_line("kt = 2.5\n", "old.toml") == "kt = 2.5\n"
    assert not caplog.records


def test_a_file_that_people_may_edit_is_used_with_one_warning_for_each_content(caplog):
    edited = sealed({"kt": 2.5}) | {"kt": 2.7}
    assert is_edited(edited, "mine.json")
    assert is_edited(edited, "mine.json")
    assert len(caplog.records) == 1
    assert caplog.messages[0].startswith("mine.json: edited by hand, or damaged")
    assert is_edited(edited | {"kt": 2.8}, "mine.json")
    assert len(caplog.records) == 2


def test_a_sealed_text_gives_its_content_back(caplog):
    text = with_seal_line("kt = 2.5\n")
    assert without_seal_line(text, "a.toml") == "kt = 2.5\n"
    assert not caplog.records
    assert without_seal_line(text.replace("2.5", "2.7"), "a.toml") == "kt = 2.7\n"
    assert "a.toml" in caplog.messages[0]
    assert without_seal_line(text + "R = 3.0\n", "a.toml") == "kt = 2.5\nR = 3.0\n"
    assert len(caplog.records) == 2


def test_an_edited_model_is_used_and_carries_the_word(tmp_path, caplog):
    file = tmp_path / "mine.json"
    model = load_model("mx106", "m4")
    file.write_text(model.to_json_text(), "utf-8")
    with caplog.at_level(logging.WARNING):
        assert ServoModel.read(file) == model
        assert not caplog.records
        number = repr(model.values["kt"])
        file.write_text(file.read_text("utf-8").replace(number, "2.25", 1), "utf-8")
        edited = ServoModel.read(file)
    assert str(file) in caplog.text
    assert edited.values["kt"] == 2.25
    assert edited.provenance[EDITED_ENTRY] is True
    assert ServoModel.from_json_text(edited.to_json_text()) == edited
