"""The stand-alone torch servo is the kernel's servo: every law, M1–M6 and the whole command path, to rounding.

Joint (law, model) of one batch is a servo of its own; environment n holds a random candidate in a random state. In
float64 the two agree to 1e-9 of the scale of each quantity, in float32 to 3e-5.
"""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.export.servo_file import BRISTLE_NUMBERS, COMMAND_NUMBERS, LATER_NUMBERS, NUMBERS, servo_numbers, servo_text
from core.kernel.layout import Law, Slot
from core.kernel.rollout import OUTPUTS, STATE, rollout_kernel
from core.motion.simulation import NO_LOAD, simulate_trajectory
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.friction import friction_budget
from core.servo.model import with_contact
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS, CONTACTS, FRICTION_MODELS
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model

H = 1.0 / 256.0
JOINTS = tuple(itertools.product(LAW_MODELS, FRICTION_MODELS))
ENVS = 170
"""3 laws × 6 models × this many: 1,020 states of each law."""
TOLERANCE = {"float64": 1e-9, "float32": 3e-5}
FULL_PATH = {
    "command_delay": 0.0123,
    "release_delay": 0.0071,
    "error_gain_ratio": 1.1,
    "goal_slew": 4.0,
    "dead_band": 0.004,
    "output_offset": 0.02,
    "pwm_lag": 0.006,
    "supply_sag": 0.4,
    "pulse_sag": 0.7,
    "release_braking": 0.6,
}


@pytest.fixture(scope="module", autouse=True)
def _torch():
    """Import PyTorch only where these tests run: every process of the tests collects this file."""
    global torch, program
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    program = pytest.importorskip("core.export.standalone.servobench_torch")


def others(*rows):
    """Rows of a table that go the same way as those before them."""
    mark = pytest.mark.exhaustive("the other laws and contacts")
    return [pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=mark) for row in rows]


def model_of(law, friction, path=(), **values):
    return catalogue_model(friction=friction, command_path=tuple(path), values=values, **LAW_MODELS[law])


def random_values(law, friction, random):
    """A model's numbers anywhere within their bounds, all terms of the command path in use."""
    model = model_of(law, friction, COMMAND_PATH_TERMS)
    free = {p.name: random.uniform(p.lower, p.upper) for p in model.parameters.values()}
    gate = ("larger_torque", "opposing")[int(random.integers(2))]
    return replace(model.with_values(free), quadratic_gate=gate)


class RandomStates:
    """Candidates, states and inputs, and what the kernel makes of them in one step; arrays (ENVS, joints)."""

    def __init__(self, random):
        self.first = [servo_numbers(model_of(*joint), model_of(*joint).default_settings()) for joint in JOINTS]
        shape = (ENVS, len(JOINTS))
        self.goal, self.position = random.uniform(-2.0, 2.0, shape), random.uniform(-2.0, 2.0, shape)
        self.velocity = random.normal(0.0, 3.0, shape) * (random.random(shape) > 0.1)
        self.enable = np.array([0.0, 1.0, 1.0, 0.4])[random.integers(4, size=shape)]
        self.external, self.hand = np.empty(shape), random.normal(0.0, 1.0, shape)
        self.state = np.empty((*shape, STATE))
        self.numbers = {slot.name.lower(): np.empty(shape) for slot in NUMBERS}
        self.supply, self.inertia = random.uniform(5.0, 20.0, shape), random.uniform(0.005, 0.5, shape)
        self.torque, self.next_velocity, self.budget = np.empty(shape), np.empty(shape), np.empty(shape)
        self.next_state = np.empty((*shape, STATE))
        out = np.empty((1, len(OUTPUTS)))
        nothing = np.zeros(1)
        for j, (law, friction) in enumerate(JOINTS):
            kernel = rollout_kernel(Law[law.upper()])
            settings = replace(model_of(law, friction).default_settings(), ki=1.5, kd=0.5)
            for n in range(ENVS):
                if n % 5 == 0:
                    model = random_values(law, friction, random)
                    row = model.bound_row(PENDULUM, settings, H)
                    row[[Slot.KI, Slot.KD]] = row[Slot.KP] * random.uniform(0.0, [2.0, 0.05])
                    row[[Slot.DELAY, Slot.RELEASE_DELAY, Slot.GRAVITY_TORQUE, Slot.CONTROL_PERIOD]] = 0.0
                row[Slot.INERTIA] = self.inertia[n, j]
                for slot in NUMBERS:
                    self.numbers[slot.name.lower()][n, j] = row[slot]
                limit = row[Slot.OUTPUT_LIMIT]
                scale = np.array([1.0, 1.0, 1.0, limit, limit, 0.1, 0.6, *[0.0] * (STATE - 7)])
                state = random.uniform(-1.0, 1.0, STATE) * scale
                state[:2], state[6] = (self.position[n, j], self.velocity[n, j]), abs(state[6])
                self.state[n, j] = state
                hand = self.hand[n, j : j + 1]
                kernel(
                    row, state, self.goal[n, j : j + 1], np.ones(1), self.enable[n, j : j + 1],
                    self.supply[n, j : j + 1], NO_LOAD, hand, nothing, nothing, 0, H, 1, out,
                )  # fmt: skip
                self.next_state[n, j] = state
                self.torque[n, j] = out[0, OUTPUTS.index("motor_torque")]
                self.budget[n, j] = friction_budget(
                    friction, model.values, out[0, 2], hand[0], self.velocity[n, j], model.quadratic_gate
                )


