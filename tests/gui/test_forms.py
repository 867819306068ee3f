"""Every field of what is asked can be entered, and is asked as it was entered. No window, no servo."""

import tomllib
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QLineEdit, QRadioButton, QSpinBox, QWidget

from bench_gui.connect.servo.connection import ConnectionForm
from bench_gui.connect.servo.emulation_dialog import EmulationDialog
from bench_gui.connect.servo.own_servo_dialog import ServoDialog
from bench_gui.controller import Controller
from bench_gui.export.exporting import Exporting
from bench_gui.export.options_form import OptionsForm
from bench_gui.export.view import ExportView
from bench_gui.fleet.form import SESSIONS, FleetForm
from bench_gui.fleet.messages import FleetJob
from bench_gui.fleet.reading import SeenSession
from bench_gui.headless.exporting import Exported
from bench_gui.identify.crossvalidation.form import CrossValidationForm
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.record.plan_form import PlanForm
from bench_gui.record.trajectory_form import DURATION, TrajectoryForm
from bench_gui.state.models import ModelList
from bench_gui.state.setup import BenchSetup, Gains, Hanging
from bench_gui.widgets.bench_form import BenchForm, SetupForm
from bench_gui.widgets.checks_menu import ChecksMenu
from bench_gui.widgets.fields import AngleBox
from core.base.units import DEGREES, RADIANS
from core.identification.request import IdentificationRequest
from core.motion.recording import DIRECTIONS
from core.motion.trajectories import make_trajectory, trajectory_names
from core.practice.placement import PlacedPoint
from core.practice.plan import GridPlan
from core.servo.bench import Bench
from core.servo.catalogue import SERVOS_VARIABLE, load_servo
from core.servo.settings import ServoSettings
from core.servo.terms import COMMAND_PATH_TERMS
from drivers.emulators.registry import emulators
from drivers.registry import families
from sessions import RunSummary
from sessions.folders import home
from sessions.results.crossvalidating import Question

EMPTY = {field.name: "" for field in fields(RunSummary)}
RUN = RunSummary(
    **{
        **EMPTY,
        **{"id": "0001_sin_sin", "trajectory": "sin_sin", "servo": "mx106", "exit_status": "success"},
        **{"duration": 6.0, "samples": 1201, "mass": 0.5, "length": 0.15, "arm_mass": 0.02, "kp": 16.0},
        **{"ki": 0.0, "kd": 0.0, "supply_voltage": 12.0, "rate": 200.0},
    }
)
OTHER_RUN = replace(
    RUN, id="0002_up_and_down", trajectory="up_and_down", mass=1.0, length=0.1, kp=8.0, supply_voltage=14.0
)
POINT = PlacedPoint(servo="mx106", bench=Bench(mass=0.5, length=0.15), motor_torque=0.5, side="drive", angle=0.4)


def enter(owner, name, value):
    """Set the field with an accessible name, and tell of it as if a person had done so."""
    found = [w for w in owner.findChildren(QWidget) if w.accessibleName() == name]
    (box,) = [w for w in found if not isinstance(w.parentWidget(), QComboBox | QSpinBox | QDoubleSpinBox)]
    if isinstance(box, QComboBox) and not isinstance(box, ChecksMenu):
        place = box.findData(value)
        assert place >= 0, f"{name} does not offer {value!r}"
        box.setCurrentIndex(place)
        box.activated.emit(place)
    elif isinstance(box, QCheckBox):
        box.setChecked(value)
    elif isinstance(box, QRadioButton):
        box.click()
    elif isinstance(box, QLineEdit):
        box.setText(value)
        box.editingFinished.emit()
    elif isinstance(box, AngleBox | QDoubleSpinBox | QSpinBox):
        box.setValue(value)
    else:
        box.check(value)


def changed(before, after):
    """Names and values of the fields in which two objects of a dataclass differ."""
    return {f.name: getattr(after, f.name) for f in fields(after) if getattr(after, f.name) != getattr(before, f.name)}


# An identification.

