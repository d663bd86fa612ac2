import warnings

import numpy as np
import pytest
import torch

from tabtap.errors import EvaluatorLimitWarning, UserInputError, WeightsError
from tabtap.evaluate import tabpfn_v1
from tabtap.evaluate.tabpfn_v1 import (
    Question,
    Rows,
    TabPFNv1,
    answer,
    ask,
    conclude,
    mutual_information,
    permutations,
    prepare_rows,
)

# ---- The evaluator.


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def small(small_weights):
    return TabPFNv1(weights=small_weights, device="cpu", precision="float32")


@pytest.fixture
def table(build_table, rng):
    """Thirty rows of three classes: two numbers with a hole, and a category."""
    numbers = rng.normal(size=(2, 30))
    numbers[0, 3] = np.nan
    return build_table(np.arange(30) % 3, *numbers, rng.integers(0, 3, 30))


def test_probabilities_are_those_of_the_authors_classifier(
    build_table, reference, tabpfn_v1_weights
):
    # The package's first ensemble member rolls the columns by ten places.
    known = np.roll(reference["wine_train_X"], 10, axis=1)
    asked = np.roll(reference["wine_test_X"], 10, axis=1)
    context = build_table(reference["wine_train_y"], *known.T)
    queries = build_table(np.zeros(len(asked), dtype=int), *asked.T)
    judge = TabPFNv1(weights=tabpfn_v1_weights, device="cpu", precision="float32")

    (found,) = judge.predict([context], [queries])

    expected = reference["wine_package_proba"]
    assert np.abs(found.probabilities - expected).max() < 1e-4


@pytest.mark.parametrize("n_permutations", [1, 4])
def test_folds_asked_together_are_answered_as_alone(
    small_weights, table, n_permutations
):
    judge = TabPFNv1(
        weights=small_weights,
        device="cpu",
        precision="float32",
        n_permutations=n_permutations,
    )
    contexts = [table.take(np.arange(n)) for n in (30, 8, 29, 3)]
    queries = [table.take(np.arange(n)) for n in (4, 30, 1, 0)]

    together = judge.predict(contexts, queries)

    for context, asked, found in zip(contexts, queries, together, strict=True):
        (alone,) = judge.predict([context], [asked])
        assert np.allclose(found.probabilities, alone.probabilities, atol=1e-5)


@pytest.mark.parametrize("n_rows", [1, 3, 17])
def test_a_query_is_answered_the_same_whatever_its_company(small, table, n_rows):
    (everyone,) = small.predict([table], [table])

    (few,) = small.predict([table], [table.take(np.arange(n_rows))])

    gap = np.abs(few.probabilities - everyone.probabilities[:n_rows])
    assert gap.max() < 1e-6


def test_averaging_over_permutations_changes_answers(small, small_weights, table):
    judge = TabPFNv1(weights=small_weights, device="cpu", n_permutations=3)

    (one,), (three,) = (j.predict([table], [table]) for j in (small, judge))

    assert np.abs(one.probabilities - three.probabilities).max() > 1e-3
    assert np.allclose(three.probabilities.sum(axis=1), 1.0)


def test_a_class_that_the_context_lacks_gets_nothing(small, table):
    context = table.take(table.target != 1)

    (found,) = small.predict([context], [table])

    assert (found.probabilities[:, 1] == 0).all()
    assert np.allclose(found.probabilities.sum(axis=1), 1.0)


def test_a_context_of_one_class_is_certain(small, table):
    (found,) = small.predict([table.take(table.target == 2)], [table])

    assert np.array_equal(found.probabilities, np.tile([0.0, 0.0, 1.0], (30, 1)))


