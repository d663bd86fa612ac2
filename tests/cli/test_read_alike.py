"""A file to test on is read as TRAIN was, or it is said where it cannot be."""

import pytest

from tabtap.cli.reading import TableOptions, read, read_alike
from tabtap.errors import UserInputError

TRAIN = """day;cost;mass;sex;sick
03.04.2020;1.156,5;70,5 kg;male;yes
25.04.2020;2.300,0;81,0 kg;Male;no
11.05.2020;980,5;64,0 kg;female;yes
30.06.2020;1.020,0;77,0 kg;male;no
"""


@pytest.fixture
def train(tmp_path):
    (tmp_path / "train.csv").write_text(TRAIN * 1, encoding="utf-8")
    return read(TableOptions(train=str(tmp_path / "train.csv"), target="sick"))


def write(tmp_path, *rows):
    path = tmp_path / "later.csv"
    lines = ["day;cost;mass;sex;sick", *rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_what_train_settled_is_taken_over(tmp_path, train):
    # By itself 1.156 could be a little more than one, and MALE another sex.
    path = write(tmp_path, "03.04.2021;1.156;70,5 kg;MALE;yes")

    later, _ = read_alike(path, train)

    row = later.iloc[0]
    assert row["cost"] == 1156
    assert (row["day"].month, row["mass"], row["sex"]) == (4, 70.5, "male")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("03.04.2021;1,5;70,5 g;male;yes", "column 'mass' is in 'kg' in TRAIN, and"),
        ("03.04.2021;1,5;70,5;male;yes", "and in no unit there"),
        ("03.04.2021;cheap;70,5 kg;male;yes", "column 'cost' holds numbers in TRAIN"),
        ("2021-04-03;1,5;70,5 kg;male;yes", "no date of the form %d.%m.%Y"),
    ],
    ids=["another unit", "none", "words", "another date"],
)
def test_what_cannot_be_read_alike_is_said(tmp_path, train, row, said):
    path = write(tmp_path, row, row)

    with pytest.raises(UserInputError, match=said.replace(".", r"\.")):
        read_alike(path, train)


def test_columns_that_are_lacking_are_named(tmp_path, train):
    path = tmp_path / "later.csv"
    path.write_text("cost;sick\n1,5;yes\n", encoding="utf-8")

    with pytest.raises(UserInputError, match="lacks columns that TRAIN has: day, mass"):
        read_alike(str(path), train)
