"""Studies in a storage of one's own, by address: those of an identification, and those steered by hand."""

from dataclasses import replace
from pathlib import Path

import optuna
import pytest

from core.base.errors import IdentificationError
from core.identification.evaluate import evaluate
from core.identification.identify import IdentificationRequest, identify
from core.identification.search.study import JOURNAL, StudyObjective, open_storage
from tests.core.fleet.small import SERVO, units

REQUEST = IdentificationRequest(servo=SERVO, models=("m1",), trials=40, polish=False, validation="none")


@pytest.fixture(
    params=[
        "sqlite:///{}/studies.db",
        pytest.param("journal:///{}/studies.journal", marks=pytest.mark.exhaustive("the other storage")),
    ]
)
def address(request, tmp_path):
    return request.param.format(tmp_path)


def recordings():
    return units(1)[0].recordings


def test_an_identifications_studies_are_kept_there_and_resumed_from_there(address, tmp_path):
    plain = identify(REQUEST, recordings())
    first = identify(REQUEST, recordings(), folder=tmp_path / "one", storage=address)
    identify(REQUEST, recordings(), folder=tmp_path / "two", storage=address)
    assert first.results[0].model.values == plain.results[0].model.values
    assert not (tmp_path / "one").exists()
    names = optuna.get_all_study_names(open_storage(address))
    assert sorted(names) == ["one/m1/0", "two/m1/0"]
    study = optuna.load_study(study_name="one/m1/0", storage=open_storage(address))
    trials = len(study.get_trials())
    recalled = []
    again = identify(
        REQUEST, recordings(), folder=tmp_path / "one", storage=address, resume=True, on_recorded=recalled.append
    )
    assert again.results[0].model.values == plain.results[0].model.values
    assert recalled
    assert len(study.get_trials()) == trials
    with pytest.raises(IdentificationError, match="already holds a search 'one/m1/0'"):
        identify(REQUEST, recordings(), folder=tmp_path / "one", storage=address)


def test_a_study_steered_by_hand_judges_as_the_identification_does(address):
    request = replace(REQUEST, substeps=2)
    found = identify(request, recordings()).results[0].model
    judge = StudyObjective(request, "m1", recordings())
    study = optuna.create_study(storage=open_storage(address), study_name="by hand", direction="minimize")
    study.enqueue_trial({name: found.values[name] for name in judge.names})
    study.optimize(judge, n_trials=3)
    assert study.trials[0].value == pytest.approx(evaluate(found, recordings()).mean_mae, rel=1e-12)
    assert study.best_trial.number == 0
    assert judge.model_of(study.best_params).values == pytest.approx(found.values, rel=1e-12)
    resumed = optuna.load_study(storage=open_storage(address), study_name="by hand")
    resumed.optimize(judge, n_trials=1)
    assert len(resumed.trials) == 4


@pytest.mark.parametrize(
    "url", ["nonsense", "nodatabase://x", "sqlite:////does/not/exist/x.db", "journal:////does/not/exist/x"]
)
def test_an_address_that_cannot_be_used_is_refused_with_those_that_can(url):
    with pytest.raises(IdentificationError, match=r"cannot be used as a (storage|study)"):
        identify(REQUEST, recordings(), folder=Path("x"), storage=url)


@pytest.mark.parametrize("attempts", [0, 2], ids=["torn", "glued and gone on with"])
def test_a_journal_torn_by_a_full_disk_is_gone_on_with(tmp_path, attempts):
    """Optuna appends its next line to the torn one, and from then on reads neither."""
    plain = identify(REQUEST, recordings(), folder=tmp_path)
    journal = tmp_path / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    kept, torn = b"".join(lines[:-2]), lines[-2][:40]
    journal.write_bytes(kept + torn + lines[-1] * attempts)
    recalled = []
    again = identify(REQUEST, recordings(), folder=tmp_path, resume=True, on_recorded=recalled.append)
    assert again.results[0].model.values == plain.results[0].model.values
    assert recalled
    mended = journal.read_bytes()
    assert mended.startswith(kept)
    identify(REQUEST, recordings(), folder=tmp_path, resume=True)
    assert journal.read_bytes().startswith(mended), "a whole one is not cut"
