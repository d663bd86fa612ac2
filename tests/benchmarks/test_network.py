import network


def record(context, iterations, score):
    own = {"task": "regression", "context": context, "iterations": iterations}
    return {**own, "score": score, "plain": 2 * score, "seconds": 0.5}


def test_every_number_of_iterations_stands_beside_the_usual_one():
    cells = [
        [record("real rows", 50, 0.3), record("real rows", network.USUAL, 0.25)],
        [record("real rows", 50, 0.1), record("real rows", network.USUAL, 0.15)],
    ]

    lines = network.table_of(cells).splitlines()[2:]

    first, usual = ([c.strip() for c in line.strip("|").split("|")] for line in lines)
    assert first[2:5] == ["50", "2", "+0.0000 ± 0.0500"]
    assert usual[2:5] == ["200", "2", "+0.0000 ± 0.0000"]


def test_both_contexts_are_scored_with_each_number_of_iterations():
    found = list(network.fits("iris", 0, [5, network.USUAL]))

    assert [(r["context"], r["iterations"]) for r in found] == [
        ("real rows", 5),
        ("real rows", 200),
        ("with jitter", 5),
        ("with jitter", 200),
    ]
    assert all(0.5 < r["plain"] <= 1.0 for r in found)
