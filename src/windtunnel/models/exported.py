"""Programs of torch.export: a graph with the shape and type of its input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.locations import Location, local_file
from windtunnel.models.graph_input import fit_to_graph
from windtunnel.models.preprocess import Declaration, Dtype
from windtunnel.models.quiet_logs import quiet_log

DTYPES: dict[torch.dtype, Dtype] = {
    torch.float32: "float32",
    torch.float16: "float16",
    torch.uint8: "uint8",
}


class ExportedModule(torch.nn.Module):  # type: ignore[misc]  # torch is not checked
    """An exported program as a module that takes any number of images.

    Attributes:
        shape: the shape of its input, with None for axes of any length.
        dtype: the type of its input.
    """

    def __init__(self, program: Any, path: Location) -> None:
        super().__init__()
        value = _image_input(program, path)
        self.shape = [size if isinstance(size, int) else None for size in value.shape]
        self.dtype = DTYPES[value.dtype]
        self.program = program.module()
        # The mode is part of the graph, and the module refuses to change it.
        for part in self.modules():
            part.training = False

    @property
    def fixed_size(self) -> bool:
        """Whether it takes images of one size only."""
        return None not in self.shape[1:]

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """The scores of a batch, in batches of the program's own size if that is fixed."""
        batch = self.shape[0]
        if batch is None:
            return _scores(self.program(values))
        parts = []
        for part in values.split(batch):
            missing = batch - len(part)
            padded = torch.cat([part, part[-1:].expand(missing, *part.shape[1:])]) if missing else part
            parts.append(_scores(self.program(padded))[: len(part)])
        return torch.cat(parts)

    def fitted(self, declaration: Declaration, path: Location) -> Declaration:
        """A declaration with the layout, type and size of the program; refuses contradictions."""
        return replace(declaration, preprocess=fit_to_graph(declaration, self.shape, self.dtype, path))


def read_program(path: Location) -> ExportedModule:
    """The program in a file that `torch.export.save` has written."""
    try:
        with quiet_log("torch.export"):
            program = torch.export.load(local_file(path))
    except Exception as error:  # of a damaged file, or of another version
        raise UserError(
            f"{path} is not a program that torch {torch.__version__} can load: {first_line(error)}. Write it "
            "again with torch.export.save."
        ) from error
    return ExportedModule(program, path)


def _image_input(program: Any, path: Location) -> Any:
    """The input for the images; refuses a program with other inputs."""
    names = program.graph_signature.user_inputs
    nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    values = [node.meta.get("val") for node in nodes]
    fits = len(values) == 1 and isinstance(values[0], torch.Tensor)
    if not fits or values[0].ndim != 4 or values[0].dtype not in DTYPES:
        given = "; ".join(f"{tuple(getattr(value, 'shape', ()))}" for value in values)
        raise UserError(
            f"{path} takes {len(values)} inputs ({given}); a classifier takes one batch of images (4 axes, "
            f"{', '.join(DTYPES.values())})."
        )
    return values[0]


def _scores(outputs: Any) -> torch.Tensor:
    if isinstance(outputs, torch.Tensor):
        return outputs
    scores: torch.Tensor = outputs.logits if hasattr(outputs, "logits") else outputs[0]
    return scores
