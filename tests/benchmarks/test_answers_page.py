import pytest
from answers_page import (
    answers_page,
    bound_table,
    budget_pairs,
    finished,
    harm_table,
    harmed,
    noise_table,
    power_table,
    promises,
    seed_pairs,
    span,
    stable_table,
    stated_change,
    sureness_table,
    unfinished,
)


def changed(change, error=0.0):
    return {"change": change, "error": error, "score": 0.0, "score_error": 0.0}


@pytest.fixture
def make_run():
    """Build a record of ``follow``; only what a test is about need be given."""

    def make(change=None, *, error=0.0, checks=(), **other):
        record = {
            **{"kind": "follow", "table": "wine", "n_real": 50, "split": 0, "seed": 0},
            **{"preset": "fast", "learner": "auto", "budget": 500},
            **{"task": "classification", "checks": list(checks), "figures": []},
            **{"seconds": {"run": 1.0, "all": 2.0}, "commit": "abc"},
            "verdict": "no_gain" if change is None else "augment",
        }
        if change is not None:
            whose = ("followed", "promised", "best alone", "predictors")
            rows = {who: changed(change, error) for who in whose}
            none = {who: changed(0.0) for who in whose}
            record["changes"] = {"new rows": rows, "copies": none, "jitter": none}
        return {**record, **other}

    return make


def check(gain, *, lower=0.001, truth=0.0, committed=True, first=True):
    """Build a check whose true gain is ``gain`` points, and ``truth`` of the loss."""
    return {
        **{"committed": committed, "first": first},
        "over_real": {"gain": 0.1, "margin": 0.1, "lower": lower, "confidence": 0.9},
        "share_at_least": lower / 0.5,  # of a loss of one half
        "truth": {**changed(gain), "share": truth / 0.5, "share_error": 0.02},
    }


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_harm_is_more_than_a_point_or_two_per_cent(make_run):
    runs = [
        make_run(-1.5),
        make_run(-0.9),
        make_run(-1.5, task="regression"),
        make_run(-2.5, task="regression"),
    ]

    assert harmed(runs, "followed", beyond=0.0) == (2, 4)


def test_harm_beyond_noise_is_sure_of_the_test_rows(make_run):
    runs = [make_run(-3.0, error=1.0), make_run(-3.0, error=1.5)]

    assert harmed(runs, "followed", beyond=1.64) == (1, 2)


def test_harm_is_told_by_whose_tables(make_run):
    runs = [
        make_run(-3.0, table="wine"),
        make_run(3.0, table="glass"),
        make_run(None, table="glass"),
        make_run(3.0, table="boats"),
    ]

    lines = [cells_of(line) for line in harm_table(runs).splitlines()[2:]]

    assert [line[1:4] for line in lines] == [
        ["more", "1 of 2", "0 of 1 (0 %)"],
        ["others", "1 of 1", "0 of 1 (0 %)"],
        ["scikit-learn's", "1 of 1", "1 of 1 (100 %)"],
        ["all", "3 of 4", "1 of 3 (33 %)"],
    ]


def test_a_bound_is_held_to_the_truth_of_its_own_pool(make_run):
    checks = [
        check(1.0, lower=0.05, truth=0.06),
        check(1.0, lower=0.05, truth=0.04),
        check(1.0, lower=0.05, truth=0.01, committed=False),
        {**check(1.0), "truth": None},
    ]
    runs = [make_run(1.0, checks=checks)]

    lines = [cells_of(line) for line in bound_table(runs).splitlines()[2:]]

    assert len(promises(runs)) == 3
    assert len(promises(runs, committed=True)) == 2
    assert [line[1:] for line in lines] == [
        ["all", "3", "90.0", "33.3", "33.3"],
        ["all, points of accuracy", "3", "90.0", "33.3", "33.3"],
        ["let in", "2", "90.0", "50.0", "0.0"],
        ["let in, points of accuracy", "2", "90.0", "50.0", "0.0"],
        ["refused", "1", "90.0", "0.0", "100.0"],
    ]


def test_power_counts_pools_that_came_first_and_runs_that_had_any(make_run):
    runs = [
        make_run(6.0, checks=[check(6.0), check(8.0, committed=False, first=False)]),
        make_run(
            None, checks=[check(7.0, committed=False), check(1.5, committed=False)]
        ),
    ]

    lines = [cells_of(line)[2:] for line in power_table(runs).splitlines()[2:]]

    assert lines[0] == ["more than 5", "1 of 2 (50 %)", "1 of 2 (50 %)"]
    assert lines[1] == ["2 to 5", "0 of 0", "0 of 0"]
    assert lines[2] == ["1 to 2", "0 of 1 (0 %)", "0 of 1 (0 %)"]
    assert lines[-1] == ["0 or less", "0 of 0", "0 of 0"]


