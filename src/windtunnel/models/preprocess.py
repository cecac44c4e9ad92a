"""A model's preprocessing: the geometry, and the arithmetic from bytes to its input tensor."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel import published
from windtunnel.core.calls import split_chain, with_values
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.locations import Location, location_of
from windtunnel.core.locations.urls import is_url
from windtunnel.core.option_names import option
from windtunnel.core.records import DEFAULT_TASK, TensorRecord, record_of
from windtunnel.core.task import REGISTRY as TASKS
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.heads import REGISTRY as HEADS
from windtunnel.models.heads import HeadSettings

DEFAULT_PRESET = "imagenet"
DECLARE_IT = f"declare the preprocessing with {option('preprocess', 'FILE.toml')}"
ASSUMED = f"default {DEFAULT_PRESET}; nothing was declared"

Outputs = Literal["logits", "probabilities"]
Channels = Literal["rgb", "bgr", "grey"]
Layout = Literal["nchw", "nhwc"]
Dtype = Literal["float32", "float16", "uint8"]


@dataclass(frozen=True)
class Tensor:
    """(x / divisor - mean) / std per channel, in a channel order, layout and number type."""

    channels: Channels = "rgb"
    divisor: float = 255.0
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    layout: Layout = "nchw"
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        for name, allowed in (("channels", Channels), ("layout", Layout), ("dtype", Dtype)):
            if getattr(self, name) not in get_args(allowed):
                raise unknown_name(f"tensor {name}", str(getattr(self, name)), get_args(allowed))
        for name in ("mean", "std"):
            if len(getattr(self, name)) != self.channel_count:
                raise UserError(
                    f"tensor {name} has {len(getattr(self, name))} values; "
                    f"channels = '{self.channels}' needs {self.channel_count}."
                )
        if self.divisor == 0 or 0 in self.std:
            raise UserError("tensor divisor or std is zero; give other numbers.")

    @property
    def channel_count(self) -> int:
        """1 for grey, else 3."""
        return 1 if self.channels == "grey" else 3

    @property
    def is_raw(self) -> bool:
        """Whether the model takes unconverted bytes."""
        return self.divisor == 1 and not any(self.mean) and all(value == 1 for value in self.std)

    def record(self) -> TensorRecord:
        """The tensor as recipes store it."""
        return record_of(self, TensorRecord)

    def same_arithmetic(self, other: Tensor) -> bool:
        """Whether another tensor gives the same numbers in another form: x/127.5 - 1 is (x/255 - 0.5)/0.5."""
        if (self.channels, self.layout, self.dtype) != (other.channels, other.layout, other.dtype):
            return False
        return np.allclose(self._line(), other._line(), rtol=1e-6, atol=0)

    def _line(self) -> NDArray[np.float64]:
        """Scale and shift of every channel."""
        mean, std = np.asarray(self.mean, float), np.asarray(self.std, float)
        return np.stack([1.0 / (self.divisor * std), -mean / std])

    def apply(self, batch: NDArray[np.uint8]) -> NDArray[Any]:
        """The model's input for a batch of uint8 NHWC RGB images."""
        if self.channels == "grey":
            batch = np.stack([cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in batch])[..., None]
        elif self.channels == "bgr":
            batch = batch[..., ::-1]
        if self.layout == "nchw":
            batch = batch.transpose(0, 3, 1, 2)
        if self.dtype == "uint8":
            return np.ascontiguousarray(batch)
        shape = (1, -1, 1, 1) if self.layout == "nchw" else (1, 1, 1, -1)
        scale, shift = (row.reshape(shape) for row in self._line().astype(np.float32))
        values = batch.astype(np.float32, order="C")
        values *= scale
        values += shift
        return values if self.dtype == "float32" else values.astype(np.float16)


@dataclass(frozen=True)
class Preprocess:
    """Geometry and tensor, where they were declared, and whether they are only assumed."""

    geometry: Geometry = field(default_factory=Geometry)
    tensor: Tensor = field(default_factory=Tensor)
    origin: str = ""
    assumed: bool = False

    def scaled_to(self, side_px: int) -> Preprocess:
        """The same preprocessing for another input size."""
        old = self.geometry
        resize_px = int(side_px * old.resize_px / old.crop_px) if old.crop_px else side_px
        return replace(self, geometry=replace(old, crop_px=side_px, resize_px=resize_px))


