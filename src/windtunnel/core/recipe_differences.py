"""Differences between the recipes of two runs."""

from __future__ import annotations

from windtunnel.core.records import Recipe


def differing_settings(recipe: Recipe, other: Recipe) -> list[tuple[str, str, str]]:
    """The settings of all conditions in which two recipes differ: name, value in one, value in the other."""
    settings, other_settings = _settings(recipe), _settings(other)
    return [
        (name, settings[name], other_settings[name])
        for name in settings
        if settings[name] != other_settings.get(name, settings[name])
    ]


def differing_arithmetic(recipe: Recipe, other: Recipe) -> list[tuple[str, str, str]]:
    """Device and precision if two recipes differ in them: name, value in one, value in the other."""
    return [
        (name, getattr(recipe, name), getattr(other, name))
        for name in ("device", "precision")
        if getattr(recipe, name) != getattr(other, name)
    ]


def _settings(recipe: Recipe) -> dict[str, str]:
    """The settings that all conditions of a recipe share; the difficulty only for sequences."""
    corrupted = [condition for condition in recipe.conditions if condition.unit]
    settings = {"edition": str(recipe.canvas.edition)}
    if corrupted:
        settings["codec"] = ", ".join(sorted({condition.codec for condition in corrupted}))
    if any(condition.is_sequence for condition in corrupted):
        settings["difficulty"] = str(recipe.suite.levels[0])
    return settings
