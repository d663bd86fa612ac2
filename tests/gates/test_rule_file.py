import pytest

from tabtap.errors import FileFormatError, UserInputError
from tabtap.gates import Rules

GOOD = """
[[rule]]
name = "grown up"
text = "if smoker then age >= 16"

[[rule]]
column = "größe"
min = 50
max = 250.5

[[rule]]
column = "came"
min = 2024-01-01
max = 2024-12-31T12:00:00

[[rule]]
text = '''
age >= 0
  and city != "Rom"
'''

[[rule]]
combination = ["city", "country"]
"""


def test_rules_of_a_file_are_those_it_spells(tmp_path, visits):
    path = tmp_path / "rules.toml"
    path.write_text(GOOD, encoding="utf-8")

    rules = Rules.read(path)

    assert [rule.name for rule in rules.rules][:2] == [
        "grown up",
        "`größe` >= 50 and `größe` <= 250.5",
    ]
    assert len(rules) == 5
    assert [name for name, _ in rules.violations(visits)] == ["grown up"]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(GOOD, encoding="utf-8-sig")

    assert len(Rules.read(str(path))) == 5


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "has no [[rule]] section"),
        ("rule = []", "has no [[rule]] section"),
        ("rule = 3", "has no [[rule]] section"),
        ("[rule]\ntext = 'a < b'", "has no [[rule]] section"),
        ("[[rules]]\ntext = 'a < b'", "has the key 'rules'"),
        ("[[rule]\ntext = 'a < b'", "is not TOML"),
        ("[[rule]]\ntext = a < b", "is not TOML"),
    ],
)
def test_a_file_that_is_no_rule_file_is_told_with_its_shape(tmp_path, content, told):
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(FileFormatError, match=r"mine\.toml") as caught:
        Rules.read(path)

    assert told in str(caught.value)
    assert "[[rule]]" in str(caught.value)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xff\xfe\x00\x81")

    with pytest.raises(FileFormatError, match="UTF-8"):
        Rules.read(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileFormatError, match=r"absent\.toml' cannot be read"):
        Rules.read(tmp_path / "absent.toml")


def test_a_bad_rule_of_a_file_is_named(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\nname = 'odd'\ntext = 'a <'", encoding="utf-8")

    with pytest.raises(UserInputError, match="Rule 'odd' is not usable"):
        Rules.read(path)
