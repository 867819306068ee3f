"""Serial servos on a pseudo terminal, whatever the family, as strict as the real ones.

    packet, protocol1                 bytes to instruction packets, their effect, status packets to bytes
    line, wire, faults                the port; rates and times; faults of answers
    registers, device, laws           a servo's memory; common behaviour of all servos; loops of the firmware
    source, emulator                  a bus's description; the bus with its servos

Only the control tables are shared with the driver.
"""
