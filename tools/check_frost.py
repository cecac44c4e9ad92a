"""Compare our frost textures with the photographs of the reference, for anyone who has the originals.

    python tools/check_frost.py --reference DIR --images DIR --model efficientnet_lite0.onnx --model ...

Two things are printed: a table of statistics (brightness, contrast, spectrum) of each texture beside the
photograph it stands in for, and the difference in a network's error when ours are used instead of theirs,
with a 90 % interval.  Ours were tuned while looking at the images of even row number in ``labels.csv``;
the odd ones are the check, so both halves are printed separately.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort
from grow_frost import BAND_EDGES, band_contrast

from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import crop_step, resize_step
from windtunnel.imaging.header import read_header
from windtunnel.suites.canvas import GEOMETRIES

OURS = Path(__file__).parents[1] / "src" / "windtunnel" / "published" / "frost"
# The reference draws among its first five files only; the sixth is never used.
NAMES = (
    ("frost1.png", "frost1.jpg"),
    ("frost2.png", "frost2.jpg"),
    ("frost3.png", "frost3.jpg"),
    ("frost4.jpg", "frost4.jpg"),
    ("frost5.jpg", "frost5.jpg"),
)
# Weight of the image and of the frost at severities 1 to 5 (ImageNet-C, 224 pixels).
MIX = ((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))
SIDE = 224
RESIZES = (0.3, 0.2)  # scale of the texture in the editions of 64 and 32 pixels
RESAMPLES = 4000


def read_texture(path: Path) -> np.ndarray:
    """Read a texture as RGB bytes, without its alpha channel."""
    bgr = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if bgr is None:
        raise SystemExit(f"no readable texture at {path}")
    return np.ascontiguousarray(bgr[..., ::-1])


def read_canvas(path: Path) -> np.ndarray:
    """Read an image as ImageNet-C's canvas."""
    data, geometry = path.read_bytes(), GEOMETRIES[SIDE]
    return crop_step(resize_step(decode(data, read_header(data)), geometry), geometry)


