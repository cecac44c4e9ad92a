"""Syn2Nat's candidates in albumentations 2.0.8, as far as it still has them.

Its definitions changed since the paper's version, 0.5.2; `OTHER` says where that changes pixels.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"

import albumentations as A
import cv2

MIRRORED = cv2.BORDER_REFLECT_101

# By candidate, the operation of albumentations with the paper's ranges.
PEERS: dict[str, Any] = {
    "affines": A.Affine(scale=(0.6, 0.8), keep_ratio=True, border_mode=MIRRORED, p=1),
    "blur": A.Blur(blur_limit=(5, 9), p=1),
    "border": A.Compose(
        [A.CenterCrop(130, 130), A.PadIfNeeded(224, 224, border_mode=cv2.BORDER_CONSTANT, fill=0)]
    ),
    "channel_dropout": A.ChannelDropout(channel_drop_range=(1, 1), fill=0, p=1),
    "coarse_dropout": A.CoarseDropout(
        num_holes_range=(16, 48), hole_height_range=(8, 8), hole_width_range=(8, 8), fill=0, p=1
    ),
    "color_jitter": A.ColorJitter(0.7, 0.7, 0.7, 0.7, p=1),
    "cutout": A.CoarseDropout(
        num_holes_range=(1, 1), hole_height_range=(150, 150), hole_width_range=(150, 150), fill=0, p=1
    ),
    "downscale": A.Downscale(scale_range=(0.45, 0.45), p=1),
    "elastic_transform": A.ElasticTransform(alpha=1, sigma=50, border_mode=cv2.BORDER_REPLICATE, p=1),
    "emboss": A.Emboss(alpha=(1.0, 1.0), strength=(0.2, 0.7), p=1),
    "flip": A.HorizontalFlip(p=1),
    "gaussian_blur": A.GaussianBlur(blur_limit=(9, 13), sigma_limit=(1.7, 2.3), p=1),
    "gauss_noise": A.GaussNoise(std_range=(0.0877, 0.1240), p=1),
    "grid_distortion": A.GridDistortion(
        num_steps=5, distort_limit=1, normalized=False, border_mode=MIRRORED, p=1
    ),
    "hue_saturation_value": A.HueSaturationValue(100, 150, 100, p=1),
    "image_compression": A.ImageCompression(quality_range=(5, 15), p=1),
    "invert_img": A.InvertImg(p=1),
    "iso_noise": A.ISONoise(color_shift=(0.2, 0.5), intensity=(0.5, 1.0), p=1),
    "jpeg_compression": A.ImageCompression(quality_range=(5, 15), p=1),
    "median_blur": A.MedianBlur(blur_limit=(5, 11), p=1),
    "motion_blur": A.MotionBlur(blur_limit=(11, 17), p=1),
    "multiplicative_noise": A.MultiplicativeNoise(multiplier=(0.7, 1.3), elementwise=True, p=1),
    "optical_distortion": A.OpticalDistortion(distort_limit=4, border_mode=MIRRORED, p=1),
    "perspective": A.Perspective(scale=(0.1, 0.3), p=1),
    "posterize": A.Posterize(num_bits=2, p=1),
    "random_brightness": A.RandomBrightnessContrast(brightness_limit=0.9, contrast_limit=0, p=1),
    "random_contrast": A.RandomBrightnessContrast(brightness_limit=0, contrast_limit=1.5, p=1),
    "random_fog": A.RandomFog(fog_coef_range=(0.8, 1.0), alpha_coef=0.08, p=1),
    "random_gamma": A.RandomGamma(gamma_limit=(300, 1000), p=1),
    "random_grid_shuffle": A.RandomGridShuffle(grid=(4, 4), p=1),
    "random_rain": A.RandomRain(drop_length=20, p=1),
    "random_shadow": A.RandomShadow(
        shadow_roi=(0, 0, 1, 1), num_shadows_limit=(2, 4), shadow_dimension=8, p=1
    ),
    "random_snow": A.RandomSnow(snow_point_range=(0.1, 0.3), brightness_coeff=2.5, method="bleach", p=1),
    "random_sun_flare": A.RandomSunFlare(
        num_flare_circles_range=(6, 10), src_radius=200, method="overlay", p=1
    ),
    "rgb_shift": A.RGBShift(200, 200, 200, p=1),
    "rotate": A.Rotate(limit=180, border_mode=MIRRORED, p=1),
    "sharpen": A.Sharpen(alpha=(0.3, 0.6), lightness=(0.6, 1.0), method="kernel", p=1),
    "solarize": A.Solarize(threshold_range=(200 / 255, 200 / 255), p=1),
    "to_sepia": A.ToSepia(p=1),
    "transpose": A.Affine(translate_percent={"x": (-0.7, 0.7), "y": (-0.7, 0.7)}, border_mode=MIRRORED, p=1),
}

# The same operation with one value of every parameter, and this value as the oracles take it.
PINNED: dict[str, tuple[Any, Mapping[str, Any]]] = {
    "affines": (
        A.Affine(scale=(0.7, 0.7), keep_ratio=True, border_mode=MIRRORED, p=1), {"scale": 0.7}
    ),
    "blur": (A.Blur(blur_limit=(7, 7), p=1), {"side": 1}),
    "border": (PEERS["border"], {}),
    "downscale": (PEERS["downscale"], {}),
    "emboss": (A.Emboss(alpha=(1.0, 1.0), strength=(0.5, 0.5), p=1), {"strength": 0.5}),
    "gaussian_blur": (A.GaussianBlur(blur_limit=(11, 11), sigma_limit=(2.0, 2.0), p=1), {"side": 11}),
    "hue_saturation_value": (
        A.HueSaturationValue((20, 20), (30, 30), (40, 40), p=1), {"hue": 20, "saturation": 30, "value": 40}
    ),
    "image_compression": (A.ImageCompression(quality_range=(10, 10), p=1), {"quality": 10}),
    "invert_img": (PEERS["invert_img"], {}),
    "median_blur": (A.MedianBlur(blur_limit=(7, 7), p=1), {"side": 1}),
    "posterize": (PEERS["posterize"], {}),
    "random_brightness": (
        A.RandomBrightnessContrast(brightness_limit=(0.3, 0.3), contrast_limit=(0, 0), p=1), {"shift": 0.3}
    ),
    "random_contrast": (
        A.RandomBrightnessContrast(brightness_limit=(0, 0), contrast_limit=(0.5, 0.5), p=1), {"factor": 1.5}
    ),
    "random_gamma": (A.RandomGamma(gamma_limit=(500, 500), p=1), {"gamma": 500}),
    "random_snow": (
        A.RandomSnow(snow_point_range=(0.2, 0.2), brightness_coeff=2.5, method="bleach", p=1), {"snow": 0.2}
    ),
    "rgb_shift": (A.RGBShift((50, 50), (-60, -60), (70, 70), p=1), {"shifts": [50.0, -60.0, 70.0]}),
    "rotate": (A.Rotate(limit=(30, 30), border_mode=MIRRORED, p=1), {"angle": 30.0}),
    "sharpen": (
        A.Sharpen(alpha=(0.5, 0.5), lightness=(0.8, 0.8), method="kernel", p=1),
        {"share": 0.5, "lightness": 0.8},
    ),
    "solarize": (PEERS["solarize"], {}),
    "to_sepia": (PEERS["to_sepia"], {}),
}  # fmt: skip

# Operations that do something else than the paper's version.
OTHER = {
    "cutout": "its square is always wholly inside",
    "elastic_transform": "without the affine part, which is the effect",
    "flip": "left to right only",
    "gauss_noise": "uniform in the standard deviation, not in the variance",
    "iso_noise": "another definition of its noise",
    "motion_blur": "another line through the centre",
    "optical_distortion": "without the shift",
    "perspective": "another rule for corners",
    "random_fog": "other discs and another blur",
    "random_rain": "streaks with a slant",
    "random_shadow": "other polygons",
    "random_sun_flare": "other discs",
}