ENTERED = {
    "command_path": ("Command path", "on", "on"),
    "validation": ("Validation", "mass=0.5", "mass=0.5"),
    "trials": ("Evaluations", 700, 700),
    "repeats": ("Repeats", 3, 3),
    "seed": ("Seed", 11, 11),
    "metric": ("Metric", "rmse", "rmse"),
    "contact": ("Contact", "elastoplastic", "elastoplastic"),
    "quadratic_gate": ("Quadratic term", "opposing", "opposing"),
    "integrator": ("Integrator", "algorithm1", "algorithm1"),
    "substeps": ("Substeps", 4, 4),
    "run_offsets": ("Offsets of each run", True, True),
    "prior": ("Prior", 25.0, 0.025),
    "dt": ("Sample time", 8.0, 0.008),
    "supply": ("Supply voltage", "header", "header"),
    "drive_from": ("Drive from", "current", "current"),
    "threads": ("Threads", 5, 5),
    "sample": ("Maximum runs", 600, 600),
    "points": ("Use placed points", True, True),
}
"""Field of the settings to its widget, what a person enters there, and what that is in SI units."""
ELSEWHERE = {
    "models": ("m1", "m4"),
    "frozen": (("R", 2.5),),
    "bounds": (("kt", 1.0, 3.0),),
    "start": (("kt", 1.7), ("R", 4.0)),
    "start_title": "M6 of the first unit",
}
"""What is chosen by more than one widget or in a dialog."""
OTHER = {**{name: value for name, (_, _, value) in ENTERED.items()}, **ELSEWHERE}


@pytest.fixture
def form(qapp, qtbot):
    made = SettingsForm(QUndoStack(), ModelList())
    qtbot.addWidget(made)
    made.offer([RUN, OTHER_RUN], "mx106")
    return made


def test_other_values_are_known_for_every_setting():
    assert {field.name for field in fields(FitSettings)} == {*OTHER, "polish"}, "polish: on the command line only"
    assert changed(FitSettings(), FitSettings(**OTHER)) == OTHER


@pytest.mark.parametrize("name", ENTERED)
def test_what_a_person_enters_is_that_setting_and_no_other(form, name):
    widget, entered, value = ENTERED[name]
    before = form.settings()
    enter(form, widget, entered)
    assert changed(before, form.settings()) == {name: pytest.approx(value)}


def test_models_that_are_unchecked_are_left_out(form):
    before = form.settings()
    for name in ("m2", "m3", "m5", "m6"):
        enter(form, f"Identify {name.upper()}", False)
    assert changed(before, form.settings()) == {"models": ("m1", "m4")}


@pytest.mark.parametrize("name", OTHER)
def test_settings_that_are_applied_are_the_ones_chosen(form, name):
    also = {"start": OTHER["start"]} if name == "start_title" else {}
    wanted = replace(form.settings(), **{name: OTHER[name], **also})
    form.apply(wanted)
    assert form.settings() == wanted
    form.apply(FitSettings(**OTHER))
    assert form.settings() == FitSettings(**OTHER)


@pytest.mark.parametrize("name", OTHER)
def test_every_setting_reaches_the_request(name):
    plain, asked = FitSettings(), replace(FitSettings(), **{name: OTHER[name]})
    found = changed(plain.request("mx106", [POINT]), asked.request("mx106", [POINT]))
    if name in ("sample", "start_title"):
        assert found == {}, "chosen before the request is made"
    elif name == "command_path":
        assert found == {"command_path_if_better": False}
        off = replace(plain, command_path="off").request("mx106")
        assert (off.command_path, plain.request("mx106").command_path) == ((), COMMAND_PATH_TERMS)
    elif name == "points":
        elsewhere = replace(POINT, servo="xl330")
        assert found == {"points": (POINT,)}
        assert asked.request("mx106", [elsewhere, POINT]).points == (POINT,)
    else:
        assert found == {name: OTHER[name]}


def result_of(settings, train=("1", "2", "3"), held_out=1, stopped=False, tried="it helps"):
    """The result of a fit with these settings; tried: why the command path was taken or not."""
    request = settings.request("mx106", [POINT])
    if request.command_path_if_better:
        request = request.settled(request.command_path)
    else:
        tried = ""
    model = SimpleNamespace(model=SimpleNamespace(provenance={"command_path_choice": tried}))
    return SimpleNamespace(request=request, models=(model,), train=train, held_out=held_out, stopped=stopped)


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize(("stopped", "tried"), [(False, "it helps"), (True, "it helps"), (True, "")])
def test_nothing_has_changed_since_a_result_of_the_same_settings(form, name, stopped, tried):
    """A search that is stopped while it tries the command path does not know yet."""
    settings = replace(FitSettings(), **{name: OTHER[name]})
    form.apply(settings)
    form.show_settings_of(result_of(settings, stopped=stopped, tried=tried), take=False)
    assert form.changed_since == ()
    if name in ENTERED and name not in ("threads", "sample"):
        form.back_to_defaults()
        assert len(form.changed_since) == 1


