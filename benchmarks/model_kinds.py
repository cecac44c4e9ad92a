"""Does one network predict the same classes in every file and folder that windtunnel takes?

An ONNX network of convolutions is written as a torch module with the same weights, and from it as a
checkpoint with a factory, a TorchScript program, an exported program (any batch, and batches of 4) and a
transformers folder. EfficientNet-Lite0 is also loaded into timm's own network. Every form predicts the same
images; printed are top-1 accuracy, images whose top-1 class differs from the ONNX file's, and the largest
difference of a score.

    python benchmarks/model_kinds.py --model efficientnet_lite0.onnx --images DIR \\
        --preprocess efficientnet-lite

A folder and timm are measured twice: with the preprocessing of their own configuration, and with the preset.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional

import windtunnel
from windtunnel.imaging.geometry import crop_step, decode_step, resize_step
from windtunnel.models import Model, load_model
from windtunnel.models.preprocess import Preprocess, declared

FACTORY = """
import sys
sys.path.insert(0, {root!r})
from benchmarks.model_kinds import Graph

def network():
    return Graph({file!r}, empty=True)
"""


class Graph(torch.nn.Module):
    """The graph of an ONNX file, node by node; without weights if it is `empty`."""

    def __init__(self, file: str, *, empty: bool = False) -> None:
        super().__init__()
        graph = onnx.load(file).graph
        weights = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
        self.weights = torch.nn.ParameterDict()
        self.constants: dict[str, Any] = {}
        for name, value in weights.items():
            if value.ndim > 1 or value.size > 8:
                given = torch.tensor(value.astype(np.float32))
                self.weights[_key(name)] = torch.zeros_like(given) if empty else given
            else:
                self.constants[name] = value.tolist()
        self.nodes = [
            (node.op_type, list(node.input), list(node.output), _attributes(node)) for node in graph.node
        ]
        (self.images,) = (entry.name for entry in graph.input if entry.name not in weights)
        self.scores = graph.output[0].name

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The first output of the graph."""
        values: dict[str, Any] = {self.images: images, **self.constants}
        for operation, inputs, outputs, attributes in self.nodes:
            given = [self.weights[_key(name)] if name not in values else values[name] for name in inputs]
            values[outputs[0]] = OPERATIONS[operation](given, attributes)
        scores: torch.Tensor = values[self.scores]
        return scores


def convolution(given: list[Any], attributes: dict[str, Any]) -> Any:
    """A convolution, padded on each side as the graph says."""
    top, left, bottom, right = attributes["pads"]
    padded = functional.pad(given[0], (left, right, top, bottom))
    bias = given[2] if len(given) > 2 else None
    return functional.conv2d(padded, given[1], bias, attributes["strides"], groups=attributes.get("group", 1))


OPERATIONS: dict[str, Any] = {
    "Conv": convolution,
    "Relu": lambda given, _: given[0].relu(),
    "Clip": lambda given, _: given[0].clamp(given[1], given[2]),
    "Add": lambda given, _: given[0] + given[1],
    "Concat": lambda given, attributes: torch.cat(given, attributes["axis"]),
    "Dropout": lambda given, _: given[0],
    "MaxPool": lambda given, attributes: functional.max_pool2d(
        given[0], attributes["kernel_shape"], attributes["strides"]
    ),
    "GlobalAveragePool": lambda given, _: given[0].mean((2, 3)),
    "ReduceMean": lambda given, _: given[0].mean((2, 3)),
    "Reshape": lambda given, _: given[0].flatten(1),
    "Gemm": lambda given, _: functional.linear(given[0], given[1], given[2]),
    "Softmax": lambda given, _: given[0].softmax(1),
}


def _attributes(node: Any) -> dict[str, Any]:
    return {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}


def _key(name: str) -> str:
    return name.replace(".", "_").replace("/", "_")


def forms(file: str, preset: str, folder: Path) -> Iterator[tuple[str, str, Any, str | None]]:
    """Every form of the network: its name, its preprocessing in words, the model, and its declaration."""
    module = Graph(file).eval()
    yield "ONNX file", "preset", file, preset
    yield "torch module", "preset", module, preset
    (folder / "network.py").write_text(FACTORY.format(root=str(Path(__file__).parents[1]), file=file))
    state = {f"module.{key}": value for key, value in module.state_dict().items()}
    torch.save({"state_dict": state}, folder / "best.pth")
    yield (
        "factory and checkpoint",
        "preset",
        f"{folder}/network.py:network(weights={folder}/best.pth)",
        preset,
    )
    example = torch.zeros(4, 3, 224, 224)
    torch.jit.save(torch.jit.trace(module, example), folder / "network.ts")
    yield "TorchScript", "preset", str(folder / "network.ts"), preset
    for name, shapes in (("any", ({0: torch.export.Dim("batch")},)), ("fixed", None)):
        program = torch.export.export(module, (example,), dynamic_shapes=shapes)
        torch.export.save(program, folder / f"{name}.pt2")
        yield f"torch.export, {name} batch", "preset", str(folder / f"{name}.pt2"), preset
    preprocess = declared(preset, None).preprocess
    source = f"hf:{transformers_folder(module, file, preprocess, folder / 'hf')}"
    yield "transformers folder", "preset", source, preset
    if preprocess.tensor.channels == "rgb":  # the processor that is written has no other order
        yield "transformers folder", "its image processor", source, None
    if "efficientnet_lite0" in Path(file).name:
        weights = timm_weights(module, folder / "timm.pth")
        if weights:
            source = f"timm:tf_efficientnet_lite0(weights={weights})"
            yield "timm network", "preset", source, preset
            yield "timm network", "its configuration", source, None


