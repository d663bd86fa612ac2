"""A kind that a column cannot have is refused with the way to make it so."""

import pandas as pd
import pytest

from tabtap.errors import BadTableError
from tabtap.table import read_frame


@pytest.mark.parametrize("kind", ["continuous", "integer"])
def test_percentages_are_told_how_to_become_numbers(kind):
    rates = [f"{i}.5%" for i in range(12)]
    frame = pd.DataFrame({"rate": rates, "dose": range(0, 24, 2)})

    with pytest.raises(BadTableError) as caught:
        read_frame(frame, kinds={"rate": kind})

    said = str(caught.value)
    assert "It holds percentages as text. Convert it: frame['rate'] = " in said
    code = said.partition("frame['rate'] = ")[2].splitlines()[0].strip().rstrip(".")
    made = eval(code, {"frame": frame, "pd": pd})
    assert made.tolist()[:2] == pytest.approx([0.5, 1.5])


def test_dates_with_the_day_first_are_not_read_as_months():
    days = [f"{i + 10}.01.2021" for i in range(12)]
    frame = pd.DataFrame({"since": days, "dose": range(0, 24, 2)})

    with pytest.raises(BadTableError) as caught:
        read_frame(frame, kinds={"since": "datetime"})

    code = str(caught.value).partition("frame['since'] = ")[2].splitlines()[0]
    made = eval(code.strip().rstrip("."), {"frame": frame, "pd": pd})
    assert made.dt.month.unique().tolist() == [1]
