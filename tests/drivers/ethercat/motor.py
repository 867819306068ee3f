"""A drive's state machine for tests: CiA 402's transitions by control word, answered one cycle late."""

from drivers.ethercat.cia402 import DISABLE_VOLTAGE, ENABLE_OPERATION, FAULT_RESET, SHUTDOWN, SWITCH_ON, DriveState

TRANSITIONS = {
    DriveState.SWITCH_ON_DISABLED: {SHUTDOWN: DriveState.READY},
    DriveState.READY: {SWITCH_ON: DriveState.SWITCHED_ON, DISABLE_VOLTAGE: DriveState.SWITCH_ON_DISABLED},
    DriveState.SWITCHED_ON: {
        ENABLE_OPERATION: DriveState.OPERATION_ENABLED,
        SHUTDOWN: DriveState.READY,
        DISABLE_VOLTAGE: DriveState.SWITCH_ON_DISABLED,
    },
    DriveState.OPERATION_ENABLED: {
        SWITCH_ON: DriveState.SWITCHED_ON,
        SHUTDOWN: DriveState.READY,
        DISABLE_VOLTAGE: DriveState.SWITCH_ON_DISABLED,
    },
    DriveState.FAULT: {FAULT_RESET: DriveState.SWITCH_ON_DISABLED},
}
"""CiA 402's transitions by control word."""


class Motor:
    """A drive that answers one cycle late, as every drive on a bus does."""

    def __init__(self, state=DriveState.SWITCH_ON_DISABLED):
        self.state = state
        self._last = DISABLE_VOLTAGE

    def take(self, word):
        answer = self.state
        if word != FAULT_RESET or self._last != FAULT_RESET:
            self.state = TRANSITIONS[self.state].get(word, self.state)
        self._last = word
        return answer


STATUS = {
    DriveState.NOT_READY: 0x1200,
    DriveState.SWITCH_ON_DISABLED: 0x1250,
    DriveState.READY: 0x1231,
    DriveState.SWITCHED_ON: 0x1233,
    DriveState.OPERATION_ENABLED: 0x1237,
    DriveState.QUICK_STOP: 0x1217,
    DriveState.FAULT_REACTION: 0x120F,
    DriveState.FAULT: 0x1208,
}
"""Status words, as far as they were published of eRob drives."""
