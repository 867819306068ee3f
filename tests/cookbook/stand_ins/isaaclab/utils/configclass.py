from dataclasses import dataclass

from tests.core.export.test_isaaclab import _with_factories


def configclass(cls):
    return dataclass(_with_factories(cls))
