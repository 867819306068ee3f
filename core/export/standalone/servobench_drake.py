# SPDX-License-Identifier: Apache-2.0
"""Servos with friction M1–M6 on the joints of a Drake plant.

    from servobench_drake import attach

    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=1e-3)
    Parser(plant).AddModels("robot.sdf")
    servos = attach(builder, plant, {"shoulder": "mx106-m6.servo.json", "elbow": "mx64-m6.servo.json"})
    builder.ExportInput(servos.GetInputPort("goal"), "goal")  # rad, in the order of the joints

Call `attach` instead of `plant.Finalize()`. The servos are a system between the plant's state and its actuation.
Drake's joints have viscous damping and no friction, so this program adds the friction torque to the motor's (Duclusaud
et al., Algorithm 1, lines 4–6): the torque that stops all joints together within the step, limited by each joint's
budget. Loads are the current gravity and Coriolis forces, plus the other torques of the previous step: contacts,
springs, limits, applied forces.

Drake updates positions with the new velocity, so its velocities lag half a step behind its positions. Therefore a
command acts half a step later, budgets use the velocity half a step later, and velocity-dependent torques (viscous
friction, back-EMF, velocity gain) act with the mean of old and new velocity.

Needs drake and numpy; numba makes it faster if installed. Next to a pendulum's SDFormat file,

    python servobench_drake.py NAME.drake.sdf NAME.servo.json

swings it, releases it, and prints its angle. Continuous plants (time step 0) are not supported. `Diagram.Clone()` gives
each worker of a Monte Carlo study servos with their own `numbers`. Servos compute with floats only.
"""

# pyright: reportMissingImports=false

# Drake's type stubs lack overloads that Drake has.
# pyright: reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportMissingModuleSource=false, reportAttributeAccessIssue=false, reportOptionalCall=false

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.autodiffutils import AutoDiffXd
from pydrake.common.value import AbstractValue
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder, LeafSystem_, ValueProducer
from pydrake.systems.scalar_conversion import TemplateSystem
from servobench_servo import LOAD_FRICTION, SLEWED, STATE, UNSETTLED, Bank, drives, stopping

__all__ = ["Servos", "attach", "simulate"]

STAGGERED = 0.5
"""Lag of velocities behind positions [steps]."""
TORQUES = ("motor_torque", "friction_torque", "external_torque")


def attach(builder: Any, plant: Any, joints: Mapping[str, str | Path | Mapping[str, Any]]) -> Any:
    """Put servos on joints, finalize the plant and connect it.

    Armature, damping, friction and effort limits of the joints become the servos'. Missing actuators are added.

    Args:
        builder: The `DiagramBuilder`.
        plant: The `MultibodyPlant`, not finalized.
        joints: Servo file, or its content, by name of a revolute or prismatic joint. Use "instance::joint" if several
            model instances have the name.

    Returns:
        The `Servos`, already in the builder.

    Raises:
        ValueError: The plant, a joint or a file is unsuitable.
    """
    if plant.is_finalized():
        raise ValueError("the plant is finalized already; call attach instead of Finalize()")
    if not plant.time_step() > 0.0:
        raise ValueError("the plant has no time step; create it with one, e.g. 0.001 s")
    bank = Bank(list(joints.values()), plant.time_step(), STAGGERED)
    for name, armature in zip(joints, bank.numbers["armature"], strict=True):
        joint = _joint(plant, name)
        actuator = _actuator(plant, joint, name)
        actuator.set_default_rotor_inertia(float(armature))
        actuator.set_default_gear_ratio(1.0)
        actuator.set_effort_limit(math.inf)
        joint.set_default_damping_vector([0.0])
    plant.Finalize()
    servos = builder.AddSystem(Servos(plant, tuple(joints), bank))
    builder.Connect(plant.get_state_output_port(), servos.GetInputPort("state"))
    builder.Connect(servos.GetOutputPort("actuation"), plant.get_actuation_input_port())
    return servos


