import json

import numpy as np
import pytest
from labels import ASKED, DRAWN, HALF, TAUGHT, main, tell, ways_of


def record_of(scores, teacher, changes):
    """Return a cell in which both learners fare alike; scores are means of ten rows."""
    spread = np.linspace(-0.01, 0.01, 10)
    rows = {pool: (mean + spread).tolist() for pool, mean in scores.items()}
    truth = {
        pool: {name: {"change": change} for name in ("linear", "lightgbm")}
        for pool, change in changes.items()
    }
    return {
        "task": "classification",
        "scores": {"linear": rows, "lightgbm": rows},
        "teacher": (teacher + spread).tolist(),
        "truth": truth,
    }


@pytest.fixture
def record():
    """Drawn rows are better, by the check and in truth; the teacher is a weak one."""
    scores = {"real": 0.7, TAUGHT: 0.7, ASKED: 0.6, DRAWN: 0.8, HALF: 0.7}
    changes = {TAUGHT: 1.0, ASKED: -2.0, DRAWN: 5.0, HALF: 3.0}
    return record_of(scores, 0.65, changes)


def test_rules_choose_by_scores_and_hindsight_by_the_truth(record):
    ways = ways_of(record, "linear")

    assert ways["always taught"] == TAUGHT
    assert ways["drawn, unless the teacher scores higher"] == DRAWN
    assert ways["taught or the same as asked, by the check"] == TAUGHT
    assert ways["taught or drawn, by the check"] == DRAWN
    assert ways["the better of taught and drawn, in hindsight"] == DRAWN


def test_a_teacher_that_scores_higher_than_the_learner_teaches(record):
    record["teacher"] = [0.9] * 10

    assert ways_of(record, "linear")["drawn, unless the teacher scores higher"] == (
        TAUGHT
    )


def test_a_rule_is_told_beside_always_teaching(record):
    (line,) = [row for row in tell([record]).splitlines() if "or drawn, by" in row]

    assert "+5.0" in line
    assert "+4.0" in line  # over always taught
    assert "2 of 2" in line


def test_what_is_in_the_file_is_told(record, tmp_path, capsys):
    out = tmp_path / "labels.jsonl"
    out.write_text(json.dumps(record) + "\n")

    main(["tell", "--out", str(out)])

    assert "always half and half" in capsys.readouterr().out
