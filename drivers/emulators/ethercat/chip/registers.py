"""Addresses of an EtherCAT slave controller's registers (ETG.1000.4), and the ones that a master may write."""

from __future__ import annotations

TYPE = 0x0000
BUILD = 0x0002
FMMU_COUNT = 0x0004
SYNC_MANAGER_COUNT = 0x0005
RAM_SIZE = 0x0006
PORTS = 0x0007
FEATURES = 0x0008
STATION_ADDRESS = 0x0010
STATION_ALIAS = 0x0012
DL_CONTROL = 0x0100
DL_STATUS = 0x0110
AL_CONTROL = 0x0120
AL_STATUS = 0x0130
AL_STATUS_CODE = 0x0134
PDI_CONTROL = 0x0140
EVENT_MASK = 0x0200
ERROR_COUNTERS = 0x0300
WATCHDOG_DIVIDER = 0x0400
PDI_WATCHDOG = 0x0410
PROCESS_WATCHDOG = 0x0420
WATCHDOG_STATUS = 0x0440
WATCHDOG_COUNTERS = 0x0442
SII_ACCESS = 0x0500
SII_CONTROL = 0x0502
SII_ADDRESS = 0x0504
SII_DATA = 0x0508
FMMU = 0x0600
FMMU_SIZE = 16
SYNC_MANAGER = 0x0800
SYNC_MANAGER_SIZE = 8
RECEIVE_TIME = 0x0900
RECEIVE_TIME_UNIT = 0x0918
SYSTEM_TIME = 0x0910
TIME_OFFSET = 0x0920
TIME_DELAY = 0x0928
TIME_DIFFERENCE = 0x092C
SPEED_START = 0x0930
TIME_FILTER = 0x0934
CYCLIC_UNIT = 0x0980
ACTIVATION = 0x0981
SYNC0_START = 0x0990
SYNC0_CYCLE = 0x09A0
SYNC1_CYCLE = 0x09A4

RAM = 0x1000
"""Start of the memory for process data and mailboxes."""
END = 0x3000
"""End of the memory: 4 KiB of registers and 8 KiB of RAM."""

FMMUS = 8
SYNC_MANAGERS = 8

_WRITABLE = (
    (STATION_ADDRESS, 2),
    (DL_CONTROL, 4),
    (0x0108, 2),  # read/write offset
    (AL_CONTROL, 2),
    (EVENT_MASK, 2),
    (ERROR_COUNTERS, 0x14),
    (WATCHDOG_DIVIDER, 2),
    (PDI_WATCHDOG, 2),
    (PROCESS_WATCHDOG, 2),
    (WATCHDOG_COUNTERS, 2),
    (SII_ACCESS, 1),
    (SII_CONTROL, 14),
    (FMMU, FMMUS * FMMU_SIZE),
    # Except a sync manager's status (5) and the slave's own half of its control (7).
    *((SYNC_MANAGER + n * SYNC_MANAGER_SIZE, 5) for n in range(SYNC_MANAGERS)),
    *((SYNC_MANAGER + n * SYNC_MANAGER_SIZE + 6, 1) for n in range(SYNC_MANAGERS)),
    (RECEIVE_TIME, 4),
    (SYSTEM_TIME, 8),
    (TIME_OFFSET, 8),
    (TIME_DELAY, 4),
    (SPEED_START, 2),
    (TIME_FILTER, 2),
    (CYCLIC_UNIT, 2),
    (SYNC0_START, 8),
    (SYNC0_CYCLE, 8),
)


def writable() -> bytes:
    """Return a mask over the registers, (RAM,): 1 where a master may write."""
    mask = bytearray(RAM)
    for start, length in _WRITABLE:
        mask[start : start + length] = b"\x01" * length
    return bytes(mask)
