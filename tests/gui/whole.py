"""One window with every page made, for all tests of a module: they connect no servo and open nothing but a session."""

import pytest

from bench_gui.app import make_window
from bench_gui.controller import Controller
from bench_gui.shell.tasks import RECORD
from core.base.units import RADIANS
from sessions.folders import HOME_VARIABLE
from tests.gui.conftest import Person, dispose


@pytest.fixture(scope="module")
def every_page(qapp, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(tmp_path_factory.mktemp("home")))
        controller = Controller()
        window = make_window(controller, "light")
        window.show()
        assert window.pages
        yield window
        window.leave()
        dispose(window, controller)


@pytest.fixture
def whole(qtbot, every_page):
    """A person at the window, in its usual size, layout and colours, where runs are recorded."""
    every_page.show_task(RECORD)
    every_page.resize(1280, 720)
    every_page.work.reset()
    every_page.controller.set_angle_unit(RADIANS)
    if every_page.controller.settings.theme == "dark":
        every_page.appearance.choose("light")
    return Person(qtbot, every_page)
