"""Where a model computes, in which precision, and how many images it takes in one call."""

from __future__ import annotations

from dataclasses import dataclass

AUTO, CPU = "auto", "cpu"
PRECISIONS = ("float32", "float16", "bfloat16")
DEFAULT_PRECISION = PRECISIONS[0]
# Images in one call on an accelerator, unless the user or the graph says otherwise.
ACCELERATOR_BATCH = 64


@dataclass(frozen=True)
class Placement:
    """The device, precision and batch size that a user asks for, or that a loaded model has.

    Attributes:
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`, or ONNX Runtime's execution providers, separated by
            commas in the order of preference.
        precision: `float32`, `float16` or `bfloat16`; None for the model's own.
        batch: images in one call; None for the default of model and device.
    """

    device: str = AUTO
    precision: str | None = None
    batch: int | None = None

    @property
    def kind(self) -> str:
        """The kind of device, without a number; `cpu` for models that choose their device themselves."""
        return CPU if self.device == AUTO else self.device.partition(":")[0]

    @property
    def accelerated(self) -> bool:
        """Whether the device is another one than the CPU."""
        return self.kind != CPU

    @property
    def names_providers(self) -> bool:
        """Whether the device is a list of execution providers without a short name."""
        return self.device.endswith("Provider")

    @property
    def number(self) -> str:
        """The number of the device; "" for none."""
        return self.device.partition(":")[2]

    def completed_by(self, other: Placement) -> Placement:
        """The same request, with another placement's values where nothing is asked for."""
        return Placement(
            other.device if self.device == AUTO else self.device,
            self.precision or other.precision or DEFAULT_PRECISION,
            self.batch or other.batch,
        )

    def batch_size(self, on_cpu: int) -> int:
        """Images in one call, for a model that takes `on_cpu` of them on the CPU."""
        return self.batch or (ACCELERATOR_BATCH if self.accelerated else on_cpu)
