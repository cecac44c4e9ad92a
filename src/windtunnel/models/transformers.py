"""Hugging Face transformers: models, image processors and labels of a folder or a name on the Hub."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.extras import load_extra
from windtunnel.core.labels import IMAGENET_1K
from windtunnel.models.image_processor import declared_by
from windtunnel.models.preprocess import DECLARE_IT, Declaration, declared
from windtunnel.models.quiet_logs import quiet_log
from windtunnel.published.imagenet import imagenet_synonyms

# The share of ImageNet's classes whose name a label must be.
IMAGENET_SHARE = 0.95
# Labels that the library invents.
INVENTED = "LABEL_0"
# Files with the configuration of an image processor.
PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")
WRITTEN_BY = "the save_pretrained of its model and its image processor"


class Pretrained:
    """A folder, or a name on the Hugging Face Hub, which is downloaded into the library's own cache.

    Attributes:
        name: the folder or name, as the user gave it.
        folder: the folder, if it is one.
        title: a short name.
    """

    def __init__(self, name: str, revision: str = "") -> None:
        load_extra("torch", f"The model {name}")
        self._library = load_extra("transformers", f"The model {name}")
        self.name = name
        self.folder = Path(name) if Path(name).is_dir() else None
        self.title = (self.folder.resolve() if self.folder else Path(name)).name
        # Code that comes with a model is not run, and the library does not ask at the terminal.
        self._options: dict[str, Any] = {"trust_remote_code": False}
        self._options |= {"revision": revision} if revision else {}
        if self.folder and not (self.folder / "config.json").is_file():
            raise UserError(f"The folder {name} has no config.json; give a folder of {WRITTEN_BY}.")

    def classifier(self) -> Any:
        """The network with its classifier; refuses a folder without the weights of the classifier."""
        return self.network(self._library.AutoModelForImageClassification)

    def network(self, network_type: Any) -> Any:
        """The network of a type of the library (`CLIPModel`), in evaluation mode; refuses missing weights.

        Weights are float32 whatever their file contains: the precision of a run is an option.
        """
        network, info = self.read(network_type, output_loading_info=True, dtype="float32")
        missing = [*info["missing_keys"], *(str(entry[0]) for entry in info["mismatched_keys"])]
        if missing:
            raise UserError(
                f"{self.name} lacks {len(missing)} weights of a {type(network).__name__} ({missing[0]} ...), "
                "which would be random; give a model that was trained for this task."
            )
        return network.eval()

    def read(self, part_type: Any, **options: Any) -> Any:
        """A part of the model (configuration, network, image processor, tokenizer) of a type."""
        try:
            with _quiet(self._library), quiet_log("huggingface_hub"):
                return part_type.from_pretrained(self.name, **self._options, **options)
        except UserError:
            raise
        except Exception as error:  # of the network, of a damaged file, or of code that comes with a model
            what = "" if self.folder else " is not a folder and"
            reason = first_line(error).rstrip(".")
            raise UserError(
                f"{self.name}{what} cannot be loaded by transformers: {reason}. Give a folder of "
                f"{WRITTEN_BY}, or a name on the Hugging Face Hub; without a connection, one in its "
                "cache (HF_HUB_OFFLINE=1 omits the attempts to connect)."
            ) from error

    def declaration(self, given: str | Path | None, labels: tuple[str, ...]) -> Declaration:
        """What the model's files declare, with labels; `given` is the preprocessing that a user declares.

        The image processor is read only if the user declares no preprocessing.
        """
        user = declared(given, self.folder).preprocess
        preprocess = declared_by(self.processor(), self.title) if user.assumed else user
        return Declaration(preprocess, fixed_tensor=True, labels=labels)

    def processor(self) -> Any:
        """The image processor, on Pillow; refuses a folder without its configuration."""
        try:
            return self.read(self._library.AutoImageProcessor, backend="pil")
        except UserError as error:
            if self.folder is None or any((self.folder / file).exists() for file in PROCESSOR_FILES):
                raise
            raise UserError(
                f"The folder {self.name} has no {PROCESSOR_FILES[0]}; write it with save_pretrained of the "
                f"image processor, or {DECLARE_IT}."
            ) from error

    def tokenizer(self) -> Callable[[Sequence[str]], Any]:
        """A function from texts to their tokens, as torch tensors by name."""
        tokenizer = self.read(self._library.AutoTokenizer)
        return lambda texts: tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")

    def config(self) -> Any:
        """The configuration."""
        return self.read(self._library.AutoConfig)

    def type_of(self, name: str) -> Any:
        """A type of the library by name."""
        return getattr(self._library, name)


def labels_of(network: Any) -> tuple[str, ...]:
    """The labels of a classifier's outputs: `imagenet-1k` for its names, () for invented or equal names."""
    by_index: dict[int, str] = network.config.id2label
    labels = tuple(str(by_index[index]) for index in sorted(by_index))
    synonyms = list(imagenet_synonyms().values())
    if len(labels) == len(synonyms):
        same = [
            bool({name.strip().lower() for name in label.split(",")} & {name.lower() for name in names})
            for label, names in zip(labels, synonyms, strict=True)
        ]
        if sum(same) >= IMAGENET_SHARE * len(same):
            return (IMAGENET_1K,)
    return () if INVENTED in labels or len(set(labels)) < len(labels) else labels


@contextlib.contextmanager
def _quiet(library: Any) -> Iterator[None]:
    """Without the library's progress bars and warnings, which are errors of ours where they matter."""
    logging = library.utils.logging
    verbosity = logging.get_verbosity()
    bars: Callable[[], bool] = logging.is_progress_bar_enabled
    had_bars = bars()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()
