"""Devices on a wire that exist only here: what a driver talks to while no hardware is at hand.

An emulator speaks its bus byte for byte, is as strict as the real device, and can be told to misbehave (`console`). It
moves the simulated pendulum of `mechanism`, lives in a process of its own (`process`) and knows nothing of the driver
it is talking to. One folder per bus: `dynamixel` on a pseudo terminal, `ethercat` on a raw network interface.
"""
