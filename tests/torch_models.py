"""Small networks in the files and folders of torch, transformers and timm, with fixed random weights."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SIDE = 32
CLASSES = ("cat", "dog", "eel", "fox")
CLIP_PROMPTS = 'templates = ["a photo of a {}.", "a bad photo of the {}."]\nclasses = ["cat", "dog", "eel"]\n'

FACTORY = """
import torch

class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 5, stride=4)
        self.norm = torch.nn.BatchNorm2d(6)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.drop(self.norm(self.conv(x)).relu().mean((2, 3))))

def small():
    torch.manual_seed(3)
    return Small()
"""


def small_network(folder: Path) -> Any:
    """The module of the factory `small`, whose file is written to the folder."""
    from windtunnel.core.registry import import_file

    (folder / "nets.py").write_text(FACTORY)
    return import_file(folder / "nets.py").small()


def write_torchscript(path: Path, module: Any, *, frozen: bool = False) -> Path:
    """Write a module as TorchScript, in training mode unless it is frozen."""
    import torch

    script = torch.jit.script(module.eval() if frozen else module.train())
    torch.jit.save(torch.jit.freeze(script) if frozen else script, path)
    return path


def write_exported(path: Path, module: Any, batch: int | None = None) -> Path:
    """Write a module as an exported program, for one batch size or for all."""
    import torch

    shapes = None if batch else ({0: torch.export.Dim("batch")},)
    program = torch.export.export(
        module.eval(), (torch.zeros(batch or 2, 3, SIDE, SIDE),), dynamic_shapes=shapes
    )
    torch.export.save(program, path)
    return path


def write_classifier(folder: Path, processor: Any = None, labels: tuple[str, ...] = CLASSES) -> Path:
    """Write a small ResNet of transformers with an image processor."""
    transformers = pytest.importorskip("transformers")
    import torch
    from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil

    torch.manual_seed(1)
    names = dict(enumerate(labels))
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=len(labels), id2label=names
    )
    transformers.ResNetForImageClassification(config).save_pretrained(folder)
    (processor or ConvNextImageProcessorPil(size={"shortest_edge": SIDE})).save_pretrained(folder)
    return folder


def write_clip(folder: Path, prompts: str = CLIP_PROMPTS) -> Path:
    """Write a small CLIP model with a tokenizer of single letters, an image processor and prompts."""
    transformers = pytest.importorskip("transformers")
    import torch
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(2)
    letters = [*"abcdefghijklmnopqrstuvwxyz.,"]
    tokens = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer.save_pretrained(folder)
    width = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {"vocab_size": len(tokens), "max_position_embeddings": 40, "bos_token_id": 0, "eos_token_id": 1}
    config = transformers.CLIPConfig(
        text_config={**width, **text, "pad_token_id": 1},
        vision_config={**width, "image_size": SIDE, "patch_size": 16},
        projection_dim=8,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    size, crop = {"shortest_edge": SIDE}, {"height": SIDE, "width": SIDE}
    CLIPImageProcessorPil(size=size, crop_size=crop).save_pretrained(folder)
    (folder / "prompts.toml").write_text(prompts)
    return folder


def timm_library() -> Any:
    """The library timm, imported without torchvision if that is not installed.

    timm needs torchvision for images and for frozen layers only, which no test uses.
    """
    if importlib.util.find_spec("timm") is None:
        pytest.skip("timm is not installed")
    if "timm" in sys.modules or importlib.util.find_spec("torchvision") is not None:
        return importlib.import_module("timm")
    names = ("", ".ops", ".ops.misc", ".transforms", ".transforms.functional", ".datasets", ".models")
    replaced = {f"torchvision{name}": _Names(f"torchvision{name}") for name in names}
    sys.modules.update(replaced)
    try:
        return importlib.import_module("timm")
    finally:
        for name in replaced:
            del sys.modules[name]


class _Names(ModuleType):
    """A module in which every name is a class."""

    __path__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or _AnyClass(name, (), {})


class _AnyClass(type):
    """A class in which every name is a text."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


def write_timm(folder: Path) -> Path:
    """Write a small ResNet of timm as a folder, as timm writes it for the Hub."""
    timm = timm_library()
    import torch

    torch.manual_seed(4)
    module = timm.create_model("resnet10t", num_classes=4)
    folder.mkdir()
    torch.save(module.state_dict(), folder / "pytorch_model.bin")
    data = {
        "input_size": [3, SIDE, SIDE], "interpolation": "bicubic", "crop_pct": 0.9, "crop_mode": "center",
        "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "num_classes": 4, "pool_size": [1, 1],
        "first_conv": "conv1.0", "classifier": "fc",
    }  # fmt: skip
    config = {"architecture": "resnet10t", "num_classes": 4, "pretrained_cfg": data}
    (folder / "config.json").write_text(json.dumps(config))
    return folder
