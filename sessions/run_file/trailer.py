"""A line after the end of a finished HDF5 file: the SHA-256 of all bytes before it.

HDF5 ignores bytes after its data, and trusts the data: a file with a few changed bytes may hang or end the process that
opens it. The bytes are therefore compared with the hash before HDF5 sees them. Other programs that rewrite a file drop
the line; such a file is tried in another process first, see sessions.run_file.sandbox.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from sessions.errors import UnreadableError

_MARK = b"\nServoBench SHA-256 "
_LENGTH = len(_MARK) + 64 + 1
_BLOCK = 2**20


def with_trailer(content: bytes) -> bytes:
    """Return a file's content followed by its trailer."""
    return content + _trailer(hashlib.sha256(content).hexdigest())


def append_trailer(path: Path) -> None:
    """Append a trailer to a file; raises OSError."""
    with path.open("rb+") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.write(_trailer(digest))


def check_trailer(path: Path) -> bool:
    """Return True if the file has a trailer.

    Raises:
        UnreadableError: if the bytes of the file do not match it.
    """
    with path.open("rb") as file:
        left = max(0, file.seek(0, 2) - _LENGTH)
        file.seek(left)
        trailer = file.read(_LENGTH)
        if not trailer.startswith(_MARK):
            return False
        file.seek(0)
        digest = hashlib.sha256()
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
    if trailer != _trailer(digest.hexdigest()):
        raise UnreadableError("the file is damaged: its bytes are not the ones that were written (SHA-256 differs)")
    return True


def _trailer(digest: str) -> bytes:
    return _MARK + digest.encode("ascii") + b"\n"