@dataclass(frozen=True)
class About:
    """Facts that distinguish a model in comparisons; none of them affects predictions.

    Attributes:
        family: such as `resnet`; "" for unknown.
        parameters: the number of parameters; 0 for unknown.
        tags: any distinguishing words.
        trained_with: training remedies as texts, such as `augmix` or `clahe(clip=3)`.
    """

    family: str = ""
    parameters: int = 0
    tags: tuple[str, ...] = ()
    trained_with: tuple[str, ...] = ()


@dataclass(frozen=True)
class Declaration:
    """The content of a model's TOML file or preset."""

    preprocess: Preprocess
    fixed_size: bool = False
    fixed_tensor: bool = False
    layout: Layout | None = None
    outputs: Outputs | None = None
    output: str | None = None
    labels: tuple[str, ...] = ()
    trained_on: tuple[str, ...] = ()
    about: About = field(default_factory=About)
    wrappers: tuple[str, ...] = ()
    task: str = DEFAULT_TASK
    detector: HeadSettings | None = None

    def completed_by(self, own: Declaration) -> Declaration:
        """The declaration with the preprocessing and labels of a model's own files where it has none."""
        return replace(
            self,
            preprocess=own.preprocess if self.preprocess.assumed else self.preprocess,
            fixed_tensor=self.fixed_tensor or own.fixed_tensor,
            outputs=self.outputs or own.outputs,
            labels=self.labels or own.labels,
        )


@lru_cache(maxsize=1)
def presets() -> dict[str, dict[str, Any]]:
    """The preprocessing presets, by name."""
    return tomllib.loads(published.read_text("presets.toml"))


def declared(preprocess: str | Path | None, model_file: Location | None) -> Declaration:
    """A model's declaration: the given preset or file, the TOML next to the model file, or the default."""
    if preprocess is not None:
        if str(preprocess).endswith(".toml"):
            return read_declaration(location_of(preprocess))
        if str(preprocess) not in presets():
            raise unknown_name("preprocessing preset", str(preprocess), presets(), "or give a .toml file")
        return _from_preset(str(preprocess), f"preset {preprocess}")
    if model_file is not None:
        own_file = model_file.with_name(model_file.name + ".toml")
        if own_file.is_file():
            return read_declaration(own_file)
    return _from_preset(DEFAULT_PRESET, ASSUMED, assumed=True)


def wanted(preprocess: str | Path | Preprocess) -> Preprocess:
    """The preprocessing itself, or that of a preset's name or a TOML file."""
    if isinstance(preprocess, Preprocess):
        return preprocess
    if isinstance(preprocess, str | Path):
        return declared(preprocess, None).preprocess
    raise UserError(
        f"preprocess is {preprocess!r}; give a preset's name, such as '{DEFAULT_PRESET}', a .toml file or a "
        "Preprocess."
    )


def read_declaration(path: Location) -> Declaration:
    """Read a model's TOML file; an unknown key is an error."""
    if not path.is_file():
        raise UserError(f"No such preprocessing file: {path}.")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from error
    allowed = (
        "preset", "geometry", "tensor", "outputs", "output", "labels", "trained_on", "family",
        "parameters", "tags", "wrappers", "trained_with", "task", "detector",
    )  # fmt: skip
    _refuse_unknown(table, allowed, str(path))
    preset = str(table.get("preset", DEFAULT_PRESET))
    if preset not in presets():
        raise unknown_name(f"preset in {path}", preset, presets())
    base = presets()[preset]
    geometry, tensor = (_table(table, key, path) for key in ("geometry", "tensor"))
    assumed = not ({"preset", "geometry", "tensor"} & set(table))
    if table.get("outputs") not in (None, *get_args(Outputs)):
        raise unknown_name(f"outputs in {path}", str(table["outputs"]), get_args(Outputs))
    task = table.get("task", DEFAULT_TASK)
    if task not in TASKS.names():
        raise unknown_name(f"task in {path}", str(task), TASKS.names())
    return Declaration(
        Preprocess(
            _build(Geometry, {**base["geometry"], **geometry}, f"geometry in {path}"),
            _build(Tensor, {**_tensor_base(base["tensor"], tensor), **tensor}, f"tensor in {path}"),
            ASSUMED if assumed else f"from {path.name}",
            assumed,
        ),
        fixed_size=bool({"crop_px", "resize_px", "rule"} & set(geometry)),
        fixed_tensor="preset" in table or bool({"divisor", "mean", "std", "channels"} & set(tensor)),
        layout=tensor.get("layout"),
        outputs=table.get("outputs"),
        output=table.get("output"),
        labels=_texts(table.get("labels", ()), f"labels in {path}"),
        trained_on=_texts(table.get("trained_on", ()), f"trained_on in {path}"),
        about=_about(table, path),
        wrappers=_wrappers(_texts(table.get("wrappers", ()), f"wrappers in {path}"), path.parent),
        task=task,
        detector=_detector(table, path),
    )