@TemplateSystem.define("Servos_", T_list=[float, AutoDiffXd])
def Servos_(T: Any) -> Any:
    """Define the system for a scalar type; it computes only with floats, the others are for Drake's cloning."""

    class Impl(LeafSystem_[T]):
        """Servos on joints of a plant; use `attach`.

        Input ports: `state` of the plant; `goal` (joints,) [rad]; `enable` (joints,), 1 drives, 0 releases, 1 if
        unconnected; `others` (size of the plant's actuation,) [N·m], torques of other actuators that are added to the
        actuation, 0 if unconnected.
        Output ports: `actuation` of the plant; `motor_torque`, `friction_torque` and `external_torque` (joints,) [N·m]
        of this step, the friction with its viscous part.
        """

        def _construct(self, plant: Any, names: Sequence[str], bank: Bank, converter: Any = None) -> None:
            """Declare the ports; the finalized plant has an actuator on each joint, `bank` their servos in order."""
            LeafSystem_[T].__init__(self, converter=converter)
            self.names = tuple(names)
            self._plant, self._bank = plant, bank
            self._scratch = plant.CreateDefaultContext()
            joints = [_joint(plant, name) for name in names]
            self._positions = np.array([joint.position_start() for joint in joints], dtype=np.int64)
            self._dofs = np.array([joint.velocity_start() for joint in joints], dtype=np.int64)
            self._inputs = np.array(
                [_actuator(plant, j, n).input_start() for j, n in zip(joints, names, strict=True)], dtype=np.int64
            )
            count, dofs = len(self.names), plant.num_velocities()
            self._memory = np.dtype(
                [
                    ("fresh", "f8"),
                    ("head", "f8"),
                    ("servos", "f8", (count, len(STATE))),
                    ("past", "f8", bank.past.shape),
                    ("velocity", "f8", (dofs,)),
                    ("mass", "f8", (dofs, dofs)),
                    ("known", "f8", (dofs,)),
                ]
            )
            first = np.zeros((), self._memory)
            first["fresh"] = 1.0
            self.DeclareDiscreteState(np.frombuffer(first.tobytes()))
            self._state = self.DeclareVectorInputPort("state", plant.num_positions() + dofs)
            self._goal = self.DeclareVectorInputPort("goal", count)
            self._enable = self.DeclareVectorInputPort("enable", count)
            self._others = self.DeclareVectorInputPort("others", plant.num_actuated_dofs())
            self._step = self.DeclareCacheEntry(
                "one step of the servos",
                ValueProducer(allocate=lambda: AbstractValue.Make(object()), calc=self._calculate),
                {self.xd_ticket(), self.all_input_ports_ticket()},
            )
            sizes = {"actuation": plant.num_actuated_dofs(), **dict.fromkeys(TORQUES, count)}
            for name, size in sizes.items():
                self.DeclareVectorOutputPort(name, size, self._output(name), {self._step.ticket()})
            # Same kind of update as the plant: Drake computes all updates of a kind before it applies any.
            if plant.has_sampled_output_ports():
                self.DeclarePeriodicUnrestrictedUpdateEvent(plant.time_step(), 0.0, self._advance_with_all)
            else:
                self.DeclarePeriodicDiscreteUpdateEvent(plant.time_step(), 0.0, self._advance)

        def _construct_copy(self, other: Any, converter: Any = None) -> None:
            Impl._construct(self, other._plant, other.names, deepcopy(other._bank), converter=converter)

        @property
        def numbers(self) -> np.ndarray:
            """Parameters of the servos by name, (joints,): `servos.numbers["kp"][0] = 3.0`; not during a simulation."""
            return self._bank.numbers

        def _output(self, name: str) -> Callable[[Any, Any], None]:
            def write(context: Any, output: Any) -> None:
                output.SetFromVector(self._step.Eval(context)[name])

            return write

        def _advance(self, context: Any, values: Any) -> None:
            values.set_value(0, self._step.Eval(context)["memory"])

        def _advance_with_all(self, context: Any, state: Any) -> None:
            self._advance(context, state.get_mutable_discrete_state())

        def _calculate(self, context: Any, result: Any) -> None:
            if T is not float:
                raise ValueError("servos compute with floats only; clone the diagram, or differentiate without servos")
            memory = np.array(context.get_discrete_state_vector().value()).view(self._memory)[0]
            plant, bank, own = self._plant, self._bank, self._dofs
            state = self._state.Eval(context)
            plant.SetPositionsAndVelocities(self._scratch, state)
            position, velocity = state[self._positions], state[plant.num_positions() :]
            self._take_command(context, memory, position, velocity)
            mass = plant.CalcMassMatrix(self._scratch)
            known = plant.CalcGravityGeneralizedForces(self._scratch) - plant.CalcBiasTerm(self._scratch)
            rate = velocity - memory["velocity"]
            # Torques that the last step's known forces do not explain: contacts, springs, limits, applied forces.
            total = known + memory["mass"] @ rate / bank.step - memory["known"]
            external = total[own]
            motor, slope, smooth, damping, budget = drives(
                bank.rows, memory["servos"], memory["past"], int(memory["head"]), bank.lead, bank.step,
                position, velocity[own], rate[own], external, np.linalg.inv(mass)[own, own],
            )  # fmt: skip
            # The implicit part of velocity-dependent torques acts like additional inertia.
            damped = mass.copy()
            damped[own, own] += bank.step * damping
            response = bank.step * np.linalg.inv(damped)[:, own]
            total[own] += smooth
            change = bank.step * np.linalg.solve(damped, total)
            friction = stopping(response[own], (velocity + change)[own], budget)
            change += response @ friction
            applied = smooth + friction - damping * change[own]
            memory["velocity"], memory["mass"], memory["known"] = velocity, mass, known
            memory["known"][own] += applied
            actuation = np.zeros(plant.num_actuated_dofs())
            if self._others.HasValue(context):
                actuation += self._others.Eval(context)
            actuation[self._inputs] += applied
            motor -= slope * change[own]
            torques = dict(zip(TORQUES, (motor, applied - motor, external), strict=True))
            result.set_value({"actuation": actuation, **torques, "memory": np.frombuffer(memory.tobytes())})

        def _take_command(self, context: Any, memory: Any, position: np.ndarray, velocity: np.ndarray) -> None:
            past = memory["past"]
            head = (int(memory["head"]) + 1) % past.shape[2]
            past[:, 0, head] = self._goal.Eval(context) + self._bank.joint_zero
            past[:, 1, head] = self._enable.Eval(context) if self._enable.HasValue(context) else 1.0
            memory["head"] = head
            if memory["fresh"] > 0.0:
                past[:] = past[:, :, head : head + 1]
                memory["servos"][:, SLEWED] = position
                memory["servos"][:, LOAD_FRICTION] = UNSETTLED
                memory["velocity"] = velocity
                memory["fresh"] = 0.0

    return Impl


