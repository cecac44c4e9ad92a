"""Training: a simple loop over our datasets, and methods for more robust models (extra `torch`)."""

from windtunnel.core.extras import load_extra

load_extra("torch", "Training")  # first, because the imports below would fail with a bare traceback

from windtunnel.data.video_split import split_by_video  # noqa: E402
from windtunnel.imaging.geometry import Geometry  # noqa: E402
from windtunnel.models.preprocess import Preprocess, Tensor  # noqa: E402
from windtunnel.train.augmentation import Augmentation  # noqa: E402
from windtunnel.train.loop import Trained, fit  # noqa: E402
from windtunnel.train.mixing import Mix  # noqa: E402
from windtunnel.train.remedies import Remedies  # noqa: E402
from windtunnel.train.settings import Settings  # noqa: E402

__all__ = [
    "Augmentation",
    "Geometry",
    "Mix",
    "Preprocess",
    "Remedies",
    "Settings",
    "Tensor",
    "Trained",
    "fit",
    "split_by_video",
]
