"""Servos with a control table on a serial bus, whatever the family; what a family differs in is in its own folder.

    packets, bus                      framings and the port; transactions of bytes
    table, profile, registers         bytes by name; units of one model; reads and writes by name
    family                            the facts in which families differ
    modes, samples                    goals and readings in counts
    preparation, watch, servo         a known state; checks of a driven servo; the contract of `drivers.servo`
    identity, search, checks          facts of a servo, scans, and findings of this machine

dynamixel-sdk and pyserial are an extra of the package: nothing here is imported before a bus is used, except for the
address forms and the tables.
"""
