"""The errors a person sees: each message says what was being done, what was wrong and the remedy."""


class ServoBenchError(Exception):
    """Root of every error raised on purpose; the command line prints it as one line and exits with 1."""


class InputError(ServoBenchError):
    """A file, a folder or a value from outside cannot be used."""


class ModelError(ServoBenchError):
    """A model cannot be built, read or simulated as asked."""


class IdentificationError(ServoBenchError):
    """Recordings and settings do not allow the identification that was asked for."""


class ExportError(ServoBenchError):
    """A model cannot be written for an engine as asked."""
