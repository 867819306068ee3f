"""MuJoCo hook: its cost against the engine's step and against NumPy, and its errors: `python -m tests.bench.hook`.

The yardstick evaluates the same model each step with NumPy arrays over the joints, reading and writing the engine's
fields as a careful user would.
"""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.export.programs import program
from core.export.references import GridRun, converged_positions, default_bench
from core.export.servo_file import servo_numbers
from core.export.targets.mujoco.hook import pendulum_scene
from core.export.targets.mujoco.xml import xml_text
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.shipped import load_model
from core.servo.terms import FRICTION_MODELS
from tests.bench.printing import line

mujoco: Any = importlib.import_module("mujoco")
REPEATS, STEPS = 15, 400


def quadruped(legs: int, joints: int) -> str:
    """A body on legs of `joints` hinges each, free, above a floor."""
    leg = ""
    for number in reversed(range(joints)):
        axis = "1 0 0" if number == 0 else "0 1 0"
        leg = (
            f'<body pos="0 0 {0.0 if number == 0 else -0.12}"><joint name="jLEG{number}" axis="{axis}"/>'
            f'<geom type="capsule" fromto="0 0 0 0 0 -0.12" size="0.015" mass="0.15"/>{leg}</body>'
        )
    bodies = "".join(
        f'<body pos="{0.15 * (1 - 2 * (k // 2))} {0.1 * (1 - 2 * (k % 2))} 0">{leg.replace("LEG", str(k))}</body>'
        for k in range(legs)
    )
    motors = "".join(f'<motor joint="j{k}{n}"/>' for k, n in itertools.product(range(legs), range(joints)))
    return (
        '<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody><geom type="plane" size="5 5 1"/>'
        '<body pos="0 0 0.4"><freejoint/><geom type="box" size="0.2 0.1 0.04" mass="3"/>'
        f"{bodies}</body></worldbody><actuator>{motors}</actuator></mujoco>"
    )


class ArrayHook:
    """The same model with NumPy arrays over the joints, M6 and the voltage law."""

    def __init__(self, model: Any, data: Any, numbers: Sequence[dict[str, Any]]) -> None:
        self.model, self.data = model, data
        self.p = {k: np.array([n[k] for n in numbers]) for k, v in numbers[0].items() if isinstance(v, float)}
        joints = [model.actuator(i).trnid[0] for i in range(model.nu)]
        self.dofs = np.array([model.jnt_dofadr[j] for j in joints])
        self.addresses = np.array([model.jnt_qposadr[j] for j in joints])
        self.motors = np.arange(model.nu)
        model.dof_armature[self.dofs] = self.p["armature"]
        self.damping = np.zeros(model.nu)
        self.duty = np.zeros(model.nu)

    def update(self, goals: np.ndarray, enable: np.ndarray) -> None:
        """Control, loads, budget, engine."""
        p, model, data = self.p, self.model, self.data
        q, v = data.qpos[self.addresses], data.qvel[self.dofs]
        duty = np.clip(p["kp"] * (goals - q), -p["output_limit"], p["output_limit"])
        own = data.qfrc_actuator[self.dofs]
        drawn = np.maximum(self.duty * own / p["torque_constant"], 0.0)
        supply = np.maximum(p["supply_voltage"] - p["supply_sag"] * drawn, 0.0)
        self.duty = duty
        volts = duty * supply - p["torque_constant"] * v
        torque = enable * p["torque_constant"] / p["resistance"] * volts
        friction = np.zeros(model.nv)
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
        np.add.at(friction, data.efc_id[rows], data.efc_force[rows])
        external = data.qfrc_smooth[self.dofs] - own + self.damping * v
        external += data.qfrc_constraint[self.dofs] - friction[self.dofs]
        stribeck = np.exp(-((np.abs(v) / p["stribeck_velocity"]) ** p["stribeck_exponent"]))
        am, ae = np.abs(torque), np.abs(external)
        quadratic = np.where(am > ae, p["load_external_quad"] * ae**2, p["load_motor_quad"] * am**2)
        quadratic = np.where((p["opposing_gate"] > 0) & (torque * external >= 0), 0.0, quadratic)
        at_rest = p["friction_stribeck"] + quadratic
        at_rest += np.abs(p["load_motor_stribeck"] * torque - p["load_external_stribeck"] * external)
        budget = p["friction_base"] + np.abs(p["load_motor"] * torque - p["load_external"] * external)
        data.ctrl[self.motors] = torque
        model.dof_frictionloss[self.dofs] = budget + stribeck * at_rest
        model.dof_damping[self.dofs] = self.damping = p["friction_viscous"]