@pytest.mark.parametrize(("fitted", "selected"), [(2, 1), (1, 2)])
def test_selecting_runs_changes_no_setting(form, fitted, selected):
    """What is held out by default follows their number."""
    runs = [RUN, OTHER_RUN]
    form.offer(runs[:fitted], "mx106")
    form.show_settings_of(result_of(form.settings(), ("1",), fitted - 1), take=False)
    form.offer(runs[:selected], "mx106")
    assert form.changed_since == ()


def test_a_selection_that_lacks_the_held_out_condition_changes_no_setting(form):
    """The rule of the person comes back with the runs, also after an edit of another option meanwhile."""
    form.hold_out("mass=0.5")
    form.show_settings_of(result_of(form.settings()), take=False)
    form.offer([RUN], "mx106")
    assert form.settings().validation == "none"
    assert form.state()["settings"]["validation"] == "mass=0.5"
    assert form.changed_since == ()
    form.set_option("trials", 900)
    assert form.changed_since == ("Evaluations",)
    form.offer([RUN, OTHER_RUN], "mx106")
    assert form.settings().validation == "mass=0.5"
    assert form.changed_since == ("Evaluations",)


def test_another_rule_than_the_usual_one_is_a_change(form):
    form.show_settings_of(result_of(form.settings(), ("1",)), take=False)
    form.apply(replace(form.settings(), validation="mass=0.5"))
    assert form.changed_since == ("Hold out",)


# A cross-validation.


@pytest.fixture
def crossvalidation(qapp, qtbot):
    made = CrossValidationForm()
    qtbot.addWidget(made)
    made.offer([RUN, OTHER_RUN])
    return made


def test_every_field_of_a_cross_validation_is_asked_as_it_was_entered(crossvalidation):
    entered = {
        "by": ("Hold out by", ("mass", "supply_voltage")),
        "command_path": ("Command path", "on"),
        "additions": ("Also compare", ("elastoplastic_rational", "backlash")),
        "most_training_runs": ("Runs to fit to", 17),
        "transfer": ("Transfer", True),
        "terms": ("Terms", True),
    }
    assert {field.name for field in fields(Question)} == {*entered, "request"}
    for name, (widget, value) in entered.items():
        before = crossvalidation.question(FitSettings(), "mx106")
        enter(crossvalidation, widget, value)
        assert changed(before, crossvalidation.question(FitSettings(), "mx106")) == {name: value}
    for name, widget, value in (
        ("models", "Models to compare", ("m2", "m5")),
        ("trials", "Evaluations of a search", 900),
    ):
        before = crossvalidation.question(FitSettings(), "mx106").request
        enter(crossvalidation, widget, value)
        assert changed(before, crossvalidation.question(FitSettings(), "mx106").request) == {name: value}


def test_a_cross_validation_takes_over_how_a_fit_is_made(crossvalidation):
    """All of it but what is chosen in its own form, what each fold decides and what concerns a fit's runs."""
    own = {"models", "command_path", "trials", "repeats", "validation", "points", "sample", "start_title"}
    asked = crossvalidation.question(FitSettings(**OTHER), "mx106").request
    assert (asked.repeats, asked.validation, asked.points, asked.command_path) == (1, "none", (), ())
    for name in OTHER.keys() - own:
        assert getattr(asked, name) == OTHER[name], name


# A fleet.


