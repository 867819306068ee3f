"""The disk cache of compiled kernels, across processes."""

import os
import subprocess
import sys
from itertools import product

import numba
import pytest

from core.base.announcements import listen
from core.kernel.compilation import COMPILING, fingerprint, kept_on_disk
from core.kernel.layout import Contact, Law

USE = """
import sys
from core.identification.benchmark import time_compilation
from core.kernel.layout import Law
from core.kernel.population import population_kernel
from core.kernel.rollout import rollout_kernel
from core.servo.catalogue import load_servo
from core.servo.shipped import nominal_model
from core.servo.bench import Bench
from core.motion.simulation import Stepper
model = nominal_model(load_servo("mx106"))
Stepper(model, Bench(mass=1.0, length=0.1), model.default_settings(), 0.005).step(0.1)
time_compilation()
rollout = rollout_kernel(model.control.kernel_law, leapfrog=model.leapfrog)
for kernel in (rollout, population_kernel(False, Law.VOLTAGE, leapfrog=True)):
    print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""


@pytest.fixture
def use(tmp_path):
    """Simulate in processes of their own with an empty cache; return hits and misses of both kernels in each."""

    def run(processes=1):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        using = [
            subprocess.Popen([sys.executable, "-c", USE], env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        told = [process.communicate()[0] for process in using]
        assert not any(process.returncode for process in using)
        return [[tuple(map(int, line.split())) for line in lines.splitlines()] for lines in told]

    return run


@pytest.mark.exhaustive("compiles the kernels anew in several processes")
def test_of_processes_at_once_one_compiles_and_a_later_one_finds_it(use, tmp_path):
    once = use(processes=2)
    assert [sum(misses for _, misses in kernel) for kernel in zip(*once, strict=True)] == [1, 1]
    files = sorted(tmp_path.rglob("*.nb*"))
    assert use() == [[(1, 0), (1, 0)]]
    assert sorted(tmp_path.rglob("*.nb*")) == files


def test_no_two_variants_share_a_number():
    numbers = [fingerprint(*variant) for variant in product(Law, (False, True), Contact, (False, True), (False, True))]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) > 0


def test_code_that_contains_a_changed_module_is_compiled_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    inlined = tmp_path / "inlined.py"

    def found():
        def doubled(x):
            return 2.0 * x

        kernel = kept_on_disk(doubled, folder=tmp_path)
        assert kernel(1.5) == 3.0
        return sum(kernel.stats.cache_hits.values())

    inlined.write_text("FACTOR = 1")
    assert [found(), found()] == [0, 1]
    inlined.write_text("FACTOR = 2")
    assert [found(), found()] == [0, 1]


def test_another_copy_of_the_program_finds_what_has_not_changed_and_old_code_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def hits(copy, text="def doubled(x):\n    return 2.0 * x\n"):
        file = tmp_path / copy / "doubled.py"
        file.parent.mkdir()
        file.write_text(text)
        names = {"__name__": "doubled", "__file__": str(file)}
        exec(compile(text, str(file), "exec"), names)
        kernel = kept_on_disk(names["doubled"])
        assert kernel(1.5) == 3.0
        return sum(kernel.stats.cache_hits.values())

    assert hits("clone") == 0
    assert hits("another clone") == 1
    for path in tmp_path.rglob("*.nb?"):
        os.utime(path, (0.0, 0.0))
    assert hits("a later version", "def doubled(x):\n    return x + x\n") == 0
    assert {path.suffix for path in tmp_path.rglob("*.nb?")} == {".nbi", ".nbc"}
    assert len([*tmp_path.rglob("*.nb?")]) == 2


def test_a_compilation_is_announced_and_a_kernel_from_the_cache_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def doubled(x):
        return 2 * x

    heard = []
    listen(heard.append)
    try:
        assert kept_on_disk(doubled)(4) == 8
        assert heard == [COMPILING]
        assert kept_on_disk(doubled)(4) == 8
        assert heard == [COMPILING]
    finally:
        listen(None)