def read_images(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read all images named in ``labels.csv`` with their class numbers."""
    with (folder / "labels.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    canvases = np.stack([read_canvas(folder / row["file"]) for row in rows])
    return canvases, np.array([int(row["class_index"]) for row in rows])


class Network:
    """An ONNX classifier with the preparation its input needs (by its element type)."""

    def __init__(self, path: Path) -> None:
        """Open the model on one thread."""
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.name = path.stem
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0]

    def classify(self, images: np.ndarray) -> np.ndarray:
        """Give the most probable class of each RGB image."""
        if "float16" in self.input.type:  # SqueezeNet: BGR minus the Caffe means, one image at a time
            x = (images[..., ::-1].astype(np.float32) - (104, 117, 123)).astype(np.float16)
            batches = [x[i : i + 1] for i in range(len(x))]
        else:  # EfficientNet-Lite: RGB to about -1..1
            x = (images.astype(np.float32) - 127) / 128
            batches = [x[i : i + 20] for i in range(0, len(x), 20)]
        out = [
            self.session.run(None, {self.input.name: np.ascontiguousarray(b.transpose(0, 3, 1, 2))})[0]
            for b in batches
        ]
        return np.concatenate([o.reshape(len(o), -1) for o in out]).argmax(1)


def frosted(
    canvas: np.ndarray, texture: np.ndarray, place: np.ndarray, mix: tuple[float, float]
) -> np.ndarray:
    """Lay one crop of a texture over an image; ``place`` holds two numbers in 0..1."""
    top, left = (int(u * (n - SIDE)) for u, n in zip(place, texture.shape[:2], strict=True))
    crop = texture[top : top + SIDE, left : left + SIDE]
    return np.clip(mix[0] * canvas.astype(np.float64) + mix[1] * crop, 0, 255).astype(np.uint8)


def errors(
    network: Network,
    canvases: np.ndarray,
    labels: np.ndarray,
    textures: list[np.ndarray],
    draws: int,
    severities: tuple[int, ...] = (1, 2, 3, 4, 5),
    seed: int = 0,
) -> np.ndarray:
    """Say which images are misjudged: images x draws x severities, the same crops on every call.

    Draw ``d`` of image ``i`` uses texture ``(i + d) % 5``, so that with a multiple of five draws every
    image meets every texture equally often.
    """
    places = np.random.default_rng(seed).random((len(canvases), draws, 2))
    wrong = np.empty((len(canvases), draws, len(severities)), bool)
    for d in range(draws):
        for s, severity in enumerate(severities):
            images = np.stack(
                [
                    frosted(c, textures[(i + d) % len(textures)], places[i, d], MIX[severity - 1])
                    for i, c in enumerate(canvases)
                ]
            )
            wrong[:, d, s] = network.classify(images) != labels
    return wrong


def interval(per_image: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Give the mean in points and its 90 % bootstrap interval, resampling whole images."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(per_image), (RESAMPLES, len(per_image)))
    low, high = np.percentile(per_image[picks].mean(1), (5, 95))
    return 100 * per_image.mean(), 100 * low, 100 * high


def statistics(texture: np.ndarray) -> dict[str, float]:
    """Measure brightness, contrast, differences between and within crops, and the spectrum of a texture."""
    grey = texture.astype(np.float64).mean(2)
    rows, cols = (np.linspace(0, n - SIDE, 8).astype(int) for n in grey.shape)
    crops = [grey[r : r + SIDE, c : c + SIDE] for r in rows for c in cols]
    found = {f"mean {n}": texture[..., k].mean() for k, n in enumerate("RGB")}
    found |= {f"std {n}": texture[..., k].std() for k, n in enumerate("RGB")}
    found["crop mean"] = np.mean([c.mean() for c in crops])
    found["between crops"] = np.std([c.mean() for c in crops])
    found["within crops"] = np.mean([c.std() for c in crops])
    for f in RESIZES:  # as the editions of 64 and 32 pixels use them
        found[f"std at x{f}"] = cv2.resize(texture, (0, 0), fx=f, fy=f).astype(np.float64).mean(2).std()
    for k, level in enumerate(band_contrast(grey)):
        found[f"band >{BAND_EDGES[k]:.4f}"] = level
    return found


def print_statistics(reference: list[np.ndarray], ours: list[np.ndarray]) -> None:
    """Print theirs and ours side by side, one column pair per texture."""
    pairs = [(statistics(a), statistics(b)) for a, b in zip(reference, ours, strict=True)]
    print(f"{'reference / ours':16}" + "".join(f"{f'frost{k + 1}':>18}" for k in range(len(pairs))))
    for key in pairs[0][0]:
        print(f"{key:16}" + "".join(f"{a[key]:>10.1f} {b[key]:7.1f}" for a, b in pairs))


def print_gaps(gap: np.ndarray, names: list[str]) -> None:
    """Print the gaps (networks x images x draws x severities) for all, calibration and check images."""
    halves = {"all": slice(None), "even (calibration)": slice(0, None, 2), "odd (check)": slice(1, None, 2)}
    for title, half in halves.items():
        g = gap[:, half]
        print(f"\nerror with ours minus error with theirs, points [90 %]: {title}, {g.shape[1]} images")
        print("  {:28} {:+6.2f} [{:+.2f}, {:+.2f}]".format("overall", *interval(g.mean((0, 2, 3)))))
        for n, name in enumerate(names):
            print("  {:28} {:+6.2f} [{:+.2f}, {:+.2f}]".format(name, *interval(g[n].mean((1, 2)))))
            for s in range(g.shape[3]):
                line = interval(g[n, :, :, s].mean(1))
                print("  {:28} {:+6.2f} [{:+.2f}, {:+.2f}]".format(f"  severity {s + 1}", *line))


def print_by_texture(gap: np.ndarray, theirs: np.ndarray) -> None:
    """Print the mean error and the mean gap of each texture, over networks, images and severities."""
    i, d = np.indices(gap.shape[1:3])
    print("\nby texture: error with theirs, gap (points)")
    for k in range(len(NAMES)):
        chosen = (i + d) % len(NAMES) == k
        print(f"  frost{k + 1} {100 * theirs[:, chosen].mean():6.1f} {100 * gap[:, chosen].mean():+6.2f}")


def main() -> None:
    """Read the command line, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", type=Path, required=True, help="folder with the original frost files")
    parser.add_argument("--ours", type=Path, default=OURS, help="folder with our frost files")
    parser.add_argument("--images", type=Path, help="folder with labels.csv and images")
    parser.add_argument("--model", type=Path, action="append", default=[], help="ONNX file, may be repeated")
    parser.add_argument("--draws", type=int, default=10, help="crops per image, a multiple of 5")
    parser.add_argument("--seed", type=int, default=0, help="seed of the crops")
    args = parser.parse_args()
    reference = [read_texture(args.reference / theirs) for theirs, _ in NAMES]
    ours = [read_texture(args.ours / mine) for _, mine in NAMES]
    print_statistics(reference, ours)
    if args.images is None or not args.model:
        return
    canvases, labels = read_images(args.images)
    networks = [Network(path) for path in args.model]
    wrong = [
        np.stack([errors(n, canvases, labels, t, args.draws, seed=args.seed) for n in networks])
        for t in (reference, ours)
    ]
    gap = wrong[1].astype(float) - wrong[0]
    print_gaps(gap, [n.name for n in networks])
    print_by_texture(gap, wrong[0])


if __name__ == "__main__":
    main()
