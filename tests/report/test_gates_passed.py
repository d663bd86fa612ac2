"""Rows left after each stage."""

from tabtap.report.blocks import Figure
from tabtap.report.course import gates_section, stages_of

THIN = "\u202f"


def titles(section):
    return [b.title for b in section.blocks if isinstance(b, Figure)]


def test_rows_left_fall_from_proposed_to_delivered(good):
    stages = [(stage.name, stage.n_left) for stage in stages_of(good)]

    assert stages == [
        ("Proposed", 80),
        ("Passed the gate \u201cdiversity\u201d", 64),
        ("Put to the test", 60),
        ("In a set that passed", 30),
        ("Delivered to you", 6),
    ]


def test_gates_that_refused_nothing_are_named_in_the_lead(good):
    assert "Nothing was refused by the gate \u201ctypes\u201d." in (
        gates_section(good).lead
    )


def test_the_title_says_the_share_and_the_gate(good):
    (title,) = titles(gates_section(good))

    assert title.replace(THIN, " ") == (
        "The gates refused 20 % of the proposed rows, most by \u201cdiversity\u201d"
    )
