"""A table looked over in Python: as text, in a notebook, and with columns of no use."""

import numpy as np
import pandas as pd
import pytest

import tabtap
from tabtap.errors import BadTableError


@pytest.fixture
def visits():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "<b>dose</b>": rng.normal(size=40).round(2),
            "patient": [f"p{i // 4}" for i in range(40)],
            "sick": ["no", "yes"] * 20,
        }
    )


def test_it_says_what_columns_are_and_what_to_look_at(visits):
    looked = tabtap.inspect(visits, "sick")

    assert looked.is_usable
    assert "groups" in {remark.topic for remark in looked.remarks}
    assert "40 rows" in repr(looked)
    assert "groups='patient'" in repr(looked)


def test_a_notebook_shows_a_table_and_a_list_without_foreign_markup(visits):
    shown = tabtap.inspect(visits, "sick")._repr_html_()

    assert shown.count("<th>") == shown.count("</th>") == 5
    assert shown.count("<tr>") == 1 + visits.shape[1]
    assert "&lt;b&gt;dose&lt;/b&gt;" in shown
    assert "<b>" not in shown
    assert "<li>" in shown


def test_what_the_user_has_named_is_not_remarked_on(visits):
    looked = tabtap.inspect(visits, "sick", groups="patient")

    assert "groups" not in {remark.topic for remark in looked.remarks}


def test_a_column_of_no_use_is_one_remark_among_others(visits):
    said = [
        f"Came in on day {i}, was tired, and was sent home again." for i in range(40)
    ]

    looked = tabtap.inspect(visits.assign(notes=said), "sick")

    assert not looked.is_usable
    assert looked.remarks[0].column == "notes"
    assert "notes" in repr(looked)
    assert "groups" in {remark.topic for remark in looked.remarks}


def test_a_target_of_no_use_is_refused(visits):
    with pytest.raises(BadTableError):
        tabtap.inspect(visits.assign(sick="yes"), "sick")


def test_a_tidy_table_has_nothing_to_be_said_of():
    rng = np.random.default_rng(0)
    tidy = pd.DataFrame(rng.normal(size=(200, 3)), columns=["x1", "x2", "x3"])
    tidy["sick"] = rng.choice(["no", "yes"], 200)

    looked = tabtap.inspect(tidy, "sick")

    assert looked.remarks == ()
    assert "Nothing stands out." in repr(looked)
    assert "Nothing stands out." in looked._repr_html_()
