"""What an elastoplastic contact costs in an identification, beside the rigid M6: `python -m tests.bench contact`.

A whole population is scored on simulated recordings by the objective of the search, plain and with the command path, on
one thread; the three contacts take turns, and the ratios are medians over the turns.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from core.benchmark import sample_recordings
from core.identification.search.objective import Batch
from core.model import build_model
from core.terms import COMMAND_PATH_TERMS, CONTACTS

SERVO = "mx106"
CANDIDATES = 64


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    recordings = sample_recordings(8, 1200)
    for title, path in (("plain", ()), ("with the command path", COMMAND_PATH_TERMS)):
        batches, populations = [], []
        for contact in CONTACTS:
            model = build_model(SERVO, "m6", command_path=path, contact=contact)
            low, high = model.parameters.bounds().T
            share = np.random.default_rng(0).uniform(0.0, 1.0, (CANDIDATES, len(low)))
            batches.append(Batch(model, recordings, threads=1))
            populations.append(low + share * (high - low))
            batches[-1].scores(populations[-1])
        seconds = np.empty((turns, len(CONTACTS)))
        for turn in range(turns):
            for k, (batch, population) in enumerate(zip(batches, populations, strict=True)):
                begun = time.perf_counter()
                batch.scores(population)
                seconds[turn, k] = time.perf_counter() - begun
        steps = CANDIDATES * batches[0].total_samples
        ratios = np.median(seconds / seconds[:, :1], axis=0)
        for k, contact in enumerate(CONTACTS):
            cost = 1e9 * seconds[:, k].min() / steps
            print(f"M6 {title}, {contact}: {cost:.1f} ns a step, {ratios[k]:.2f} times the rigid one")


if __name__ == "__main__":
    main()
