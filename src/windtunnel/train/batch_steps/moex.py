"""MoEx: exchange of the moments of a feature map."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.train.batch_steps import BatchStep, Parameter, Settings, mixed_targets, partners

if TYPE_CHECKING:
    from windtunnel.train.step import Step

TINY = 1e-5  # added to variances


class MoEx(BatchStep):
    """Positional normalisation (PONO): mean and standard deviation over channels, at every position."""

    name = "moex"
    help = "Give the features of a layer the positional moments of another image's; targets are mixed."
    source = (
        "Li et al. 2021: share 0.9, probability 0.5, positional moments. They choose the layer for each "
        "network; windtunnel takes the first convolution"
    )
    parameters = (
        Parameter("share", 0.9, "weight of the image's own target", 0.0, 1.0),
        Parameter("probability", 0.5, "share of batches that are mixed", 0.0, 1.0),
        Parameter("layer", "", "name of the layer in the module; the first convolution if it is not given"),
    )

    changes_module = True

    @contextmanager
    def applied(self, step: Step, settings: Settings) -> Iterator[Step]:
        """The step with mixed targets; the layer's output is changed in the meantime."""
        rng = step.rng(self.name)
        if rng.random() >= float(settings["probability"]):
            yield step
            return
        partner = partners(step, rng)

        def exchange(_layer: Any, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
            # Losses may put several versions of the batch behind each other.
            return torch.cat([exchanged(part, partner) for part in output.split(len(partner))])

        modules = [module for module in (step.module, step.teacher) if module is not None]
        layers = [_layer(module, str(settings["layer"])) for module in modules]
        hooks = [layer.register_forward_hook(exchange) for layer in layers]
        try:
            yield mixed_targets(step, partner, float(settings["share"]))
        finally:
            for hook in hooks:
                hook.remove()

    def check_module(self, module: Any, settings: Settings, inputs: torch.Tensor) -> None:
        """Refuse a module without the layer, and a layer whose output is no feature map of the images."""
        outputs: list[Any] = []
        layer = _layer(module, str(settings["layer"]))
        hook = layer.register_forward_hook(lambda _layer, _inputs, output: outputs.append(output))
        try:
            with torch.no_grad():
                module(inputs)
        finally:
            hook.remove()
        unfit = [output for output in outputs if not _is_feature_map(output, len(inputs))]
        if unfit or not outputs:
            name = settings["layer"] or "of the first convolution"
            raise UserError(
                f"moex: the layer {name} returns {_described(unfit)} for {len(inputs)} images; give a layer "
                "with a feature map (images, channels, height, width)."
            )


def _is_feature_map(output: Any, images: int) -> bool:
    return isinstance(output, torch.Tensor) and output.ndim == 4 and len(output) == images


def _described(outputs: list[Any]) -> str:
    if not outputs:
        return "nothing"
    first = outputs[0]
    return f"shape {tuple(first.shape)}" if isinstance(first, torch.Tensor) else f"a {type(first).__name__}"


def exchanged(features: torch.Tensor, partner: torch.Tensor) -> torch.Tensor:
    """Features (n, channels, height, width) with the positional moments of the partners' features."""
    mean = features.mean(dim=1, keepdim=True)
    deviation = (features.var(dim=1, keepdim=True, unbiased=False) + TINY).sqrt()
    return (features - mean) / deviation * deviation[partner] + mean[partner]


def _layer(module: Any, name: str) -> Any:
    """The layer of that name, or the first convolution."""
    layers = dict(module.named_modules())
    if name:
        if name not in layers:
            raise unknown_name("layer of the module", name, [known for known in layers if known])
        return layers[name]
    for layer in layers.values():
        if isinstance(layer, torch.nn.Conv2d):
            return layer
    raise UserError("moex: the module has no convolution; give the name of a layer, such as moex(layer=0).")


moex = MoEx()
