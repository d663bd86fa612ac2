"""``--no-harm``: groups that new rows may not harm, on the command line."""

import json

UNFAIR = ("-t", "sex", "--preset", "fast", "--referee", "judges:unfair")


def test_rows_that_harm_an_island_are_not_added_and_the_answer_says_so(
    desk, run_commands
):
    told = ("augment", "birds.csv", *UNFAIR, "-n", "40", "--json")
    guarded = (*told, "--no-harm", "island=0.005,year", "--force")

    unasked, asked = run_commands([told, guarded], cwd=desk)

    assert unasked.code == 0
    assert json.loads(unasked.out)["groups"] == []
    assert asked.code == 3
    assert "A gain that a group would pay for" in asked.said
    answer = json.loads(asked.out)
    found = {(g["column"], g["value"]): g for g in answer["groups"]}
    assert found["island", "Dream"]["verdict"] == "harmed"
    assert found["island", "Dream"]["may_lose"] == 0.005
    assert {g["may_lose"] for g in answer["groups"] if g["column"] == "year"} == {0.02}
    assert "the group island (Dream) is estimated to lose" in answer["why"]
    before = (desk / "birds.csv").read_bytes()
    assert (desk / "birds.augmented.csv").read_bytes() == before


def test_a_column_that_is_misspelt_is_named_with_the_one_that_is_meant(
    desk, in_process
):
    answer = in_process(
        "augment", "birds.csv", "-t", "sex", "--no-harm", "iland", cwd=desk
    )

    assert answer.code == 2
    assert "--no-harm names the column 'iland'" in answer.said
    assert "Did you mean 'island'?" in answer.said


def test_a_loss_that_is_no_number_is_refused(desk, in_process):
    answer = in_process(
        "augment", "birds.csv", "-t", "sex", "--no-harm", "island=much", cwd=desk
    )

    assert answer.code == 2
    assert "a loss is a number, such as sex=0.05" in answer.said
