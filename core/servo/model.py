"""Servo models: control law, motor, friction and command path with their values and provenance, and model files.

Two formats are read and written: ServoBench's (versioned JSON with units, bounds and provenance) and the flat parameter
files of Rhoban/bam.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import numpy as np

from core.base.arrays import Array
from core.base.atomic import sweep
from core.base.errors import ModelError, ServoBenchError, newer
from core.base.guards import finite_float, is_finite, is_object
from core.base.sealed import is_edited, sealed_text
from core.document.table import Tabular
from core.kernel.layout import Contact, Law, Setup, Slot, bind, empty_rows
from core.servo.actuator import COMMANDS, ControlLaw, setup_row
from core.servo.bench import Bench
from core.servo.catalogue import SERVO_FILE, adopt_servo, load_servo
from core.servo.friction import QUADRATIC_GATES, contact_terms, needed_damping, require_contact, require_friction_model
from core.servo.parameters import Parameter, ParameterSet
from core.servo.servo_spec import ServoSpec, parse_servo
from core.servo.settings import ServoSettings
from core.servo.terms import (
    BRISTLE,
    COMMAND_PATH,
    COMMAND_PATH_TERMS,
    CONTACT_TITLES,
    CONTACTS,
    FRICTION_TERMS,
    MOTOR_TERMS,
    SAGS,
    TERMS,
    Integrator,
    QuadraticGate,
)

FORMAT = "servobench-model"
FORMAT_VERSION = 2
"""Version 2 adds the contact. A model with a rigid contact is still written as version 1, which older programs read."""
EDITED_ENTRY = "edited"
"""Provenance entry that is true in a model whose file was edited by hand or damaged; see `core.base.sealed`."""
INTEGRATORS = get_args(Integrator)
"""Names of the integrators.

"leapfrog" is the second-order step of `core.kernel.step`, "algorithm1" is Algorithm 1 of seed 004. "bam" is
Rhoban/bam's variant of the latter, in which the position uses the updated velocity.
"""

BAM_VELOCITY_LIMIT = 100.0
"""Velocity limit of Rhoban/bam's integrator [rad/s]."""

LONGEST_STEP = 1.0
"""Longest time between samples [s]."""
MOST_SUBSTEPS = 10_000

RATIONAL_WIDTH = 1.6
"""Ratio of the speeds v_s with which exp(−v/v_s) is closest to 1/(1 + v/v_s), in least squares up to 2.4 times the
latter. With a rigid contact, the motion of the M6 identified from XL330 and STS3215 recordings changes by 6.3 and
5.2 mrad, and by 10.4 and 14.9 mrad if v_s is kept."""

LARGEST_FILE = 4_000_000
"""Largest size of a model file [bytes]."""