def test_a_stated_rmse_is_told_in_per_cent_of_the_best_alone(make_run):
    figure = {
        **{"name": "RMSE", "larger_is_better": False},
        **{"best_alone": [2.0, 0.1], "change": [-0.5, 0.2]},
    }

    assert stated_change(make_run(1.0, figures=[figure])) == (25.0, 10.0)


def repeated(seed, *verdicts, table="wine"):
    return {
        **{"table": table, "n_real": 50, "split": 0, "seed": seed},
        **{"preset": "fast", "learner": "auto"},
        "runs": [
            {"budget": 30 + n, "verdict": said, "n_added": 9 * (said == "augment")}
            for n, said in enumerate(verdicts)
        ],
    }


def test_pairs_are_of_the_same_rows():
    records = [
        repeated(0, "augment", "no_gain"),
        repeated(1, "no_gain", "gain_too_small"),
        repeated(0, "augment", "augment", table="iris"),
    ]

    assert len(seed_pairs(records, 30)) == 1
    assert len(budget_pairs(records, 30, 31)) == 3
    rows = [cells_of(line)[1:] for line in stable_table(records).splitlines()[2:]]
    assert rows == [
        ["seeds", "budget 30", "1 of 1 (100 %)", "1 of 1 (100 %)", "-"],
        ["seeds", "budget 31", "1 of 1 (100 %)", "0 of 1 (0 %)", "-"],
        ["seeds", "all", "2 of 2 (100 %)", "1 of 2 (50 %)", "-"],
        ["budgets", "30 and 31", "2 of 3 (67 %)", *["1 of 3 (33 %)"] * 2],
        ["budgets", "all", "2 of 3 (67 %)", *["1 of 3 (33 %)"] * 2],
    ]


def test_noise_is_counted_against_what_the_confidence_allows():
    records = [
        {
            **{"table": "plain", "n_real": 20, "seed": seed, "confidence": 0.8},
            **{"preset": "fast", "learner": "auto", "shown": seed < 2},
            "verdict": "augment" if seed == 0 else "no_gain",
        }
        for seed in range(4)
    ]

    line = cells_of(noise_table(records).splitlines()[-1])

    assert line[1:] == [
        *("plain", "20", "1 of 4 (25 %)", "2 of 4 (50 %)", "20 %", "0-3"),
    ]


def test_a_failure_counts_until_it_is_made_good(make_run):
    failed = {**make_run(1.0), "failure": "no luck"}
    records = [failed, make_run(1.0), {**failed, "seed": 1}]

    assert len(finished(records)) == 1
    assert [record["seed"] for record in unfinished(records)] == [1]


def test_every_section_says_how_it_was_made(make_run):
    records = {
        "follow": [make_run(2.0, checks=[check(2.0)]), make_run(None, seed=1)],
        "noise": [],
        "stable": [{**repeated(0, "augment"), "commit": "abc"}],
    }
    commands = {"follow": ["how to follow"], "noise": [], "stable": ["how to repeat"]}
    earlier = [{**repeated(0, "no_gain"), "commit": "old"}]

    page = answers_page(records, commands, earlier, "Written by hand.")

    # Following, bounds, power, sureness and cost.
    assert page.count("- command: `how to follow`\n- commit: abc") == 5
    assert page.count("- command: `how to repeat`\n- commit: abc") == 1
    assert "Before, at commit old:" in page
    assert "## Coin flips" not in page
    assert page.endswith("## Notes\n\nWritten by hand.\n")


def test_numbers_in_a_row_are_one_range():
    assert span([3, 1, 2, 7]) == "1-3 7"


def test_a_lower_confidence_lets_in_what_a_higher_one_refuses(make_run):
    figure = {"change": [0.05, 0.1], "best_alone": [0.8, 0.1], "larger_is_better": True}
    # At 90 % its bar is as long as its gain, so a little less sure it is let in.
    run = make_run(checks=[check(6.0, truth=0.1)], figures=[figure])

    table = sureness_table([run])

    told = {cells[1]: cells for cells in map(cells_of, table.splitlines()[2:])}
    assert told["60%"][3] == told["80%"][3] == "1 of 1 (100 %)"
    assert told["95%"][3] == "0 of 1 (0 %)"
    assert told["80%"][6] == "1 of 1 (100 %)"  # a gain above 5 points
