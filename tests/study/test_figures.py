from xml.etree import ElementTree

import pytest

from tabtap.errors import UserInputError
from tabtap.study.figures import FIGURES, save_figure
from tabtap.study.tables import score_frame


@pytest.fixture
def frame():
    def record(dataset, method, n_real, split, **scores):
        cell = {"dataset": dataset, "n_real": n_real, "split": split, "method": method}
        return {"cell": {**cell, "settings": {}}, "scores": {"RF": scores}}

    return score_frame(
        [
            record(dataset, method, n_real, split, **{metric: score + 0.01 * split})
            for dataset, metric in (("credit-g", "accuracy"), ("insurance", "rmse"))
            for method, score in (("Real", 0.6), ("SMOTE", 0.5), ("TAP", 0.7))
            for n_real in (20, 50)
            for split in (0, 1)
        ]
    )


@pytest.mark.parametrize("name", list(FIGURES))
def test_a_figure_names_the_methods_it_shows(frame, name, tmp_path):
    path = tmp_path / "figure.svg"

    save_figure(FIGURES[name](frame), path)

    root = ElementTree.parse(path).getroot()
    words = " ".join("".join(part.itertext()) for part in root.iter() if part.text)
    assert "TAP" in words
    assert "SMOTE" in words
    assert [p.name for p in tmp_path.iterdir()] == ["figure.svg"]


def test_equal_records_give_equal_figures(frame, tmp_path):
    for name in ("a.svg", "b.svg"):
        save_figure(FIGURES["ladder"](frame), tmp_path / name)

    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_figure_can_be_a_picture(frame, tmp_path):
    save_figure(FIGURES["scarcity"](frame), tmp_path / "figure.png")

    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_another_kind_of_file_is_refused(frame, tmp_path):
    with pytest.raises(UserInputError, match=r"must end in \.svg or \.png"):
        save_figure(FIGURES["ladder"](frame), tmp_path / "figure.pdf")
