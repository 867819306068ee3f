from tests.drivers.dynamixel.conftest import clock, emulate, sts

__all__ = ["clock", "emulate", "sts"]
