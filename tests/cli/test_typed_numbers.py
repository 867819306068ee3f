"""Every number option of every command takes a decimal comma, and none guesses what a group separator means."""

import argparse
from dataclasses import fields

import pytest

from bench_gui.cli import build_parser
from bench_gui.headless.place.torques import torques_from
from core.base.errors import ServoBenchError
from core.identification.runs.split import SplitError, split_recordings
from drivers.errors import AddressError
from drivers.registry import open_servo
from drivers.simulated.plant import Imperfections
from tests.cli.test_options import parsers_below

GROUPED = ("1.000,5", "1,000.5", "1.000.000", "1,000,000", "1 000", "1'000", "1_000")
PREFIXES = ("", "kt=", "0:")
"""What a number may stand behind: a name, or the begin of a range."""


def value_of(action, text):
    """What the option makes of a text; None if it refuses it."""
    try:
        return action.type(text)
    except (argparse.ArgumentTypeError, ValueError, ServoBenchError):
        return None


def has_number(value, number):
    return value == number or (isinstance(value, tuple) and number in value)


def number_options():
    """Options with the text before their number, found by what they make of 2.5 and 25."""
    for parser in parsers_below(build_parser()):
        for action in parser._actions:
            if action.type is None:
                continue
            for prefix in PREFIXES:
                for text, number in (("2.5", 2.5), ("25", 25)):
                    if has_number(value_of(action, prefix + text), number):
                        name = action.option_strings[0] if action.option_strings else action.dest
                        yield pytest.param(action, prefix, text, number, id=f"{parser.prog} {name} {prefix}{text}")
                        break


OPTIONS = [*number_options()]


def test_the_walk_finds_the_number_options():
    assert len(OPTIONS) > 120
    prefixes = {option.values[1] for option in OPTIONS}
    assert prefixes == {*PREFIXES}


@pytest.mark.parametrize(("action", "prefix", "text", "number"), OPTIONS)
def test_a_comma_is_a_decimal_sign_and_a_group_separator_is_refused(capsys, action, prefix, text, number):
    several = isinstance(value_of(action, f"{prefix}{text}; {text}"), tuple)
    comma = prefix + text.replace(".", ",")
    if "." not in text:
        assert value_of(action, f"{prefix}2,5") is None, "a whole number has no decimal sign"
    elif several:
        assert value_of(action, f"{comma};") == (number,)
        assert value_of(action, comma) == (2.0, 5.0), "commas separate, as they always did"
        assert "2,5 is read as 2 and 5; write 2.5 for one number" in capsys.readouterr().err
    else:
        assert value_of(action, comma) == value_of(action, prefix + text)
    for grouped in GROUPED:
        assert value_of(action, prefix + grouped) is None, grouped
        if several:
            assert value_of(action, f"{prefix}{grouped}; 1") is None, grouped


@pytest.mark.parametrize("text", ["-0,25", "-0.25", "-,25", "-25e-2"])
def test_a_negative_number_with_a_comma_is_a_value_not_an_option(text):
    given = build_parser().parse_args(["import", "log.csv", "-o", "session", "--angle-offset", text])
    assert given.angle_offset == -0.25


def test_torques_take_a_comma_in_a_list_and_in_a_range():
    assert torques_from("0,3; 0,6") == torques_from("0.3, 0.6") == (0.3, 0.6)
    assert torques_from("0,3:0,5:0,1; 0,8") == torques_from("0.3:0.5:0.1,0.8")
    for text in ("1,5", "0,3, 0.6", "1.000,5;", "1,000.5;", "1 000"):
        assert isinstance(torques_from(text), str), text


class _Run:
    """What a split looks at."""

    def __init__(self, number):
        self.id, self.content_sha256, self._kp = f"{number}", f"{number}", 0.5 * number

    def conditions(self):
        return {"kp": self._kp}


@pytest.mark.parametrize("rule", ["0,5", "50,0%", "kp=1,5"])
def test_a_split_takes_a_comma(rule):
    runs = [_Run(number) for number in range(8)]
    assert split_recordings(runs, rule).validation == split_recordings(runs, rule.replace(",", ".")).validation
    for grouped in GROUPED:
        with pytest.raises(SplitError):
            split_recordings(runs, rule.replace("0,5", grouped).replace("50,0", grouped).replace("1,5", grouped))


@pytest.mark.parametrize("name", ["speed", *(field.name for field in fields(Imperfections))])
def test_a_number_of_an_address_takes_a_comma(name):
    def made(text):
        return open_servo(f"simulated:mx106?clock=virtual&{name}={text}")

    made("0,5").close()
    for grouped in GROUPED:
        with pytest.raises(AddressError):
            made(grouped.replace(" ", "%20"))
