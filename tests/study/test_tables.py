"""Tables from records whose figures are easy to compute by hand."""

import pytest

from tabtap.study.sources import published_figure
from tabtap.study.tables import (
    cost_table,
    difference_table,
    failure_table,
    finding,
    gain_table,
    gains,
    mean_interval,
    means,
    predictor_tables,
    score_frame,
    score_tables,
    win_table,
)


def record(method, split, scores, *, dataset="credit-g", n_real=20, **more):
    cell = {"dataset": dataset, "n_real": n_real, "split": split, "method": method}
    return {
        "cell": {**cell, "settings": more.pop("settings", {})},
        "scores": scores,
        "n_rows": 500,
        "failure": None,
        "costs": {
            "cpu_seconds": {"method": 2.0 * split + 1.0, "score": 0.5},
            "peak_bytes": {"method": 3_000_000},
        },
        **more,
    }


def accuracy(**by_predictor):
    return {
        name: {"accuracy": score, "macro_f1": score / 2}
        for name, score in by_predictor.items()
    }


RECORDS = [
    record("TAP", 0, accuracy(LR=0.70, KNN=0.90)),
    record("TAP", 1, accuracy(LR=0.60, KNN=0.80)),
    record("Real", 0, accuracy(LR=0.60, KNN=0.80)),
    record("Real", 1, accuracy(LR=0.60, KNN=0.80)),
    record("Copies", 0, accuracy(LR=0.90, KNN=0.90)),
]


def test_the_mean_is_over_predictors_first_and_then_over_splits():
    told = means(score_frame(RECORDS), "accuracy").set_index("method")

    assert told.loc["TAP", "mean"] == pytest.approx(75.0)  # of 80 and 70
    assert told.loc["TAP", "deviation"] == pytest.approx(5.0)
    assert told.loc["TAP", "splits"] == 2


def test_gains_pair_the_same_split():
    told = gains(score_frame(RECORDS), "accuracy")

    assert told[told["method"] == "TAP"]["gain"].tolist() == pytest.approx([10.0, 0.0])
    assert told[told["method"] == "Copies"]["gain"].tolist() == pytest.approx([20.0])


def test_a_smaller_error_is_a_gain_in_percent():
    records = [
        record("Real", 0, {"RF": {"rmse": 0.8, "mae": 0.5}}, dataset="insurance"),
        record("SMOTE", 0, {"RF": {"rmse": 0.6, "mae": 0.6}}, dataset="insurance"),
    ]

    frame = score_frame(records)

    assert gains(frame, "rmse")["gain"].tolist() == pytest.approx([25.0])
    assert gains(frame, "mae")["gain"].tolist() == pytest.approx([-20.0])


def test_methods_and_datasets_stand_in_the_papers_order():
    (table,) = score_tables(score_frame(RECORDS), ["accuracy", "rmse"])

    assert table.header == ("dataset", "n_real", "Real", "Copies", "TAP")


def test_the_papers_figure_and_the_difference_stand_below_ours():
    (table,) = score_tables(score_frame(RECORDS), ["accuracy"])

    ours, paper, difference = table.rows
    figure = published_figure("credit-g", 20, "accuracy", "TAP")
    assert figure.mean == 68.13  # table 1 of the paper
    assert ours == ("credit-g", "20", "70.0 ± 0.0", "90.0", "75.0 ± 5.0")
    assert paper == ("", "paper", "66.4 ± 4.7", "-", "68.1 ± 2.8")
    assert difference == ("", "ours - paper", "+3.6", "-", "+6.9")


def test_a_method_with_settings_stands_beside_the_paper_too():
    records = [
        record(name, 0, accuracy(LR=0.75), settings={"preset": "fast"})
        for name in ("TAP", "TAP + teacher")
    ]

    table = difference_table(score_frame(records), "accuracy")

    assert table.rows == (("TAP (preset=fast)", "1", "+6.9", "-"),)  # 75.0 - 68.13


def test_differences_are_measured_in_what_chance_would_do():
    table = difference_table(score_frame(RECORDS), "accuracy")

    rows = {line[0]: line[1:] for line in table.rows}
    # TAP: 75.0 - 68.13; ours deviates by 5 over 2 splits, theirs by 2.75 over 5.
    assert published_figure("credit-g", 20, "accuracy", "TAP").deviation == 2.75
    assert rows["TAP"] == ("1", "+6.9", f"{6.87 / (25 / 1 + 2.75**2 / 4) ** 0.5:.1f}")
    assert "Copies" not in rows


def test_one_split_cannot_tell_chance():
    table = difference_table(score_frame(RECORDS[:1]), "accuracy")

    assert table.rows == (("TAP", "1", "+11.9", "-"),)


