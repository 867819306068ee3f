"""What the process of `tests.warm` loads as it starts: what most processes of the product load, and their kernels."""

import bench_gui.headless.exporting
import bench_gui.identify.fit.compute
import bench_gui.studies.compliant.compute
import bench_gui.studies.learning.compute
import bench_gui.work.simulations  # noqa: F401
import core.studies.stiction.exploring  # noqa: F401
import tests.warm  # noqa: F401
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from drivers.registry import open_servo

for name in ("m1", "m6"):
    model = load_model("mx106", name)
    bench, settings = Bench(mass=1.0, length=0.1), model.default_settings()
    simulate_trajectory(model, make_trajectory("sin_sin", 0.1), bench, settings, 0.01)
with open_servo("simulated:mx106?clock=virtual") as servo:
    servo.connect()
