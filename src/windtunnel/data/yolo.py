"""YOLO datasets: a text file of objects per image, with coordinates relative to the image's size."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from windtunnel.core.annotations import ObjectAnnotation, Objects
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, entries
from windtunnel.core.samples import Sample
from windtunnel.core.wording import listed
from windtunnel.data import is_image_name, nfc, read_file
from windtunnel.data.annotated import AnnotatedDataset, BoxFaults
from windtunnel.imaging.header import pillow_quiet, read_header

IMAGES, LABELS = "images", "labels"
NAME_FILES = ("data.yaml", "data.yml", "dataset.yaml", "classes.txt")
# Programs round coordinates, so that a box may end a little outside the image.
SLACK = 0.01
_ENTRY = re.compile(r"\s*(?:-|(\d+)\s*:)\s*(.*?)\s*$")


class YoloDataset(AnnotatedDataset):
    """The images of a YOLO folder; the id of an image is its path below the folder.

    The objects of `images/<path>.jpg` are in `labels/<path>.txt`. A line is a class and a box (centre, width
    and height) or a class and a polygon. An image without such a file has no objects.
    """

    def __init__(self, root: Location, split: str = "") -> None:
        self._root, self.name, self.location = root, root.resolve().name, str(root)
        names = class_names(root)
        self.label_space = LabelSpace("categories", names, f"classes in the order of {names_file(root).name}")
        paths = [path for folder in _image_folders(root, split) for path in _images_below(root, folder)]
        if not paths:
            raise UserError(f"{root} contains no images in {IMAGES}/; give a YOLO folder.")
        faults, objects = BoxFaults(), {}
        with pillow_quiet():
            for path in sorted(paths):
                objects[nfc(path)] = self._objects_of(path, names, faults)
        self.set_objects(objects, faults.notes)
        self._samples = sorted(
            (Sample(nfc(path), self.categories_of(nfc(path)), {"path": path}) for path in paths),
            key=lambda sample: sample.id,
        )

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by path."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        return read_file(self._root / sample.meta["path"])

    def _objects_of(self, path: str, names: Sequence[str], faults: BoxFaults) -> Objects:
        """The sound objects of an image, in pixels of the image as it is stored."""
        file = self._root / label_path(path)
        lines = read_file(file).decode("utf-8-sig", "replace").splitlines() if file.is_file() else []
        if not any(line.strip() for line in lines):
            return ()
        try:
            header = read_header(read_file(self._root / path))
        except ImageError:
            return ()  # the run reports the image as unreadable
        objects = []
        for number, line in enumerate(lines, 1):
            if line.strip():
                class_, values = _numbers(line, f"{file}, line {number}", names)
                where = f"line {number} of {label_path(path)}"
                if thing := _object(class_, values, header.width, header.height, where, faults):
                    objects.append(thing)
        return tuple(objects)


def _numbers(line: str, where: str, names: Sequence[str]) -> tuple[int, list[float]]:
    """The class and the coordinates of a line; refuses anything else."""
    try:
        class_, *values = map(float, line.split())
    except ValueError:
        raise UserError(f"{where} is {line.strip()[:60]!r}; write a class index and numbers.") from None
    if not class_.is_integer() or not 0 <= class_ < len(names):
        raise UserError(
            f"{where} has the class {class_:g}; the dataset has the classes 0 to {len(names) - 1}. Correct "
            "the line, or the list of classes."
        )
    return int(class_), values


def _object(
    class_: int, values: Sequence[float], width: int, height: int, where: str, faults: BoxFaults
) -> ObjectAnnotation | None:
    """The object of a line; None for a faulty one, which is counted."""
    polygon = len(values) >= 6 and len(values) % 2 == 0
    if not polygon and len(values) != 4:
        faults.add(f"has {len(values)} numbers instead of 4, or 6 and more for a polygon", where)
        return None
    if not all(map(math.isfinite, values)):
        faults.add("is not finite", where)
        return None
    if min(values) < -SLACK or max(values) > 1 + SLACK:
        faults.add("is not relative to the image's size (0 to 1)", where)
        return None
    segmentation: msgspec.Raw | None = None
    if polygon:
        across, down = [x * width for x in values[::2]], [y * height for y in values[1::2]]
        box = min(across), min(down), max(across) - min(across), max(down) - min(down)
        pairs = zip(across, down, strict=True)
        segmentation = msgspec.Raw(msgspec.json.encode([[value for pair in pairs for value in pair]]))
        area = _polygon_area(across, down)
    else:
        x, y, w, h = values
        box = (x - w / 2) * width, (y - h / 2) * height, w * width, h * height
        area = box[2] * box[3]
    if faults.has(box, where):
        return None
    return ObjectAnnotation(class_, box, area, id=where.replace("line ", ""), segmentation=segmentation)


def _polygon_area(across: Sequence[float], down: Sequence[float]) -> float:
    """The area of a polygon, by the shoelace formula."""
    return abs(sum(across[i - 1] * down[i] - across[i] * down[i - 1] for i in range(len(across)))) / 2


def label_path(path: str) -> str:
    """The path of an image's text file: its last folder `images` becomes `labels`."""
    before, _, after = f"/{path}".rpartition(f"/{IMAGES}/")
    return f"{before}/{LABELS}/{after.rpartition('.')[0]}.txt".removeprefix("/")


