"""Emulated devices on a wire, for drivers without hardware.

An emulator speaks its bus byte for byte, is as strict as the real device, and can be made to misbehave (`console`). It
moves the simulated pendulum of `mechanism`, runs in a process of its own (`process`) and knows nothing of the driver
that talks to it. One folder per bus: `dynamixel` on a pseudo terminal, `ethercat` on a raw network interface.
"""
