"""Recognition of networks and datasets in a model's declared name, family and training data."""

from __future__ import annotations

import re

# Words before or after a network's name that make it a different network.
VARIANT_BEFORE = "wide|se|x|nf"
VARIANT_BEHIND = "d|gn|v2"


def is_data_set(text: str, name: str) -> bool:
    """Whether a text names a dataset, possibly followed by more words: `ImageNet_21k-P` is imagenet-21k.

    Whole words are compared, so that imagenet-real is not imagenet-r; separators are ignored.
    """
    words = re.findall(r"[a-z0-9]+", text.lower())
    beginnings = {"".join(words[:count]) for count in range(1, len(words) + 1)}
    return "".join(re.findall(r"[a-z0-9]+", name.lower())) in beginnings


def names_network(text: str, network: str) -> bool:
    """Whether a text names a network, in any spelling: `timm/resnet50.a1_in1k` names ResNet-50.

    A name that continues with a letter or a digit is a different network (resnet50d, resnet501). So is a
    name with the word of a variant before or after it (wide_resnet50, nf_resnet50, ResNet-50-D).
    """
    words = re.findall(r"[a-z]+|\d+", network.lower())
    named = rf"(?<![a-z0-9]){'[-_ ]?'.join(words)}(?![a-z0-9])(?![-_ ]({VARIANT_BEHIND})(?![a-z0-9]))"
    prefixes = (text.lower()[: prefix.start()] for prefix in re.finditer(named, text.lower()))
    return any(not re.search(rf"(?<![a-z0-9])({VARIANT_BEFORE})[-_ ]$", prefix) for prefix in prefixes)