def names_file(root: Location) -> Location:
    """The file with the classes of a YOLO folder; refuses a folder without one."""
    for name in NAME_FILES:
        if (root / name).is_file():
            return root / name
    raise UserError(f"{root} has no list of classes; write {listed(NAME_FILES)}.")


def class_names(root: Location) -> tuple[str, ...]:
    """The classes of a YOLO folder in the order of their indices."""
    file = names_file(root)
    text = read_file(file).decode("utf-8-sig", "replace")
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if file.suffix != ".txt":
        names = _yaml_names(text, file)
    if not names or len(set(names)) < len(names):
        what = "names a class twice" if names else "names no class"
        raise UserError(f"{file} {what}; list every class once.")
    return tuple(names)


def _yaml_names(text: str, file: Location) -> list[str]:
    """The value of `names`: a list in brackets, a list of lines, or lines with indices."""
    begin = re.search(r"^names\s*:[ \t]*(.*)$", text, re.MULTILINE)
    if begin is None:
        raise UserError(f"{file} has no `names`; list the classes there.")
    rest = text[begin.start(1) :]
    if bracket := re.match(r"([\[{])(.*?)[\]}]", rest, re.DOTALL):
        parts = [part.strip() for part in bracket[2].split(",") if part.strip()]
        pairs = [part.split(":", 1) if bracket[1] == "{" else [str(n), part] for n, part in enumerate(parts)]
    else:
        pairs = []
        for line in rest.splitlines()[1:]:
            content = re.sub(r"\s+#.*$", "", line)
            if not content.strip() or content.lstrip().startswith("#"):
                continue
            entry = _ENTRY.fullmatch(content)
            if entry is None:
                break
            pairs.append([entry[1] or str(len(pairs)), entry[2]])
    if any(not key.strip().isdecimal() for key, *_ in pairs) or any(len(pair) != 2 for pair in pairs):
        raise UserError(f"{file}: `names` is not a list of classes; write `names: [a, b]`.")
    by_index = {int(key): value.strip().strip("'\"") for key, value in pairs}
    if sorted(by_index) != list(range(len(by_index))):
        raise UserError(f"{file}: the indices in `names` are not 0 to {len(by_index) - 1}; list every class.")
    return [by_index[place] for place in range(len(by_index))]


def _image_folders(root: Location, split: str) -> list[str]:
    """The folders of images below a root: `images/<split>` or `<split>/images`."""
    if split:
        places = [f"{IMAGES}/{split}", f"{split}/{IMAGES}"]
        there = [place for place in places if (root / place).is_dir()]
        if not there:
            raise UserError(f"{root} has no split '{split}': neither {' nor '.join(places)} exists.")
        return there
    inside = [f"{entry.name}/{IMAGES}" for entry in entries(root) if entry.is_dir() and entry.name != LABELS]
    return [place for place in (IMAGES, *inside) if (root / place).is_dir()]


def _images_below(root: Location, folder: str) -> list[str]:
    """The paths of images below a folder, relative to the root."""
    images = []
    for entry in entries(root / folder):
        path = f"{folder}/{entry.name}"
        if entry.is_dir():
            images += _images_below(root, path)
        elif is_image_name(entry.name):
            images.append(path)
    return images
