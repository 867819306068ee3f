from tests.core.export.test_isaaclab import Base as ActuatorBase
from tests.core.export.test_isaaclab import BaseCfg as ActuatorBaseCfg
from tests.core.export.test_isaaclab import MotorCfg as DCMotorCfg

__all__ = ["ActuatorBase", "ActuatorBaseCfg", "DCMotorCfg"]