_BAM_DEFAULTS = {"R": 2.0, "q_offset": 0.0}
BAM_COMMAND_PATH = {
    "command_delay": "command_delay",
    "max_velocity": "goal_slew",
    "error_gain_ratio": "error_gain_ratio",
}
"""Keys of Rhoban/bam's parameter files and the command path terms they stand for."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ServoModel(Tabular):
    """Everything needed to simulate one servo.

    Example:
        >>> model = sb.load_model("mx106:m6")
        >>> model.friction
        'm6'
        >>> stiffer = model.with_values({"friction_base": 0.2})
    """

    servo: str
    """Catalogue name."""
    servo_file: str = ""
    """Text of the servo's file, empty for a shipped servo. The model takes the servo's data from here, see `spec`."""
    friction: str
    """"m1" … "m6"."""
    control: ControlLaw
    supply_voltage: float
    """Nominal supply voltage [V], used where a recording has none."""
    parameters: ParameterSet
    """Motor, angle offset, friction, and the command path terms in use."""
    contact: str = "rigid"
    """Friction before slip: "rigid", "elastoplastic" or "elastoplastic_rational" (Cisneros et al.)."""
    quadratic_gate: QuadraticGate = "larger_torque"
    integrator: Integrator = "leapfrog"
    """Integrator that the values were identified with, and the default for simulation."""
    dt: float = 0.0025
    """Time between the samples that the values were identified with [s]."""
    substeps: int = 1
    """Time steps between two samples, see `steps_between`."""
    name: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Data hash, split, scores, seed, versions, source.

    "carried_over" describes the published model that this one was fitted to: its integrator and time step [s], the lead
    of its commands [s], the number of motions, and the mean distances from them [rad].
    """

    def __post_init__(self) -> None:
        if self.servo_file and self.spec.name != self.servo:
            raise ModelError(f"the servo file describes {self.spec.name}, not {self.servo}")
        require_friction_model(self.friction)
        require_contact(self.contact)
        if any(0xD800 <= ord(letter) <= 0xDFFF for letter in self.name):
            raise ModelError("the model's name contains half a character (a lone surrogate)")
        if self.quadratic_gate not in QUADRATIC_GATES:
            raise ModelError(f"no quadratic gate {self.quadratic_gate!r}; there are {', '.join(QUADRATIC_GATES)}")
        if self.integrator not in INTEGRATORS:
            raise ModelError(f"no integrator {self.integrator!r}; there are {', '.join(INTEGRATORS)}")
        if not (0.0 < self.dt <= LONGEST_STEP and 1 <= self.substeps <= MOST_SUBSTEPS):
            raise ModelError(f"a time step of {self.dt} s in {self.substeps} parts is not possible")
        if not (math.isfinite(self.supply_voltage) and self.supply_voltage > 0):
            raise ModelError(f"a supply voltage of {self.supply_voltage} V is not possible")
        needed = (*MOTOR_TERMS, *FRICTION_TERMS[self.friction], *contact_terms(self.contact))
        missing = [name for name in needed if name not in self.parameters]
        if missing:
            raise ModelError(f"{self.title}: parameters missing: {', '.join(missing)}")
        for name, parameter in self.parameters.items():
            if name not in TERMS:
                raise ModelError(f"{self.title}: no such parameter: {name}")
            if name != "q_offset" and parameter.value < 0:
                raise ModelError(f"{self.title}: {name} = {parameter.value} is negative")
        for name in (*MOTOR_TERMS, *contact_terms(self.contact)):
            if not self.parameters[name].value > 0:
                raise ModelError(f"{self.title}: {name} must be positive")
        self._require_continuous_contact()
        for name in ("backlash", "load_memory"):
            if name in self.command_path and not self.leapfrog:
                raise ModelError(f'{self.title}: {name} needs the integrator "leapfrog", not {self.integrator!r}')

    def _require_continuous_contact(self) -> None:
        """Reject a bristle whose friction jumps at the onset of slip (Cisneros et al., eq. 14)."""
        if self.contact == "rigid":
            return
        values = self.values
        needed = _needed_damping(values, self.contact, self.spec)
        if values["bristle_damping"] >= needed * (1.0 - 1e-9):
            return
        if math.isinf(needed):
            raise ModelError(
                f"{self.title}: with alpha = {values['alpha']:g}, less than 1, friction falls infinitely steeply at "
                'rest; raise alpha to 1 or choose the contact "elastoplastic_rational"'
            )
        load = self.spec.stall_torque
        raise ModelError(
            f"{self.title}: friction would jump at the onset of slip: at {load:g} N·m it falls faster than "
            f"bristle_damping = {values['bristle_damping']:.4g} N·m·s/rad allows; raise bristle_damping to at least "
            f"{needed:.4g}, or dtheta_stribeck or friction_viscous, or lower the additional friction at rest"
        )

    def heading(self) -> str:
        """Return title, control law, command and integration."""
        command = "" if self.control.command == "position" else f" commanded by {COMMANDS[self.control.command].words}"
        return f"{self.title}, {self.control.law} law{command}, {self.integration}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the parameters with symbols, values and units."""
        known = list(self.parameters.values())
        return {
            "parameter": [p.name for p in known],
            "symbol": [p.symbol for p in known],
            "value": [p.value for p in known],
            "unit": [p.unit for p in known],
        }

    @property
    def spec(self) -> ServoSpec:
        """Description of the servo: the one in the model's own servo file if it has one, else the catalogue's."""
        return _carried(self.servo_file) if self.servo_file else load_servo(self.servo)

    @property
    def title(self) -> str:
        """Title for the user: the model's name, else servo, friction model and contact."""
        contact = "" if self.contact == "rigid" else f" {CONTACT_TITLES[self.contact].lower()}"
        return self.name or f"{self.servo} {self.friction.upper()}{contact}"

    @property
    def kernel_contact(self) -> Contact:
        """Compiled step that computes the model's friction."""
        return CONTACTS[self.contact]

    @property
    def kernel_variant(self) -> tuple[Law, Contact, bool, bool, bool]:
        """Control law, contact, second-order step, backlash and memory: what `rollout_kernel` is compiled for."""
        path = self.command_path
        return self.control.kernel_law, self.kernel_contact, self.leapfrog, "backlash" in path, "load_memory" in path

    @property
    def sags(self) -> bool:
        """True if it computes the sag of the supply."""
        return not SAGS.isdisjoint(self.command_path)

    @property
    def command_path(self) -> tuple[str, ...]:
        """Command path terms in use, without those that a fit left out."""
        found = self.parameters
        return tuple(name for name in COMMAND_PATH if name in found and not found[name].left_out)

    @property
    def carried_over(self) -> str:
        """Sentence on the distance from the published model that this one was fitted to; empty for other models."""
        found = self.provenance.get("carried_over")
        if not is_object(found):
            return ""
        keys = ("distance", "distance_with_lead", "unfitted_distance", "command_lead", "step")
        numbers: list[Any] = [found.get(key) for key in keys]
        if not all(is_finite(number) for number in numbers):
            return ""
        distance, leading, unfitted, lead, step = (1e3 * number for number in numbers)
        shift = (
            f", {leading:.2f} mrad if commands arrive {lead:g} ms earlier, as in the published model" if lead else ""
        )
        return (
            f"Carried over from published values, which were fitted with integrator {found.get('integrator')} at a "
            f"time step of {step:g} ms. Mean distance from their motion: {distance:.2f} mrad{shift}; published values "
            f"with the second-order step: {unfitted:.2f} mrad."
        )

    @property
    def values(self) -> dict[str, float]:
        """Parameter values by name, in SI units."""
        return self.parameters.numbers()

    def with_values(self, values: Mapping[str, float]) -> ServoModel:
        """Return the model with other values for the named parameters, see `with_parameters`."""
        return self.with_parameters(self.parameters.with_values(values))

    def with_vector(self, vector: Array) -> ServoModel:
        """Return the model with other values for its free parameters, (n_free,), see `with_parameters`."""
        return self.with_parameters(self.parameters.with_vector(vector))

    def with_parameters(self, parameters: ParameterSet) -> ServoModel:
        """Return the model with other parameters.

        The damping of a bristle is raised if it is too small for the other values.
        """
        if self.contact != "rigid":
            damping = parameters["bristle_damping"]
            needed = _needed_damping(parameters.numbers(), self.contact, self.spec)
            if damping.value < needed < math.inf:
                raised = _widened(damping, needed)
                parameters = ParameterSet([raised if p is damping else p for p in parameters.values()])
        return replace(self, parameters=parameters)

    def default_settings(self, kp: float | None = None) -> ServoSettings:
        """Return the settings that the catalogue suggests."""
        return ServoSettings(
            servo=self.servo, kp=self.spec.default_kp if kp is None else kp, supply_voltage=self.supply_voltage
        )

    @property
    def leapfrog(self) -> bool:
        """True if the model is simulated with the second-order step."""
        return self.integrator == "leapfrog"

    @property
    def step(self) -> float:
        """Time step that the values were identified with [s]."""
        return self.dt / self.substeps

    @property
    def integration(self) -> str:
        """Integrator and time step as text, e.g. "leapfrog (second order), step 2.5 ms"."""
        if self.leapfrog:
            return f"{self.integrator} (second order), step {1e3 * self.step:.3g} ms"
        return f"{self.integrator} (first order), steps per sample: {self.substeps}"

    def control_period(self, settings: ServoSettings) -> float:
        """Return the time between two actions of the control law with these gains [s].

        It is 0 for a law that acts continuously, or in every time step of a first-order integrator.
        """
        if not self.leapfrog:
            return 0.0
        period = self.parameters.get("control_period")
        return self.control.period(settings) if period is None else period.value

    def steps_between(self, interval: float, settings: ServoSettings) -> int:
        """Return the number of time steps between two samples.

        Values of the second-order step hold at any time step that is fine enough, so none is longer than `step` or than
        the period of the control law. Values of a first-order step belong to their time step, so `substeps` is returned
        for any interval.

        Args:
            interval: Time between the samples [s].
            settings: Gains of the servo.
        """
        if not self.leapfrog:
            return self.substeps
        period = self.parameters.get("control_period")
        # A search tries shorter periods, too.
        shortest = self.control_period(settings) if period is None or period.frozen else period.lower
        return max(1, math.ceil(interval / min(self.step, shortest or math.inf) - 1e-6))

    @property
    def output_limit(self) -> float:
        """Largest output of the control law [duty cycle or A]."""
        return self.control.output_limit * self.values.get("output_limit_ratio", 1.0)

    def rows(self, matrix: np.ndarray | None = None) -> np.ndarray:
        """Return kernel rows that are not yet bound to a bench.

        Args:
            matrix: Values of the free parameters, one candidate a row, (n, n_free). None uses the model's own values.

        Returns:
            Rows, (n, ROW).
        """
        count = 1 if matrix is None else len(matrix)
        rows = empty_rows(count)
        self.control.fill(rows)
        rows[:, Slot.OPPOSING_GATE] = self.quadratic_gate == "opposing"
        if self.integrator == "bam":
            rows[:, Slot.VELOCITY_AFTER] = 1.0
            rows[:, Slot.VELOCITY_LIMIT] = BAM_VELOCITY_LIMIT
        values: dict[str, Any] = dict(self.values)
        if matrix is not None:
            values |= {p.name: matrix[:, i] for i, p in enumerate(self.parameters.free)}
        if self.contact != "rigid":
            # Candidates of a search get the damping at which their friction is continuous, as in `with_parameters`.
            needed = needed_damping(values, self.contact, self.spec.stall_torque)
            values["bristle_damping"] = np.maximum(values["bristle_damping"], needed)
        for name, value in values.items():
            term = TERMS[name]
            for slot in term.slots:
                rows[:, slot] = rows[:, slot] * value if term.scales else value
        if "release_delay" not in self.parameters:
            rows[:, Slot.RELEASE_DELAY] = rows[:, Slot.DELAY]
        return rows

    def needs_full_step(self, settings: ServoSettings) -> bool:
        """True if a command path term, an integral or a derivative gain is in use, or if the law acts once a period."""
        gains = settings.ki * self.control.integral_ratio + settings.kd * self.control.derivative_ratio
        return (
            gains > 0
            or "speed_integral" in self.parameters
            or self.control_period(settings) > 0
            or any(name not in ("release_braking", "backlash", "load_memory") for name in self.command_path)
        )

    def setup(self, bench: Bench, settings: ServoSettings, step: float) -> np.ndarray:
        """Return what a bench and the servo's gains add to each row, (len(Setup),), for a time step [s]."""
        setup = setup_row(self.control, bench, settings, step)
        setup[Setup.SAMPLED] = self.control_period(settings) > 0.0
        return setup

    def require_goal_angles(self, what: str) -> None:
        """Raise ModelError if the servo is not commanded by an angle, which `what` needs."""
        if self.control.command != "position":
            words = COMMANDS[self.control.command].words
            raise ModelError(f"{what} needs a servo that is commanded by an angle; this one is commanded by {words}")

    def bound_row(self, bench: Bench, settings: ServoSettings, step: float) -> np.ndarray:
        """Return the kernel row on a bench, (ROW,), for a time step [s]."""
        return bind(self.rows()[0], self.setup(bench, settings, step))

    def to_json(self) -> dict[str, Any]:
        """Return plain data in ServoBench's format."""
        return {
            "format": FORMAT,
            "version": 1 if self.contact == "rigid" else FORMAT_VERSION,
            "name": self.name,
            "servo": self.servo,
            **({SERVO_FILE: self.servo_file} if self.servo_file else {}),
            "friction": self.friction,
            **({} if self.contact == "rigid" else {"contact": self.contact}),
            "quadratic_gate": self.quadratic_gate,
            "integrator": self.integrator,
            "dt": self.dt,
            "substeps": self.substeps,
            "supply_voltage": self.supply_voltage,
            "control": self.control.to_json(),
            "parameters": self.parameters.to_json(),
            "provenance": dict(self.provenance),
        }

    def to_json_text(self) -> str:
        """Return the sealed file contents in ServoBench's format; the same model gives the same bytes."""
        return sealed_text(self.to_json())

    @classmethod
    def from_json(cls, data: Any, source: str = "model") -> ServoModel:
        """Read ServoBench's format or a flat file of Rhoban/bam.

        A model of a servo that is not shipped carries the servo's file. The servo is added to the user's own servos if
        it is unknown.

        Args:
            data: Parsed JSON.
            source: Name that errors begin with.

        Raises:
            ModelError: The data do not describe a model.
        """
        if not is_object(data):
            raise ModelError(f"{source}: a model file holds one JSON object")
        try:
            if data.get("format") == FORMAT:
                return cls._from_ours(data, source)
            if "actuator" in data and "model" in data:
                return model_from_bam(data)
        except ServoBenchError as error:
            raise ModelError(f"{source}: {error}") from None
        except KeyError as error:
            raise ModelError(f"{source}: entry {error.args[0]!r} is missing") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelError(f"{source}: {error}") from None
        raise ModelError(f"{source}: neither a model of this program nor a parameter file of Rhoban/bam")

    @classmethod
    def _from_ours(cls, data: Mapping[str, Any], source: str) -> ServoModel:
        if int(data["version"]) > FORMAT_VERSION:
            raise ModelError(newer(f"format {data['version']}"))
        carried = str(data.get(SERVO_FILE, ""))
        adopt_servo(str(data["servo"]), data)
        return cls(
            name=str(data.get("name", "")),
            servo=str(data["servo"]) if carried else load_servo(data["servo"]).name,
            servo_file=carried,
            friction=str(data["friction"]),
            contact=str(data.get("contact", "rigid")),
            quadratic_gate=data["quadratic_gate"],
            integrator=data["integrator"],
            dt=float(data["dt"]),
            substeps=int(data["substeps"]),
            supply_voltage=float(data["supply_voltage"]),
            control=ControlLaw.from_json(data["control"]),
            parameters=ParameterSet.from_json(data["parameters"]),
            provenance={**data.get("provenance", {}), **({EDITED_ENTRY: True} if is_edited(data, source) else {})},
        )

    @classmethod
    def from_json_text(cls, text: str, source: str = "model") -> ServoModel:
        """Read the contents of a model file.

        Args:
            text: The contents.
            source: Name that errors begin with.

        Raises:
            ModelError: The text is not a model of either format.
        """
        try:
            data = json.loads(text, parse_constant=_refuse_constant, parse_float=finite_float)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{source}: not JSON ({type(error).__name__}: {error})") from None
        return cls.from_json(data, source)

    @classmethod
    def read(cls, path: Path | str) -> ServoModel:
        """Read a model file of either format.

        Raises:
            ModelError: The file cannot be read, or it does not contain a model.
        """
        file = Path(path)
        sweep(file.parent)
        try:
            if file.stat().st_size > LARGEST_FILE:
                raise ModelError(f"{file}: too large for a model file")
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise ModelError(f"{file}: cannot be read as a model: {reason}") from None
        return cls.from_json_text(text, str(file))