def test_limits_are_each_announced_once_and_answered_beyond(small, build_table, rng):
    long = build_table(np.arange(1100) % 2, rng.normal(size=1100))
    wide = build_table(np.arange(44) % 11, *rng.normal(size=(101, 44)))
    contexts = [long, wide, long, wide]

    with pytest.warns(EvaluatorLimitWarning) as told:
        found = small.predict(contexts, [c.take(np.arange(2)) for c in contexts])

    texts = [str(one.message) for one in told]
    assert [text.split(";")[0] for text in texts] == [
        "TabPFN v1 reads at most 1000 context rows",
        "TabPFN v1 reads at most 100 columns, a category counting once per level",
        "TabPFN v1 knows at most 10 classes",
    ]
    assert all(one.filename == __file__ for one in told)
    assert [each.probabilities.shape[1] for each in found] == [2, 11, 2, 11]
    for each in found:
        assert np.allclose(each.probabilities.sum(axis=1), 1.0)


def test_a_table_at_the_limits_is_not_warned_about(small, build_table, rng):
    table = build_table(np.arange(1000) % 10, *rng.normal(size=(100, 1000)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = small.predict([table], [table.take(np.arange(1))])

    assert len(found) == 1


def test_threads_and_gradients_are_left_as_they_were(small, table):
    before = torch.get_num_threads()

    small.predict([table.take(np.arange(5))], [table.take(np.arange(5))])

    assert torch.get_num_threads() == before
    assert torch.is_grad_enabled()


def test_regression_is_refused_with_a_way_out(small, make_table):
    numbers = make_table([1.0, 2.0])

    with pytest.raises(UserInputError, match="predicts class labels"):
        small.predict([numbers], [numbers])


def test_without_weights_the_first_question_says_how_to_get_them(
    table, tmp_path, monkeypatch
):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path))
    judge = TabPFNv1(device="cpu")

    with pytest.raises(WeightsError, match=r"fetch_weights\('tabpfn-v1'\)"):
        judge.predict([table], [table])


def test_a_precision_that_the_cpu_cannot_compute_is_refused(
    small_weights, table, monkeypatch
):
    monkeypatch.setattr(tabpfn_v1, "multiplies_bfloat16", lambda: False)
    judge = TabPFNv1(weights=small_weights, device="cpu", precision="bfloat16")

    with pytest.raises(UserInputError, match="precision='bfloat16' is not usable"):
        judge.predict([table], [table])


@pytest.mark.parametrize(
    "setting", [{"n_permutations": 0}, {"precision": "float16"}], ids=str
)
def test_settings_that_cannot_be_are_refused(setting):
    with pytest.raises(UserInputError, match=f"{next(iter(setting))}=.*is not usable"):
        TabPFNv1(**setting)


# ---- Its questions.


class CountsLabels:
    """A network whose answer is known: how often each label is in the context."""

    def __init__(self):
        self.batch_sizes = []

    def logits(self, batch):
        self.batch_sizes.append(len(batch.context))
        is_label = batch.labels[..., None] == torch.arange(10)
        counts = (is_label & batch.is_row[..., None]).sum(dim=1).float()
        # Times 0.8, which is what answers are divided by.
        scores = 0.8 * counts.log().clamp(min=-50)
        return scores[:, None].expand(-1, batch.queries.shape[1], -1)


def question(labels, n_queries=3):
    labels = np.asarray(labels)
    features = np.zeros((len(labels), 2))
    return Question(features, labels, int(labels.max()) + 1, np.zeros((n_queries, 2)))


def rows_of(labels, n_columns=3):
    labels = np.asarray(labels)
    features = np.arange(len(labels) * n_columns, dtype=float).reshape(-1, n_columns)
    classes = np.unique(labels)
    return Rows(
        features, labels, classes, features[:2], is_cut=False, is_narrowed=False
    )


def test_answers_come_in_the_order_of_questions_whatever_the_batches():
    labels = [[0, 1], [0] * 30 + [1] * 10, [0, 0, 1, 2], [0] * 31 + [1] * 10]
    network = CountsLabels()

    found = answer(network, [question(some) for some in labels])

    for some, probabilities in zip(labels, found, strict=True):
        expected = np.bincount(some) / len(some)
        assert np.allclose(probabilities, np.tile(expected, (3, 1)))
    assert sorted(network.batch_sizes) == [1, 1, 2]


