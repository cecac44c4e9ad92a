"""Model kinds: one file each, which declares how a model is recognised and loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.calls import CalledPlugin, Settings, split_parameters
from windtunnel.core.errors import RunFailed, UserError, first_line
from windtunnel.core.extras import load_extra
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, location_of
from windtunnel.core.registry import Registry
from windtunnel.models import Model, Size
from windtunnel.models.preprocess import Declaration, declared

# A user's own kinds are tried before the shipped ones.
OWN_PRIORITY = 90
# Characters of a text that an error repeats.
LONGEST = 300


@dataclass(frozen=True)
class Origin:
    """The origin of a live object.

    Attributes:
        name: name of the object or of its factory.
        file: the file or folder that defines it, if there is one.
        preprocess: the preprocessing that the user declares.
        data_size: height and width of the data's images.
        portable: whether another process can create the object again.
        own: what the model's own files declare; it counts where the user declares nothing.
    """

    name: str
    file: Location | None
    preprocess: str | Path | None
    data_size: Size | None
    portable: bool
    own: Declaration | None = None

    @property
    def declaration(self) -> Declaration:
        """The model's declaration: by the user, in the TOML file next to its file, or in its own files."""
        given = declared(self.preprocess, self.file if self.portable else None)
        return given if self.own is None else given.completed_by(self.own)


class ModelKind(CalledPlugin):
    """How models of one kind are recognised and loaded. A subclass declares facts, `recognises` and `load`.

    Attributes:
        name: for listings.
        help: a description in one line.
        form: what a user gives: `FILE.onnx`, `module:factory`.
        extra: the library that it needs and that does not come with windtunnel, if any.
        live: whether its models are objects of Python, which cannot be written as a text.
        priority: kinds of higher priority are tried first.
        parameters: what a user can add in parentheses: `FILE.py:factory(weights=best.pth)`.
    """

    name: str = ""
    help: str = ""
    form: str = ""
    extra: str = ""
    live: bool = False
    priority: int = OWN_PRIORITY

    def __init__(self) -> None:
        missing = []
        if type(self).recognises is ModelKind.recognises:
            missing.append("recognises(source)")
        if type(self).load is ModelKind.load:
            missing.append("load(source, preprocess, data_size)")
        self.refuse_incomplete(("name", "help", "form"), missing)

    def recognises(self, source: object) -> bool:
        """Whether a path, another text or a live object is a model of this kind."""
        raise NotImplementedError

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The model.

        Args:
            source: what `recognises` accepts.
            preprocess: a preset's name or a TOML file, if the user gave one.
            data_size: height and width of the data's images, for a model that declares no size.
        """
        raise NotImplementedError

    def files(self, source: str) -> tuple[str, ...]:
        """Texts that may be files from which a model is loaded; a declaration belongs next to the first."""
        before, given = self.split(source)
        paths = [str(given[parameter.name]) for parameter in self.parameters if parameter.path]
        return (before, *filter(None, paths))

    def split(self, source: object) -> tuple[str, Settings]:
        """The text without its parameters, and all parameters of the kind, checked."""
        if not self.parameters:
            return str(source), {}
        before, given = split_parameters(str(source), self.form)
        return before, self.settings(given)

    def wrap(self, made: object, origin: Origin) -> Model:
        """The model for a live object; kinds of live objects override it to use the origin."""
        return self.load(made, origin.preprocess, origin.data_size)


REGISTRY: Registry[ModelKind] = Registry("model kind", __name__, ModelKind, separator="-")


def by_priority() -> list[ModelKind]:
    """Every kind, in the order in which they are tried."""
    return sorted(REGISTRY.all(), key=lambda kind: -kind.priority)


def kind_of(source: object) -> ModelKind | None:
    """The first kind that recognises a source."""
    for plugin in by_priority():
        with _reporting_failures(plugin, source):
            if plugin.recognises(source):
                return plugin
    return None


def load_with(kind: ModelKind, source: object, preprocess: str | Path | None, size: Size | None) -> Model:
    """The model of a kind at a source."""
    if kind.extra:
        load_extra(kind.extra, f"A model of kind {kind.name}")
    return _checked(kind, source, lambda: kind.load(source, preprocess, size))


def wrap_with(kind: ModelKind, made: object, origin: Origin) -> Model:
    """The model of a kind that a factory has made."""
    return _checked(kind, origin.name, lambda: kind.wrap(made, origin))


def _checked(kind: ModelKind, source: object, load: Callable[[], Model]) -> Model:
    """The loaded model; the file of a user's own kind becomes part of its fingerprint."""
    with _reporting_failures(kind, source):
        model: object = load()
    if not isinstance(model, Model):
        raise UserError(
            f"The model kind {kind.name} loads {source} as a {type(model).__name__}; return a "
            "windtunnel.models.Model."
        )
    if not kind.is_shipped:
        file = Path(str(sys.modules[type(kind).__module__].__file__))
        model.fingerprint = f"{model.fingerprint}-{file_digest(file)}"
    return model


def unknown_model(source: str) -> UserError:
    """The error for a text that is no model of any kind."""
    try:
        exists = location_of(source).exists()
    except OSError:  # a text that is too long for a path
        exists = False
    shown = source if len(source) <= LONGEST else f"{source[:LONGEST]}..."
    if exists:
        return UserError(f"{shown} is not a model; give {written_forms()}.")
    return UserError(f"No such model: {shown}. Give {written_forms()}.")


def not_a_model(what: str, given: object) -> UserError:
    """The error for an object that no kind recognises; `what` is what it should be."""
    return UserError(
        f"{what} is an object of type {type(given).__name__}; give a callable (uint8 NHWC to scores), a "
        "torch module, or another model of windtunnel list model-kinds."
    )


def written_forms() -> str:
    """What users can write for a model, by the forms of all kinds."""
    forms = "; ".join(kind.form for kind in by_priority() if not kind.live)
    return f"one of: {forms} (windtunnel list model-kinds)"


def after_prefix(source: object, prefix: str) -> str:
    """What follows a prefix (`timm:`) in a text; "" if it does not begin with it."""
    text = str(source) if isinstance(source, str | Path) else ""
    return text[len(prefix) :] if text.startswith(prefix) else ""


def folder_or_title(name: str) -> str:
    """A folder as it is, and the last part of a name on a hub: `resnet-50` of `microsoft/resnet-50`."""
    return name if Path(name).is_dir() else name.rpartition("/")[2]


def has_suffix(source: object, suffix: str) -> bool:
    """Whether a source is the name of a file with a suffix (`.onnx`), in any case."""
    return isinstance(source, str | Location) and str(source).lower().endswith(suffix)


@contextmanager
def _reporting_failures(kind: ModelKind, source: object) -> Iterator[None]:
    """Report a failure, as of a malformed file, in one line."""
    try:
        yield
    except (UserError, RunFailed):
        raise
    except Exception as error:
        raise UserError(
            f"The model kind {kind.name} failed on {source}: {type(error).__name__}: {first_line(error)}. "
            f"Give {kind.form}."
        ) from error
