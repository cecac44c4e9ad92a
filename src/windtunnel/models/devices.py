"""Devices that users ask for, and those that torch and ONNX Runtime have here."""

from __future__ import annotations

import logging
import re
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option, spelled
from windtunnel.core.placement import CPU, PRECISIONS, Placement

LOGGER = logging.getLogger(__name__)
# ONNX Runtime's providers for the devices that have a short name.
PROVIDERS = {"cuda": "CUDAExecutionProvider", "mps": "CoreMLExecutionProvider"}
CPU_PROVIDER = "CPUExecutionProvider"
# Products in full float32 rather than TensorFloat-32, and algorithms that do not depend on timing.
CUDA_OPTIONS = {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}
# Not the neural engine, which computes in half precision.
COREML_OPTIONS = {"MLComputeUnits": "CPUAndGPU"}
PROVIDER_OPTIONS = {PROVIDERS["cuda"]: CUDA_OPTIONS, PROVIDERS["mps"]: COREML_OPTIONS}

Provider = tuple[str, dict[str, str]]

_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
_PROVIDERS = re.compile(r"[A-Za-z]+ExecutionProvider(,[A-Za-z]+ExecutionProvider)*")


def asked_placement(device: str, precision: str | None, batch: int | None) -> Placement:
    """The placement that a user asks for; providers that have a short name get it."""
    if not (_DEVICE.fullmatch(device) or _PROVIDERS.fullmatch(device)):
        raise UserError(
            f"{option('device')} is '{device}'; give auto, cpu, cuda, cuda:1, mps, or ONNX Runtime's "
            "execution providers, such as TensorrtExecutionProvider,CUDAExecutionProvider."
        )
    if precision not in (None, *PRECISIONS):
        raise UserError(f"{option('precision')} is '{precision}'; give {', '.join(PRECISIONS)}.")
    if batch is not None and batch < 1:
        raise UserError(f"{option('batch')} is {batch}; give at least 1 image.")
    return Placement(_short_name(device), precision, batch)


def _short_name(device: str) -> str:
    """`cuda` for its only provider, and so on; ONNX Runtime always adds the CPU at the end."""
    providers = device.removesuffix(f",{CPU_PROVIDER}")
    names = {CPU_PROVIDER: CPU} | {provider: name for name, provider in PROVIDERS.items()}
    return names.get(providers, providers)


def execution_providers(placement: Placement) -> list[Provider]:
    """ONNX Runtime's providers for a device, each with its options; refuses those that are not installed."""
    import onnxruntime

    names = placement.device.split(",") if placement.names_providers else []
    if placement.kind in PROVIDERS:
        names = [PROVIDERS[placement.kind]]
    available = onnxruntime.get_available_providers()
    for name in names:
        if name not in available:
            raise UserError(
                f"{option('device')} is '{placement.device}' and needs {name}; ONNX Runtime "
                f"{onnxruntime.__version__} has {', '.join(available)} here. Give {option('device', CPU)}, "
                "or install a build of ONNX Runtime with that provider (onnxruntime-gpu for CUDA)."
            )
    number = {"device_id": placement.number} if placement.number else {}
    listed = [(name, PROVIDER_OPTIONS.get(name, {}) | number) for name in names]
    return listed if CPU_PROVIDER in names else [*listed, (CPU_PROVIDER, {})]


def refuse_fallback(session: Any, placement: Placement, providers: list[Provider]) -> None:
    """Refuse a session in which ONNX Runtime replaced a provider that it could not load by the CPU."""
    loaded = session.get_providers()
    for name, _ in providers:
        if name not in loaded:
            raise UserError(
                f"{option('device')} is '{placement.device}', but ONNX Runtime could not load {name} and "
                f"would compute on {', '.join(loaded)}. Install the libraries and drivers that this "
                f"provider needs, or give {option('device', CPU)}."
            )


def warn_of_cpu() -> None:
    """Warn that `auto` takes the CPU although a build of ONNX Runtime for GPUs is installed."""
    message = (
        f"ONNX Runtime has {PROVIDERS['cuda']} but cannot use it here; predictions are made on the CPU. "
        f"{option('device', 'cuda')} shows the reason, {option('device', CPU)} omits this warning."
    )
    LOGGER.warning(spelled(message))


def torch_devices() -> list[str]:
    """The devices that torch has here."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [CPU, *(f"cuda:{number}" for number in range(count)), *mps]


def torch_device(placement: Placement, name: str) -> Any:
    """A torch device; refuses one that is not available."""
    import torch

    if placement.names_providers:
        raise UserError(
            f"{option('device')} is '{placement.device}', but {name} is a torch module, which has no "
            "execution providers; give auto, cpu, cuda, cuda:1 or mps."
        )
    available = torch_devices()
    if not any(device in (placement.device, f"{placement.device}:0") for device in available):
        raise UserError(
            f"{option('device')} is '{placement.device}'; torch {torch.__version__} has "
            f"{', '.join(available)} here. Give one of these, or install a build of torch for that device."
        )
    return torch.device(placement.device)


def hardware_name(device: Any) -> str:
    """The name of a torch device's hardware (`NVIDIA A100-SXM4-40GB`); "" if torch does not know it."""
    import torch

    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else ""
