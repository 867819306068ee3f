"""The help speaks of everything there is to see, and all it speaks of is there."""

import contextlib
import re
import shlex
from dataclasses import fields
from importlib import import_module
from pkgutil import walk_packages

from PIL import Image
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog

import bench_gui
from bench_gui.cli import build_parser
from bench_gui.help.pages import FIRST, FOLDER, links, page_file, pages, place_name, places
from bench_gui.help.topics import DIALOGS, DOCKS, TABS, topic_in_sight, topic_of_page
from bench_gui.help.window import HelpWindow
from bench_gui.record.view import LIVE
from bench_gui.settings import Values
from bench_gui.shell.command_palette import CommandPalette
from bench_gui.shell.tasks import RECORD, TASKS

pytest_plugins = ["tests.gui.whole"]
PICTURES = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
CONTINUED = re.compile(r"\\\n")


def exists(topic):
    name, _, place = topic.partition("#")
    return name in pages() and (not place or place in places(name))


def each_tab(page):
    """Turn to each tab of a page."""
    tabs = getattr(page, "tabs", None)
    segments = getattr(tabs, "segments", tabs)
    for place, segment in enumerate(segments.buttons if segments is not None else ()):
        segments.choose(place)
        within = getattr(tabs.current(), "segments", None) if tabs is not segments else None
        for part, inner in enumerate(within.buttons if within is not None else ()):
            within.choose(part)
            yield inner.accessibleName()
        yield segment.accessibleName()
    if segments is None:
        yield ""


def test_every_task_and_tab_has_its_place(whole):
    window = whole.window
    for number, page in enumerate(window.pages):
        window.show_task(number)
        for tab in each_tab(page):
            topic = topic_of_page(page)
            assert topic != FIRST, f"{TASKS[number][0]}, {tab}"
            assert exists(topic), topic
    titles = {(page.help_page, tab) for page in window.pages for tab in each_tab(page)}
    assert set(TABS) <= titles, "a place for a tab that is not there"


def in_sight(window):
    return topic_in_sight(window.focusWidget(), window.work.docks, window.page(window.stack.currentIndex()))


def test_every_panel_has_its_place(whole):
    docks = whole.window.work.docks
    assert set(docks) == {*DOCKS, "inspector"}
    assert all(map(exists, DOCKS.values()))
    whole.window.show_task(RECORD)
    whole.window.session.head.filter.setFocus()
    assert in_sight(whole.window) == DOCKS["session"]
    whole.window.record.tabs.choose(LIVE)
    whole.window.record.rate.setFocus()
    assert in_sight(whole.window) == "recording#in-the-window"
    whole.click(whole.window.help_button)
    assert whole.window.help.window.current == "recording"
    whole.window.help.window.search.setText("stribeck")
    assert 0 < whole.window.help.window.contents.count() < 8


def test_every_dialog_has_its_place():
    for module in walk_packages(bench_gui.__path__, "bench_gui."):
        if not module.name.endswith("_program"):
            import_module(module.name)

    def below(kind):
        return {kind} | {each for child in kind.__subclasses__() for each in below(child)}

    ours = {kind.__name__ for kind in below(QDialog) if kind.__module__.startswith("bench_gui")}
    # What others are made from is never seen itself.
    assert ours - {"RunDialog"} == set(DIALOGS)
    assert all(map(exists, DIALOGS.values()))


def test_every_link_and_picture_leads_somewhere():
    for name in pages():
        for target, place in links(name):
            assert exists(f"{target}#{place}" if place else target), f"{name}: {target}#{place}"
        for picture in PICTURES.findall(page_file(name).read_text("utf-8")):
            assert (page_file(name).parent / picture).is_file(), f"{name}: {picture}"