def test_every_field_of_a_fleet_s_job_is_asked_as_it_was_entered(qapp, qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    made = FleetForm()
    qtbot.addWidget(made)
    sessions = (tmp_path / "one", tmp_path / "two")
    steps = {
        "simulated": (lambda: made.try_simulated(), None),
        "servo": (lambda: enter(made, "Servo", "xl330"), "xl330"),
        "workers": (lambda: enter(made, "Workers", 3), 3),
        "scheduler": (lambda: enter(made, "Scheduler address", "tcp://10.0.0.5:8786"), "tcp://10.0.0.5:8786"),
        "by": (lambda: enter(made, "Folds by condition", ("mass", "trajectory")), ("mass", "trajectory")),
        "folder": (lambda: made.set_folder(tmp_path / "fleet"), tmp_path / "fleet"),
    }
    assert {field.name for field in fields(FleetJob)} == {*steps, "sessions", "fit"}
    steps.pop("simulated")[0]()
    before = made.job()
    enter(made, "Number of units", 23)
    assert changed(before, made.job()) == {"simulated": 23}
    for name, (act, value) in steps.items():
        before = made.job()
        act()
        found = changed(before, made.job())
        if name == "servo":
            assert found.pop("fit").servo == value
            assert found.pop("folder") == Path(tmp_path / f"fleet_simulated_{value}")
        assert found == {name: value}
    for name, widget, entered, value in (
        ("models", "Models of the fleet", ("m1", "m6"), ("m1", "m6")),
        ("repeats", "Repeats", 4, 4),
        ("trials", "Evaluations of a fit", 1500, 1500),
        ("command_path", "Identify the command path of each unit", True, COMMAND_PATH_TERMS),
    ):
        before = made.job().fit
        enter(made, widget, entered)
        assert changed(before, made.job().fit) == {name: value}
    made.source.setCurrentIndex(made.source.findData(SESSIONS))
    made.sessions.set_sessions(sessions)
    made.show_seen(tuple(SeenSession(path=path, units=(("mx106", path.name, 8),)) for path in sessions))
    assert (made.job().sessions, made.job().simulated) == (sessions, 0)


# The bench and the run.

BENCH_FIELDS = {
    "mass": ("Load", 0.735, 0.735),
    "length": ("Length", 0.215, 0.215),
    "arm_mass": ("Rod mass", 0.043, 0.043),
    "gravity": ("Gravity", 9.79, 9.79),
    "angle_offset": ("Mounting error", -5.0, -0.08726646259971647),
    "measured_inertia": ("Inertia", 0.0425, 0.0425),
    "measured_gravity_torque": ("Gravity torque", 1.25, 1.25),
}
BENCH = Bench(**{name: value for name, (_, _, value) in BENCH_FIELDS.items()})


@pytest.fixture
def setup(qapp):
    return BenchSetup(load_servo("mx106"))


def test_every_field_of_the_bench_is_the_one_that_was_entered(setup, qtbot):
    """The mounting error in degrees, a load measured as a whole after a mass on a rod."""
    made = SetupForm(setup, RADIANS)
    qtbot.addWidget(made)
    made.show_in(DEGREES)
    assert {field.name for field in fields(Bench)} == set(BENCH_FIELDS)
    for name, (widget, entered, value) in BENCH_FIELDS.items():
        if name.startswith("measured") and setup.bench.measured_inertia is None:
            before = setup.bench
            enter(made, "Measured load", True)
            assert changed(before, setup.bench) == {
                "measured_inertia": before.inertia,
                "measured_gravity_torque": before.gravity_torque,
            }
        before = setup.bench
        enter(made, widget, entered)
        assert changed(before, setup.bench) == {name: pytest.approx(value)}
    for name, (_, entered, _) in BENCH_FIELDS.items():
        box = made.offset if name == "angle_offset" else made.fields[name]
        assert box.value() == pytest.approx(entered), f"{name} is shown as it was entered"
    enter(made, "Positive direction", -1)
    assert setup.direction == -1


def test_the_header_of_a_run_says_everything_that_was_set_up(setup, qtbot):
    gains = Gains(kp=7.0, ki=0.6, kd=0.3, damping=0.2)
    assert {field.name for field in fields(Gains)} == {"kp", "ki", "kd", "damping"}
    setup.edit_all("all", Hanging(BENCH, gains, -1))
    setup.edit_rate(333.0)
    page = BenchForm(setup)
    qtbot.addWidget(page)
    enter(page, "Position gain", 9.0)
    trajectory = make_trajectory("sin_sin", 2.5)
    header = setup.header(trajectory, "usb:1")
    assert (header.trajectory, header.bench, header.rate) == ("sin_sin", BENCH, 333.0)
    device = {"actuator": None, "preset": None}
    assert asdict(header.settings) == {
        **{"servo": "mx106", "kp": 9.0, "ki": 0.6, "kd": 0.3, "damping": 0.2},
        **{"supply_voltage": load_servo("mx106").supply_voltage, **device},
    }
    assert Gains.of(header.settings) == replace(gains, kp=9.0)
    assert {field.name for field in fields(ServoSettings)} == {*asdict(gains), "servo", "supply_voltage", *device}
    said = header.provenance
    assert (said["servo_address"], said["positive_direction"]) == ("usb:1", DIRECTIONS[-1])
    assert (said["trajectory_duration"], said["trajectory_parameters"]) == (2.5, trajectory.parameters.numbers())


@pytest.mark.parametrize("unit", [RADIANS, DEGREES], ids=lambda unit: unit.name)
@pytest.mark.parametrize("name", trajectory_names())
def test_every_number_of_a_trajectory_is_the_one_that_was_entered(qapp, qtbot, name, unit):
    made = TrajectoryForm()
    qtbot.addWidget(made)
    made.show_in(unit)
    made.choice.setCurrentIndex(made.choice.findData(name))
    for parameter in make_trajectory(name).parameters.values():
        wanted = parameter.value + 0.07 * (parameter.upper - parameter.value)
        before = made.trajectory().parameters.numbers()
        box = made.field(parameter.name)
        assert box.suffix().strip() == (unit.symbol if parameter.unit == "rad" else parameter.unit.replace("1", ""))
        box.setValue(wanted * (unit.per_radian if isinstance(box, AngleBox) else 1.0))
        after = made.trajectory().parameters.numbers()
        assert {n: v for n, v in after.items() if v != before[n]} == {parameter.name: pytest.approx(wanted, abs=1e-3)}
    made.field(DURATION).setValue(7.5)
    assert made.trajectory().duration == 7.5


# The recording plan.


@pytest.fixture
def controller(qapp, monkeypatch, tmp_path):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    made = Controller("simulated:mx106")
    yield made
    made.close()


def test_every_field_of_the_plan_is_the_one_that_was_entered(controller, qtbot):
    page = PlanForm(controller)
    qtbot.addWidget(page)
    page.show()
    entered = {
        "masses": ("Loads", "0.3, 0.7", (0.3, 0.7)),
        "lengths": ("Lengths", "0.12; 0.18, 0.25", (0.12, 0.18, 0.25)),
        "kps": ("Gains kp", "5, 9", (5.0, 9.0)),
        "repetitions": ("Repetitions", 3, 3),
        "duration": ("Duration", 4.5, 4.5),
    }
    assert {field.name for field in fields(GridPlan)} == {*entered, "trajectories", "title", "source"}
    for name, (widget, text, value) in entered.items():
        before = replace(controller.plan.plan, title="", source="")
        enter(page, widget, text)
        assert changed(before, controller.plan.plan) == {name: value}
    before = controller.plan.plan
    for name in before.trajectories[1:]:
        page.chosen[name].trigger()
    assert changed(before, controller.plan.plan) == {"trajectories": before.trajectories[:1]}
    kept = controller.plan.plan
    controller.plan.edit(GridPlan(masses=(1.0,), lengths=(0.1,), kps=(2.0,)), "other")
    controller.undo.undo()
    page.refresh()
    assert page.fields["lengths"].text() == "0.12, 0.18, 0.25"
    assert (page.repetitions.value(), page.length.value()) == (kept.repetitions, kept.duration)


def test_the_window_asks_for_what_the_form_says(controller, monkeypatch):
    """Every setting arrives where the search begins, with the runs of the servo most of them are of."""
    started = []
    library = controller.library
    monkeypatch.setattr(type(library), "path", Path("/lab/one"))
    monkeypatch.setattr(type(library), "results_place", Path("/lab/one/results"))
    odd = replace(RUN, id="0003_odd", servo="xl330")
    monkeypatch.setattr(library, "for_fit", lambda: [RUN, OTHER_RUN, odd])
    monkeypatch.setattr(library, "left_out", lambda runs: "")
    monkeypatch.setattr(library, "main_servo", lambda: "mx106")
    monkeypatch.setattr(controller.fitting, "identify", lambda *asked: started.append(asked))
    settings = FitSettings(**{**OTHER, "points": False})
    controller.identifying.identify(settings)
    request = settings.request("mx106")
    assert isinstance(request, IdentificationRequest)
    assert started == [(Path("/lab/one"), Path("/lab/one/results"), (RUN.id, OTHER_RUN.id), request)]


# The servo.


def enter_part(widget, part):
    """Give a part of an address another value, as a person does, and return it as the text that is read."""
    if part.kind == "choice":
        widget.setCurrentIndex((widget.currentIndex() + 1) % widget.count())
        widget.activated.emit(widget.currentIndex())
        return str(widget.currentData())
    if part.kind == "text":
        text = f"other {part.name}"
        widget.setCurrentText(text) if isinstance(widget, QComboBox) else widget.setText(text)
        (widget.lineEdit() if isinstance(widget, QComboBox) else widget).editingFinished.emit()
        return text
    step = 1 if part.kind == "whole" else 0.5
    widget.setValue(widget.value() + (step if widget.value() + step <= widget.maximum() else -step))
    return f"{widget.value():.10g}"


@pytest.mark.parametrize("name", [family.name for family in families()])
def test_every_part_of_an_address_is_the_one_that_was_entered(qtbot, name):
    form, edits = ConnectionForm("simulated:mx106"), []
    qtbot.addWidget(form)
    form.choose_family(name)
    form.edited.connect(lambda: edits.append(form.values()))
    for part in form.chosen.fields:
        before, widget = form.values(), form.fields[part.name]
        assert (widget.accessibleName(), form._captions[part.name].buddy()) == (part.title, widget)
        value = enter_part(widget, part)
        assert value != before[part.name]
        assert form.values() == {**before, part.name: value}
        assert edits.pop() == form.values()
        shown = {name for name, field in form.fields.items() if not field.isHidden()}
        assert shown == {each.name for each in form.chosen.fields if each.applies(form.values())}


class Device(QObject):
    """An emulator that runs or is to be started, and notes what it is told."""

    started, ended, answered = Signal(str), Signal(str), Signal(str)

    def __init__(self, *addresses):
        super().__init__()
        self.addresses, self.running, self.said = addresses, bool(addresses), []

    def say(self, line):
        self.said.append(line)

    def start(self, text):
        self.said.append(text)


@pytest.mark.parametrize("bus", emulators())
def test_an_emulator_is_started_as_it_was_described(qtbot, bus):
    owner, device = QWidget(), Device()
    qtbot.addWidget(owner)
    dialog = EmulationDialog(owner, device)
    enter(dialog, "Bus", bus)
    entered = {}
    for part in dialog.family.fields:
        widget = dialog.fields[part.name]
        assert widget.accessibleName() == part.title
        entered[part.name] = enter_part(widget, part)
        assert {name: dialog._read[name]() for name in entered} == entered
    dialog.start_button.click()
    assert device.said == [dialog.family.address(entered)]


def test_buttons_of_an_emulator_begin_and_end_the_fault_they_name(qtbot):
    owner, device, chosen = QWidget(), Device("dynamixel:/dev/pts/9:1", "dynamixel:/dev/pts/9:2"), []
    qtbot.addWidget(owner)
    dialog = EmulationDialog(owner, device)
    dialog.chosen.connect(chosen.append)
    enter(dialog, "Bus", "dynamixel")
    faults = {
        **{"Unplugged": ["unplug", "plug"], "Silent": ["mute on", "mute off"], "Lose answers": ["drop 20", "drop 20"]},
        **{"Hot": ["temperature 95", "temperature off"], "Low supply": ["supply 3", "supply off"]},
        **{"Stuck encoder": ["stuck on", "stuck off"]},
    }
    assert [made.text() for made in dialog.faults] == list(faults)
    for made in dialog.faults:
        device.said.clear()
        made.click()
        made.click()
        assert device.said == faults[made.text()]
    dialog.use_button.click()
    assert chosen == ["dynamixel:/dev/pts/9:1"]
    assert dialog.state.text() == "Running at dynamixel:/dev/pts/9:1, dynamixel:/dev/pts/9:2"


def test_every_number_of_a_new_servo_is_the_one_that_was_entered(qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path))
    dialog = ServoDialog(None)
    qtbot.addWidget(dialog)
    entered = {}
    for place, (path, field) in enumerate(dialog.fields.items()):
        if isinstance(field, QLineEdit) and field.text().replace(".", "").isdigit():
            had, whole = field.text(), len(field.text()) > 1 and field.text().isdigit()
            entered[path] = int(had) + place if whole else round(float(had) * (1.0 - 0.001 * place), 6)
            field.setText(str(entered[path]))
            field.textEdited.emit(field.text())
            assert dialog.state.text() == "", path
    assert len(entered) > 8
    dialog.save_button.click()
    (file,) = tmp_path.glob("*.toml")
    data = tomllib.loads(file.read_text("utf-8"))
    written = {}
    for name, part in data.items():
        written |= {f"[{name}] {key}": value for key, value in part.items()} if isinstance(part, dict) else {name: part}
    assert {path: written[path] for path in entered} == entered