def test_very_many_queries_are_asked_in_parts():
    network = CountsLabels()

    (found,) = answer(network, [question([0, 0, 1], n_queries=5000)])

    assert found.shape == (5000, 2)
    assert np.allclose(found, [2 / 3, 1 / 3])


def test_a_question_without_queries_has_an_empty_answer():
    (found,) = answer(CountsLabels(), [question([0, 1], n_queries=0)])

    assert found.shape == (0, 2)


def test_the_first_permutation_changes_nothing_and_all_differ():
    found = permutations(4, 3, 10, seed=0)

    assert found[0] == (0, 0)
    assert len(set(found)) == 10
    assert all(0 <= roll < 4 and 0 <= shift < 3 for roll, shift in found)


def test_there_are_no_more_permutations_than_there_are():
    assert len(permutations(2, 3, 100, seed=0)) == 6
    assert permutations(0, 1, 5, seed=0) == [(0, 0)]


@pytest.mark.parametrize("n_classes", [3, 12])
def test_labels_come_back_from_every_permutation(n_classes):
    labels = np.repeat(np.arange(n_classes), np.arange(1, n_classes + 1))
    rows = rows_of(labels)
    asked = ask(rows, n_permutations=6, seed=0)
    found = [answer(CountsLabels(), member) for member in asked]

    probabilities = conclude(rows, found, n_permutations=6, seed=0)

    assert np.allclose(probabilities, np.bincount(labels) / len(labels))


def test_more_classes_than_ten_are_asked_one_against_the_rest():
    (member,) = ask(rows_of(np.arange(11)), n_permutations=1, seed=0)

    assert len(member) == 11
    assert [some.labels.tolist() for some in member] == np.eye(11).tolist()


def test_columns_of_context_and_queries_are_rolled_together():
    rows = rows_of([0, 1, 0])

    for (some,) in ask(rows, n_permutations=5, seed=0):
        assert np.array_equal(some.context[:2], some.queries)


# ---- Its rows.


def test_numbers_are_standardised_by_the_context_and_spread_over_100(build_table, rng):
    values = rng.normal(5.0, 3.0, 30)
    table = build_table(np.arange(30) % 2, values, rng.normal(size=30))

    rows = prepare_rows(table, table, seed=0)

    expected = (values - values.mean()) / values.std(ddof=1) * 100 / 2
    assert np.allclose(rows.context[:, 0], expected, atol=1e-3)
    assert np.array_equal(rows.context, rows.queries)


def test_queries_do_not_move_the_scale_of_the_context(build_table, rng):
    table = build_table(np.arange(30) % 2, rng.normal(size=30))
    far = build_table([0, 1], np.array([1e6, -1e6]))

    alone = prepare_rows(table, table, seed=0)
    beside = prepare_rows(table, far, seed=0)

    assert np.array_equal(alone.context, beside.context)


def test_outliers_are_drawn_in_but_stay_outside(build_table, rng):
    values = np.append(rng.normal(size=59), 1000.0)
    table = build_table(np.arange(60) % 2, values)

    rows = prepare_rows(table, table, seed=0)

    z = rows.context[:, 0] / 100
    plain = (values[-1] - values.mean()) / values.std(ddof=1)
    assert z[:-1].max() < z[-1] < plain


def test_a_column_that_does_not_vary_is_left_out(build_table, rng):
    table = build_table(np.arange(20) % 2, np.full(20, 3.0), rng.normal(size=20))

    assert prepare_rows(table, table, seed=0).context.shape == (20, 1)


