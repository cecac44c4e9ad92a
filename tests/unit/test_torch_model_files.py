"""Networks in files and folders of torch, transformers and timm predict what their libraries predict."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import windtunnel
from tests.conftest import Command
from tests.torch_models import (
    CLASSES,
    SIDE,
    small_network,
    timm_library,
    write_classifier,
    write_clip,
    write_exported,
    write_timm,
    write_torchscript,
)
from windtunnel.core.errors import UserError
from windtunnel.imaging.geometry import crop_step, decode_step, resize_step
from windtunnel.models import Model, load_model

EXACT = f"[geometry]\nrule = 'exact'\ncrop_px = {SIDE}\n"


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Images of several shapes, wide and tall, with odd sides."""
    folder = tmp_path_factory.mktemp("photos")
    files = []
    for place, (height, width) in enumerate([(71, 100), (133, 64), (48, 48), (61, 90), (40, 57)]):
        noise = np.random.default_rng(place).integers(0, 256, (height // 4, width // 4, 3), dtype=np.uint8)
        files.append(folder / f"{place}.png")
        Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC).save(files[-1])
    return files


def predicted(model: Model, files: list[Path]) -> np.ndarray:
    """The scores of image files, as a run computes them."""
    geometry = model.preprocess.geometry
    decoded = [decode_step(file.read_bytes(), geometry) for file in files]
    return model.predict(np.stack([crop_step(resize_step(image, geometry), geometry) for image in decoded]))


def processors() -> dict[str, Any]:
    from transformers.models.beit.image_processing_pil_beit import BeitImageProcessorPil
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
    from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil
    from transformers.models.efficientnet.image_processing_pil_efficientnet import (
        EfficientNetImageProcessorPil,
    )
    from transformers.models.levit.image_processing_pil_levit import LevitImageProcessorPil
    from transformers.models.mobilevit.image_processing_pil_mobilevit import MobileViTImageProcessorPil
    from transformers.models.poolformer.image_processing_pil_poolformer import PoolFormerImageProcessorPil
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    square, short = {"height": SIDE, "width": SIDE}, {"shortest_edge": SIDE}
    return {
        "exact": ViTImageProcessorPil(size=square, resample=2),
        "short side and crop": CLIPImageProcessorPil(size={"shortest_edge": 41}, crop_size=square),
        "square and crop": BeitImageProcessorPil(
            size={"height": 39, "width": 39}, crop_size=square, do_center_crop=True
        ),
        "crop_pct": ConvNextImageProcessorPil(size=short, crop_pct=0.9),
        "crop_pct from 384": ConvNextImageProcessorPil(size={"shortest_edge": 384}),
        "no normalisation": ViTImageProcessorPil(size=square, do_normalize=False, rescale_factor=1 / 127.5),
        "offset and twice normalised": EfficientNetImageProcessorPil(size=square, rescale_offset=True),
        "scaled size": LevitImageProcessorPil(size=short, crop_size=square),
        "scaled by crop_pct": PoolFormerImageProcessorPil(size=short, crop_size=square),
        "BGR": MobileViTImageProcessorPil(size={"shortest_edge": 40}, crop_size=square),
    }


def test_an_image_processor_becomes_the_same_preprocessing(tmp_path: Path, photos: list[Path]) -> None:
    transformers = pytest.importorskip("transformers")
    for number, (name, processor) in enumerate(processors().items()):
        folder = write_classifier(tmp_path / str(number), processor)
        model = load_model(f"hf:{folder}")
        network = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
        images = [Image.open(file) for file in photos]
        with torch.no_grad():
            expected = network(torch.tensor(np.asarray(processor(images=images)["pixel_values"]))).logits
        np.testing.assert_allclose(predicted(model, photos), expected, atol=2e-4, err_msg=name)
        assert model.classes == CLASSES and not model.preprocess.assumed


def test_weights_of_half_precision_run_in_the_precision_of_the_run(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = write_classifier(tmp_path / "net")
    halved = transformers.AutoModelForImageClassification.from_pretrained(folder).half()
    halved.save_pretrained(folder)
    model = load_model(f"hf:{folder}")
    images = np.random.default_rng(1).integers(0, 256, (2, SIDE, SIDE, 3), np.uint8)
    tensor = torch.tensor(model.preprocess.tensor.apply(images))
    with torch.no_grad():
        expected = halved.float().eval()(tensor).logits
    np.testing.assert_allclose(model.predict(images), expected, atol=1e-5)


def test_what_a_declaration_cannot_express_is_refused_and_can_be_declared(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "net")
    config = folder / "preprocessor_config.json"
    plain = {**json.loads(config.read_text()), "image_processor_type": "CLIPImageProcessor"}
    plain |= {"size": {"height": 32, "width": 64}, "do_center_crop": False}
    short, square = {"shortest_edge": 20}, {"height": 30, "width": 30}
    for change, said in (
        ({}, r"has size \{'height': 32, 'width': 64\}, which windtunnel does not support; declare the"),
        ({"size": short, "crop_size": 32, "do_center_crop": True}, "20 pixels and pads to 32"),
        ({"size": short, "crop_size": 20, "do_center_crop": True, "do_pad": True, "pad_size": square},
         "does more than windtunnel can declare"),
        ({"size": square, "image_std": [0, 0, 0]}, "image processor of net .* std is zero"),
        ({"size": square, "rescale_factor": 0}, r"settings that are missing or of a wrong type \(.*zero"),
    ):  # fmt: skip
        config.write_text(json.dumps(plain | change))
        with pytest.raises(UserError, match=said):
            load_model(f"hf:{folder}")
    (tmp_path / "net.toml").write_text(EXACT)
    assert load_model(f"hf:{folder}").preprocess.origin == "from net.toml"
    config.unlink()
    assert load_model(f"hf:{folder}").classes == CLASSES
    (tmp_path / "net.toml").unlink()
    with pytest.raises(UserError, match=r"net has no preprocessor_config.json; write it .* or declare the"):
        load_model(f"hf:{folder}")


def test_labels_of_a_folder(tmp_path: Path) -> None:
    from windtunnel.published.imagenet import imagenet_1k, imagenet_synonyms

    names = tuple(", ".join(words) for words in imagenet_synonyms().values())
    for number, (labels, classes) in enumerate(
        ((names, imagenet_1k().classes), (("LABEL_0", "LABEL_1"), ()), (("crane", "crane", "cat"), ()))
    ):
        folder = write_classifier(tmp_path / str(number), labels=labels)
        assert load_model(f"hf:{folder}").classes == classes


def test_random_weights_are_refused(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "net")
    weights = load_file(folder / "model.safetensors")
    save_file(
        {key: value for key, value in weights.items() if "classifier" not in key},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(UserError, match=r"lacks 2 weights of a ResNetFor.*\(classifier.*would be random"):
        load_model(f"hf:{folder}")


def test_clip_compares_images_with_the_mean_of_prompts(tmp_path: Path, photos: list[Path]) -> None:
    folder = write_clip(tmp_path / "clip")
    transformers = pytest.importorskip("transformers")
    model = load_model(f"clip:{folder}")
    network = transformers.CLIPModel.from_pretrained(folder).eval()
    tokenizer = transformers.CLIPTokenizer.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    pixels = processor(images=[Image.open(file) for file in photos], return_tensors="pt")["pixel_values"]
    columns = []
    for name in ("cat", "dog", "eel"):
        texts = [f"a photo of a {name}.", f"a bad photo of the {name}."]
        with torch.no_grad():
            outputs = network(pixel_values=pixels, **tokenizer(texts, padding=True, return_tensors="pt"))
        mean = outputs.text_embeds.mean(dim=0)  # the library's embeddings have length 1
        cosine = outputs.image_embeds @ (mean / mean.norm())
        columns.append(network.logit_scale.exp().detach() * cosine)
    np.testing.assert_allclose(predicted(model, photos), torch.stack(columns, dim=1), atol=1e-4)
    assert (model.classes, model.outputs) == (("cat", "dog", "eel"), "logits")
    (tmp_path / "other.toml").write_text('templates = ["a {}."]\n[classes]\nn1 = "cat"\nn2 = "dog"\n')
    other = load_model(f"clip:{folder}(prompts={tmp_path}/other.toml)")
    assert other.classes == ("n1", "n2") and other.fingerprint != model.fingerprint
    (tmp_path / "other.toml").write_text('templates = ["a photo"]\nclasses = ["cat", "dog"]\n')
    with pytest.raises(UserError, match=r"the template 'a photo' needs \{\} once"):
        load_model(f"clip:{folder}(prompts={tmp_path}/other.toml)")


def test_a_network_predicts_the_same_in_every_file(tmp_path: Path, photos: list[Path]) -> None:
    module = small_network(tmp_path)
    (tmp_path / "exact.toml").write_text(EXACT)
    module.norm.running_mean += 0.3  # a state that the factory does not make
    state = {f"module.{key}": value for key, value in module.state_dict().items()}
    torch.save({"epoch": 3, "model": {"state_dict": state}}, tmp_path / "best.pth")
    sources = [
        str(write_torchscript(tmp_path / "net.pt", module)),
        str(write_torchscript(tmp_path / "frozen.ts", module, frozen=True)),
        str(write_exported(tmp_path / "net.pt2", module)),
        str(write_exported(tmp_path / "pairs.pt2", module, batch=2)),
        f"{tmp_path}/nets.py:small(weights={tmp_path}/best.pth)",
    ]
    expected = predicted(load_model(module, tmp_path / "exact.toml"), photos)
    for source in sources:
        model = load_model(source, tmp_path / "exact.toml")
        np.testing.assert_allclose(predicted(model, photos), expected, atol=1e-5, err_msg=source)
    assert model.name == "small-best"
    # The program declares its size.
    assert load_model(tmp_path / "net.pt2").preprocess.geometry.output_px == SIDE


def test_wrong_checkpoints_get_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    module = small_network(tmp_path)
    state = module.state_dict()
    wrong = {**state, "tail.weight": state["head.weight"], "head.weight": state["head.weight"][:2]}
    del wrong["conv.bias"]
    torch.save(wrong, tmp_path / "wrong.pth")
    torch.save({"epoch": 3}, tmp_path / "empty.pth")
    torch.save({"model": module}, tmp_path / "objects.pth")
    for name in ("damaged.pth", "damaged.pt2"):
        (tmp_path / name).write_bytes(b"PK\x03\x04")
    factory = f"{tmp_path}/nets.py:small"
    for source, said in (
        (f"{factory}(weights={tmp_path}/wrong.pth)", r"does not fit the Small: 1 missing \(conv.bias\); 1 "
         r"unexpected \(tail.weight\); 1 of another shape \(head.weight \(2, 6\) instead of \(4, 6\)\)"),
        (f"{factory}(weights={tmp_path}/empty.pth)", "contains epoch, not the weights of a module"),
        (f"{factory}(weights={tmp_path}/objects.pth)", "Python objects other than weights"),
        (f"{factory}(weights={tmp_path}/damaged.pth)", "Python objects other than weights|can load"),
        (str(tmp_path / "damaged.pt2"), "damaged.pt2 is not a program that torch .* can load"),
        (f"{factory}(weights={tmp_path}/none.pth)", "No such checkpoint: .*none.pth. Give a"),
        (f"{factory}(wieghts=best.pth)", "Unknown parameter of factory 'wieghts'. Did you mean weights"),
        (str(tmp_path / "wrong.pth"), r"only weights.* FILE.py:factory\(weights=.*wrong.pth\)"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=said) as error:
            load_model(source)
        assert "\n" not in str(error.value) and not caplog.records


def test_a_timm_network_has_the_preprocessing_of_its_configuration(
    tmp_path: Path, photos: list[Path]
) -> None:
    folder = write_timm(tmp_path / "net")
    model = load_model(f"timm:{folder}")
    network = timm_library().create_model("resnet10t", num_classes=4).eval()
    network.load_state_dict(torch.load(folder / "pytorch_model.bin", weights_only=True))
    batch = []
    for file in photos:  # floor(32 / 0.9) = 35, then the central 32 pixels, as torchvision rounds
        image = Image.open(file)
        short = min(image.size)
        image = image.resize(tuple(int(35 * side / short) for side in image.size), Image.Resampling.BICUBIC)
        left, top = (round((side - 32) / 2) for side in image.size)
        batch.append(np.asarray(image.crop((left, top, left + 32, top + 32))) / 255)
    values = (np.stack(batch) - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
    with torch.no_grad():
        expected = network(torch.tensor(values.transpose(0, 3, 1, 2), dtype=torch.float32))
    np.testing.assert_allclose(predicted(model, photos), expected, atol=1e-5)
    weights = load_model(f"timm:resnet10t(weights={folder}/pytorch_model.bin, classes=4)")
    assert weights.fingerprint.split("-")[0] == model.fingerprint.split("-")[0]
    with pytest.raises(UserError, match=r"Unknown timm model 'resnet10y'\. Did you mean resnet10t"):
        load_model("timm:resnet10y")


def test_a_run_by_workers_in_a_wrapper_equals_a_run_in_one_process(
    tmp_path: Path, photos: list[Path]
) -> None:
    for place, file in enumerate(photos[:4]):
        (tmp_path / "data" / CLASSES[place]).mkdir(parents=True)
        (tmp_path / "data" / CLASSES[place] / "photo.png").write_bytes(file.read_bytes())
    torch.save(small_network(tmp_path).state_dict(), tmp_path / "best.pth")
    (tmp_path / "nets.py.toml").write_text(f"labels = {list(CLASSES)}\n{EXACT}")
    source = f"flip|{tmp_path}/nets.py:small(weights={tmp_path}/best.pth)"
    first, second = (
        windtunnel.run(source, tmp_path / "data", "smoke", only=["fog:3"], out=tmp_path / name, **more)
        for name, more in (("one", {}), ("two", {"workers": 2, "chunk": 2}))
    )
    assert first.recipe.model.kind == "torch" and first.recipe.model.wrappers
    assert first.recipe.model.fingerprint == second.recipe.model.fingerprint
    assert [score.value for score in first.scores()] == [score.value for score in second.scores()]


def test_the_doctor_finds_a_wrong_processor_and_writes_the_right_preprocessing(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "net", processors()["exact"])
    images = np.random.default_rng(0).integers(0, 256, (400, 4, 4, 3), dtype=np.uint8)
    images = images.repeat(8, axis=1).repeat(8, axis=2)
    weights = load_file(folder / "model.safetensors")
    medians = np.median(load_model(f"hf:{folder}").predict(images), axis=0)
    weights["classifier.1.bias"] -= torch.from_numpy(medians)  # about as many images of every class
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    right = load_model(f"hf:{folder}")
    np.savez(tmp_path / "data.npz", images=images, labels=right.predict(images).argmax(axis=1))
    config = folder / "preprocessor_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "do_rescale": False}))
    wrong = load_model(f"hf:{folder}")
    assert wrong.preprocess.tensor.divisor == 1
    result = windtunnel.doctor(f"hf:{folder}", tmp_path / "data.npz", labels_are_outputs=True)
    assert result.diagnosis.declaration_is_wrong
    assert result.write() == [tmp_path / "net.toml"]
    corrected = load_model(f"hf:{folder}").preprocess
    assert corrected.tensor.same_arithmetic(right.preprocess.tensor)
    assert corrected.origin == "from net.toml"


def test_a_name_that_cannot_be_downloaded_gets_one_line(
    windtunnel_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = windtunnel_command("run", "hf:nobody/nothing", "demo")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "nobody/nothing is not a folder and cannot be loaded by transformers: We couldn't" in done.stderr


def test_timm_without_torchvision_gets_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "timm.py").write_text("import torchvision.ops")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])  # torchvision may be installed
    with pytest.raises(UserError, match=r"timm, which cannot be imported without torchvision: pip install"):
        load_model("timm:resnet50")
