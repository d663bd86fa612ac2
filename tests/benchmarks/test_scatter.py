from xml.etree import ElementTree

import pytest
from scatter import Panel, Point, limits_of, scatter_svg

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_svg_with_a_dot_for_each_estimate():
    points = [
        Point(0.1, 0.2, 0.05, committed=True),
        Point(0.0, -0.1, -0.3, committed=False),
        Point(0.0, float("nan"), float("nan"), committed=False),
    ]

    root = ElementTree.fromstring(scatter_svg([Panel("a < b", "truth", points)] * 2))

    dots = root.findall(f".//{SVG}circle")
    assert [dot.get("fill") for dot in dots] == ["#1b7837", "#999999"] * 2


def test_bounds_far_away_are_cut_at_the_edge_of_the_plot():
    points = [Point(0.1, 0.2, float("-inf"), committed=True)]

    text = scatter_svg([Panel("one", "truth", points)])

    assert "inf" not in text
    assert "nan" not in text


def test_the_axes_hold_zero_and_all_but_the_farthest_points():
    points = [Point(1.0, 2.0, 0.0, committed=True)] * 200 + [
        Point(1.0, 100.0, 0.0, committed=True)
    ]

    low, high = limits_of(points)

    assert low < 0
    assert 2.0 < high < 3.0


def test_without_points_there_are_axes_still():
    assert limits_of([]) == pytest.approx((-1.0, 1.0))
