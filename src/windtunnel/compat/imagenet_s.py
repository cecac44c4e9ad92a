"""The calls of ImageNet-S's generator (SystemNoise), made by windtunnel.

    from windtunnel.compat.imagenet_s import ImageTransfer

    ImageTransfer("val", "val.txt", save_root="out", decoder_type="opencv").write_to_filesystem()

Same as in the generator:

- Arguments, the names of decoders and resizes, and the meta file (`relative/path label` on every line).
- Validation images are decoded, resized to a square of 8/7 of `resize` without keeping the aspect ratio, and
  centre-cropped, as uint8 arrays of height x width x 3.
- Arrays are written to `save_root/decoder/resize/<name>.npy`, and a new meta file `<decoder>_<resize>.txt`
  to the current folder. Existing files are overwritten.

Different here:

- Training crops depend on `seed` and the image's name, so that all decoders get the same crops.
- Subfolders in names are created, and a file is written atomically.
- No decoder applies an EXIF orientation. In the generator only OpenCV does.
- `save_dir`, the name in the paper, is an alias of `save_root`.
- FFmpeg is used through PyAV (`pip install 'av>=17'`), not as a program. Sizes come from the image itself.
"""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.errors import ImageError, UserError, unknown_name
from windtunnel.core.images import Image
from windtunnel.imaging.decoders import require_decoder
from windtunnel.imaging.files import read_file
from windtunnel.imaging.geometry import Geometry, crop_step, decode_step, resize_step
from windtunnel.imaging.header import pillow_quiet
from windtunnel.make.imagenet_s import (
    DECODERS,
    RESIZES,
    meta_text,
    npy_bytes,
    training_image,
)
from windtunnel.make.layouts import write_image
from windtunnel.options.make import SPLITS

__all__ = ["ImageTransfer"]


class ImageTransfer:
    """Converts images into arrays with one decoder and one resize.

    Args:
        root_dir: the folder of the images.
        meta_file: a text file with `relative/path label` on every line.
        save_root: the folder for the arrays.
        decoder_type: `pil`, `opencv` or `ffmpeg`.
        resize_type: library and filter, such as `pil-bilinear`.
        resize: side of the arrays in pixels.
        transform_type: `val` or `train`.
        save_dir: alias of save_root.
        seed: seed of training crops.
    """

    def __init__(
        self,
        root_dir: str | Path,
        meta_file: str | Path,
        save_root: str | Path | None = None,
        decoder_type: str = "pil",
        resize_type: str = "pil-bilinear",
        resize: int = 224,
        transform_type: str = "val",
        *,
        save_dir: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        for kind, given, known in (
            ("decoder_type", decoder_type, DECODERS),
            ("resize_type", resize_type, RESIZES),
            ("transform_type", transform_type, SPLITS),
        ):
            if given not in known:
                raise unknown_name(kind, str(given), known)
        require_decoder(DECODERS[decoder_type])
        self._root = Path(root_dir)
        self._target = save_root if save_root is not None else save_dir
        self._place = (decoder_type, resize_type)
        self._train = transform_type == "train"
        self._seed = seed
        self._geometry = Geometry(
            decoder=DECODERS[decoder_type],
            rule="squash",
            resizer=RESIZES[resize_type],
            resize_px=resize * 8 // 7,
            crop_px=resize,
        )
        self._meta = Path(meta_file)
        self._items = _read_meta(self._meta)

    def __len__(self) -> int:
        return len(self._items)

    def getimage(self, index: int) -> tuple[Image, int]:
        """The array and the label of one image."""
        name, label = self._items[index]
        try:
            with pillow_quiet():
                decoded = decode_step(read_file(self._root / name), self._geometry)
        except ImageError as error:
            raise UserError(
                f"{self._root / name}, an image of {self._meta}, cannot be used: {error.reason}."
            ) from error
        if self._train:
            return training_image(decoded, self._geometry, name, self._seed), label
        return crop_step(resize_step(decoded, self._geometry), self._geometry).copy(), label

    def write_to_filesystem(self) -> None:
        """Write every array, then the new meta file into the current folder.

        Arrays of another size, split or seed have the same names: existing files are overwritten.
        """
        if self._target is None:
            raise UserError("save_root is missing; give the folder for the arrays.")
        folder = Path(self._target).joinpath(*self._place)
        for index, (name, _) in enumerate(self._items):
            write_image(folder / f"{name}.npy", npy_bytes(self.getimage(index)[0]))
        names, labels = zip(*self._items, strict=True) if self._items else ((), ())
        Path(f"{'_'.join(self._place)}.txt").write_text(meta_text(names, labels), encoding="utf-8")


def _read_meta(file: Path) -> list[tuple[str, int]]:
    if not file.is_file():
        raise UserError(
            f"No such meta file: {file}. Give a text file with `relative/path label` on every line."
        )
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        name, _, label = line.strip().rpartition(" ")
        if not name or not label.isdecimal():
            raise UserError(f"{file}: line {number} is {line!r}; write `relative/path label`.")
        rows.append((name.strip(), int(label)))
    return rows
