"""The versions of libraries with which the models of a study are trained."""

from __future__ import annotations

import importlib.metadata

from windtunnel.core.errors import UserError
from windtunnel.store.recipe_folder import RecipeFolder

# Libraries that determine the weights and predictions of models.
LIBRARIES = ("windtunnel", "torch", "numpy", "opencv-python-headless", "onnxruntime")


def library_versions() -> dict[str, str]:
    """The installed versions, by name."""
    return {library: importlib.metadata.version(library) for library in LIBRARIES}


def check_versions(folder: RecipeFolder) -> None:
    """Refuse to train further models of a study with other versions of libraries."""
    if not folder.recipe_path.exists():
        return
    begun = folder.read_recipe_file().get("versions", {})
    for name, version in library_versions().items():
        if begun.get(name) != version:
            raise UserError(
                f"{folder.path} was started with {name} {begun.get(name)}, but {version} is installed; "
                "install that version or choose another folder."
            )
