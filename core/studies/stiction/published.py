"""Constants and results of Cisneros et al., from the figures and section V; loads no compiler.

The laws are those of Figs 3 and 7 and of the text; K, B and T are those of Figs 4 and 8. The joint's inertia is not
printed. Fig. 10 begins with 5.8 N·m, which is M·k_p·π/2 with k_p = 20: M = 0.185 kg·m². The paper's simulated rest
angles and stop time fit 0.168 kg·m².
"""

from __future__ import annotations

import math

from core.contact.laws import CoulombViscous, FrictionLaw, Rational, Stribeck

LAWS: dict[str, FrictionLaw] = {
    "stribeck": Stribeck(static=2.5, coulomb=0.4, breakaway_speed=0.06, viscous=4.5),
    "rational": Rational(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5),
    "coulomb": CoulombViscous(coulomb=1.0, viscous=4.5),
}
"""Laws of figures 3 and 7 and of section V-B."""
STIFFNESS, DAMPING, STEP = 5000.0, 50.0, 1e-3
"""K [N·m/rad], B [N·m·s/rad], T [s]."""
INERTIA = 5.8 / (20.0 * math.pi / 2.0)
"""M [kg·m²]; see the module."""
SEED_RESTS = {"stribeck": 69.9, "rational": 68.4, "coulomb": 70.0}
"""Rest angles of section V-B without the integral term [°]; the paper gives "around 70" for Coulomb."""
SEED_STOP = 2.75
"""Time after which the paper's joint stops with either kind of stiction [s]."""
