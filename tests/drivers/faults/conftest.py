from tests.drivers.own_network import pytest_configure, pytest_runtest_logreport, pytest_runtest_protocol

__all__ = ["pytest_configure", "pytest_runtest_logreport", "pytest_runtest_protocol"]
