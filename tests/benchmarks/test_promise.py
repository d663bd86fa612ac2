import json

import numpy as np
import promise
import pytest
from promise import (
    ALONE,
    COPIES,
    DRAWN,
    N_PARTITIONS,
    PANEL,
    RULES,
    TAUGHT,
    Cell,
    Choices,
    Setting,
    chosen,
    delivered,
    deviation,
    judge,
    main,
    maxt,
    naive,
    read_cells,
    stable,
    xf,
    xf0,
)

from tabtap.domain import Lineages
from tabtap.domain.judgement import one_sided
from tabtap.table.table import concat

N_REAL, N_TEST = 20, 30
PARTS = [ALONE, *TAUGHT, *DRAWN, COPIES]


@pytest.fixture
def write_cell(tmp_path):
    """Write a made-up cell; linear gains ``gain`` by the whole pool, others nothing."""

    def write(gain=0.2, true_gain=0.1, **other):
        about = {
            **{"table": "wine", "n_real": N_REAL, "split": 0, "seed": 0},
            **{"preset": "fast", "teacher": "auto", "task": "classification"},
            **{"parts": PARTS, "learners": list(PANEL), "n_folds": 5},
            **{"seconds": 2.0, "commit": "abc", "date": "d", "machine": "m"},
            **other,
        }
        rng = np.random.default_rng(about["split"])
        shape = (len(PARTS), len(PANEL), N_PARTITIONS, N_REAL)
        # Linear is the best alone; noise of the rows is shared by all but the pool.
        scores = np.broadcast_to(0.5 + 0.1 * rng.random(N_REAL), shape).copy()
        scores[:, 0] += 0.1
        whole = PARTS.index("taught 10n")
        scores[whole, 0] += gain + 0.02 * rng.normal(size=(N_PARTITIONS, N_REAL))
        plain = scores.copy()
        test_shape = (N_PARTITIONS, len(PARTS), len(PANEL), N_TEST)
        test_scores = np.full(test_shape, 0.5) + 0.1 * rng.random(N_TEST)
        test_scores[:, whole, 0] += true_gain
        losses = (np.arange(N_TEST) < 15) * np.ones(test_shape)
        losses[:, whole, 0, :6] = 0.0  # six of thirty more are right: 20 points
        fold = np.arange(N_REAL) % 5
        name = promise.name_of(about)
        np.savez(
            tmp_path / f"{name}.npz",
            about=np.array(json.dumps(about)),
            partitions=np.stack([fold, fold + 5, fold + 10]),
            clusters=np.zeros(0),
            scores=scores,
            plain=plain,
            test_scores=test_scores,
            test_losses=losses,
        )
        return tmp_path

    return write


def read_one(folder) -> Cell:
    (cell,) = read_cells(folder, N_REAL, "fast", "auto")
    return cell


def test_the_chosen_rule_decides_as_computed_by_hand(write_cell):
    cell = read_one(write_cell(gain=0.2, true_gain=0.1))

    found = judge(cell, Setting())

    rise = (cell.scores[1, 0] - cell.scores[0, 0]).mean(axis=0)
    # Student's t with 19 degrees of freedom at 81.25 %, times 1.5.
    error = 1.5 * rise.std(ddof=1) / np.sqrt(N_REAL)
    assert found.bound.gain == pytest.approx(rise.mean())
    assert found.bound.margin == pytest.approx(0.9091 * error, rel=1e-3)
    assert found.let_in
    assert found.truth.score == pytest.approx(0.1)
    assert found.truth.plain == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("gain", "plain", "let_in"),
    [(0.2, 0.02, True), (0.2, -1.0, False), (0.2, 0.003, False), (-0.2, 0.02, False)],
    ids=["gain", "plain figure worse", "not worth having", "loss"],
)
def test_a_promise_needs_a_gain_worth_having_and_no_worse_figure(
    write_cell, gain, plain, let_in
):
    cell = read_one(write_cell(gain=gain))
    cell.scores[1, 0] = cell.scores[0, 0] + gain  # no spread, so no bar
    cell.plain[1, 0] = cell.plain[0, 0] + plain

    found = judge(cell, Setting(parts=("taught 10n",)))

    assert found.let_in is let_in


@pytest.fixture
def choices():
    """Two learners and two parts of four rows in two folds; the second learner with
    the second part is best, by rows of the second fold alone."""
    alone = np.array([[0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.2]])
    options = np.array(
        [
            *([0.6, 0.6, 0.5, 0.5], [0.1, 0.2, 0.3, 0.2]),
            *([0.4, 0.4, 0.4, 0.4], [0.3, 0.3, 1.0, 1.0]),
        ]
    )
    return Choices(alone, options, np.array([[0, 0, 1, 1]]), 0.85)


