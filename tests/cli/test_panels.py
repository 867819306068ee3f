"""Numbers on their way into pictures, tables and findings, by hand."""

from __future__ import annotations

import math
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace as Of

import numpy as np
import pytest

from bench_gui.headless import doctor
from bench_gui.headless.comparison_tables import GAP, Judged, motion_panels
from bench_gui.headless.place.measuring import summary
from bench_gui.headless.report import page
from core.base.errors import IdentificationError
from core.practice.placement import PlacedPoint, boundary_torque
from core.servo.bench import Bench
from core.servo.shipped import load_model
from sessions.results.folder import FOLDER, RESULT, result_folder, result_folders
from sessions.results.identification import load_latest


def test_motions_are_laid_end_to_end_with_a_gap_between() -> None:
    """Two runs of 1 s whose clocks begin at 5 s and 9 s; the model is 2 mrad above, then 4 mrad below."""
    time, zero = np.array([0.0, 0.5, 1.0]), np.zeros(3)
    pairs = [
        (Of(time=begin + time, duration=1.0, goal_position=zero + goal, position=zero), Of(position=zero + error))
        for begin, goal, error in ((5.0, 0.1, 0.002), (9.0, 0.3, -0.004))
    ]
    above, below = motion_panels(pairs, Judged("M1", "#000000", {}))  # type: ignore[arg-type]
    goal, measured, simulated = above.curves
    x = [0.0, 0.5, 1.0, 1.0 + GAP / 2, 1.0 + GAP, 1.5 + GAP, 2.0 + GAP, 2.0 + 1.5 * GAP]
    for curve in (*above.curves, *below.curves):
        np.testing.assert_allclose(curve.x, x)
    gap = [math.nan]
    np.testing.assert_allclose(goal.y, [0.1] * 3 + gap + [0.3] * 3 + gap)
    np.testing.assert_allclose(measured.y, [0.0] * 3 + gap + [0.0] * 3 + gap)
    np.testing.assert_allclose(simulated.y, [0.002] * 3 + gap + [-0.004] * 3 + gap)
    np.testing.assert_allclose(below.curves[0].y, [2.0] * 3 + gap + [-4.0] * 3 + gap)
    assert above.x_range == below.x_range == (0.0, pytest.approx(2.0 + 2.0 * GAP))
    assert (goal.name, measured.name, simulated.name) == ("goal", "measured", "M1")


def test_the_row_of_a_model_has_its_worst_run_and_its_bounds() -> None:
    model = load_model("mx106", "m2")
    names = list(model.parameters)
    at_bound = model.parameters.with_values({names[0]: model.parameters[names[0]].upper})
    result = Of(model=model.with_parameters(at_bound))
    for errors, worst in (((0.001, 0.004, 0.002), 0.004), ((0.001, math.nan, 0.002), math.nan)):
        scores = {"m2": [Of(mae=mae) for mae in errors]}
        seen = Of(contents=Of(found=Of(results=(Of(model=load_model("mx106", "m1")), result))), scores=scores)
        row = page._model_row(seen, "m2")  # type: ignore[arg-type]
        assert row["result"] is result
        assert row["worst"] == pytest.approx(worst, nan_ok=True)
        assert row["free"] == len(model.parameters.free)
        assert model.parameters[names[0]].symbol in row["bound"].split(", ")


def test_the_newest_result_that_can_be_read_counts(tmp_path: Path) -> None:
    """Folders are named by their moment; one without a summary is none, one without a model is passed over."""
    results = tmp_path / FOLDER
    for name in ("2026-01-02T10-00-00", "2026-01-02T10-00-00_2", "2025-12-31T23-59-59", "2026-03-01T00-00-00"):
        (results / name).mkdir(parents=True)
        (results / name / RESULT).write_text("[]")
    (results / "2027-01-01T00-00-00").mkdir()
    assert [folder.name for folder in result_folders(results)] == [
        "2026-03-01T00-00-00", "2026-01-02T10-00-00_2", "2026-01-02T10-00-00", "2025-12-31T23-59-59",
    ]  # fmt: skip
    assert load_latest(tmp_path) == []
    for name, friction in (("2025-12-31T23-59-59", "m1"), ("2026-01-02T10-00-00_2", "m4")):
        (results / name / f"{friction}.json").write_text(load_model("mx106", friction).to_json_text())
    assert [model.friction for model in load_latest(tmp_path)] == ["m4"]
    assert result_folders(tmp_path / "nowhere") == []


def test_a_result_is_named_by_its_folder_in_the_session_or_by_any_other(tmp_path) -> None:
    lab, results = tmp_path / "lab", tmp_path / "lab" / FOLDER
    for name in ("2026-01-01T00-00-00", "2026-02-01T00-00-00"):
        (results / name).mkdir(parents=True)
        (results / name / RESULT).write_text("[]")
    assert result_folder(lab, "2026-01-01T00-00-00") == results / "2026-01-01T00-00-00"
    assert result_folder(lab) == results / "2026-02-01T00-00-00"
    assert result_folder(lab, str(tmp_path)) == tmp_path
    with pytest.raises(IdentificationError, match="no identification found"):
        result_folder(tmp_path / "another")


@pytest.mark.parametrize(("least", "severity"), [(math.inf, "error"), (0.0, "ok")])
def test_a_disk_that_is_nearly_full_is_an_error(monkeypatch, least, severity) -> None:
    assert 0.4e9 < doctor.SMALLEST_FREE_SPACE < 2.5e9
    monkeypatch.setattr(doctor, "SMALLEST_FREE_SPACE", least)
    finding = doctor._space()
    assert (finding.subject, finding.status) == ("disk", severity)
    shown = float(finding.text.removesuffix(" GB free here"))
    assert shown == pytest.approx(shutil.disk_usage(Path.cwd()).free / 1e9, rel=0.2)


@pytest.mark.parametrize(("absent", "severity"), [*((p, "error") for p in doctor.PACKAGES), ("pyqtgraph", "note")])
def test_only_a_package_that_everything_needs_is_an_error(monkeypatch, absent, severity) -> None:
    def version(name: str) -> str:
        if name == absent:
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", version)
    findings = {finding.subject: finding.status for finding in doctor._packages()}
    assert findings.pop(absent) == severity
    assert set(findings.values()) == {"ok"}


@pytest.mark.parametrize("torque", [0.5, -0.5])
def test_placed_extremes_stand_beside_those_of_the_model(torque: float) -> None:
    model, bench = load_model("mx106", "m4"), Bench(mass=1.0, length=0.1)

    def point(angle: float, side: str, repeat: int = 1) -> PlacedPoint:
        way = math.copysign(1.0, torque)
        return PlacedPoint(motor_torque=torque, angle=way * angle, side=side, bench=bench, servo="mx106", repeat=repeat)

    points = [point(0.3, "drive"), point(0.8, "backdrive"), point(0.4, "drive", 2)]
    first, second = summary(points, model)
    assert {name: first[name] for name in ("motor_torque", "repeat", "lowest", "highest")} == {
        "motor_torque": torque, "repeat": 1, "lowest": points[0].angle, "highest": points[1].angle,
    }  # fmt: skip
    assert (first["drive"], first["backdrive"]) == (points[0].external_torque, points[1].external_torque)
    assert first["model_drive"] == boundary_torque(model, torque, "drive")
    assert first["model_backdrive"] == boundary_torque(model, torque, "backdrive")
    assert (second["repeat"], second["lowest"], second["highest"]) == (2, points[2].angle, None)
    assert (second["model_drive"], second["model_backdrive"]) == (first["model_drive"], None)
    assert all(line["model_drive"] is None for line in summary(points, None))