def test_missing_numbers_are_the_mean_and_missing_categories_a_level(build_table, rng):
    values = rng.normal(size=20)
    values[0] = np.nan
    codes = np.arange(20) % 2
    codes[1] = -1
    table = build_table(np.arange(20) % 2, values, codes)

    rows = prepare_rows(table, table, seed=0)

    assert rows.context.shape == (20, 4)
    assert rows.context[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert rows.context[1, 1] > 0 > rows.context[2, 1]


def test_numbers_of_any_size_are_read(build_table, rng):
    values = rng.normal(size=20)
    plain, huge, tiny = (
        build_table(np.arange(20) % 2, values * size) for size in (1.0, 1e300, 1e-300)
    )

    rows = [prepare_rows(table, table, seed=0) for table in (plain, huge, tiny)]

    assert np.allclose(rows[0].context, rows[1].context, rtol=1e-4)
    assert np.allclose(rows[0].context, rows[2].context, rtol=1e-4)


def test_a_level_that_the_context_lacks_is_no_level(build_table):
    table = build_table([0, 1, 0, 1], np.array([0, 1, 2, 0]))
    context = table.take(np.array([0, 1]))

    rows = prepare_rows(context, table, seed=0)

    assert rows.queries.shape == (4, 2)
    assert (rows.queries[2] < 0).all()


def test_labels_are_counted_without_gaps(build_table, rng):
    table = build_table([4, 1, 4, 1], rng.normal(size=4))

    rows = prepare_rows(table, table, seed=0)

    assert rows.labels.tolist() == [1, 0, 1, 0]
    assert rows.classes.tolist() == [1, 4]


def test_one_row_is_a_context(build_table):
    table = build_table([0], np.array([2.0]))

    assert prepare_rows(table, table, seed=0).context.shape == (1, 0)


def test_no_queries_are_no_rows(build_table, rng):
    table = build_table([0, 1, 0], rng.normal(size=3))

    assert prepare_rows(table, table.empty(), seed=0).queries.shape == (0, 1)


def test_a_large_context_is_cut_by_class_shares_and_keeps_rare_classes(
    build_table, rng
):
    labels = np.repeat([0, 1, 2, 3, 4], [1400, 597, 1, 1, 1])
    table = build_table(labels, rng.normal(size=2000))

    rows = prepare_rows(table, table.take(np.arange(3)), seed=0)

    assert rows.is_cut
    assert np.bincount(rows.labels)[2:].tolist() == [1, 1, 1]
    assert np.abs(np.bincount(rows.labels)[:2] - [700, 298.5]).max() < 2
    assert np.bincount(rows.labels).sum() == 1000


def test_a_context_of_exactly_1000_rows_is_kept_whole(build_table, rng):
    table = build_table(np.arange(1000) % 2, rng.normal(size=1000))

    rows = prepare_rows(table, table.empty(), seed=0)

    assert (rows.is_cut, len(rows.context)) == (False, 1000)


def test_of_too_many_columns_the_telling_ones_are_kept_in_their_order(build_table, rng):
    labels = np.arange(60) % 2
    telling = [labels * 3.0 + rng.normal(size=60) for _ in range(5)]
    noise = [rng.normal(size=60) for _ in range(120)]
    table = build_table(labels, *noise, *telling)

    rows = prepare_rows(table, table, seed=0)

    assert rows.is_narrowed
    assert rows.context.shape == (60, 100)
    apart = rows.context[labels == 1].mean(axis=0) - rows.context[labels == 0].mean(
        axis=0
    )
    assert (apart[-5:] > 1.0).all()


def test_mutual_information_knows_copies_halves_and_noise(rng):
    labels = np.arange(400) % 2
    half = np.where(rng.random(400) < 0.5, labels, rng.integers(0, 2, 400))
    columns = np.column_stack([labels, half, rng.normal(size=400), np.zeros(400)])

    told = mutual_information(columns.astype(float), labels)

    assert told[0] == pytest.approx(np.log(2), abs=0.01)
    assert told[0] > told[1] > 0.05 > abs(told[2])
    assert told[3] == 0.0


def test_noise_says_nothing_on_average_however_many_values_it_has(rng):
    labels = np.arange(400) % 2
    many = rng.normal(size=(400, 200))
    two = (many > 0).astype(float)

    told = [mutual_information(columns, labels).mean() for columns in (many, two)]

    assert np.abs(told).max() < 0.002  # 0.009 and 0.001 if chance were not taken off
