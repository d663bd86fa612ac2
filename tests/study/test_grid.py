import pytest

from tabtap.compare.store import Cell, Terms
from tabtap.errors import UserInputError
from tabtap.rivals import method_named
from tabtap.study.grid import grid_of, read_grid
from tabtap.study.tables import method_label

SMALL = {"datasets": ["credit-g"], "n_real": [20], "methods": ["Real"]}


def test_every_combination_is_a_cell(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(
        'datasets = ["credit-g", "insurance"]\n'
        "n_real = [20, 50]\n"
        "splits = 3\n"
        "budget = 100\n"
        'methods = ["Real", { name = "TAP", preset = "fast" }]\n',
        encoding="utf-8",
    )

    cells = list(read_grid(path).cells())

    assert len(cells) == 2 * 2 * 3 * 2
    assert len({cell.key for cell in cells}) == len(cells)
    assert cells[0].terms == Terms(budget=100)
    assert cells[1].method == "TAP"
    assert cells[1].settings == {"preset": "fast"}


def test_a_key_tells_every_difference():
    cell = {"dataset": "credit-g", "n_real": 20, "split": 0, "method": "TAP"}
    others = [
        {"dataset": "insurance"},
        {"n_real": 21},
        {"split": 1},
        {"method": "Real"},
        {"settings": {"preset": "fast"}},
        {"terms": Terms(budget=499)},
        {"terms": Terms(seed=1)},
        {"terms": Terms(variant="literal")},
        {"terms": Terms(predictors=("LR",))},
    ]

    keys = {Cell(**{**cell, **other}).key for other in [{}, *others]}

    assert len(keys) == 1 + len(others)


def test_a_key_is_a_name_for_a_file():
    cell = Cell(dataset="a/b c", n_real=1, split=0, method="../x")

    assert set(cell.key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_what_is_left_out_is_as_in_the_paper():
    grid = grid_of(SMALL)

    assert grid.splits == 5
    assert grid.terms == Terms(budget=500, seed=0, variant="study", predictors=())


def test_all_problems_are_reported_together():
    given = {"datasets": ["iris"], "n_real": [0], "methods": [{"size": 1}], "seeds": 1}

    with pytest.raises(UserInputError) as caught:
        grid_of(given)

    said = str(caught.value)
    assert "'seeds' is not a key of a grid" in said
    assert "dataset 'iris' is not known; there are MiceProtein" in said
    assert "n_real=0 is not a whole number from 1" in said
    assert "the method {'size': 1} has no name" in said


@pytest.mark.parametrize(
    ("dataset", "name", "said"),
    [
        ("credit-g", "LGB", "classification predictor 'LGB' is not known; there are L"),
        ("insurance", "LR", "regression predictor 'LR' is not known; there are KNN"),
        ("insurance", 7, "regression predictor 7 is not known"),
        ("insurance", ["KNN"], r"regression predictor \['KNN'\] is not known"),
    ],
)
def test_predictors_that_a_dataset_has_not_are_named(dataset, name, said):
    with pytest.raises(UserInputError, match=said):
        grid_of({**SMALL, "datasets": [dataset], "predictors": [name]})


def test_a_grid_without_end_is_refused():
    with pytest.raises(UserInputError, match="has 1,000,000,000,000 cells"):
        grid_of({**SMALL, "splits": 10**12})


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"a = " + b"[" * 100_000], ids=["no UTF-8", "too deep"]
)
def test_a_file_that_no_one_can_read_is_not_toml(tmp_path, content):
    path = tmp_path / "grid.toml"
    path.write_bytes(content)

    with pytest.raises(UserInputError, match="is not TOML"):
        read_grid(path)


def test_unknown_methods_are_named_with_those_there_are():
    with pytest.raises(UserInputError, match="'SMOT' is not known; there are SMOTE"):
        grid_of({**SMALL, "methods": ["SMOT"]}, known_methods=["SMOTE"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_real": []}, "n_real is missing"),
        ({"splits": 0}, "splits=0 is not usable"),
        ({"budget": 1.5}, "budget=1.5 is not usable"),
        ({"variant": "odd"}, "variant='odd' is not usable"),
    ],
)
def test_a_grid_that_cannot_be_run_is_refused(wrong, said):
    with pytest.raises(UserInputError, match=said):
        grid_of({**SMALL, **wrong})


def test_a_file_that_is_not_there_or_not_toml_is_refused(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("datasets = [", encoding="utf-8")

    with pytest.raises(UserInputError, match="cannot be read"):
        read_grid(tmp_path / "none.toml")
    with pytest.raises(UserInputError, match="is not TOML"):
        read_grid(broken)


def test_any_setting_of_tap_may_stand_in_a_grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(
        'datasets = ["credit-g"]\n'
        "n_real = [20]\n"
        "[[methods]]\n"
        'name = "TAP"\n'
        'preset = "paper"\n'
        'evaluator = "holdout"\n'
        "augment = { n_steps = 40, commit = { min_gain = 0.02 } }\n"
        'diffusion = { preset = "default", n_steps = 50 }\n'
        "[[methods]]\n"
        'name = "TAP + teacher"\n'
        "teaching = { cross_share = 0.25 }\n"
        "[[methods]]\n"
        'name = "One shot"\n'
        "diffusion = { width = 64 }\n",
        encoding="utf-8",
    )

    grid = read_grid(path)

    tap, taught, one_shot = (method_named(**method) for method in grid.methods)
    assert tap.whole_preset().augment.commit.min_gain == 0.02
    assert tap.whole_preset().augment.commit.protocol == "paper"
    assert tap.whole_preset().diffusion.size == "compact"
    assert tap.whole_preset().evaluators["classification"] == "holdout"
    assert taught.whole_preset().teaching.cross_share == 0.25
    assert one_shot.diffusion.width == 64
    label = method_label(next(grid.cells()).written())
    assert "augment.commit.min_gain=0.02" in label


def test_a_setting_that_tap_does_not_have_is_refused_before_anything_runs():
    with pytest.raises(UserInputError, match="Did you mean 'min_gain'"):
        method_named("TAP", augment={"commit": {"min_gains": 0.1}})
