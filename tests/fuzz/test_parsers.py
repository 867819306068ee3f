"""Whatever bytes come in, they are understood or refused with a typed error: seeds, past findings and a few mutants.

`make fuzz` looks for new ones for hours; this takes seconds and is the same every time.
"""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.parser import FINDINGS
from tests.fuzz.parsers import PARSERS, parser_named

MUTANTS = 4


@pytest.mark.parametrize("name", PARSERS)
def test_the_seeds_are_understood(name):
    parser = parser_named(name)
    assert parser.seeds
    accepted = [parser.accepts(seed.read_bytes()) for seed in parser.seeds]
    assert any(accepted)
    assert all(seed.stat().st_size <= parser.longest for seed in parser.seeds)


@pytest.mark.parametrize("file", sorted(FINDINGS.glob("*/*")), ids=lambda file: f"{file.parent.name}-{file.name}")
def test_what_once_broke_a_parser_does_so_no_more(file):
    parser_named(file.parent.name).accepts(file.read_bytes())


@pytest.mark.parametrize("name", PARSERS)
def test_mutants_are_understood_or_refused(name):
    parser = parser_named(name)
    seeds = [seed.read_bytes() for seed in parser.seeds]

    @given(which=st.sampled_from(range(len(seeds))), chance=st.integers(0, 2**32 - 1), noise=st.binary(max_size=40))
    @settings(max_examples=MUTANTS, derandomize=True, database=None)
    def tried(which, chance, noise):
        parser.accepts(parser.mutate(seeds[which], Random(chance))[: parser.longest])
        parser.accepts(noise)

    tried()
