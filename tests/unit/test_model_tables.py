"""Tables of models: every shape is read as fractions, and units are never mixed silently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from windtunnel.analysis.model_tables.filter_models import filter_models
from windtunnel.analysis.model_tables.reading import read_tables
from windtunnel.analysis.model_tables.table import name_prefix
from windtunnel.core.errors import UserError


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    return write(
        tmp_path / "wide.csv",
        "model,family,params,clean,fog:1,fog:3,ImageNet-A,ImageNet-V2,ImageNet-A clean,mine",
        "net1,conv,5.3,0.70,0.60,0.50,0.05,0.58,0.85,0.1",
        "net2,conv,25.6,0.76,0.68,0.55,0.02,0.63,0.90,0.2",
        "net3,vit,86,0.80,0.75,0.66,0.25,0.70,0.93,0.3",
        "net4,vit,307,0.85,0.80,,0.45,0.75,0.95,0.4",
    )


TIMM = "model,img_size,top1,param_count"


def timm_folder(folder: Path) -> Path:
    folder.mkdir()
    clean = ["resnet50.a1,224,80.0,25", "vit,224,81,86", "vit,384,84,86", "net,224,70,5", "tiny,64,40,1"]
    write(folder / "results-imagenet.csv", TIMM, *clean)
    write(folder / "results-imagenet-a-clean.csv", TIMM, *(row.replace(",8", ",9", 1) for row in clean))
    write(
        folder / "results-imagenet-a.csv",
        TIMM,
        "vit,384,40,86",
        "vit,224,30,86",
        "resnet50.a1,224,1,25",
        "net,224,4,5",
    )
    write(folder / "results-sketch.csv", TIMM, *(row.replace(",8", ",3", 1) for row in clean))
    return folder


def test_a_wide_table(wide: Path) -> None:
    table = read_tables([wide])
    assert table.models == ("net1", "net2", "net3", "net4")
    assert {setting.name: setting.role for setting in table.settings} == {
        "clean": "clean",
        "fog:1": "synthetic",
        "fog:3": "synthetic",
        "ImageNet-A": "natural",
        "ImageNet-V2": "natural",
        "ImageNet-A clean": "clean",
        "mine": "other",
    }
    # Columns of text and parameters describe models.
    assert set(table.attributes) == {"family", "params"}
    assert table.families("family") == ("conv", "conv", "vit", "vit")
    # ImageNet-A has clean accuracies on its own classes; V2 uses all classes.
    assert (table.setting("ImageNet-A").clean, table.setting("ImageNet-A").classes) == (
        "ImageNet-A clean",
        "same",
    )
    assert (table.setting("ImageNet-V2").clean, table.setting("ImageNet-V2").classes) == ("clean", "same")
    # The last model lacks a value.
    assert np.isnan(table.column("fog:3")[3])


def test_classes_are_different_without_clean_accuracies_of_their_own(tmp_path: Path) -> None:
    rows = [f"m{row},0.{row}5,0.{row}1" for row in range(4, 8)]
    table = read_tables([write(tmp_path / "t.csv", "model,imagenet,imagenet-r", *rows)])
    assert (table.setting("imagenet-r").clean, table.setting("imagenet-r").classes) == (
        "imagenet",
        "different",
    )


def test_the_clean_column_is_named_or_none(wide: Path) -> None:
    assert read_tables([wide], clean="mine").setting("fog:1").clean == "mine"
    assert read_tables([wide], clean="none").setting("ImageNet-V2").clean == ""
    with pytest.raises(UserError, match=r"Unknown column 'cleen'. Did you mean clean"):
        read_tables([wide], clean="cleen")


PERCENT = ("model,clean,fog", "a,70,60.5", "b,71,61", "c,80,75", "d,85,80")


def test_percentages_are_refused_unless_declared(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", *PERCENT)
    with pytest.raises(
        UserError, match=r'up to 85 \(clean\), which are no fractions; .* add unit=\["percent"\]'
    ):
        read_tables([path])
    with pytest.raises(UserError, match="no fractions"):
        read_tables([path], units=["fraction"])
    assert read_tables([path], units=["percent"]).column("fog")[0] == pytest.approx(0.605)


def test_mixed_units_are_refused_by_name(tmp_path: Path) -> None:
    """Clean accuracies as fractions and natural ones in per cent: their difference would be no drop."""
    path = write(
        tmp_path / "t.csv", "model,clean,fog,snow", "a,0.7,60,50", "b,0.7,61,50", "c,0.8,75,50", "d,.8,1,2"
    )
    for units in ((), ("percent",)):
        with pytest.raises(UserError, match="mixes units: fog, snow in per cent, clean up to 1"):
            read_tables([path], units=units)
    table = read_tables([path], units=["percent", "clean=fraction"])
    assert (table.column("clean")[0], table.column("snow")[0]) == pytest.approx((0.7, 0.5))
    with pytest.raises(UserError, match="Unknown unit 'per cent'"):
        read_tables([path], units=["per cent"])


def test_fractions_declared_as_percentages_are_refused(wide: Path) -> None:
    with pytest.raises(UserError, match=r"declared in per cent, but clean, fog:1, .* have no value over 1"):
        read_tables([wide], units=["percent"])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("model,clean,fog", "a,0.7,x", "b,0.8,0.6"), "line 2: fog is 'x'; give a number"),
        (("model,clean,fog", "a,0.7,0.5", "a,0.8,0.6"), "line 3: a is listed twice"),
        (("model,clean,fog", "a,0.7,0.5", "b,0.8"), "line 3 has 2 cells, and the header has 3"),
        (("model,clean,clean", "a,0.7,0.5"), "two columns 'clean'"),
        (("model,clean,cost", "a,0.7,350", "b,0.8,2"), "'cost' has values from 2 to 350.*ignore="),
        (
            ("clean,fog", "0.7,0.5", "0.8,0.6"),
            "first column, 'clean', has only numbers; it must name the models",
        ),
        (("model;clean;fog", "a;0,7;0,5"), "separates its columns by semicolons; separate them by commas"),
        (
            ("model,clean,fog", "a,81.1%,70%", "b,80%,60 %"),
            "clean is '81.1%'; write numbers without %",
        ),
        (("model,clean", "a,0.7"), "1 model in .*; at least 4 are needed"),
        (("model",), "has no results"),
        (("model,notes", "a,good"), "no column of accuracies"),
    ],
)
def test_wrong_tables_are_refused_in_one_line(tmp_path: Path, lines: tuple[str, ...], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        read_tables([write(tmp_path / "t.csv", *lines)])
    assert "\n" not in str(caught.value)


def test_a_column_can_be_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "model,clean,cost", *(f"{name},0.7,{350}" for name in "abcd"))
    assert read_tables([path], ignored=["cost"]).names == ("clean",)


def test_robustbench_has_two_header_rows(tmp_path: Path) -> None:
    path = write(
        tmp_path / "corruptions.csv",
        ",fog,fog,snow",
        ",1,2,1",
        *(f"net{row},0.{row}5,0.{row}4,0.{row}3" for row in range(4, 8)),
    )
    table = read_tables([path])
    assert table.names == ("fog:1", "fog:2", "snow:1")
    assert table.models == ("net4", "net5", "net6", "net7")
    assert table.column("fog:2")[0] == 0.44
    assert {(setting.role, setting.clean, setting.corruption) for setting in table.settings} == {
        ("synthetic", "", "fog"),
        ("synthetic", "", "snow"),
    }


def test_open_clip_names_models_by_two_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "results.csv",
        "name,pretrained,params (M),FLOPs (B),Average perf. on 38 datasets,ImageNet 1k,CIFAR-10,ImageNet v2,"
        "Flickr",
        *(f"ViT-B-{row},data{row},100.5,20.1,0.5,0.{row}7,0.9,0.{row}1,0.7" for row in range(4, 8)),
    )
    table = read_tables([path])
    assert table.models[0] == "ViT-B-4 data4"
    assert table.names == ("ImageNet 1k", "CIFAR-10", "ImageNet v2")
    assert table.setting("ImageNet v2").clean == "ImageNet 1k"
    assert table.setting("ImageNet v2").images == 10000
    assert table.families("pretrained")[0] == "data4"
    assert "columns left out: Average perf. on 38 datasets, Flickr" in table.notes[0]


def test_timms_folder_is_joined_by_model_and_size(tmp_path: Path) -> None:
    table = read_tables([timm_folder(tmp_path / "results")])
    assert table.models == ("resnet50.a1", "vit at 224 px", "vit at 384 px", "net", "tiny")
    assert table.column("imagenet-a")[table.models.index("vit at 384 px")] == 0.4
    assert np.isnan(table.column("imagenet-a")[table.models.index("tiny")])
    setting = table.setting("imagenet-a")
    assert (setting.clean, setting.classes, setting.images) == ("imagenet-a clean", "same", 7500)
    assert table.setting("imagenet-sketch").clean == "imagenet"
    assert any("resnet50.tv_in1k" in note for note in setting.notes)
    with pytest.raises(UserError, match="is in per cent, as all of timm's results"):
        read_tables([tmp_path / "results"], units=["fraction"])


def test_one_of_timms_files_is_that_set_alone(tmp_path: Path) -> None:
    folder = timm_folder(tmp_path / "results")
    assert read_tables([folder / "results-sketch.csv"]).names == ("imagenet", "imagenet-sketch")
    with pytest.raises(UserError, match="contains results on clean images"):
        read_tables([folder / "results-imagenet.csv"])


def test_networks_that_filtered_a_set_are_marked(tmp_path: Path) -> None:
    table = read_tables([timm_folder(tmp_path / "results")])
    marked = filter_models(table, [table.setting("imagenet-a")])
    assert marked.marked.tolist() == [True, False, False, False, False]
    assert "ImageNet-A was filtered by ResNet-50, 1 model: resnet50.a1" in marked.notes[0]
    assert not filter_models(table, [table.setting("imagenet-sketch")]).marked.any()


def test_tables_are_joined_by_model(wide: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "o.csv", "model,snow", "net2,0.5", "net1,0.4", "net3,.6", "else,0.7")
    table = read_tables([wide, other])
    assert table.column("snow")[:2].tolist() == [0.4, 0.5]
    assert np.isnan(table.column("snow")[3])
    assert table.setting("snow").clean == "clean"
    assert "3 of 5 models are in all of them" in table.notes[-1]
    with pytest.raises(UserError, match="differ in clean of net1; rename the column"):
        read_tables([wide, write(tmp_path / "p.csv", "model,clean", "net1,0.5")])
    with pytest.raises(UserError, match="have no model in common"):
        read_tables([wide, write(tmp_path / "q.csv", "model,snow", "x,0.5")])


def test_a_score_has_a_direction(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv",
        "model,clean,mFR,speed",
        *(f"{name},0.7,0.{row},{row}0" for row, name in enumerate("abcd", 1)),
    )
    table = read_tables([path], scores=["mFR", "speed:higher"])
    assert [
        (table.setting(name).direction, table.setting(name).is_accuracy) for name in ("mFR", "speed")
    ] == [
        ("lower", False),
        ("higher", False),
    ]
    with pytest.raises(
        UserError, match='scores=\\["speed"\\] does not say whether lower or higher is better'
    ):
        read_tables([path], scores=["speed"])


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such table"):
        read_tables([tmp_path / "nothing.csv"])
    with pytest.raises(
        UserError, match="neither a run folder, a folder of run folders, nor a folder of timm's results"
    ):
        read_tables([tmp_path])


def test_decimal_commas_are_refused_and_thousands_are_read(tmp_path: Path) -> None:
    """0,7 is not 7."""
    path = write(tmp_path / "t.csv", "model,clean,fog", *(f'{name},0.7,"0,{5}"' for name in "abcd"))
    with pytest.raises(UserError, match=r"line 2: fog is '0,5', with a decimal comma; write 0\.5"):
        read_tables([path])
    rows = (f'{name},0.7,"1,{row}00.5"' for row, name in enumerate("abcd"))
    table = read_tables([write(tmp_path / "s.csv", "model,clean,cost", *rows)], scores=["cost:lower"])
    assert table.column("cost").tolist() == [1000.5, 1100.5, 1200.5, 1300.5]


def test_models_without_a_family_are_their_own(tmp_path: Path) -> None:
    rows = ("a,x,0.7", "b,x,0.7", "c,,0.8", "d,,0.9")
    table = read_tables([write(tmp_path / "t.csv", "model,family,clean", *rows)])
    assert table.families("family") == ("x", "x", "c", "d")


def test_tables_of_different_models_are_put_together_with_a_note(tmp_path: Path) -> None:
    tables = [
        write(tmp_path / f"{first}.csv", "model,clean", *(f"{first}{row},0.{row}" for row in range(1, 4)))
        for first in "ab"
    ]
    assert "must be results on the same images" in read_tables(tables).notes[-1]


def test_families_are_the_letters_of_a_name() -> None:
    assert [name_prefix(name) for name in ("resnet50.a1", "ViT-B-16", "50net")] == ["resnet", "vit", "50net"]


def test_models_may_be_numbers_in_a_column_of_models(tmp_path: Path) -> None:
    rows = [f"{row},0.{row}5,0.{row}1" for row in range(4, 8)]
    assert read_tables([write(tmp_path / "t.csv", "model,clean,fog", *rows)]).models == ("4", "5", "6", "7")


def test_the_advice_for_mixed_units_reads_the_table(tmp_path: Path) -> None:
    """One column in per cent among fractions: following the message declares that column."""
    rows = [f"{name},0.7{place},0.5{place},{60 + place},0.6" for place, name in enumerate("abcd")]
    path = write(tmp_path / "t.csv", "model,clean,fog:1,fog:3,ImageNet-V2", *rows)
    for units in ([], ["percent"]):
        with pytest.raises(UserError, match=r'Declare unit=\["fog:3=percent"\]'):
            read_tables([path], units=units)
    assert read_tables([path], units=["fog:3=percent"]).column("fog:3")[0] == pytest.approx(0.6)
    # One column of fractions among percentages: the whole table and that column.
    rows = [f"{name},0.7{place},5{place},{60 + place}" for place, name in enumerate("abcd")]
    path = write(tmp_path / "u.csv", "model,clean,fog:1,fog:3", *rows)
    with pytest.raises(UserError, match=r'Declare unit=\["percent"\] unit=\["clean=fraction"\]'):
        read_tables([path])
    assert read_tables([path], units=["percent", "clean=fraction"]).column("fog:1")[0] == pytest.approx(0.5)


def test_a_single_value_over_one_is_not_called_a_percentage(tmp_path: Path) -> None:
    rows = ["a,0.7,0.5", "b,1.2,0.5", "c,0.8,0.6", "d,0.8,0.6"]
    path = write(tmp_path / "t.csv", "model,clean,fog", *rows)
    with pytest.raises(
        UserError, match=r"clean has 1.2, but 3 of its 4 values are up to 1; correct the value"
    ):
        read_tables([path])


def test_fractions_declared_as_clean_percentages_are_noted(wide: Path) -> None:
    with pytest.raises(UserError, match=r'These are fractions: leave out unit=\["percent"\]'):
        read_tables([wide], units=["percent"])
    table = read_tables([wide], units=["clean=percent"])
    assert any("Clean accuracies (clean) are at most 0.85 %" in note for note in table.notes)
    assert not read_tables([wide]).notes


def test_a_table_given_twice_is_refused(wide: Path) -> None:
    with pytest.raises(UserError, match=r"wide\.csv is given twice"):
        read_tables([wide, str(wide)])
