"""How often the doctor doubts a right declaration: python benchmarks/doctor_alarms.py [--simulations 2000]

The worst case for it: none of its trials is truly better than the declared preprocess and none worse, so that
every one may be taken by chance. Discordance is how many answers a trial changes.
"""

from __future__ import annotations

import argparse

import numpy as np
from worlds import answers, kinship_for

from windtunnel.analysis.doctor import PICTURES, Trial, choose
from windtunnel.analysis.preprocess_grid import Order
from windtunnel.models.preprocess import Preprocess, declared

# As many as are tried on an ImageNet network, and on a small one.
TRIED = (20, 130)
ERRORS = (0.05, 0.3, 0.5)
DISCORDANCES = (0.02, 0.1)


def alarms(simulations: int, error: float, discordance: float, tried: int, pictures: int = PICTURES) -> float:
    """Share of simulated data sets on which some trial is taken for surely better."""
    rng = np.random.default_rng(0)
    preprocess, order = declared("imagenet", None).preprocess, Order("declared", ())
    kinship = kinship_for(discordance, error)
    return float(np.mean([_doubts(rng, pictures, error, kinship, tried, preprocess, order)
                          for _ in range(simulations)]))  # fmt: skip


def _doubts(
    rng: np.random.Generator,
    pictures: int,
    error: float,
    kinship: float,
    tried: int,
    preprocess: Preprocess,
    order: Order,
) -> bool:
    wrong = answers(rng, pictures, [np.array([error])] * (tried + 1), within=1.0, kinship=kinship)
    trials = [Trial((str(place),), preprocess, order, ~one[:, 0]) for place, one in enumerate(wrong)]
    return choose(trials[0], trials[1:], tried) is not trials[0]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    simulations = parser.parse_args().simulations
    print(f"{PICTURES} pictures, {simulations:,} simulated data sets")
    print("| error | answers changed | " + " | ".join(f"{tried} tried" for tried in TRIED) + " |")
    print("|---|---|" + "---|" * len(TRIED))
    for error in ERRORS:
        for discordance in DISCORDANCES:
            if discordance < 2 * error:
                found = (alarms(simulations, error, discordance, tried) for tried in TRIED)
                shown = " | ".join(f"{one:.1%}" for one in found)
                print(f"| {error} | {discordance:.0%} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
