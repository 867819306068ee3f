"""Export to the `Servo` node of Webots before version 7: the node's text, with the numbers that fit a model best.

See `core.studies.webots` for the node and `core.studies.webots.export.fitted_node` for the fit.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from core.export.contract import Check, Exporter, ExportResult, ServoOptions, settings_of
from core.export.drives.fit import require_gains
from core.export.files import printable, readme_section, slug, write_files
from core.export.notes import settings_note
from core.export.protocol import conditions
from core.export.references import default_bench
from core.export.targets.webots.vrml import Node, Schema, vrml_text
from core.servo.model import ServoModel
from core.servo.terms import CONTACTS
from core.studies.webots.export.fitted_node import fit_servo_node, node_errors
from core.studies.webots.fields import ServoFields, seed_name
from core.studies.webots.nodes import read_servo_node

HEADER = "#VRML_SIM V6.0 utf8"
SCHEMA: Schema = {
    "Servo": {"name": "SFString"}
    | {seed_name(field.name): "SFString" if field.name == "type" else "SFFloat" for field in fields(ServoFields)}
}
"""Fields of the node, section 3.42 of the manual."""


def write_webots_servo(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write `<name>.servo.wrl`, the node's text; raise ExportError for impossible options."""
    settings = settings_of(model, options, "webots-servo")
    require_gains(settings, "Webots' Servo node")
    bench = options.bench or default_bench(model)
    fit = fit_servo_node(model, bench, settings, options.timestep)
    name = f"{slug(model.title)}.servo.wrl"
    text = node_text(model.title, fit.node)
    notes = [
        "The node has no friction, no armature and no torque gain: it uses up to `maxForce` to reach a velocity.",
        "controlP, maxVelocity, maxForce, acceleration and dampingConstant are fitted to the model's motion over the "
        "four trajectories, two loads and two gains. maxVelocity and maxForce do not exceed the servo's own no-load "
        "speed and stall torque.",
        *(
            f"{seed_name(number.name)} = {number.value:.6g} {number.unit}: {number.remark}."
            for number in fit.numbers
            if number.remark
        ),
        f"{settings_note(model, settings)} controlP scales with the servo's gain.",
        f"Fitted at a `basicTimeStep` of {options.timestep * 1e3:g} ms, with {model.values['armature']:.6g} kg·m² of "
        "armature: add it to the inertia of the solid that the joint turns.",
        "For torque off, call `wb_servo_set_motor_force(servo, 0)`; the damper remains.",
    ]
    readme = readme_section(model, "Servo node of Webots 6", {name: "the node's fields"}, notes, _USAGE)
    files = write_files(folder, {name: text}, model, "webots-servo", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), approximated=True)


def servo_node(title: str, node: ServoFields) -> Node:
    """Return the Webots node with all of its fields."""
    return Node("Servo", {"name": printable(title)} | {seed_name(name): value for name, value in vars(node).items()})


def node_text(title: str, node: ServoFields) -> str:
    """Return the text of a file with one node."""
    return vrml_text([servo_node(title, node)], SCHEMA, HEADER)


def check_webots_servo(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Simulate the node of an export by the manual's rule."""
    node = read_servo_node(folder / f"{slug(model.title)}.servo.wrl")
    kp, step = settings_of(model, options, "webots-servo").kp, options.timestep
    runs = conditions(model, options, "webots-servo")
    errors = dict(zip(runs, 1e3 * node_errors(model, node, list(runs.values()), kp, step), strict=True))
    how = f"the node read back and simulated here by its manual's rule with a time step of {step * 1e3:g} ms, "
    how += "goals held over each step"
    return Check(how=how, errors={name: float(error) for name, error in errors.items()})


_USAGE = """\
Copy the fields into your robot's Servo node; keep its children, boundingObject and physics. In the controller:

```c
wb_servo_set_position(servo, goal);     /* rad */
wb_servo_set_motor_force(servo, 0);     /* torque off; back on with the node's maxForce */
```
"""


EXPORTER = Exporter(
    target="webots-servo",
    title="Webots 6 Servo node",
    description="Legacy Servo node with five numbers fitted to the model's motion.",
    options=ServoOptions,
    write=write_webots_servo,
    check=check_webots_servo,
    contacts=tuple(CONTACTS),
)
