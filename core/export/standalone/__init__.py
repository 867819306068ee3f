"""Programs that are written beside an export and run without this one: they import nothing of ours but each other.

Each is copied as it stands; what differs from servo to servo is a JSON file of numbers (`core.export.servo_file`).
"""
