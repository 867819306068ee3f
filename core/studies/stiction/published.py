"""Constants and results of seed 001's figures and of its section V, without a compiler.

Laws are of Figs 3 and 7 and of the text, K, B and T of Figs 4 and 8. The joint's inertia is not printed. Fig. 10 begins
with 5.8 N·m, which is M·k_p·π/2 with k_p = 20: M = 0.185 kg·m². The seed's simulated angles of rest and its time are
those of 0.168 kg·m².
"""

from __future__ import annotations

import math

from core.contact.laws import CoulombViscous, FrictionLaw, Rational, Stribeck

LAWS: dict[str, FrictionLaw] = {
    "stribeck": Stribeck(static=2.5, coulomb=0.4, breakaway_speed=0.06, viscous=4.5),
    "rational": Rational(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5),
    "coulomb": CoulombViscous(coulomb=1.0, viscous=4.5),
}
"""Of seed 001's figures 3 and 7, and of its section V-B."""
STIFFNESS, DAMPING, STEP = 5000.0, 50.0, 1e-3
"""K [N·m/rad], B [N·m·s/rad], T [s]."""
INERTIA = 5.8 / (20.0 * math.pi / 2.0)
"""M [kg·m²]; see the module."""
SEED_RESTS = {"stribeck": 69.9, "rational": 68.4, "coulomb": 70.0}
"""Angles of rest that seed 001's section V-B gives without the integral term [°]; of Coulomb's "around 70"."""
SEED_STOP = 2.75
"""Seconds after which the seed's joint stops with either stiction."""
