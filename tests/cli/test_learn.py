"""`bench learn`: the table and its JSON, the files, and one line where PyTorch is missing."""

from __future__ import annotations

import importlib.util
import json

import pytest

FEW = ("--dt", "0.01", "--threads", "1", "--trials", "20", "--iterations", "1", "--by", "kp")
RUNS = ("--runs", "0003_sin_sin_kp100,0004_sin_sin_kp400")


def test_everything_for_a_person_and_for_machines(bench, tmp_path, example) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'servobench[learn]'")
    nets, plot = tmp_path / "nets", tmp_path / "bars.csv"
    common = ["learn", example, *RUNS, *FEW, "--model", "xl330:m1"]
    data = bench(*common, "-o", nets, "--plot", plot, "--json").data
    assert [fold["value"] for fold in data["folds"]] == [100.0, 400.0]
    assert data["selection"]["runs"] == RUNS[1].split(",")
    assert [name.rsplit("/")[-1] for name in data["files"]] == [
        "actuator_net.pt", "residual_net.pt", "model.json", "README.md", "bars.csv"
    ]  # fmt: skip
    assert json.loads((nets / "model.json").read_text("utf-8"))["friction"] == "m1"
    text = bench(*common).out
    for words in ("kp 100", "kp 400", "median", "residual net", "actuator net", "smallest median error"):
        assert words in text


def test_without_pytorch_it_names_the_extra(fails, monkeypatch, example) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install 'servobench[learn]'" in fails("learn", example)
