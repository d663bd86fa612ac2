import evaluators
import pytest
from contenders import Answer
from evaluators_tables import OURS
from records import read_records

from tabtap.evaluate import HoldoutEvaluator


@pytest.fixture(autouse=True)
def few_and_small(monkeypatch):
    """Let questions be fewer and smaller than those that are published."""
    monkeypatch.setattr(evaluators, "SIZES", ((40, 3), (40, 5), (60, 3)))
    monkeypatch.setattr(evaluators, "CONTEXTS", (20, 200))


@pytest.fixture
def only_holdout(monkeypatch):
    """Let a single quick evaluator be there, and another one not."""
    found = {"holdout": HoldoutEvaluator()}, {"tabicl": "it is not installed"}
    monkeypatch.setattr(evaluators, "contenders", lambda _task: found)
    monkeypatch.setattr(evaluators, "PRODUCT_REPEATS", 2)


@pytest.mark.usefixtures("only_holdout")
def test_every_part_is_written_with_its_commit(tmp_path, capsys):
    out = tmp_path / "e.jsonl"

    evaluators.main(["--repeats", "1", "--seeds", "1", "--out", str(out)])

    records = read_records(out)
    parts = [record["part"] for record in records]
    assert {part: parts.count(part) for part in dict.fromkeys(parts)} == {
        **{"limit": 2, "absent": 2, "speed": 6},
        "quality": 7,  # two sizes of four tables; wine has no 200 rows to spare
    }
    assert all("commit" in record for record in records)
    assert all(record["seconds"] > 0 for record in records if "seconds" in record)
    assert "quality digits 200 holdout" in capsys.readouterr().out


@pytest.mark.usefixtures("only_holdout")
def test_what_is_too_slow_is_not_asked_larger_questions(monkeypatch):
    monkeypatch.setattr(evaluators, "ask", lambda *_: Answer((), 31.0))

    records = list(evaluators.measure_speed(1))

    sizes = [r["n_features"] for r in records if r["part"] == "speed"]
    assert sizes == [3, 3]  # the first size of each task


def test_the_package_is_asked_the_same_questions_as_ours(monkeypatch):
    found = {OURS: HoldoutEvaluator(), "panel": None}, {}
    monkeypatch.setattr(evaluators, "contenders", lambda _task: found)
    asked = []

    def answer(_python, questions, n_members, repeats):
        asked.append((n_members, repeats, len(questions)))
        predictions = HoldoutEvaluator().predict
        return [
            Answer(tuple(predictions(q.contexts, q.queries)), 2.0) for q in questions
        ]

    monkeypatch.setattr(evaluators, "ask_package", answer)

    records = list(evaluators.measure_package("python", 4, [0]))

    assert asked == [(1, 4, 3), (3, 4, 3), (32, 4, 2), (1, 1, 5), (3, 1, 5)]
    ours = [r["n_features"] for r in records if r.get("evaluator") == OURS]
    assert ours == [3, 5, 3]
    quality = [record for record in records if record["part"] == "package quality"]
    assert len(quality) == 10
    assert all(0.5 < record["score"] <= 1 for record in quality)