def build_model(
    servo: str,
    friction: str,
    *,
    command_path: tuple[str, ...] = (),
    contact: str = "rigid",
    quadratic_gate: QuadraticGate = "larger_torque",
    integrator: Integrator = "leapfrog",
    dt: float = 0.0025,
    substeps: int = 1,
    command: str = "position",
) -> ServoModel:
    """Build a model of a catalogue servo at its start values, ready for identification.

    Args:
        servo: Catalogue name.
        friction: Friction model, "m1" to "m6".
        command_path: Command path terms to include.
        contact: Friction before slip, see `ServoModel.contact`.
        quadratic_gate: Reading of M6's quadratic term, see `core.servo.friction.QUADRATIC_GATES`.
        integrator: Integrator.
        dt: Time between samples [s].
        substeps: Time steps between two samples.
        command: What the servo is commanded by, one of `core.servo.actuator.COMMANDS`.

    Raises:
        ModelError: There is no such servo, model, contact or command.
    """
    spec = load_servo(servo)
    name = require_friction_model(friction)
    return ServoModel(
        servo=spec.name,
        servo_file=spec.file,
        friction=name,
        control=spec.commanded_by(command),
        supply_voltage=spec.supply_voltage,
        parameters=spec.parameters(name, command_path, contact, command),
        contact=require_contact(contact),
        quadratic_gate=quadratic_gate,
        integrator=integrator,
        dt=dt,
        substeps=substeps,
    )


