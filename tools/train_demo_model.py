"""Train the demo's network and write it as ONNX: python tools/train_demo_model.py

A small convolutional network on two thirds of scikit-learn's digits, without any augmentation, so that
the demo has something to show. Needs the extras `torch` and `test`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from windtunnel.data.demo import HELD_OUT_EVERY, SIDE_PX, demo_model_path, digits

CHANNELS = (8, 16, 24)
EPOCHS = 30
MEAN, STD, DIVISOR = 0.5, 0.5, 255.0

DECLARATION = """\
# The demo network, made by tools/train_demo_model.py.
outputs = "logits"
labels = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
trained_on = ["two thirds of scikit-learn's digits"]

[geometry]
rule = "exact"
crop_px = 32

[tensor]
channels = "rgb"
divisor = 255.0
mean = [0.5, 0.5, 0.5]
std = [0.5, 0.5, 0.5]
"""


def build() -> torch.nn.Sequential:
    """Three strided convolutions and a linear layer."""
    layers: list[torch.nn.Module] = []
    inputs = 3
    for outputs in CHANNELS:
        layers += [torch.nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), torch.nn.ReLU()]
        inputs = outputs
    side = SIDE_PX // 2 ** len(CHANNELS)
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(inputs * side * side, 10))


def train(images: np.ndarray, classes: np.ndarray) -> torch.nn.Sequential:
    """Plain stochastic training with Adam, one fixed seed."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = build()
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
    inputs = torch.from_numpy((images / DIVISOR - MEAN) / STD).float().permute(0, 3, 1, 2).contiguous()
    targets = torch.from_numpy(classes)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(inputs)).split(32):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(inputs[rows]), targets[rows]).backward()
            optimiser.step()
    return network.eval()


def to_onnx(network: torch.nn.Sequential) -> onnx.ModelProto:
    """Write the network's layers as an ONNX graph with a free batch axis."""
    nodes, weights, current = [], [], "images"
    for number, layer in enumerate(network):
        after = f"v{number}"
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
            names = [f"w{number}", f"b{number}"]
            for name, value in zip(names, (layer.weight, layer.bias), strict=True):
                weights.append(numpy_helper.from_array(value.detach().numpy(), name))
            if isinstance(layer, torch.nn.Conv2d):
                options = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
                nodes.append(helper.make_node("Conv", [current, *names], [after], **options))
            else:
                nodes.append(helper.make_node("Gemm", [current, *names], [after], transB=1))
        else:
            nodes.append(
                helper.make_node(
                    {"ReLU": "Relu", "Flatten": "Flatten"}[type(layer).__name__], [current], [after]
                )
            )
        current = after
    nodes[-1].output[0] = "logits"
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, SIDE_PX, SIDE_PX])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])
    graph = helper.make_graph(nodes, "digits", [images], [logits], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def main() -> None:
    """Train, report the held-out accuracy, write the files into the package."""
    images, classes = digits()
    held_out = np.arange(len(images)) % HELD_OUT_EVERY == 0
    network = train(images[~held_out], classes[~held_out])
    inputs = torch.from_numpy((images[held_out] / DIVISOR - MEAN) / STD).float().permute(0, 3, 1, 2)
    with torch.inference_mode():
        right = (network(inputs).argmax(1).numpy() == classes[held_out]).mean()
    path = Path(demo_model_path())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(to_onnx(network).SerializeToString())
    path.with_name(path.name + ".toml").write_text(DECLARATION, encoding="utf-8")
    print(
        f"{path.name}: {right:.1%} of {held_out.sum()} held-out digits right, {path.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main()