def test_rules_differ_in_what_they_make_of_a_lucky_fold(choices):
    found = {name: rule(choices) for name, rule in RULES.items()}
    gains = {name: (one.after - one.before).tolist() for name, one in found.items()}

    # The last option leads on the second fold, so it answers the first; the first
    # option leads on the first fold, so it answers the second.
    lucky = pytest.approx([-0.2, -0.2, 0.0, 0.0])
    assert gains["stable"] == lucky
    assert gains["xf"] == gains["xf0"] == lucky
    assert gains["naive"] == gains["maxt"] == pytest.approx([-0.2, -0.2, 0.5, 0.5])


def test_the_product_asks_a_part_of_two_learners_only():
    alone = np.array([[0.5] * 4, [0.4] * 4, [0.3] * 4])
    whole = np.array([[0.5] * 4, [0.6] * 4, [0.3] * 4])
    part = np.array([[0.5] * 4, [0.7] * 4, [0.9] * 4])
    folds = np.array([[0, 0, 1, 1]])
    choices = Choices(alone, np.concatenate([whole, part]), folds, 0.85)

    # The third learner is neither the best alone nor the best with the whole pool.
    assert (stable(choices).option, chosen(choices).option) == (5, 4)


def test_options_are_numbered_part_by_part(choices):
    found = [rule(choices).option for rule in (naive, maxt, xf, xf0)]

    assert found == [3, 3, 3, 3]
    assert maxt(choices).widening >= 1.0


def test_a_deviation_is_in_errors_of_both_sides(write_cell):
    cell = read_one(write_cell())
    gains = np.tile([0.0, 0.2], 10)

    truth = promise.Truly(0.0, 0.0, 0.0)
    z, wider, count = deviation(np.zeros(20), gains, truth, cell)

    assert (count, wider) == (20, pytest.approx(1.5))
    bar = one_sided(gains, 0.9)
    assert z == pytest.approx(1.3277 * bar.gain / bar.margin, rel=1e-3)


def test_no_error_on_either_side_is_no_deviation(write_cell):
    cell = read_one(write_cell())

    none = np.zeros(N_REAL)
    z, *_ = deviation(none, none, promise.Truly(0.0, 0.0, 0.0), cell)

    assert np.isnan(z)


def test_a_page_is_made_of_records_alone(write_cell, tmp_path):
    write_cell(split=0)
    write_cell(gain=-0.2, true_gain=-0.1, split=1)
    write_cell(split=2)
    folder = write_cell(split=0, task="regression", table="friedman1")
    page = tmp_path / "promise.md"

    main(["page", "--n-real", "20", "--out", str(folder), "--page", str(page)])

    text = page.read_text(encoding="utf-8")
    assert "measure --n-real 20 --splits 0 1 2 --seed 0" in text
    assert "--teacher auto --tables friedman1 wine" in text
    assert "- commit: abc" in text
    assert "4 cells of 2 tables" in text
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    # Of three classification cells two gain 20 points, as the rule says.
    (of_labels, _) = [r for r in lines if r[1:3] == ["chosen", "product"]]
    assert of_labels[3:6] == ["2 of 3 (67 %)", "+20.0 ± 0.0", "0"]
    assert "taught 10n, taught 2.5n" in text
    assert [r[2] for r in lines if r[1:2] == ["both"]][:2] == ["1", "1"]


def test_cells_of_another_teacher_are_not_on_the_page(write_cell):
    write_cell()

    cell = read_one(write_cell(teacher="none"))

    assert cell.about["teacher"] == "auto"


def test_a_cell_of_another_size_is_not_on_the_page(write_cell):
    folder = write_cell(n_real=200)

    with pytest.raises(SystemExit, match="Run the command measure first"):
        main(["page", "--n-real", "20", "--out", str(folder)])


def test_what_is_measured_already_is_not_measured_again(
    write_cell, monkeypatch, capsys
):
    folder, measured = write_cell(split=1), []
    monkeypatch.setattr(promise, "measure", lambda h, _: measured.append(h["split"]))
    words = ["--n-real", "20", "--splits", "1", "2", "--tables", "wine"]

    main(["measure", *words, "--out", str(folder)])

    assert measured == [2]
    assert "1 of 2 to measure" in capsys.readouterr().out


def test_a_failure_is_told_and_leaves_no_file(tmp_path, monkeypatch, capsys):
    def fail(_):
        raise ValueError("no such luck")

    monkeypatch.setattr(promise, "_measured", fail)
    heading = {"table": "wine", "n_real": 20, "split": 0, "seed": 0}

    promise.measure({**heading, "preset": "fast", "teacher": "auto"}, tmp_path)

    assert "no such luck" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_fewer_partitions_deliver_rows_of_their_own_lineages(sums):
    lineages = Lineages(np.arange(80) % 5 + np.zeros((3, 1), np.int64), crossfit=True)
    pool = concat([sums.with_origin(unseen_fold=m) for m in lineages.members])

    rows = delivered(pool, lineages, 1)

    assert set(rows.unseen_fold) == set(range(5))
    assert len(rows) == len(sums)