def test_every_figure_of_the_paper_has_a_table_here():
    from tabtap.study.sources import SOURCES, _figures

    assert len(_figures()) == 630
    assert {key[0] for key in _figures()} == set(SOURCES)


def test_each_predictor_has_a_table():
    tables = predictor_tables(score_frame(RECORDS), "accuracy")

    assert [table.title.split("; ")[1] for table in tables] == ["LR", "KNN"]
    assert tables[0].rows[0][-1] == "65.0 ± 5.0"


def test_the_mean_gain_has_its_error_over_cells():
    table = gain_table(score_frame(RECORDS), "accuracy")

    rows = {line[0]: line[1:] for line in table.rows}
    assert table.header == ("method", "over Real", "over Copies")
    assert rows["TAP"] == ("+5.0 ± 5.0 (2)", "-10.0")


def test_settings_of_a_grid_make_a_method_of_its_own():
    frame = score_frame(
        [*RECORDS, record("TAP", 0, accuracy(LR=1), settings={"preset": "fast"})]
    )

    assert frame["method"].unique().tolist() == [
        "Real",
        "Copies",
        "TAP",
        "TAP (preset=fast)",
    ]


def test_wins_are_counted_by_cell_and_a_tie_is_half():
    rows = {line[0]: line[1:] for line in win_table(score_frame(RECORDS)).rows}

    assert rows["TAP"] == ("75 (2)", "0 (1)", "-")
    assert rows["Real"] == ("-", "0 (1)", "25 (2)")


def test_the_best_rival_is_the_best_of_each_cell():
    records = [
        *RECORDS,
        record("SMOTE", 0, accuracy(LR=0.5, KNN=0.5)),
        record("ARF", 0, accuracy(LR=0.9, KNN=0.9)),
        record("SMOTE", 1, accuracy(LR=0.6, KNN=0.7)),
    ]

    rows = {line[0]: line[1:] for line in win_table(score_frame(records)).rows}

    assert rows["TAP"][2] == "50 (2)"


def test_costs_are_means_over_cells():
    table = cost_table(RECORDS)

    rows = {line[0]: line for line in table.rows}
    assert rows["TAP"] == ("TAP", "20", "500", "2.0", "3.0", "0.5", "3")


def test_failures_are_counted_with_their_reasons():
    failed = {"reason": "no class has two rows", "traceback": ""}
    records = [*RECORDS, record("SMOTE", 0, accuracy(LR=0.5), failure=failed)]

    assert failure_table(records).rows == (
        ("SMOTE", "no class has two rows", "1 of 1"),
    )
    assert failure_table(RECORDS).notes == ("None of 5 cells failed.",)


def test_a_cell_that_was_never_finished_is_a_failure_without_scores():
    dead = record("CTGAN", 0, {}, failure={"reason": "died", "traceback": ""})
    del dead["costs"], dead["n_rows"]

    assert "CTGAN" not in set(score_frame([*RECORDS, dead])["method"])
    assert len(cost_table([*RECORDS, dead]).rows) == 3
    assert failure_table([dead]).rows == (("CTGAN", "died", "1 of 1"),)


# ---- Means, chance, and claims.


def test_cells_of_one_table_are_no_independent_evidence():
    values = [1.0, 1.0, 1.0, 1.0, 3.0, 5.0]

    apart = mean_interval(values, ["a", "a", "a", "a", "b", "c"])
    together = mean_interval(values)

    assert apart.mean == pytest.approx(3.0)  # of 1, 3 and 5
    assert (apart.n, apart.unit) == (3, "tables")
    half = 4.302653 * 2.0 / 3**0.5  # t of two degrees, deviation 2
    assert apart.high - apart.mean == pytest.approx(half, rel=1e-5)
    assert together.mean == pytest.approx(2.0)
    assert (together.n, together.unit) == (6, "cells")


@pytest.mark.parametrize(
    ("values", "begins", "ends"),
    [
        ([1.0, 1.1, 0.9], "**Found.**", "3 cells."),
        ([-1.0, -1.1, -0.9], "**Not found.**", "it is the other way round."),
        ([-1.0, 1.1, 0.3], "**Not found.**", "chance alone may do that."),
        ([1.0], "**Not found.**", "a single one shows nothing."),
        ([], "**Not found.**", "there is nothing to compare."),
    ],
    ids=["above 0", "below 0", "about 0", "one cell", "no cell"],
)
def test_a_claim_is_found_only_beyond_chance(values, begins, ends):
    said = finding("It helps", mean_interval(values))

    assert said.startswith(f"{begins} It helps: ")
    assert said.endswith(ends)
