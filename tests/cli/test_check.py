import pytest

RULES = """
[[rule]]
text = "body_mass_g > 2000"

[[rule]]
name = "long bills are deep"
text = "if bill_length_mm > 50 then bill_depth_mm > 16"

[[rule]]
text = "if island == 'Ross' then year > 2007"
"""


@pytest.fixture
def ruled(desk):
    (desk / "rules.toml").write_text(RULES, encoding="utf-8")
    return desk


def test_rules_hold_are_broken_or_idle(in_process, ruled, birds):
    long, deep = birds["bill_length_mm"] > 50, birds["bill_depth_mm"] > 16
    broken = birds.index[long & ~deep].tolist()

    answer = in_process("check", "birds.csv", "--rules", "rules.toml", cwd=ruled)

    shown = " ".join(answer.out.split())
    assert answer.code == 3
    assert "holds body_mass_g > 2000" in shown
    assert f"broken long bills are deep {len(broken)} rows break it" in shown
    # The header is line 1, so row 0 is line 2.
    assert f": {broken[0]} (line {broken[0] + 2})" in shown
    assert "idle if island == 'Ross' then year > 2007" in shown
    assert "Rules that hold: 1, broken: 1, idle: 1." in shown


def test_when_all_rules_hold_the_exit_code_is_0(in_process, desk):
    (desk / "rules.toml").write_text('[[rule]]\ntext = "year > 2000"', encoding="utf-8")

    answer = in_process("check", "birds.csv", "--rules", "rules.toml", cwd=desk)

    assert answer.code == 0
    assert "Rules that hold: 1, broken: 0, idle: 0." in answer.out


def test_lines_are_those_of_the_file_despite_breaks_inside_cells(in_process, desk):
    rows = "\n".join(["1,x", '2,"two\nlines"', "", "9,x", *["3,x"] * 12])
    (desk / "odd.csv").write_text(f"a,b\n{rows}\n", encoding="utf-8")
    (desk / "rules.toml").write_text('[[rule]]\ntext = "a < 5"', encoding="utf-8")

    answer = in_process("check", "odd.csv", "--rules", "rules.toml", cwd=desk)

    assert answer.code == 3
    assert "2 (line 6)" in answer.out


def test_columns_that_cannot_be_learned_do_not_keep_rules_from_being_checked(
    in_process, desk, birds
):
    noted = birds.assign(note=[f"it was seen by {i} people then" for i in range(60)])
    noted.to_csv(desk / "noted.csv", index=False)
    (desk / "rules.toml").write_text('[[rule]]\ntext = "year > 2000"', encoding="utf-8")

    answer = in_process("check", "noted.csv", "--rules", "rules.toml", cwd=desk)

    assert answer.code == 0


def test_a_rule_that_cannot_be_read_is_bad_input(in_process, desk):
    (desk / "rules.toml").write_text('[[rule]]\ntext = "yaer > 7"', encoding="utf-8")

    answer = in_process("check", "birds.csv", "--rules", "rules.toml", cwd=desk)

    assert answer.code == 2
    assert "Did you mean 'year'?" in answer.said
