"""Of a few flipped bits in every kind of file none changes anything in silence; `make bench WHAT=flips` flips more."""

import random
from pathlib import Path

import pytest

from tests.bench import flips

OTHERS = (flips.result_kinds, flips.fleet_kinds, flips.home_kinds)
MORE = pytest.mark.exhaustive("the other files, in a randomised search")
FLIPS = 8
"""Of each kind of file."""


@pytest.mark.parametrize(
    "build",
    [flips.session_kinds, *(pytest.param(kinds, marks=MORE) for kinds in OTHERS)],
)
def test_no_flipped_bit_changes_anything_in_silence(build, tmp_path: Path, monkeypatch) -> None:
    for variable in flips.HOMES:
        monkeypatch.setenv(variable, str(tmp_path / variable))
    where = random.Random(1)
    kinds = build(tmp_path)
    sound = {kind.name: flips.sound_contents(kind) for kind in kinds}
    found = [flips.outcome(kind, sound[kind.name], where) for kind in kinds for _ in range(FLIPS)]
    assert [what for outcome, what in found if outcome == flips.SILENT] == []
