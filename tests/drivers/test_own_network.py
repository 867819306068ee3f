"""Tests in a network of their own are run there, and their results are told here."""

from __future__ import annotations

import socket

import pytest

from tests.drivers import own_network

pytest_plugins = ["pytester"]

CONFTEST = "from tests.drivers.own_network import pytest_configure, pytest_runtest_logreport, pytest_runtest_protocol\n"
MODULE = """
import socket
import pytest

def test_here():
    pass

@pytest.mark.own_network
def test_nobody_else_is_there():
    assert {name for _, name in socket.if_nameindex()} <= {"lo"}

@pytest.mark.own_network
@pytest.mark.parametrize("text", ["a b", "[c]"])
def test_wrong(text):
    assert text == "right"

@pytest.mark.own_network
def test_skipped():
    pytest.skip("of its own accord")
"""


@pytest.fixture
def module(pytester, monkeypatch, request):
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(MODULE)
    return pytester


@pytest.mark.skipif(not own_network.way(), reason="no namespaces here")
def test_results_are_told_as_if_they_had_been_made_here(module):
    result = module.runpytest_subprocess("-rA")
    result.assert_outcomes(passed=2, failed=2, skipped=1)
    result.stdout.fnmatch_lines(["*test_wrong*a b*", "*assert 'a b' == 'right'*", "*of its own accord*"])


@pytest.mark.skipif(not own_network.way(), reason="no namespaces here")
def test_what_ends_the_other_pytest_fails_here(module):
    module.makepyfile(
        """
        import os
        import pytest

        @pytest.mark.own_network
        def test_good():
            pass

        @pytest.mark.own_network
        def test_dying():
            print("last words", flush=True)
            os.abort()
        """
    )
    result = module.runpytest_subprocess("test_what_ends_the_other_pytest_fails_here.py")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Fatal Python error: Aborted*"])


def test_a_test_elsewhere_may_follow(module):
    module.mkpydir("first").joinpath("test_first.py").write_text(
        "import pytest\ndef test_here(): pass\n@pytest.mark.own_network\ndef test_there(): pass\n"
    )
    module.mkpydir("second").joinpath("test_second.py").write_text("def test_elsewhere(tmp_path): pass")
    result = module.runpytest_subprocess("first", "second", "--import-mode=importlib")
    assert result.parseoutcomes().get("errors", 0) == 0
    assert result.parseoutcomes()["passed"] >= 2


def test_without_namespaces_they_are_skipped(module, monkeypatch):
    monkeypatch.setenv("PATH", "")
    result = module.runpytest_subprocess("-rs")
    result.assert_outcomes(passed=1, skipped=4)
    result.stdout.fnmatch_lines(["*no network of its own*"])


def test_this_one_is_in_the_common_network():
    assert socket.if_nameindex()
