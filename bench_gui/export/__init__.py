"""Export page: writes a model as files for another program."""
