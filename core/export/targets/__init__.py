"""One module per target that a model is exported to."""

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
"""Module in `core` of each target, which holds its `EXPORTER`, in the order a person meets them."""
