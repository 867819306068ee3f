"""Files of trained nets: TorchScript for Isaac Lab and mjlab, and a README with the configuration of both."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import nn

from core.base.atomic import write_atomically
from core.base.words import counted
from core.learn.learning import Learned
from core.learn.servos import ActuatorNet, ResidualNet
from core.motion.recording import Recording

ACTUATOR_FILE, RESIDUAL_FILE, MODEL_FILE, README = "actuator_net.pt", "residual_net.pt", "model.json", "README.md"
VALIDITY = "validity.json"
"""Entry of both TorchScript files with the ranges of the training runs, see `validity`."""

Ranges = Mapping[str, tuple[float, float]]


class EveryStep(nn.Module):
    """Actuator net that takes the errors and velocities of every step, newest first, and uses some of them."""

    def __init__(self, servo: ActuatorNet) -> None:
        """Take over a trained net."""
        super().__init__()
        self.net = servo.net
        length = servo.frames[-1] + 1
        self.used = [*servo.frames, *(length + frame for frame in servo.frames)]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the scaled torques, (…, 1), of scaled errors and velocities, (…, 2·length)."""
        return self.net(inputs[..., self.used])


def validity(recordings: Sequence[Recording]) -> Ranges:
    """Return the conditions of the recordings, lowest and highest value: a net is valid within them."""
    found = {
        "gain kp": [run.settings.kp for run in recordings],
        "gravity torque of the load [N·m]": [run.bench.gravity_torque for run in recordings],
        "inertia of the load [kg·m²]": [run.bench.inertia for run in recordings],
        "supply voltage [V]": [run.settings.supply_voltage for run in recordings],
        "position [rad]": [float(end) for run in recordings for end in (run.position.min(), run.position.max())],
    }
    return {name: (min(values), max(values)) for name, values in found.items()}


def write_nets(learned: Learned, recordings: Sequence[Recording], folder: Path) -> list[Path]:
    """Write the nets that were trained on all runs, and a README that describes their inputs.

    Args:
        learned: Comparison with final nets.
        recordings: The runs.
        folder: Folder, created if missing. Files of an earlier call are replaced.

    Returns:
        Paths of the files.
    """
    actuator, residual, model = learned.nets["actuator"], learned.nets["residual"], learned.model
    if model is None or not (isinstance(actuator, ActuatorNet) and isinstance(residual, ResidualNet)):
        raise TypeError("no nets of all runs")
    ranges = validity(recordings)
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        ACTUATOR_FILE: _script(EveryStep(actuator), 2 * (actuator.frames[-1] + 1), ranges),
        RESIDUAL_FILE: _script(residual.factor, len(residual.frames) + 3, ranges),
        MODEL_FILE: model.to_json_text().encode(),
        README: "\n".join([_head(learned, len(recordings), ranges), _actuator(actuator), _residual(residual)]).encode(),
    }
    for name, data in contents.items():
        write_atomically(folder / name, data)
    return [folder / name for name in contents]


def _script(module: nn.Module, inputs: int, ranges: Ranges) -> bytes:
    """Return a module as a TorchScript file."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # Engines read TorchScript, which PyTorch advises against.
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(module.eval(), torch.zeros(1, inputs), check_trace=False)
        torch.jit.save(traced, file, _extra_files={VALIDITY: json.dumps(ranges, ensure_ascii=False)})
    return file.getvalue()


def _head(learned: Learned, runs: int, ranges: Ranges) -> str:
    rows = "\n".join(f"| {name} | {low:.4g} | {high:.4g} |" for name, (low, high) in ranges.items())
    servo = "" if learned.model is None else learned.model.servo
    return f"""# Learned servo {servo}

{learned.heading()}.

The nets were trained on {counted(runs, "run")}. Outside of these conditions they are guesses:

| condition | from | to |
|---|---|---|
{rows}

Both `.pt` files hold this table in their entry `{VALIDITY}`.
"""


def _actuator(net: ActuatorNet) -> str:
    length = net.frames[-1] + 1
    values = f"""    network_file="{ACTUATOR_FILE}",
    pos_scale={1.0 / (net.kp * net.error):.6g} * KP,
    vel_scale={1.0 / net.speed:.6g},
    torque_scale={net.torque:.6g},
    input_order="pos_vel",
    saturation_effort=1e6, velocity_limit=1e6,  # the net contains the motor's limits
    effort_limit={4.0 * net.torque:.4g},"""
    armature, offset = net.armature.item(), net.offset.item()
    return f"""## Actuator net

`{ACTUATOR_FILE}` returns the torque on the joint, friction included, from the position errors and velocities of the
last {length} time steps, newest first. Simulate with a time step of {net.step:g} s, an armature of {armature:.5g} kg·m²
and no other friction or damping of the joint. Gravity acts at the measured angle {1e3 * offset:+.1f} mrad. The net does
not know a released servo.

```python
KP = {net.kp:g}  # gain as written into the servo

# Isaac Lab: from isaaclab.actuators import ActuatorNetMLPCfg
ActuatorNetMLPCfg(
    joint_names_expr=[".*"],
{values}
    input_idx=range({length}),
    armature={armature:.5g}, friction=0.0,
)

# mjlab: from mjlab.actuator import LearnedMlpActuatorCfg
LearnedMlpActuatorCfg(
    target_names_expr=(".*",),
{values}
    history_length={length},
    armature={armature:.5g}, frictionloss=0.0, viscous_damping=0.0,
)
```
"""


def _residual(net: ResidualNet) -> str:
    ages = ", ".join(f"{1e3 * frame * net.step:g}" for frame in net.frames)
    return f"""## Residual net

`{RESIDUAL_FILE}` returns the factor on the friction budget of `{MODEL_FILE}` (Duclusaud et al., eq. 10). Inputs: the
velocities {ages} ms ago, divided by {net.speed:.6g} rad/s; motor torque and load, divided by {net.torque:.6g} N·m;
torque enable.
"""