def with_contact(model: ServoModel, contact: str) -> ServoModel:
    """Return the model with another contact and the same friction.

    An elastoplastic contact gets the catalogue's bristle parameters; a rigid one has none. The Stribeck velocity of a
    rational contact is multiplied by `RATIONAL_WIDTH` for one that is not rational.

    Raises:
        ModelError: There is no such contact, or the friction is not possible with an elastoplastic one.
    """
    name = require_contact(contact)
    budget = {key: p for key, p in model.parameters.items() if key not in BRISTLE}
    if "dtheta_stribeck" in budget and model.contact == "elastoplastic_rational" != name:
        speed = budget["dtheta_stribeck"]
        budget["dtheta_stribeck"] = _widened(speed, RATIONAL_WIDTH * speed.value)
    bristle = model.spec.parameters(model.friction, contact=name)
    added = [model.parameters.get(key, bristle[key]) for key in contact_terms(name)]
    rigid = replace(model, contact="rigid", parameters=ParameterSet(list(budget.values())))
    if name == "rigid":
        return rigid
    wanted = ParameterSet([*budget.values(), *added])
    damping = max(wanted["bristle_damping"].value, _needed_damping(wanted.numbers(), name, model.spec))
    if math.isfinite(damping):
        wanted = ParameterSet([_widened(p, damping) if p.name == "bristle_damping" else p for p in wanted.values()])
    return replace(model, contact=name, parameters=wanted)


