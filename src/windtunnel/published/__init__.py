"""Published data: label tables, preprocessing presets, normalisers and published results.

This folder contains data only. `metrics/published_figures.py` reads the results. `sources.toml` states the
source of each, its measurement setup, and which figures are certain. Columns that end in `_pct` are
percentages as printed.

imagenet_1k.csv   the 1,000 classes in the order of their sorted WordNet ids (ILSVRC2012), and which of
                  them ImageNet-A, -O and -R use
natural.toml      natural sets: layout, how predictions are counted, which networks filtered them (read by
                  `natural_sets.py`)
objectnet_113.csv ObjectNet's folders that overlap with ImageNet, and the ids that are right for each
vid_classes.csv, ytbb_classes.csv  ImageNet classes of each class of the two video sets
imagenet_d.csv          ImageNet-1k classes of the folders of ImageNet-D
laion_c_classes.csv     the 16 classes of LAION-C by ImageNet-1k class
c_bar_strengths.csv  strengths of severities 1 to 5 of ImageNet-C-bar and CIFAR-10-C-bar, from the CSV files
                  of facebookresearch/augmentation-corruption: certain; ImageNet-C-bar's script names its
                  folders by them (read by `c_bar.py`)
web_scale_data.csv  names of training data that were collected from the web at scale, with their source
stored_corruptions.csv  further corruptions of published sets, which are read, not made
set_codecs.csv    how the published corrupted sets were stored, by edition: CIFAR-10-C is lossless arrays, the
                  others JPEG files (read by `set_codecs.py`)
presets.toml      common preprocessing of published classifiers
alexnet_corruption_errors.csv  AlexNet's top-1 errors on ImageNet-C by severity, from the README of
                  hendrycks/robustness (October 2019 to May 2020): certain to 1/50,000; `paper_pct` is the
                  paper's rounded average
alexnet_perturbation_normalisers.csv  AlexNet's flip probability and top-5 distance on ImageNet-P, from
                  the paper's appendix E: certain as printed; difficulty 1, frames of H.264 video
paper_rows.csv    networks in the ImageNet-C and -P paper: certain, and empty where they are not
paper_cells.csv   of the paper's tables 1 to 4, the cells that a text copy confirms; no other is here
leaderboard.csv   the README's leaderboards of ResNet-50 backbones: certain as listed
robustbench_5k.csv  RobustBench's 12 models on its fixed 5,000 images: certain; fractions
natural_rows.csv  figures that the texts of the ImageNet-A and -O paper and of the video paper state: certain
testbed_rows.csv  some rows of imagenet-testbed's table, top-1 accuracy and pm-k: certain, to two decimals
imagenet_s_decoders.csv, imagenet_s_resizes.csv  ImageNet-S tables 2 to 5, top-1 accuracy in per cent:
                  certain by cell; `mean` and `std` are recomputed, `printed_mean` and `printed_std` are
                  the paper's (its resize means of tables 2 and 3 are 6/7 of the true ones)
model_tables.toml what the columns of tables of many models are (read by `analysis/model_tables/`)
subtype_types.csv the 25 broad types of Hendrycks and Dietterich's appendix G, from their code: WordNet ids
                  and names checked against WordNet 3.0
subtype_classes.csv  ImageNet-1k classes of each of these types, from their code; WordNet 3.0 has the same and
                  one more, n01855032 (bird), which their list lacks
syn2nat_table2.csv, syn2nat_table3.csv  mean correlations of generated benchmarks with natural sets, from the
                  Syn2Nat paper: certain by cell; `Mean` is as printed
"""

from __future__ import annotations

from importlib.resources import files


def read_text(name: str) -> str:
    """The text of one of this folder's tables."""
    return (files("windtunnel.published") / name).read_text(encoding="utf-8")
