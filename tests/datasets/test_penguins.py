"""The built-in table is the published one, with its holes."""

from tabtap.datasets import load_penguins

MEASUREMENTS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def test_every_bird_and_every_column_is_there():
    birds = load_penguins()

    assert birds.shape == (344, 8)
    assert list(birds) == ["species", "island", *MEASUREMENTS, "sex", "year"]


def test_species_are_as_many_as_were_published():
    species = load_penguins()["species"]

    counts = species.value_counts().to_dict()

    assert counts == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}


def test_missing_values_are_kept_and_only_where_they_were():
    holes = load_penguins().isna()

    per_column = holes.sum()

    assert per_column[MEASUREMENTS].tolist() == [2, 2, 2, 2]
    assert per_column["sex"] == 11
    assert per_column[["species", "island", "year"]].tolist() == [0, 0, 0]
    assert holes[holes[MEASUREMENTS].any(axis="columns")]["sex"].all()


def test_known_birds_have_their_published_values():
    birds = load_penguins()

    first, last = birds.iloc[0], birds.iloc[-1]

    assert first.tolist() == [
        "Adelie", "Torgersen", 39.1, 18.7, 181.0, 3750.0, "male", 2007
    ]  # fmt: skip
    assert last.tolist() == [
        "Chinstrap", "Dream", 50.2, 18.7, 198.0, 3775.0, "female", 2009
    ]  # fmt: skip


def test_each_call_returns_a_frame_of_its_own():
    spoiled = load_penguins()

    spoiled.loc[:, "island"] = "Nowhere"

    assert "Nowhere" not in set(load_penguins()["island"])