def _needed_damping(values: Mapping[str, Any], contact: str, spec: ServoSpec) -> float:
    return float(needed_damping(values, contact, spec.stall_torque))


@lru_cache(maxsize=64)
def _carried(text: str) -> ServoSpec:
    return replace(parse_servo(text), file=text)


def model_from_bam(data: Mapping[str, Any]) -> ServoModel:
    """Read a flat parameter file of Rhoban/bam: {"actuator", "model", name: value, …}.

    Its values were fitted with integrator "bam" and the quadratic term gated by opposing torques. Missing values take
    the defaults of Rhoban/bam (q_offset 0, R 2 Ω).

    Raises:
        ModelError: A parameter is unknown or missing.
    """
    spec = load_servo(str(data["actuator"]))
    friction = require_friction_model(data["model"])
    given = {
        BAM_COMMAND_PATH.get(name, name): _number(name, value)
        for name, value in data.items()
        if name not in ("actuator", "model")
    }
    values = {**_BAM_DEFAULTS, **given}
    template = spec.parameters(friction, tuple(name for name in COMMAND_PATH_TERMS if name in given))
    unknown = [name for name in values if name not in template]
    if unknown:
        raise ModelError(f"parameters that {friction} of {spec.name} does not have: {', '.join(unknown)}")
    missing = [name for name in template if name not in values]
    if missing:
        raise ModelError(f"parameters missing: {', '.join(missing)}")
    return ServoModel(
        servo=spec.name,
        servo_file=spec.file,
        friction=friction,
        control=spec.control,
        supply_voltage=spec.supply_voltage,
        parameters=ParameterSet([_widened(p, values[p.name]) for p in template.values()]),
        quadratic_gate="opposing",
        integrator="bam",
        provenance={"source": "parameter file of Rhoban/bam"},
    )


