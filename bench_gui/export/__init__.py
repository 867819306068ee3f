"""Export: a model as files for another program."""