def test_every_picture_is_on_a_page_and_keeps_its_colours():
    """A palette merges the colours of a legend; a picture that no page shows is only carried along."""
    shown = {picture for name in pages() for picture in PICTURES.findall(page_file(name).read_text("utf-8"))}
    pictures = list((page_file(FIRST).parent / "img").iterdir())
    assert {f"img/{file.name}" for file in pictures} == shown
    assert {Image.open(file).mode for file in pictures} <= {"RGB", "RGBA"}


def test_every_page_is_reached_from_the_first():
    reached, ahead = set(), [FIRST]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += [target for target, _ in links(name)]
    assert reached == set(pages()) == {path.relative_to(FOLDER).with_suffix("").as_posix() for path in _files()}


def _files():
    return FOLDER.rglob("*.md")


def commands(text):
    """Each `bench …` of a page, in a line or in a block."""
    text = CONTINUED.sub(" ", text)
    found = re.findall(r"`(bench(?:\s[^`]*)?)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        found += re.findall(r"(?:^|\()\s*(bench\b[^\n|)]*)", block, re.MULTILINE)
    return [" ".join(command.split()) for command in found]


def alone(command):
    """Words of a command without what the shell makes of it."""
    words = shlex.split(re.split(r"\s[<>&#]|\d?>", command)[0], comments=True)
    return [word.replace("$mass", "1").rstrip(",") for word in words[1:]]


def test_every_command_is_one(capsys):
    parser = build_parser()
    known = parser._subparsers._group_actions[0].choices
    for page, command in [(name, each) for name in pages() for each in commands(page_file(name).read_text("utf-8"))]:
        words = alone(command)
        if not words:
            continue
        assert words[0] in known or words[0].startswith("-"), f"{page}: {command}"
        with contextlib.suppress(SystemExit):
            parser.parse_args([word for word in words if word != "…"])
        said = re.sub(r"note: [\d,]+ is read as .*\n", "", capsys.readouterr().err)
        # A page may speak of a command without all it has to be given.
        unsaid = r"are required|expected one argument|invalid choice: '[A-Z]+'"
        assert not said or re.search(unsaid, said), f"{page}: {command}: {said}"


def test_every_setting_is_named_and_every_name_is_one():
    rows = re.findall(r"^\| (`[^|]+) \|", page_file("settings").read_text("utf-8"), re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    assert named == [field.name for field in fields(Values)]


def test_a_place_is_brought_into_sight(qtbot):
    window = HelpWindow(None)
    qtbot.addWidget(window)
    window.show()
    window.show_page("recording#the-plan")
    bar = window.page.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.value() > 0)
    top = window.page.cursorForPosition(window.page.viewport().rect().topLeft())
    low = window.page.cursorForPosition(window.page.viewport().rect().bottomRight())
    assert "The plan, above the list," in window.page.toPlainText()[top.position() : low.position()]
    assert window.current == "recording"


def test_links_lead_between_folders(qtbot):
    window = HelpWindow(None)
    qtbot.addWidget(window)
    window.show_page("cookbook/dynamixel")
    assert window.current == "cookbook/dynamixel"
    for link, there in (("../identification.md", "identification"), ("cookbook/erob.md", "cookbook/erob")):
        window._follow(QUrl(link))
        assert window.current == there
    window.back_button.click()
    assert window.current == "identification"
    window.forward_button.click()
    assert window.current == "cookbook/erob"


def test_f1_in_a_dialog_that_shuts_the_window(whole):
    """The menu's key does not reach a modal dialog, and it would shut the help too."""
    window = whole.window
    palette = CommandPalette(window.menus, window)
    palette.setModal(True)
    palette.open()
    palette.activateWindow()
    whole.until(lambda: QApplication.activeWindow() is palette)
    QTest.keyClick(palette.field, Qt.Key.Key_F1)
    (shown,) = palette.findChildren(HelpWindow)
    assert shown.isVisible()
    assert shown.current == "window"
    shown.close()
    palette.reject()


def test_place_names():
    assert place_name("The servo's card") == "the-servos-card"
    assert place_name("Measure the zero…") == "measure-the-zero"