def cost(joints: int) -> None:
    """Microseconds of a step with the hook and with NumPy, in turns; medians over repeats, ratios within one."""
    text = quadruped(4, joints // 4)
    numbers = servo_numbers(load_model("mx64", "m6"), load_model("mx64", "m6").default_settings())
    goals, enable = np.full(joints, 0.2), np.ones(joints)

    def prepared(hook: Callable[[Any, Any], Callable[[], None]]) -> tuple[Any, Any, Callable[[], None]]:
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        return model, data, hook(model, data)

    def ours(model: Any, data: Any) -> Callable[[], None]:
        names = [model.joint(int(model.actuator(i).trnid[0])).name for i in range(model.nu)]
        servos = program("servobench_mujoco").attach(model, data, dict.fromkeys(names, numbers))
        return lambda: servos.update(goals, enable)

    def arrays(model: Any, data: Any) -> Callable[[], None]:
        hook = ArrayHook(model, data, [numbers] * joints)
        return lambda: hook.update(goals, enable)

    cases = {"ours": prepared(ours), "arrays": prepared(arrays)}
    hooks: dict[str, list[float]] = {name: [] for name in cases}
    steps: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(REPEATS):
        for name, (model, data, update) in cases.items():
            spent = alone = 0.0
            for _ in range(STEPS):
                started = time.perf_counter()
                update()
                middle = time.perf_counter()
                mujoco.mj_step(model, data)
                spent += middle - started
                alone += time.perf_counter() - middle
            hooks[name].append(spent / STEPS)
            steps[name].append(alone / STEPS)
    ours, arrays, step = (1e6 * np.array(values) for values in (hooks["ours"], hooks["arrays"], steps["ours"]))
    line(f"{joints} joints: mj_step of a free robot on a floor", f"{np.median(step):.1f} µs")
    line(f"{joints} joints: hook", f"{np.median(ours):.2f} µs", f"{np.median(ours) / joints * 1e3:.0f} ns per joint")
    line(f"{joints} joints: hook over mj_step", f"{100.0 * np.median(ours / step):.0f} %", "≤ 25 %")
    line(f"{joints} joints: NumPy arrays", f"{np.median(arrays):.1f} µs")
    line(f"{joints} joints: NumPy over hook", f"{np.median(arrays / ours):.1f} ×", "≥ 20")


def errors() -> None:
    """Mean and worst trajectory against the converged model, for each servo with all models."""
    for servo, friction in itertools.product(("mx106", "mx64", "erob80_100", "erob80_50", "xl330"), FRICTION_MODELS):
        model = load_model(servo, friction)
        bench, settings = default_bench(model), model.default_settings()
        text = xml_text(pendulum_scene("p", model, bench, settings, 1e-3))
        numbers = servo_numbers(model, settings)
        found = []
        for step in (1e-3, 5e-3):
            mads = []
            for name in PAPER_TRAJECTORIES:
                engine = mujoco.MjModel.from_xml_string(text)
                engine.opt.timestep = step
                data = mujoco.MjData(engine)
                servos = program("servobench_mujoco").attach(engine, data, {"servo": numbers})
                path = make_trajectory(name)
                moments = step * np.arange(round(path.duration / step))
                goals, enable = path.goal(moments + 0.5 * step), path.torque_enable(moments).astype(float)
                positions = np.empty(len(moments))
                for k in range(len(moments)):
                    positions[k] = data.qpos[0]
                    servos.step(goals[k], enable[k])
                run = GridRun(trajectory=name, bench=bench, settings=settings)
                mads.append(np.abs(positions - converged_positions(model, run, step)).mean() * 1e3)
            found.append(f"{np.mean(mads):.2f} (worst {max(mads):.2f})")
        line(f"{servo} {friction}: mrad at 1 and 5 ms", " and ".join(found), "≤ 1 and ≤ 5")


def main() -> None:
    """Print all figures."""
    for joints in (4, 12, 24):
        cost(joints)
    errors()


if __name__ == "__main__":
    main()
