"""One module for each command, imported when it is asked for, and those of its parts."""