# An export.


def test_every_option_of_an_export_is_the_one_that_was_entered(setup, qtbot):
    made = OptionsForm(setup)
    qtbot.addWidget(made)
    setup.set_bench(mass=0.735)
    made.suit(
        ("kp", "ki", "supply_voltage", "timestep", "bench"),
        {"syntax": ("2.3", "3.0"), "friction": ("full", "reduced"), "drive": ("model", "engine")},
    )
    made.begin(7.0, 11.5)
    begun = {"kp": 7.0, "ki": 0.0, "supply_voltage": 11.5, "timestep": 0.001}
    assert made.options() == {**begun, "syntax": "2.3", "friction": "full", "drive": "model"}
    changes = []
    made.changed.connect(lambda: changes.append(made.options()))
    for name, widget, entered, value in (
        ("kp", "Gain kp", 24.0, 24.0),
        ("ki", "Gain ki", 0.5, 0.5),
        ("supply_voltage", "Supply", 14.8, 14.8),
        ("timestep", "Time step", 2.5, 0.0025),
        ("bench", "Pendulum of this bench", True, setup.bench),
    ):
        before = made.options()
        enter(made, widget, entered)
        assert made.options() == {**before, name: value} == changes.pop()
    for name, widget, value in (
        ("syntax", "Syntax", "3.0"), ("friction", "Friction", "reduced"), ("drive", "Drive", "engine"),
    ):  # fmt: skip
        before = made.options()
        (box,) = [each for each in made.findChildren(QComboBox) if each.accessibleName() == widget]
        box.setCurrentText(value)
        assert made.options() == {**before, name: value}
    made.suit(("ki",))
    assert made.options() == {"ki": 0.5}
    assert [name for name, box in made.fields.items() if not box.isHidden()] == ["ki"]