def transformers_folder(module: Graph, file: str, preprocess: Preprocess, folder: Path) -> Path:
    """The network as a model of transformers, whose type this process registers."""
    import transformers
    from transformers.modeling_outputs import ImageClassifierOutput
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    class GraphConfig(transformers.PreTrainedConfig):
        model_type = "onnx_graph"
        file: str = ""

    class GraphClassifier(transformers.PreTrainedModel):
        config_class = GraphConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.graph = Graph(config.file, empty=True)
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            """Weights come from the folder."""

        def forward(self, pixel_values: torch.Tensor) -> Any:
            return ImageClassifierOutput(logits=self.graph(pixel_values))

    transformers.AutoConfig.register("onnx_graph", GraphConfig)
    transformers.AutoModelForImageClassification.register(GraphConfig, GraphClassifier)
    network = GraphClassifier(GraphConfig(file=file, num_labels=1000))
    network.graph.load_state_dict(module.state_dict())
    network.save_pretrained(folder)
    geometry, tensor = preprocess.geometry, preprocess.tensor
    CLIPImageProcessorPil(
        size={"shortest_edge": geometry.resize_px},
        crop_size={"height": geometry.crop_px, "width": geometry.crop_px},
        resample=3 if geometry.resizer.endswith("bicubic") else 2,
        rescale_factor=1 / tensor.divisor,
        image_mean=list(tensor.mean),
        image_std=list(tensor.std),
    ).save_pretrained(folder)
    return folder


def timm_weights(module: Graph, path: Path) -> Path | None:
    """The weights as a checkpoint of timm's tf_efficientnet_lite0; None if timm cannot be imported.

    The convolutions of the ONNX file contain the batch normalisations; here these only add the bias.
    """
    try:
        from tests.torch_models import timm_library

        timm = timm_library()
    except BaseException as error:  # pytest's Skipped is no Exception
        print(f"timm left out: {error}", flush=True)
        return None
    network = timm.create_model("tf_efficientnet_lite0")
    layers = [
        layer for layer in network.modules() if isinstance(layer, torch.nn.Conv2d | torch.nn.BatchNorm2d)
    ]
    convolutions = [node for node in module.nodes if node[0] == "Conv"]
    with torch.no_grad():
        for node, layer, norm in zip(convolutions, layers[::2], layers[1::2], strict=True):
            layer.weight.copy_(module.weights[_key(node[1][1])])
            norm.bias.copy_(module.weights[_key(node[1][2])])
            norm.running_mean.zero_()
            norm.weight.fill_(1)
            norm.running_var.fill_(1 - norm.eps)
        network.classifier.weight.copy_(module.weights[_key("_fc.weight")])
        network.classifier.bias.copy_(module.weights[_key("_fc.bias")])
    torch.save(network.state_dict(), path)
    return path


def scores_of(model: Model, contents: list[bytes]) -> np.ndarray:
    """The scores of image files."""
    geometry = model.preprocess.geometry
    rows = []
    for start in range(0, len(contents), model.batch):
        sources = [decode_step(content, geometry) for content in contents[start : start + model.batch]]
        canvases = np.stack([crop_step(resize_step(source, geometry), geometry) for source in sources])
        rows.append(model.predict(canvases))
    return np.concatenate(rows)


def main() -> None:
    """Print one row for each form of the network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="ONNX file")
    parser.add_argument("--images", required=True, help="labelled images")
    parser.add_argument("--preprocess", default="imagenet", help="preset of the network")
    parser.add_argument("--subset", type=int, default=0, help="the first images only")
    given = parser.parse_args()
    torch.set_num_threads(1)
    dataset = windtunnel.open_dataset(given.images)
    samples = list(dataset.samples())[: given.subset or None]
    contents = [dataset.read(sample) for sample in samples]
    places = load_places(dataset)
    labels = np.array([places[sample.labels[0]] for sample in samples])
    print(
        f"{len(samples)} images; top-1 %, images with another top-1 class, largest difference, ms per image"
    )
    with tempfile.TemporaryDirectory() as folder:
        expected = None
        for name, words, source, declaration in forms(
            str(Path(given.model).resolve()), given.preprocess, Path(folder)
        ):
            model = load_model(source, declaration)
            start = time.process_time()
            scores = scores_of(model, contents)
            ms = 1000 * (time.process_time() - start) / len(samples)
            expected = scores if expected is None else expected
            top1, differing = scores.argmax(1), (scores.argmax(1) != expected.argmax(1)).sum()
            print(
                f"{name:<28}{words:<22}{model.kind:<14}{100 * (top1 == labels).mean():>6.1f}{differing:>5}"
                f"{np.abs(scores - expected).max():>12.2g}{ms:>8.1f}",
                flush=True,
            )


def load_places(dataset: Any) -> dict[int, int]:
    """For each class of the data its place among the classes of ImageNet-1k."""
    from windtunnel.published.imagenet import imagenet_1k

    order = {name: place for place, name in enumerate(imagenet_1k().classes)}
    return {place: order[name] for place, name in enumerate(dataset.label_space.classes)}


if __name__ == "__main__":
    main()
