from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tabtap.compare.advice import headline
from tabtap.compare.page import comparison_html, matrix, ranking, write_comparison
from tabtap.compare.printing import as_text
from tabtap.compare.standings import AskedRows, summarise

USUAL = ("Copies", "Jitter", "SMOTE", "ARF", "TVAE", "TabDDPM", "TAP")


@pytest.fixture
def comparison(coins, record, sure):
    records = [
        record("Real", linear=sure(60), forest=sure(55)),
        record("SMOTE", seconds=1.5, linear=sure(58), forest=sure(80)),
        record("ARF", reason="no <class> has two rows", linear=sure(50),
               forest=sure(50)),
    ]  # fmt: skip
    return summarise(records, coins, learners={"linear": "LogisticRegression(), <1>"})


def test_the_best_method_stands_first_with_its_learner_and_its_interval(comparison):
    table = ranking(comparison)

    assert [row[:2] for row in table.rows] == [
        ("SMOTE", "forest"), ("Real", "linear"), ("ARF", "linear"),
    ]  # fmt: skip
    assert table.header[2:4] == ("accuracy", "gain, points")
    assert table.rows[0][2] == "0.800"
    assert table.rows[0][3].startswith("+20.0 ± ")
    assert table.rows[0][4].startswith("+0.160 ± ")
    assert table.rows[1][2:] == ("0.600", "-", "-", "0", "-")
    assert table.notes[0] == "ARF failed in 1 repeats: no <class> has two rows"
    assert "No learner was named" in table.notes[-1]


def test_rows_of_a_group_are_said_to_count_as_one(coins, record, sure):
    fours = replace(coins, groups=np.arange(100) // 4)

    table = ranking(summarise([record("Real", forest=sure(60))], fours))

    assert table.title.endswith("100 real rows were asked, which count as 25")


def test_cuts_and_bars_are_set_beside_those_of_tabtap_augment(coins, record, sure):
    twice = replace(coins, fold=np.stack([coins.fold] * 2), n_trained_folds=5)

    gains, cuts, _ = ranking(summarise([record("Real", forest=sure(60))], twice)).notes

    assert "the bars of tabtap augment are of one gain each" in gains
    assert cuts.startswith("Your rows were cut 2 times into 5 parts, as tabtap augment")


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        ("forest", "All is about forest, the learner that you will train."),
        ("panel", "Figures are means over linear, forest."),
    ],
)
def test_it_is_said_whom_it_is_about(coins, record, sure, promise, said):
    real = record("Real", linear=sure(60), forest=sure(60))

    assert ranking(summarise([real], coins, promise)).notes[-1] == said


def test_the_matrix_has_every_learner_with_every_method(comparison):
    table = matrix(comparison)

    assert table.header == ("learner", "Real", "SMOTE", "ARF")
    assert table.rows == (
        ("linear", "0.600*", "0.580  ", "0.500 "),
        ("forest", "0.550 ", "0.800**", "0.500 "),
    )


def test_a_learner_that_was_not_trained_has_no_figure(coins, record, sure):
    records = [
        record("Real", linear=sure(60), forest=sure(55)),
        record("SMOTE", forest=sure(70)),
    ]

    table = matrix(summarise(records, coins, "forest"))

    assert [cell.strip() for cell in table.rows[0]] == ["linear", "0.600*", "-"]


def test_of_equals_real_rows_are_marked(coins, record, sure):
    records = [record("Real", linear=sure(60)), record("SMOTE", linear=sure(60))]

    ((_, real, smote),) = matrix(summarise(records, coins)).rows

    assert (real, smote) == ("0.600**", "0.600 ")


def test_the_usual_methods_fit_into_a_terminal_side_by_side(coins, record, sure):
    named = ("linear", "small_leaves")
    records = [
        record(name, **dict.fromkeys(named, sure(60 + place)))
        for place, name in enumerate(("Real", *USUAL))
    ]
    comparison = summarise(records, coins)

    for table in (ranking(comparison), matrix(comparison)):
        text = as_text(replace(table, notes=()))
        assert max(map(len, text.splitlines())) <= 80


def test_the_smallest_error_is_the_best_and_all_have_the_same_decimals(make_table, rng):
    truth = rng.normal(size=50)
    asked = AskedRows(make_table(truth), np.arange(50) // 10)

    def answered(method, **errors):
        return {
            "cell": {"method": method, "split": 0},
            "asked": list(range(50)),
            "answers": {name: truth + error for name, error in errors.items()},
            "n_rows": 10,
            "failure": None,
            "costs": {"cpu_seconds": {}},
        }

    records = [
        answered("Real", linear=200.0, forest=400.0),
        answered("TAP", linear=150.0, forest=12.34),
    ]
    comparison = summarise(records, asked)

    assert matrix(comparison).rows == (
        ("linear", "200.0 ", "150.0* "),
        ("forest", "400.0 ", "12.3**"),
    )
    assert ranking(comparison).header[2:4] == ("RMSE", "gain, %")
    assert ranking(comparison).rows[0][:3] == ("TAP", "forest", "12.3")


def test_the_page_says_what_to_do_and_loads_nothing(comparison, tmp_path):
    path = write_comparison(comparison, tmp_path / "who.html")

    page = path.read_text(encoding="utf-8")
    assert "Train a random forest on your rows and those of SMOTE" in page
    assert "1 of 2 methods are shown to help" in page
    assert "no &lt;class&gt; has two rows" in page
    assert "LogisticRegression(), &lt;1&gt;" in page
    assert "0.800**" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    picture = page[page.index("<svg") : page.index("</svg>") + len("</svg>")]
    ElementTree.fromstring(picture)


def test_the_page_has_what_was_seen_and_whom_nobody_tested(comparison):
    notes = ("Column '<b>' has 12 values that come back.",)

    page = comparison_html(replace(comparison, likely_groups="<b>", notes=notes))

    assert "What was seen in the table" in page
    assert "has 12 values that come back." in page
    assert "those of SMOTE. No new" in page
    assert "<b>" not in page.partition("<main")[2]
    assert "What was seen in the table" not in comparison_html(comparison)


def test_the_page_says_so_if_nothing_helps(coins, record, sure):
    records = [record("Real", linear=sure(60)), record("SMOTE", linear=sure(0))]

    page = comparison_html(summarise(records, coins))

    assert "Use logistic regression and no new rows" in page
    assert "No method is shown to help" in page


def test_a_notebook_shows_what_to_use(comparison):
    box = comparison._repr_html_()

    assert box.startswith("<div")
    assert headline(comparison) in box