def test_what_is_chosen_is_what_is_previewed_exported_and_checked(controller, qtbot, monkeypatch):
    asked = []
    for act in ("preview", "export", "check"):
        monkeypatch.setattr(Exporting, act, lambda self, *chosen, act=act, **more: asked.append((act, chosen, more)))
    exporting, plain = controller.exporting, {"choices": {}, "engine": "", "engine_there": True}
    for name, options in (("one", ("kp",)), ("two", ("ki",))):
        exporting.targets[name] = SimpleNamespace(title=name, description=f"for {name}", options=options, **plain)
    page = ExportView(controller)
    qtbot.addWidget(page)
    page.show()
    enter(page.inspector, "Model", "catalogue:mx106:m3")
    page.choose_target("two")
    enter(page.inspector, "Gain ki", 0.25)
    enter(page.inspector, "Replace existing files", True)
    page._preview()
    assert not page.export_button.isEnabled(), "an export of what is not shown"
    exporting.previewed.emit(Exported((), ("It lacks 0.0123456 rad.", "Another note."), name="m3-two"))
    assert [part.text() for part in (page.statement, page.lost, page.notes)] == [
        "for two", "It lacks 0.01235 rad.", "- Another note.",
    ]  # fmt: skip
    assert exporting.folder == home() / "exports" / "m3-two"
    page.export_button.click()
    page.check_button.click()
    chosen = (controller.model_list.entry("catalogue:mx106:m3").model, "two", {"ki": 0.25})
    assert asked == [("preview", chosen, {}), ("export", chosen, {"force": True}), ("check", chosen, {})]