@pytest.fixture(scope="module")
def states():
    return RandomStates(np.random.default_rng(7))


def servo_in(states, dtype):
    servo = program.TorchServo(states.first, ENVS, H, dtype=getattr(torch, dtype))
    for name, values in states.numbers.items():
        servo.numbers[name].copy_(torch.as_tensor(values))
    servo.refresh()
    return servo


def assert_close(actual, expected, tolerance):
    """Relative to each number, or to the mean size of its kind where it is smaller."""
    floor = np.abs(expected).mean(axis=0)
    error = np.abs(actual.double().numpy() - expected) / np.maximum(np.abs(expected), floor)
    assert error.max() < tolerance


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_step_is_the_kernels_step(states, dtype):
    """Motor torque, budget, applied friction and everything the servo remembers; laws mixed in one batch."""
    given = {name: torch.as_tensor(getattr(states, name), dtype=getattr(torch, dtype)) for name in (
        "goal", "position", "velocity", "enable", "supply", "hand", "inertia")}  # fmt: skip
    servo = servo_in(states, dtype)
    remembered = ("slewed", "output", "integral", "error", "bus_current")
    for i, name in enumerate(remembered, start=2):
        getattr(servo._state, name).copy_(torch.as_tensor(states.state[..., i]))
    servo._fresh.fill_(False)

    torque = servo.motor_torque(given["goal"], given["position"], given["velocity"], given["enable"], given["supply"])
    budget = servo.friction_budget(given["velocity"], torque, given["hand"])
    inertia = given["inertia"] + servo.numbers["armature"]
    friction = servo.applied_friction(inertia, given["velocity"], torque, given["hand"])
    velocity = given["velocity"] + H * (torque + given["hand"] + friction) / inertia

    assert_close(torque, states.torque, TOLERANCE[dtype])
    assert_close(budget, states.budget, TOLERANCE[dtype])
    assert_close(velocity, states.next_state[..., 1], TOLERANCE[dtype])
    for i, name in enumerate(remembered, start=2):
        assert_close(getattr(servo._state, name), states.next_state[..., i], TOLERANCE[dtype])


def test_the_motor_damping_is_the_slope_of_the_torque(states):
    """−∂τ_m/∂θ̇ of the voltage and the current law, by differences on both sides that agree."""
    given = [torch.as_tensor(getattr(states, n)) for n in ("goal", "position", "velocity", "enable", "supply")]
    servo = servo_in(states, "float64")
    servo._fresh.fill_(False)
    small = 1e-5

    torques = [servo.propose(given[0], given[1], given[2] + d, *given[3:]) for d in (-small, 0.0, small)]
    servo.propose(*given)
    damping = servo.motor_damping()

    left, right = (torques[0] - torques[1]) / small, (torques[1] - torques[2]) / small
    smooth = (left - right).abs() < 1e-4 * (1.0 + left.abs())
    linear = torch.tensor([law != "coast" for law, _ in JOINTS])
    assert smooth[:, linear].double().mean() > 0.99
    torch.testing.assert_close(
        damping[:, linear][smooth[:, linear]], left[:, linear][smooth[:, linear]], rtol=1e-4, atol=1e-4
    )
    assert (damping[:, ~linear] == 0.0).all()
    assert (damping[:, linear] > 0.0).double().mean() > 0.5


