"""Images per second of a served model and of the same ONNX file in this process: python benchmarks/kserve.py

    python benchmarks/kserve.py efficientnet_lite0.onnx --images 256 --rounds 5

Local is `predict` of the ONNX file on one thread. Served is `predict` of the same file behind a server in
another process of this machine, which computes on one thread too; conversion, transport and the server's
parsing are done by further threads, so the two use up to two cores. Rounds alternate, and the ratio is the
median of the ratios of each round. Processor seconds per image are of both processes together.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import itertools

from tests.inference_server import Settings, free_port, serving

from windtunnel.models import Model, load_model

SMALLEST_RATIO = 0.9


def timed(model: Model, images: np.ndarray) -> tuple[float, np.ndarray]:
    """Images per second, and the scores."""
    begun = time.perf_counter()
    scores = [
        model.predict(images[start : start + model.batch]) for start in range(0, len(images), model.batch)
    ]
    return len(images) / (time.perf_counter() - begun), np.concatenate(scores)


def processor_seconds(server: int) -> float:
    """Processor time of this process and of the server, in seconds."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
    return own.ru_utime + own.ru_stime + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the rates of every round and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="send tensors as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(str(given.model), free_port(), binary=not given.json)
        with serving(Path(folder), settings) as server:
            local, served = load_model(given.model), load_model(server.url)
            side = local.preprocess.geometry.output_px
            images = np.random.default_rng(0).integers(0, 256, (given.images, side, side, 3), np.uint8)
            timed(served, images[: served.batch]), timed(local, images[: local.batch])
            ratios = []
            for number in range(given.rounds):
                seconds = [processor_seconds(server.pid)]
                local_rate, expected = timed(local, images)
                seconds.append(processor_seconds(server.pid))
                served_rate, scores = timed(served, images)
                seconds.append(processor_seconds(server.pid))
                assert np.array_equal(scores, expected), "served scores differ from local ones"
                ratios.append(served_rate / local_rate)
                costs = [
                    1000 * (after - before) / len(images) for before, after in itertools.pairwise(seconds)
                ]
                print(
                    f"round {number + 1}: local {local_rate:.1f}/s ({costs[0]:.1f} ms of processor time), "
                    f"served {served_rate:.1f}/s ({costs[1]:.1f} ms), ratio {ratios[-1]:.3f}",
                    flush=True,
                )
    ratio = statistics.median(ratios)
    print(f"served / local: {ratio:.3f} (at least {SMALLEST_RATIO}); all scores are equal")
    sys.exit(ratio < SMALLEST_RATIO)


if __name__ == "__main__":
    main()
