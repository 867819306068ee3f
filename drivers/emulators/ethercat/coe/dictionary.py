"""An object dictionary: values by index and subindex, and the codes that refuse access to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum


class AbortCode(IntEnum):
    """Reasons to refuse an SDO transfer (ETG.1000.6)."""

    TOGGLE = 0x05030000
    COMMAND = 0x05040001
    ACCESS = 0x06010000
    WRITE_ONLY = 0x06010001
    READ_ONLY = 0x06010002
    COUNT_NOT_ZERO = 0x06010003
    """A subindex can be written only while subindex 0 is 0."""
    NO_OBJECT = 0x06020000
    NOT_MAPPABLE = 0x06040041
    PDO_TOO_LONG = 0x06040042
    LENGTH = 0x06070010
    TOO_LONG = 0x06070012
    TOO_SHORT = 0x06070013
    NO_SUBINDEX = 0x06090011
    RANGE = 0x06090030
    TOO_HIGH = 0x06090031
    TOO_LOW = 0x06090032
    STATE = 0x08000022


class Abort(Exception):
    """The transfer is refused."""

    def __init__(self, code: AbortCode) -> None:
        super().__init__(code)
        self.code = code


class Type(Enum):
    """Type of an entry: CoE data type, bits, struct format; text and bytes have no fixed length."""

    I8 = (0x0002, 8, "b")
    I16 = (0x0003, 16, "h")
    I32 = (0x0004, 32, "i")
    U8 = (0x0005, 8, "B")
    U16 = (0x0006, 16, "H")
    U32 = (0x0007, 32, "I")
    TEXT = (0x0009, 0, "")
    BYTES = (0x000A, 0, "")

    @property
    def bits(self) -> int:
        """Length in bits; 0 if it is not fixed."""
        return self.value[1]

    @property
    def code(self) -> str:
        """Format for `struct`."""
        return self.value[2]

    @property
    def signed(self) -> bool:
        """True if it can be negative."""
        return self.code.islower()


@dataclass(eq=False)
class ObjectEntry:
    """One value of the dictionary."""

    index: int
    sub: int
    name: str
    type: Type
    access: str
    """"ro", "rw" or "rwp": writable only in PREOP."""
    value: int | bytes
    low: int | None = None
    high: int | None = None
    mapping: str = ""
    """"rx" or "tx": the process data that it can be mapped into."""
    measure: Callable[[], int] | None = None
    """Source of its value, if not `value`."""
    check: Callable[[int], None] | None = None
    """Raises Abort for a value that cannot be accepted now."""

    @property
    def number(self) -> int:
        """Present value, within the range of its type."""
        if self.measure is not None:
            half = 1 << self.type.bits - 1
            low, high = (-half, half - 1) if self.type.signed else (0, 2 * half - 1)
            return min(max(self.measure(), low), high)
        assert isinstance(self.value, int)
        return self.value

    @property
    def content(self) -> bytes:
        """Present value as it is transferred."""
        if isinstance(self.value, bytes):
            return self.value
        return self.number.to_bytes(self.type.bits // 8, "little", signed=self.type.signed)


class ObjectDictionary:
    """Entries by index and subindex."""

    def __init__(self, entries: Iterable[ObjectEntry], writable_now: Callable[[], bool]) -> None:
        """Create a dictionary.

        Args:
            entries: Its entries.
            writable_now: Returns True in the state of the slave in which "rwp" entries can be written.
        """
        self._entries: dict[tuple[int, int], ObjectEntry] = {}
        self._objects: set[int] = set()
        self._writable_now = writable_now
        for entry in entries:
            self._entries[entry.index, entry.sub] = entry
            self._objects.add(entry.index)

    def __getitem__(self, place: tuple[int, int]) -> ObjectEntry:
        return self._entries[place]

    @property
    def entries(self) -> tuple[ObjectEntry, ...]:
        """All entries."""
        return tuple(self._entries.values())

    def subs(self, index: int) -> list[ObjectEntry]:
        """Return the entries of one object by subindex."""
        return sorted((entry for entry in self.entries if entry.index == index), key=lambda entry: entry.sub)

    def find(self, index: int, sub: int) -> ObjectEntry:
        """Return an entry. Raises Abort."""
        entry = self._entries.get((index, sub))
        if entry is None:
            raise Abort(AbortCode.NO_SUBINDEX if index in self._objects else AbortCode.NO_OBJECT)
        return entry

    def read(self, index: int, sub: int) -> bytes:
        """Return a value. Raises Abort."""
        return self.find(index, sub).content

    def admit(self, index: int, sub: int, length: int) -> None:
        """Raise Abort if a value of this length [bytes] cannot be written there now."""
        entry = self.find(index, sub)
        if entry.access == "ro":
            raise Abort(AbortCode.READ_ONLY)
        if entry.access == "rwp" and not self._writable_now():
            raise Abort(AbortCode.STATE)
        if entry.type.bits:
            if length > entry.type.bits // 8:
                raise Abort(AbortCode.TOO_LONG)
            if length < entry.type.bits // 8:
                raise Abort(AbortCode.TOO_SHORT)
        elif entry.high is not None and length > entry.high:
            raise Abort(AbortCode.TOO_LONG)

    def write(self, index: int, sub: int, content: bytes) -> None:
        """Set a value. Raises Abort."""
        self.admit(index, sub, len(content))
        entry = self._entries[index, sub]
        if not entry.type.bits:
            entry.value = content
            return
        number = int.from_bytes(content, "little", signed=entry.type.signed)
        if entry.high is not None and number > entry.high:
            raise Abort(AbortCode.TOO_HIGH)
        if entry.low is not None and number < entry.low:
            raise Abort(AbortCode.TOO_LOW)
        if entry.check is not None:
            entry.check(number)
        entry.value = number