class Rollout:
    """Algorithm 1 around a torch servo: one pendulum an environment, from rest at 0."""

    def __init__(self, model, envs, dt, dtype="float64", settings=None):
        dtype = getattr(torch, dtype)
        self.settings = settings or model.default_settings()
        numbers = servo_numbers(model, self.settings)
        self.servo = program.TorchServo([numbers], envs, dt, contacts=program.CONTACTS, dtype=dtype)
        self.inertia = PENDULUM.inertia + model.values["armature"]
        self.offset = PENDULUM.angle_offset + model.values["q_offset"]
        self.dt = dt
        self.position, self.velocity = torch.zeros(2, envs, 1, dtype=dtype)

    def step(self, goal, enable):
        external = -PENDULUM.gravity_torque * torch.sin(self.position + self.offset)
        motor = self.servo.motor_torque(goal, self.position, self.velocity, enable)
        friction = self.servo.applied_friction(self.inertia, self.velocity, motor, external)
        acceleration = (motor + external + friction) / self.inertia
        self.position = self.position + self.velocity * self.dt + 0.5 * acceleration * self.dt**2
        self.velocity = self.velocity + acceleration * self.dt
        return motor

    def run(self, goals, enables):
        """Positions before each step and the motor torque in it; arrays (envs, samples) in and out."""
        goals, enables = (torch.as_tensor(x).to(self.position)[:, :, None] for x in (goals, enables))
        samples = []
        for k in range(goals.shape[1]):
            before = self.position
            samples.append(torch.cat((before, self.step(goals[:, k], enables[:, k])), dim=1))
        return torch.stack(samples, dim=2).double().unbind(1)


LASTING = 3.0
"""Of a run [s]: a lift of 2 s, and a drop."""


def path_of(name):
    return make_trajectory(name, LASTING)


def commanded(dt):
    """Goal and enable of the four trajectories, (4, samples)."""
    time = dt * np.arange(round(LASTING / dt))
    trajectories = [path_of(name) for name in PAPER_TRAJECTORIES]
    return np.array([t.goal(time) for t in trajectories]), np.array([t.torque_enable(time) for t in trajectories])


