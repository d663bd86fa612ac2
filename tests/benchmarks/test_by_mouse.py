from by_mouse import mice_page, mice_table


def record(method, accuracy, split=0, **settings):
    cell = {"dataset": "MiceProtein", "n_real": 50, "split": split, "method": method}
    return {
        "cell": {**cell, "settings": settings, "seed": 3},
        "scores": {"LR": {"accuracy": accuracy, "macro_f1": accuracy}},
        "n_rows": 0,
        "failure": None,
        "commit": "abc",
    }


RANDOM = [record("Real", 0.6), record("TAP", 0.7, preset="fast")]
BY_MOUSE = [record("Real", 0.4), record("TAP", 0.45, preset="fast")]


def test_levels_and_gains_of_both_splits_stand_abreast():
    lines = mice_table({"random": RANDOM, "by mouse": BY_MOUSE}).splitlines()

    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    assert cells[2] == ["50", "Real", "60.0", "40.0", "-", "-"]
    assert cells[3] == ["50", "TAP (preset=fast)", "70.0", "45.0", "+10.0", "+5.0"]


def test_cells_that_only_one_split_has_are_left_out():
    others = [record("Real", 0.1, split=7), record("CTGAN", 0.1)]

    page = mice_page([*RANDOM, *others], BY_MOUSE)

    assert "- random: splits [0], seed [3], commit abc" in page
    assert "CTGAN" not in page