def without_terms(model: ServoModel, names: Collection[str]) -> ServoModel:
    """Return the model without the named command path terms."""
    return replace(model, parameters=ParameterSet([p for p in model.parameters.values() if p.name not in names]))


def model_to_bam(model: ServoModel) -> dict[str, Any]:
    """Return flat parameters as Rhoban/bam reads them.

    Raises:
        ModelError: Rhoban/bam does not support the model's contact or a command path term.
    """
    if model.contact != "rigid":
        raise ModelError(f"{model.title}: Rhoban/bam has no elastoplastic contact; identify with a rigid one")
    backward = {ours: theirs for theirs, ours in BAM_COMMAND_PATH.items()}
    lost = [name for name in model.command_path if name not in backward]
    if lost:
        raise ModelError(f"{model.title}: Rhoban/bam has no {', '.join(lost)}; identify without them")
    flat = {backward.get(name, name): value for name, value in model.values.items()}
    return {**flat, "model": model.friction, "actuator": model.servo}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def _number(name: str, value: Any) -> float:
    if not is_finite(value):
        raise ModelError(f"{name} = {value!r} is not a finite number")
    return float(value)


def _widened(parameter: Parameter, value: float) -> Parameter:
    lower, upper = min(parameter.lower, value), max(parameter.upper, value)
    return replace(parameter, value=value, lower=lower, upper=upper)