Servos = Servos_[float]


def simulate(
    model: str | Path,
    joints: Mapping[str, str | Path | Mapping[str, Any]],
    command: Callable[[float], tuple[Any, Any]],
    duration: float,
    time_step: float = 1e-3,
    gravity: float = 9.80665,
    copies: int = 1,
) -> np.ndarray:
    """Simulate a model file with servos.

    Args:
        model: Model file.
        joints: See `attach`.
        command: Maps time [s] to goals [rad] and enable, one number or one per joint.
        duration: Duration [s].
        time_step: Time step [s].
        gravity: Gravity [m/s²].
        copies: Number of copies, side by side in one plant, of a file with one model.

    Returns:
        Positions before each time step [rad], shape (steps, joints of all copies).
    """
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -gravity])
    parser = Parser(plant)
    parser.SetStrictParsing()
    parser.SetAutoRenaming(True)
    instances = [plant.GetModelInstanceName(i) for _ in range(copies) for i in parser.AddModels(str(model))]
    if copies > 1:
        joints = {f"{instance}::{name}": servo for instance in instances for name, servo in joints.items()}
    servos = attach(builder, plant, joints)
    simulator = Simulator(builder.Build())
    root = simulator.get_mutable_context()
    own, state = servos.GetMyMutableContextFromRoot(root), plant.GetMyContextFromRoot(root)
    indices = [_joint(plant, name).position_start() for name in joints]
    positions = np.empty((round(duration / time_step), len(indices)))
    for k in range(len(positions)):
        positions[k] = plant.GetPositions(state)[indices]
        goals, enable = command(k * time_step)
        servos.GetInputPort("goal").FixValue(own, np.broadcast_to(np.float64(goals), len(indices)))
        servos.GetInputPort("enable").FixValue(own, np.broadcast_to(np.float64(enable), len(indices)))
        simulator.AdvanceTo((k + 1) * time_step)
    return positions


def _joint(plant: Any, name: str) -> Any:
    instance, _, own = name.rpartition("::")
    if instance and not plant.HasModelInstanceNamed(instance):
        raise ValueError(f"the plant has no model instance {instance!r}")
    where = (own, plant.GetModelInstanceByName(instance)) if instance else (own,)
    if not plant.HasJointNamed(*where):
        raise ValueError(f"the plant has no joint {name!r}")
    joint = plant.GetJointByName(*where)
    if joint.num_velocities() != 1:
        raise ValueError(f"joint {name!r} has {joint.num_velocities()} degrees of freedom; a servo turns one")
    return joint


def _actuator(plant: Any, joint: Any, name: str) -> Any:
    """Return a joint's actuator, added if missing; raise ValueError unless it is a single plain actuator."""
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    found = [actuator for actuator in actuators if actuator.joint().index() == joint.index()]
    if not found:
        return plant.AddJointActuator(f"{name}_servo", joint)
    if len(found) > 1 or found[0].has_controller():
        raise ValueError(f"joint {name!r} has {len(found)} actuators or controller gains; give it one without gains")
    return found[0]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python servobench_drake.py NAME.drake.sdf NAME.servo.json")
    swing = simulate(sys.argv[1], {"servo": sys.argv[2]}, lambda t: (math.sin(4.0 * t), t < 2.0), 4.0)
    for sample, (angle,) in enumerate(swing[::100]):
        print(f"{0.1 * sample:4.1f} s {angle:8.4f} rad")