@pytest.mark.parametrize(
    ("name", "friction", "contact"),
    [
        ("erob80_100", "m4", "elastoplastic_rational"),
        pytest.param("mx106", "m6", "elastoplastic", marks=pytest.mark.exhaustive("the other bristle, step by step")),
    ],
)
def test_a_run_with_a_bristle_is_the_kernels_run(name, friction, contact):
    """Four trajectories side by side, a deflection each."""
    model = with_contact(replace(load_model(name, friction), integrator="algorithm1"), contact)
    settings = model.default_settings()
    motions = [simulate_trajectory(model, path_of(n), PENDULUM, settings, H) for n in PAPER_TRAJECTORIES]

    rollout = Rollout(model, 4, H)
    position, torque = rollout.run(*commanded(H))

    np.testing.assert_allclose(position, np.array([m.position for m in motions]), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(torque, np.array([m.motor_torque for m in motions]), rtol=0.0, atol=1e-6)
    assert rollout.servo.deflection.abs().min() > 0.0


def test_what_sticks_gives_by_its_load_and_rests_in_single_precision():
    """Released where friction holds gravity: K·e = τ_e, and 1.5 s at 5 ms later still."""
    published = load_model("mx106", "m6")
    held = {n: 0.0 for n in published.values if n.startswith(("load_", "friction_", "q_"))}
    parameters = published.parameters.with_values(held | {"friction_base": 3.0 * PENDULUM.gravity_torque})
    model = with_contact(replace(published, parameters=parameters), "elastoplastic")
    rollout = Rollout(model, 1, 0.005, "float32")
    rollout.position[:] = 1.0
    off = np.zeros((1, 150))

    settled = rollout.run(off + 1.0, off)[0][0, -1]
    deflection = rollout.servo.deflection.item()
    later = [rollout.run(off + 1.0, off)[0][0, -1] for _ in range(2)]

    load = PENDULUM.gravity_torque * np.sin(settled.item())
    assert deflection == pytest.approx(-load / model.values["bristle_stiffness"], rel=1e-3)
    assert settled.item() == pytest.approx(1.0 + deflection, abs=1e-6)
    assert max(abs(position - settled) for position in later) < 1e-6


def test_a_rigid_joint_beside_a_bristled_one_is_as_it_would_be_alone():
    rigid = load_model("mx106", "m6")
    numbers = [servo_numbers(m, rigid.default_settings()) for m in (rigid, with_contact(rigid, "elastoplastic"))]
    both = program.TorchServo(numbers, 1, H, contacts=program.CONTACTS, dtype=torch.float64)
    alone = program.TorchServo(numbers[:1], 1, H, dtype=torch.float64)
    random = torch.Generator().manual_seed(3)

    for _ in range(20):
        goal, position, velocity, load = torch.randn(4, 1, 2, generator=random, dtype=torch.float64)
        friction = both.applied_friction(0.03, velocity, both.motor_torque(goal, position, velocity), load)
        first = [x[:, :1] for x in (goal, position, velocity, load)]
        expected = alone.applied_friction(0.03, first[2], alone.motor_torque(*first[:3]), first[3])
        torch.testing.assert_close(friction[:, :1], expected, rtol=0.0, atol=0.0)

    assert both.deflection[0, 0] == 0.0 != both.deflection[0, 1]


def test_a_caller_that_has_no_bristles_is_told():
    model = with_contact(load_model("mx106", "m6"), "elastoplastic")
    with pytest.raises(ValueError, match="contact is elastoplastic; only rigid is possible here"):
        program.TorchServo([servo_numbers(model, model.default_settings())], 1, H)


@pytest.mark.parametrize("contact", ["elastoplastic", *others("rigid", "elastoplastic_rational")])
def test_a_reset_environment_starts_anew_and_leaves_the_others_alone(contact):
    """Environment 1 is put back half way: its second half is the first half again, environment 0 goes on."""
    model = with_contact(model_of("voltage", "m6", FULL_PATH, **FULL_PATH), contact)
    goals, enables = (x[[2, 2], :400] for x in commanded(H))
    undisturbed = Rollout(model, 2, H).run(goals, enables)[0]
    rollout = Rollout(model, 2, H)

    rollout.run(goals[:, :200], enables[:, :200])
    rollout.servo.reset(torch.tensor([1]))
    rollout.position[1] = rollout.velocity[1] = 0.0
    goals[1, 200:] = goals[1, :200]
    second = rollout.run(goals[:, 200:], enables[:, 200:])[0]

    torch.testing.assert_close(second[0], undisturbed[0, 200:], rtol=0.0, atol=1e-12)
    torch.testing.assert_close(second[1], undisturbed[1, :200], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("contact", CONTACTS)
def test_asking_twice_before_a_step_changes_nothing(contact):
    model = with_contact(model_of("voltage", "m4", FULL_PATH, **FULL_PATH), contact)
    once, twice = Rollout(model, 1, H), Rollout(model, 1, H)
    goal, enable, rest = torch.full((1, 1), 0.7).double(), torch.ones(1, 1).double(), torch.zeros(1, 1).double()

    for _ in range(20):
        twice.servo.propose(-goal, rest, rest, 1.0 - enable)
        twice.servo.applied_friction(twice.inertia, rest, rest + 1.0, rest)
        once.step(goal, enable)
        twice.step(goal, enable)

    torch.testing.assert_close(twice.position, once.position, rtol=0.0, atol=0.0)
    assert once.position.abs().item() > 1e-4


def test_it_runs_in_inference_mode_and_can_be_reset_and_randomized_outside_of_it():
    model = model_of("current", "m6", FULL_PATH, **FULL_PATH)
    with torch.inference_mode():
        rollout = Rollout(model, 3, H)
        rollout.step(torch.ones(3, 1).double(), torch.ones(3, 1).double())

    rollout.servo.reset([0, 2])
    rollout.servo.randomize("delay", 1.0, 3.0, [0, 2])

    assert torch.isfinite(rollout.servo.motor_torque(*torch.ones(3, 3, 1).double())).all()


def test_randomizing_scales_the_nominal_number_of_the_chosen_environments():
    model = model_of("voltage", "m6", FULL_PATH, **FULL_PATH)
    servo = Rollout(model, 64, H).servo
    for _ in range(2):
        servo.randomize("friction_base", 0.5, 2.0, slice(0, 32), torch.Generator().manual_seed(1))

    share = servo.numbers["friction_base"][:, 0] / model.values["friction_base"]

    assert (share[32:] == 1.0).all()
    assert 0.5 <= share[:32].min() < 0.7 < 1.5 < share[:32].max() <= 2.0
    zero = torch.zeros(64, 1).double()
    torch.testing.assert_close(
        servo.static_friction(torch.full_like(zero, 1e9), zero, zero), servo.numbers["friction_base"]
    )


def test_a_longer_delay_in_one_environment_is_that_environments():
    """Steps of a goal arrive after the delay each environment has: two steps, doubled in the second."""
    servo = Rollout(model_of("current", "m1", ("command_delay",), command_delay=2.0 * H), 2, H).servo
    servo.numbers["delay"][1] *= 2.0
    servo.refresh()
    rest = torch.zeros(2, 1).double()

    asked = torch.stack([servo.motor_torque(rest + (k > 0) * 0.01, rest, rest)[:, 0] > 0.0 for k in range(6)])

    assert asked.T.tolist() == [[False] * 3 + [True] * 3, [False] * 5 + [True]]


def test_the_file_holds_what_the_program_reads():
    slots = (*NUMBERS, *COMMAND_NUMBERS, *LATER_NUMBERS, Slot.LOAD_MEMORY)
    assert set(program.NUMBERS) == {slot.name.lower() for slot in slots} | {"supply_voltage"}
    assert tuple(slot.name.lower() for slot in BRISTLE_NUMBERS) == program.BRISTLE_NUMBERS
    assert tuple(CONTACTS) == program.CONTACTS
    model = load_model("erob80_100", "m6")
    text = servo_text(model, model.default_settings())
    assert program.read_servo(json.loads(text))["law"] == "current"
    with pytest.raises(ValueError, match="backlash, which this program does not compute"):
        program.read_servo({**json.loads(text), "version": 7, "current_limit": 1e9, "backlash": 0.01})


@pytest.mark.parametrize("lead", [0.0, 0.5])
def test_memory_advances_once_a_step_and_starts_settled(lead):
    """In environments that are reset; with a lead, the second step is the first that knows a load."""
    model = model_of("voltage", "m6", ("load_memory",), load_memory=0.1)
    numbers = servo_numbers(model, model.default_settings())
    servo = program.TorchServo([numbers], 2, H, lead=lead, dtype=torch.float64)
    rest = torch.zeros(2, 1).double()

    def excess(load):
        servo.propose(rest, rest, rest)
        servo.remembered(rest, rest - 2.0)
        servo.propose(rest, rest, rest)
        found = servo.remembered(rest, rest + load)
        servo.accept()
        return (found[:, 0] / numbers["load_external"]).tolist()

    share = 1.0 - math.exp(-H / 0.1)
    missing = share * 0.1 / H if lead else 1.0 - share
    if lead:
        assert excess(5.0) == [0.0, 0.0]
    assert excess(1.0) == [0.0, 0.0]
    assert excess(0.0) == pytest.approx([missing] * 2)
    assert excess(0.0) == pytest.approx([missing * (1.0 - share)] * 2)
    servo.reset([1])
    assert excess(3.0)[1] == 0.0
    if lead:
        assert excess(0.4)[1] == 0.0
    assert excess(0.0)[1] == pytest.approx((0.4 if lead else 3.0) * missing)


@pytest.mark.parametrize(
    ("law", "contact"),
    [
        ("voltage", "elastoplastic"),
        ("current", "rigid"),
        *others(
            *(
                row
                for row in itertools.product(LAW_MODELS, CONTACTS)
                if row not in (("voltage", "elastoplastic"), ("current", "rigid"))
            )
        ),
    ],
)
def test_gradients_flow_through_many_steps(law, contact):
    """Of the distance from the goals, by gain and friction, against central differences; a reset starts afresh."""
    path = {name: value for name, value in FULL_PATH.items() if name != "dead_band"}
    model = with_contact(model_of(law, "m6", path, **path), contact)
    numbers = servo_numbers(model, model.default_settings())
    names, time = ("kp", "friction_base"), H * torch.arange(40, dtype=torch.float64)
    servo = program.TorchServo([numbers], 1, H, lead=0.5, contacts=CONTACTS, dtype=torch.float64)
    inertia = PENDULUM.inertia + numbers["armature"]

    def distance(values):
        servo.reset()
        servo.numbers.update(zip(names, values, strict=True))
        position, velocity = torch.full((2, 1, 1), 0.01, dtype=torch.float64)
        summed = torch.zeros(1, 1, dtype=torch.float64)
        for goal in 0.5 * torch.sin(5.0 * time):
            motor = servo.motor_torque(goal, position, velocity)
            load = -PENDULUM.gravity_torque * torch.sin(position)
            friction = servo.applied_friction(inertia, velocity, motor, load)
            velocity = velocity + H * (motor + load + friction) / inertia
            position = position + H * velocity
            summed = summed + (position - goal) ** 2
        return summed.sum()

    values = [torch.full((1, 1), numbers[name], dtype=torch.float64) for name in names]
    leaves = [value.clone().requires_grad_() for value in values]
    for _ in range(2):
        found = torch.autograd.grad(distance(leaves), leaves)
    for place, value in enumerate(values):
        step = 1e-6 * value.item()
        ends = [[v + sign * step * (k == place) for k, v in enumerate(values)] for sign in (1.0, -1.0)]
        slope = (distance(ends[0]) - distance(ends[1])) / (2.0 * step)
        assert found[place].item() == pytest.approx(slope.item(), rel=1e-4)
        assert slope.item() != 0.0
