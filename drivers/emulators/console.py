"""The console of an emulator: one line in, one answer out; commands for the faults of a bench.

The same lines are typed at `bench emulate` and sent by tests and the window through `process.EmulatorProcess.say`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from core.base.errors import InputError
from core.base.numbers import parse_number, parse_whole
from drivers.errors import CommandError

Act = Callable[[list[str]], str | None]
"""Takes the words after the command's name; returns the answer, None for "ok"."""


@dataclass(frozen=True)
class ConsoleCommand:
    """One command of an emulator's console."""

    name: str
    usage: str
    """Syntax, e.g. "drop [COUNT] [id=ID]"."""
    help: str
    act: Act


class Console:
    """The commands of one emulator."""

    def __init__(self) -> None:
        self._commands: dict[str, ConsoleCommand] = {}
        self.add("help", "help", "list the commands", lambda words: self.help())

    def add(self, name: str, usage: str, help: str, act: Act) -> None:
        """Add a command."""
        self._commands[name] = ConsoleCommand(name, usage, help, act)

    @property
    def commands(self) -> tuple[ConsoleCommand, ...]:
        """All commands in the order in which they were added."""
        return tuple(self._commands.values())

    def help(self) -> str:
        """Return every command with its meaning, one per line."""
        width = max(len(command.usage) for command in self._commands.values())
        return "\n".join(f"{command.usage:{width}}  {command.help}" for command in self._commands.values())

    def execute(self, line: str) -> str:
        """Execute a line and return the answer; raises CommandError for an invalid line."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise CommandError(f"console: {line!r}: {error}") from None
        if not words:
            return ""
        command = self._commands.get(words[0])
        if command is None:
            raise CommandError(f"console: unknown command {words[0]!r}; there are {', '.join(self._commands)}")
        try:
            return command.act(words[1:]) or "ok"
        except (IndexError, ValueError, InputError) as error:
            raise CommandError(f"console: {line!r}: {error}; usage: {command.usage}") from None


def number(text: str, lowest: float = -math.inf, highest: float = math.inf) -> float:
    """Return a finite number in a range; raises ValueError."""
    value = parse_number(text)
    if not lowest <= value <= highest:
        raise ValueError(f"{text} is not a number from {lowest:g} to {highest:g}")
    return value


def whole(text: str, lowest: int, highest: int) -> int:
    """Return a whole number in a range; raises ValueError."""
    value = parse_whole(text)
    if not lowest <= value <= highest:
        raise ValueError(f"{text} is not a whole number from {lowest} to {highest}")
    return value


def switch(text: str) -> bool:
    """Return True for "on", False for "off"; raises ValueError."""
    if text not in ("on", "off"):
        raise ValueError(f'{text!r} is neither "on" nor "off"')
    return text == "on"
