"""Console commands of an emulated segment: faults of the wire, of a slave and of its drive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drivers import timing
from drivers.emulators.console import Act, Console, ConsoleCommand, number, switch, whole
from drivers.emulators.ethercat.chip.states import AlState
from drivers.emulators.ethercat.faults import WireFaults
from drivers.emulators.ethercat.slave import Slave

MOST_FRAMES = 1_000_000
LONGEST_DELAY = 10_000.0
"""[ms]"""


def add_commands(console: Console, slaves: Sequence[Slave], faults: WireFaults) -> None:
    """Add the commands that act on the wire, the slaves and their mechanisms."""
    _add_wire_commands(console, faults)
    _add_slave_commands(console, slaves)
    _add_mechanism_commands(console, slaves)

    def heal(words: list[str]) -> None:
        faults.heal()
        for slave in slaves:
            slave.muted = slave.drive.warning = False

    console.add("heal", "heal", "end the faults of the wire, `mute` and `alert`", heal)


def _add_wire_commands(console: Console, faults: WireFaults) -> None:
    for kind, help in (
        ("drop", "let frames reach the slaves but not return"),
        ("corrupt", "return frames with garbled data and working counters"),
        ("truncate", "return the first half of frames"),
        ("duplicate", "return frames twice"),
    ):
        console.add(kind, f"{kind} [COUNT]", help, _counter(faults, kind))

    def delay(words: list[str]) -> None:
        faults.delay = 1e-3 * number(words[0], 0.0, LONGEST_DELAY)
        faults.delayed = _count(words[1:])

    def unplug(words: list[str]) -> None:
        faults.unplugged = switch(words[0])

    console.add("delay", "delay MS [COUNT]", "return frames late", delay)
    console.add("unplug", "unplug on | off", "let no frame pass", unplug)


def _counter(faults: WireFaults, kind: str) -> Act:
    def act(words: list[str]) -> None:
        setattr(faults, kind, _count(words))

    return act


def _add_slave_commands(console: Console, slaves: Sequence[Slave]) -> None:
    def offer(name: str, words: str, help: str, act: Callable[[Slave, list[str]], str | None]) -> None:
        def act_on_each(given: list[str]) -> str | None:
            chosen, rest = _chosen(slaves, given)
            answers = [act(slave, rest) for slave in chosen]
            return "\n".join(answer for answer in answers if answer) or None

        console.add(name, " ".join(filter(None, (name, words, "[slave=N]"))), help, act_on_each)

    def mute(slave: Slave, words: list[str]) -> None:
        slave.muted = switch(words[0])

    def cycle_power(slave: Slave, words: list[str]) -> None:
        slave.power_on(timing.now_ns())

    def fault(slave: Slave, words: list[str]) -> None:
        slave.drive.fail(_code(words[0]))

    def alert(slave: Slave, words: list[str]) -> None:
        slave.drive.warning = switch(words[0])

    def fail(slave: Slave, words: list[str]) -> None:
        slave.states.fail(_code(words[0]), min(slave.states.state, AlState.SAFEOP))

    def warn(slave: Slave, words: list[str]) -> None:
        slave.send_emergency(_code(words[0]))

    def say(slave: Slave, words: list[str]) -> str | None:
        if words == ["reset"]:
            slave.esc.clock.forget_windows()
            return None
        return _state_of(slave)

    offer("mute", "on | off", "let frames pass unseen: working counter 0", mute)
    offer("power-cycle", "", "cut the power and restore it: INIT, everything forgotten", cycle_power)
    offer("fault", "CODE", "let the drive fail with this error code, e.g. 0x2310", fault)
    offer("alert", "on | off", "set the statusword's warning bit", alert)
    offer("warning", "on | off", "the same as alert", alert)
    offer("al-error", "CODE", "fall to SAFEOP with this AL status code", fail)
    offer("emergency", "CODE", "send an emergency message", warn)
    offer("esc", "[reset]", "print the states, frames in each SYNC0 period and watchdog expiries", say)


def _state_of(slave: Slave) -> str:
    states, clock = slave.states, slave.esc.clock
    windows = clock.windows
    return (
        f"al={states.state.name} error={int(states.error)} code=0x{states.code:04X} "
        f"drive={slave.drive.state.name} statusword=0x{slave.drive.statusword:04X} "
        f"synchronous={int(states.synchronous)} cycle={clock.cycle} windows_one={windows.one} "
        f"windows_empty={windows.empty} windows_more={windows.more} longest_gap={windows.longest_gap} "
        f"watchdog_ms={slave.esc.watchdog_time / 1e6:g} watchdog_expiries={slave.esc.watchdog_count}"
    )


def _add_mechanism_commands(console: Console, slaves: Sequence[Slave]) -> None:
    """Add each slave's own commands under one name; without slave=N, the first slave, which the hand moves."""
    own: list[dict[str, ConsoleCommand]] = []
    for slave in slaves:
        aside = Console()
        slave.mechanism.add_commands(aside)
        own.append({command.name: command for command in aside.commands if command.name != "help"})
    for name, first in own[0].items():
        if len(slaves) == 1:
            console.add(name, first.usage, first.help, first.act)
        else:
            console.add(name, f"{first.usage} [slave=N]", first.help, _dispatch(slaves, own, name))


def _dispatch(slaves: Sequence[Slave], own: Sequence[dict[str, ConsoleCommand]], name: str) -> Act:
    def act(words: list[str]) -> str | None:
        chosen, rest = _chosen(slaves, words)
        return own[slaves.index(chosen[0])][name].act(rest)

    return act


def _chosen(slaves: Sequence[Slave], words: list[str]) -> tuple[list[Slave], list[str]]:
    """Return the slaves chosen by slave=N, or all without it, and the other words."""
    rest = [word for word in words if not word.startswith("slave=")]
    chosen = [whole(word.removeprefix("slave="), 1, len(slaves)) for word in words if word not in rest]
    return [slaves[n - 1] for n in chosen] or list(slaves), rest


def _count(words: Sequence[str]) -> int:
    return whole(words[0], 0, MOST_FRAMES) if words else 1


def _code(text: str) -> int:
    code = int(text, 0)
    if not 0 <= code <= 0xFFFF:
        raise ValueError(f"{text} is not a code from 0 to 0xFFFF")
    return code
