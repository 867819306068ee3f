"""Export targets, one module each."""

TARGETS = {
    "mujoco-hook": "export.targets.mujoco.hook",
    "mujoco-plugin": "export.targets.mujoco.plugin",
    "mujoco": "export.targets.mujoco.actuators",
    "mjlab": "export.targets.mjlab",
    "isaaclab": "export.targets.isaaclab",
    "drake": "export.targets.drake",
    "genesis": "export.targets.genesis",
    "newton": "export.targets.newton",
    "pybullet": "export.targets.pybullet",
    "usd": "export.targets.usd",
    "urdf": "export.targets.urdf",
    "sdformat": "export.targets.sdformat",
    "webots": "export.targets.webots.controller",
    "webots-servo": "studies.webots.export.target",
    "choreonoid": "export.targets.choreonoid.body",
    "c": "export.targets.c_header",
    "json": "export.targets.servobench_json",
    "bam": "export.targets.bam_json",
}
"""Module in `core` that holds each target's `EXPORTER`, in the order in which users see the targets."""
