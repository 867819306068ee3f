from tests.drivers.dynamixel.conftest import clock, emulate, scs, sts

__all__ = ["clock", "emulate", "scs", "sts"]
