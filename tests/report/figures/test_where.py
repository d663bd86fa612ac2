from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from tabtap.fidelity import associations, measure_closeness, shape_errors
from tabtap.report.blocks import Figure, TableBlock, Text
from tabtap.report.columns import column_changes, column_remark, shapes_block
from tabtap.report.maps import (
    map_block,
    measure_relations,
    plane_of,
    relation_blocks,
    usual_share,
    where_section,
)
from tabtap.report.words import column_values
from tabtap.table import read_frame
from tabtap.table.table import concat

SVG = "{http://www.w3.org/2000/svg}"


def _frame(n, *, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    label = np.resize(["cat", "dog"], n)
    x = rng.normal(size=n) + (label == "cat")
    return pd.DataFrame(
        {
            "x": x + shift,
            "z": 0.8 * x + 0.3 * rng.normal(size=n),
            "w": rng.normal(size=n),
            "place": rng.choice(["north", "south", "east"], n),
            "y": label,
        }
    )


@pytest.fixture(scope="module")
def tables():
    """Return 60 real rows, and 80 whose x moved by about a deviation."""
    frames = pd.concat([_frame(60), _frame(80, seed=1, shift=1.2)], ignore_index=True)
    both = read_frame(frames, "y")
    return both.take(np.arange(60)), both.take(np.arange(60, 140))


@pytest.fixture(scope="module")
def moved(result_of, tables):
    return result_of(*tables)


@pytest.fixture(scope="module")
def bare(result_of, tables):
    return result_of(tables[0], tables[0].empty())


@pytest.fixture(scope="module")
def section(moved):
    return where_section(moved)


def test_the_map_is_the_plane_of_a_principal_component_analysis():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    frame = pd.DataFrame(numbers, columns=list("abcd"))
    table = read_frame(frame.assign(y=np.resize(["u", "v"], 50)), "y")

    plane = plane_of(table, table.take(np.arange(7)))

    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    pca = PCA(2).fit(scaled)
    expected = pca.transform(scaled)
    assert np.abs(plane.real) == pytest.approx(np.abs(expected))
    assert plane.synthetic == pytest.approx(plane.real[:7])
    assert plane.share == pytest.approx(pca.explained_variance_ratio_.sum())


def test_every_column_counts_the_same_in_the_map(build_table):
    rng = np.random.default_rng(0)
    code = rng.integers(3, size=90)
    table = build_table(np.zeros(90, int), rng.normal(size=90) * 1000, code)

    plane = plane_of(table, table.empty())

    # Two columns of spread 1; the two free directions of three levels share one.
    assert 0.5 < plane.share < 1.0


def test_a_map_has_a_panel_for_each_class(section):
    figure = section.blocks[0]
    texts = [e.text for e in ElementTree.fromstring(figure.svg).iter(f"{SVG}text")]

    assert "cat" in texts
    assert "dog" in texts
    assert texts.count("30 real, 40 synthetic") == 2


def test_the_title_of_the_map_says_how_many_rows_lie_outside(moved, section):
    near = measure_closeness(moved.real, moved.delivered.rows)
    share = (near.distance <= np.quantile(near.baseline, 0.95)).mean()

    assert usual_share(near) == share
    assert 0.5 <= share < 0.9
    assert section.blocks[0].title.startswith("Most new rows lie among the real ones, ")


def test_rows_that_are_all_elsewhere_are_said_to_be(result_of, tables):
    real, new = tables
    far = result_of(real.take(np.arange(59)), new.take(np.argsort(-new.cells[0])[:9]))

    block = map_block(far, measure_closeness(far.real, far.delivered.rows))

    assert usual_share(measure_closeness(far.real, far.delivered.rows)) < 0.5
    assert block.title == "Most new rows lie farther out than real ones do"


def test_a_single_number_has_no_map(shuffled):
    frame = pd.DataFrame({"x": np.arange(20) ** 2.1, "y": np.resize(["a", "b"], 20)})

    section = where_section(shuffled(frame, "y"))

    assert isinstance(section.blocks[0], Text)
    assert "no map" in section.blocks[0].paragraphs[0]


def test_the_column_that_moved_comes_first_and_is_named(moved, section):
    changes = column_changes(moved)

    expected = shape_errors(moved.real, moved.delivered.rows)
    assert changes.order[0] == 0
    assert changes.errors.tolist() == expected.tolist()
    assert 0 in changes.moved
    assert 2 not in changes.moved
    assert "x" in section.blocks[1].title
    assert "farther than chance" in section.blocks[1].title


def test_rows_drawn_again_do_not_move_a_column(result_of, tables):
    same = result_of(tables[0], tables[0])

    changes = column_changes(same)

    assert changes.moved == []
    title = shapes_block(same, changes).title
    assert title == "No column moved farther than chance would move it"


def test_the_remark_on_a_column_holds_its_medians(tables):
    real, new = tables

    remark = column_remark(column_values(real, new, 0))

    medians = [np.median(table.numeric[:, 0]) for table in tables]
    expected = " → ".join(f"{median:.3g}" for median in medians)
    assert remark == f"median {expected}".replace("-", "\u2212")


def test_the_remark_on_levels_names_the_one_that_moved_most(build_table):
    real = build_table(np.zeros(4), np.array([0, 0, 1, 2]))
    new = build_table(np.zeros(4), np.array([0, 2, 2, 2]))

    remark = column_remark(column_values(real, new, 0))

    assert remark.replace("\u202f", " ") == "level 2: 25 % → 75 %"


def test_a_wide_table_says_how_many_columns_are_not_shown(shuffled):
    rng = np.random.default_rng(0)
    names = [f"p{k}" for k in range(20)]
    frame = pd.DataFrame(rng.normal(size=(40, 20)), columns=names)

    section = where_section(shuffled(frame.assign(y=np.resize(["a", "b"], 40)), "y"))

    columns = section.blocks[1]
    assert columns.svg.count("<svg") == 1 + 12  # the key and the panels
    assert "9 more columns moved less" in columns.caption


def test_relations_are_those_before_and_after(moved):
    found = measure_relations(moved, [0, 1, 2, 3, -1])

    everyone = concat([moved.real, moved.delivered.rows])
    before = associations(moved.real, [0, 1, 2, 3, -1])
    after = associations(everyone, [0, 1, 2, 3, -1])
    assert found.before.tolist() == before.tolist()
    assert found.after.tolist() == after.tolist()
    i, j = found.pairs[0]
    assert abs(after - before)[i, j] == abs(after - before).max()
    assert found.chance > 0


def test_the_table_lists_the_relation_that_changed_most(moved, section):
    found = measure_relations(moved, [0, 1, 2, 3, -1])
    i, j = found.pairs[0]

    table = section.blocks[3]

    assert isinstance(table, TableBlock)
    assert table.rows[0][0] == f"{found.names[i]} and {found.names[j]}"
    shown = [float(text.replace("\u2212", "-")) for text in table.rows[0][1:]]
    change = found.after[i, j] - found.before[i, j]
    expected = [found.before[i, j], found.after[i, j], change]
    assert shown == pytest.approx(expected, abs=0.0051)


def test_without_new_rows_the_section_is_about_the_real_ones(bare):
    section = where_section(bare)

    titles = [block.title for block in section.blocks]
    assert len(titles) == 2
    assert titles[0].startswith("Two directions hold ")
    assert titles[1].startswith("x and z go together most, at 0.9")
    assert "synthetic" not in section.blocks[0].svg.replace("--synthetic", "")
    assert "var(--synthetic)" not in section.blocks[1].svg


def test_a_column_alone_has_no_relations(bare):
    assert relation_blocks(measure_relations(bare, [0]), has_new=False) == ()


def test_any_table_gives_figures_that_a_page_can_hold(any_result):
    section = where_section(any_result)

    figures = [block for block in section.blocks if isinstance(block, Figure)]
    ids = []
    for figure in figures:
        root = ElementTree.fromstring(figure.svg)
        ids += [e.get("id") for e in root.iter() if e.get("id")]
        assert not list(root.iter(f"{SVG}script"))
        assert figure.title
        assert figure.alt
        assert "nan" not in figure.svg.lower()
    assert figures
    assert len(ids) == len(set(ids))