def _detector(table: Mapping[str, Any], path: Location) -> HeadSettings | None:
    """The head of a detector, if the file has [detector]."""
    if "detector" not in table:
        return None
    values = _table(table, "detector", path)
    if not isinstance(values.get("head"), str):
        raise UserError(f"{path}: [detector] has no head; give {' or '.join(HEADS.names())}.")
    rest = {key: value for key, value in values.items() if key != "head"}
    built: HeadSettings = _build(HeadSettings, rest, f"detector in {path}", head=values["head"])
    return built


def _wrappers(texts: Sequence[str], folder: Location) -> tuple[str, ...]:
    """The wrappers of a model's file, with their files relative to its folder."""
    from windtunnel.models.wrappers import REGISTRY

    def relative(name: str, parameter: str, value: str) -> str:
        paths = [known.name for known in REGISTRY.get(name).parameters if known.path]
        if parameter not in paths or is_url(value) or Path(value).is_absolute():
            return value
        return str(folder / value)

    return tuple(with_values(call, relative) for text in texts for call in split_chain(text))


def _about(table: Mapping[str, Any], path: Location) -> About:
    family, parameters = table.get("family", ""), table.get("parameters", 0)
    if not isinstance(family, str):
        raise UserError(f"{path}: family is {family!r}; give a text.")
    if not isinstance(parameters, int) or isinstance(parameters, bool) or parameters < 0:
        raise UserError(f"{path}: parameters is {parameters!r}; give a whole number, such as 25_557_032.")
    tags, trained_with = (_texts(table.get(key, ()), f"{key} in {path}") for key in ("tags", "trained_with"))
    return About(family, parameters, tags, trained_with)


def _table(table: Mapping[str, Any], key: str, path: Location) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UserError(f"{path}: {key} is {value!r}; write it as a table, [{key}].")
    return value


def _tensor_base(base: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    # The three means of a preset do not apply to a grey model.
    return {"mean": (0.0,), "std": (1.0,)} if given.get("channels") == "grey" else base


def _from_preset(name: str, origin: str, *, assumed: bool = False) -> Declaration:
    row = presets()[name]
    geometry, tensor = _build(Geometry, row["geometry"], name), _build(Tensor, row["tensor"], name)
    return Declaration(Preprocess(geometry, tensor, origin, assumed), fixed_tensor=not assumed)


def _build(kind: Any, values: Mapping[str, Any], where: str, **more: Any) -> Any:
    fields = kind.__dataclass_fields__
    _refuse_unknown(values, fields, where)
    ready: dict[str, Any] = {}
    for key, value in values.items():
        default = fields[key].default
        if isinstance(default, tuple):
            if not isinstance(value, list | tuple) or not all(_is_number(item) for item in value):
                raise UserError(f"{where}: {key} is {value!r}; give a list of numbers.")
            ready[key] = tuple(type(default[0])(item) for item in value)
        elif isinstance(default, bool):
            if not isinstance(value, bool):
                raise UserError(f"{where}: {key} is {value!r}; give true or false.")
            ready[key] = value
        elif isinstance(default, str):
            if not isinstance(value, str):
                raise UserError(f"{where}: {key} is {value!r}; give a text.")
            ready[key] = value
        else:
            if not _is_number(value):
                raise UserError(f"{where}: {key} is {value!r}; give a number.")
            if isinstance(default, int) and value != int(value):
                raise UserError(f"{where}: {key} is {value!r}; give a whole number.")
            ready[key] = type(default)(value)
    return kind(**ready, **more)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _refuse_unknown(given: Mapping[str, Any], allowed: Sequence[str] | Mapping[str, Any], where: str) -> None:
    for key in given:
        if key not in allowed:
            raise unknown_name(f"key in {where}", key, allowed)


def _texts(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise UserError(f"{where}: give a text or a list of texts, not {value!r}.")
