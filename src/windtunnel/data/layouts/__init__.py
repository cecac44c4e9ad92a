"""Dataset layouts: one file each, which declares how a folder or file is recognised and opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.core.registry import Plugin, Registry
from windtunnel.data import Dataset, ImageSource, LiveDataset, path_and_part
from windtunnel.data.manifest import Manifest, read_manifest

if TYPE_CHECKING:
    from windtunnel.data.precomputed import PrecomputedDataset
    from windtunnel.data.shelf import Shelf

# A user's own layouts are tried before the shipped ones, because the most general of those accept any folder.
OWN_PRIORITY = 90


class DatasetLayout(Plugin):
    """How datasets of one layout are recognised and opened. A subclass declares the attributes and `open`.

    Attributes:
        name: for listings.
        help: what it is, in one line.
        form: the shape of the folder or file that a user gives.
        suffixes: suffixes of files in this layout, lower case (`.csv`).
        word: a word that selects the dataset instead of a path (`demo`); "" for none.
        priority: layouts of higher priority are tried first; the more precise `recognises`, the higher.
        corrupted: whether its images are corrupted already.
        patterns: whether `recognises` and `open` also take patterns such as `shards-{000..003}.tar`, which
            are no existing paths.
    """

    name: str = ""
    help: str = ""
    form: str = ""
    suffixes: tuple[str, ...] = ()
    word: str = ""
    priority: int = OWN_PRIORITY
    corrupted: bool = False
    patterns: bool = False

    def __init__(self) -> None:
        no_open = type(self).open is DatasetLayout.open
        self.refuse_incomplete(("name", "help", "form"), ["open(path, part)"] if no_open else [])

    def recognises(self, path: Location) -> bool:
        """Whether an existing path has this layout; by default, whether it is a file with such a suffix."""
        return path.is_file() and path.suffix.lower() in self.suffixes

    def open(self, path: Location, part: str) -> Dataset:
        """The dataset at a path that `recognises` accepts; `part` is what the user wrote after `#`."""
        raise NotImplementedError

    def check_part(self, path: Location, part: str) -> None:
        """Refuse a part of a dataset; by default a layout has no parts."""
        raise no_such_part(path, part)

    def try_open(self, path: Location, part: str = "") -> Dataset | None:
        """The dataset at a path, or None where the path has another layout."""
        if not self.recognises(path):
            return None
        if part:
            self.check_part(path, part)
        return self.open(path, part)


class PrecomputedLayout(DatasetLayout):
    """A folder of images that are corrupted already; `find` opens it as a shelf."""

    corrupted = True

    def __init__(self, find: Callable[[Location, Manifest | None], Shelf | None]) -> None:
        super().__init__()
        self._find = find

    def recognises(self, path: Location) -> bool:
        """Whether a folder has this layout."""
        return self._found(path) is not None

    def open(self, path: Location, part: str) -> Dataset:
        """The set in a folder."""
        dataset = self.try_open(path, part)
        if dataset is None:
            raise UserError(f"{path} is not a dataset in the layout '{self.name}': {self.form}.")
        return dataset

    def try_open(self, path: Location, part: str = "") -> Dataset | None:
        """The set in a folder, or None for another layout; a folder is opened to recognise it."""
        dataset = self._found(path)
        if dataset is not None and part:
            raise UserError(
                f"{path}#{part} is one condition, which only `distance` takes; give {path}, and "
                f"{option('only')} to a run."
            )
        return dataset

    def _found(self, path: Location) -> PrecomputedDataset | None:
        from windtunnel.data.precomputed import PrecomputedDataset

        if not path.is_dir():
            return None
        manifest = read_manifest(path)
        shelf = self._find(path, manifest)
        if shelf is None:
            return None
        return PrecomputedDataset(path.resolve().name, str(path), shelf, manifest, shelf.clean())


REGISTRY: Registry[DatasetLayout] = Registry("layout", __name__, DatasetLayout, separator="-")


def by_priority() -> list[DatasetLayout]:
    """Every layout, in the order in which they are tried."""
    return sorted(REGISTRY.all(), key=lambda layout: -layout.priority)


def open_path(source: str | Location) -> Dataset:
    """Open the dataset at a path, or the one that a word such as `demo` selects."""
    layouts = by_priority()
    for layout in layouts:
        if layout.word and layout.word == str(source):
            return layout.open(Path(layout.word), "")
    path, part = path_and_part(source)
    if not path.exists():
        layouts = [layout for layout in layouts if layout.patterns and layout.recognises(path)]
        if not layouts:
            raise UserError(
                f"No such data: {path}. Give a folder, a file or 'demo'; windtunnel list layouts shows all "
                "forms."
            )
    for layout in layouts:
        if dataset := _opened(layout, path, part):
            return dataset
    if part:
        raise no_such_part(path, part)
    if not path.is_file():
        raise UserError(f"{path} is not a regular file; give a folder, a table, an archive or an array file.")
    suffixes = sorted({suffix for layout in layouts for suffix in layout.suffixes})
    raise UserError(f"{path} is not a dataset; give a folder or a file ending in {', '.join(suffixes)}.")


def open_precomputed(path: Location) -> PrecomputedDataset | None:
    """The precomputed dataset at a path; None for other datasets and paths."""
    for layout in by_priority():
        if layout.corrupted and (dataset := _opened(layout, path, "")):
            return dataset.precomputed
        with _reporting_failures(layout, path):
            if not layout.corrupted and layout.recognises(path):
                return None
    return None


def chosen_split(path: Location, part: str, splits: Iterable[str]) -> str:
    """The split that a user chose after `#`; refuses another name, and no choice among several."""
    names = list(splits)
    if part in names or (not part and len(names) == 1):
        return part or names[0]
    raise no_such_split(path, part, names)


def no_such_split(path: Location, part: str, splits: Iterable[str]) -> UserError:
    """The error for a split that does not exist, or for no choice among several."""
    given = f"no split '{part}'" if part else "several splits"
    return UserError(f"{path} contains {given}; give {', '.join(f'{path}#{name}' for name in splits)}.")


def no_such_part(path: Location, part: str) -> UserError:
    """The error for a part of a dataset that has none."""
    return UserError(
        f"{path} has no part '{part}': only .npz files, folders of splits, Parquet files, shards and "
        f"precomputed sets do. Give {path}."
    )


def _opened(layout: DatasetLayout, path: Location, part: str) -> Dataset | None:
    """The dataset that a layout opens; None if the path has another layout."""
    with _reporting_failures(layout, path):
        opened: object = layout.try_open(path, part)
    if opened is None:
        return None
    if isinstance(opened, ImageSource) and not isinstance(opened, Dataset):
        opened = LiveDataset(opened)
    if isinstance(opened, Dataset):
        if not layout.is_shipped:
            object.__setattr__(opened, "layout", layout.name)  # a user's dataset may be a frozen dataclass
        return opened
    raise UserError(
        f"The dataset layout {layout.name} opens {path} as a {type(opened).__name__}; return a "
        "windtunnel.data.Dataset."
    )


@contextmanager
def _reporting_failures(layout: DatasetLayout, path: Location) -> Iterator[None]:
    """Report a failure in a user's own layout in one line."""
    try:
        yield
    except (UserError, ImageError):
        raise
    except Exception as error:
        if layout.is_shipped:
            raise
        raise UserError(
            f"The dataset layout {layout.name} failed on {path}: {type(error).__name__}: {error}."
        ) from error
