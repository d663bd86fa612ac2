from xml.etree import ElementTree

import numpy as np
import pytest

from tabtap.compare.contest import summarise
from tabtap.compare.page import comparison_html, ranking, write_comparison

WRONG = [1.0] * 40 + [0.0] * 60


def record(method, losses, failure=None):
    return {
        "cell": {"method": method, "split": 0},
        "asked": list(range(len(losses))),
        "losses": {"LR": list(map(float, losses)), "KNN": list(map(float, losses))},
        "n_rows": 10,
        "failure": failure,
        "costs": {"cpu_seconds": {"method": 1.5}},
    }


@pytest.fixture
def comparison():
    mended = [0.0] * 20 + WRONG[20:]
    failed = {"reason": "no <class> has two rows"}
    return summarise(
        [record("Real", WRONG), record("SMOTE", mended), record("ARF", WRONG, failed)],
        "classification",
    )


def test_the_best_method_stands_first_with_its_interval(comparison):
    table = ranking(comparison)

    assert [row[0] for row in table.rows] == ["SMOTE", "Real", "ARF"]
    assert table.rows[0][1:3] == ("80.0", "+20.0")
    assert table.rows[1] == ("Real", "60.0", "-", "-", "0", "-")
    assert table.notes == ("ARF failed in 1 repeats: no <class> has two rows",)


def test_rows_of_a_group_are_said_to_count_as_one():
    records = [record("Real", WRONG), record("SMOTE", WRONG)]

    table = ranking(summarise(records, "classification", np.arange(100) // 4))

    assert table.title.endswith("100 real rows were asked, which count as 25")


def test_an_error_is_ranked_in_percent_of_the_real_one():
    comparison = summarise(
        [record("Real", [4.0, 4.0]), record("TAP", [3.0, 3.0])], "regression"
    )

    table = ranking(comparison)

    assert table.rows[0][:3] == ("TAP", "1.732", "+25.0")


def test_the_page_says_what_to_use_and_loads_nothing(comparison, tmp_path):
    path = write_comparison(comparison, tmp_path / "who.html")

    page = path.read_text(encoding="utf-8")
    assert "Use SMOTE" in page
    assert "1 of 2 methods are shown to help" in page
    assert "no &lt;class&gt; has two rows" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    picture = page[page.index("<svg") : page.index("</svg>") + len("</svg>")]
    ElementTree.fromstring(picture)


def test_the_page_says_so_if_nothing_helps():
    comparison = summarise(
        [record("Real", WRONG), record("SMOTE", [1.0] * 100)], "classification"
    )

    page = comparison_html(comparison)

    assert "Keep your rows as they are" in page
    assert "No method is shown to help" in page
