"""All that is needed to make a run again."""

import numpy as np

from tabtap.report.blocks import TableBlock, Text
from tabtap.report.closing import record_section

THIN = "\u202f"


def tables(section):
    return {b.title: b for b in section.blocks if isinstance(b, TableBlock)}


def texts(blocks):
    return " ".join(p for b in blocks if isinstance(b, Text) for p in b.paragraphs)


def test_all_that_is_needed_is_there(make_result):
    result = make_result(
        rules=("dose > 0",),
        licences={"tabpfn-v1": "Apache-2.0"},
        groups=np.repeat(np.arange(12), 2),
    )

    section = record_section(result)

    found = tables(section)
    assert dict(found["The run"].rows)["Seed"] == "7"
    assert dict(found["The run"].rows)["Groups"].startswith("12, each kept")
    assert found["Rules that every new row obeys"].rows == (("dose > 0",),)
    assert ("tabpfn-v1", "Apache-2.0") in found["Licences of weights"].rows
    assert ("tabtap", "0.1.0") in found["Versions"].rows
    assert ("Together", f"1{THIN}min 6{THIN}s") in found["Time spent"].rows
    assert ("augment.commit.confidence", "0.75") in found["Every setting"].rows


def test_what_is_not_on_record_is_said_to_be_missing(every_case):
    said = texts(record_section(every_case["unproven"]).blocks)

    assert "The settings are not on record." in said
    assert "The versions of the packages are not on record." in said


def test_every_learner_has_its_class_settings_and_version(good):
    found = tables(record_section(good))["Learners that were asked"]

    assert found.rows[0] == (
        "Logistic regression",
        "linear",
        "LogisticRegression(max_iter=1000)",
        "scikit-learn 1.6.0",
    )
    assert [row[1] for row in found.rows] == ["linear", "forest"]


def test_where_no_learner_was_named_the_names_are_listed(every_case):
    found = tables(record_section(every_case["good"]))["Learners that were asked"]
    unchecked = texts(record_section(every_case["unchecked"]).blocks)

    names = "linear, neighbors, forest, boosting, small_leaves, network, lightgbm, "
    assert "No learner was named, so the answer is about the best" in found.caption
    assert f"{names}xgboost" in found.caption
    assert f"{names}xgboost" in unchecked


def test_who_named_a_learner_is_not_told_to(named):
    found = tables(record_section(named))["Learners that were asked"]

    assert found.caption == ""
    assert found.rows == (
        ("LightGBM", "lightgbm", "LGBMClassifier()", "lightgbm 4.6.0"),
    )


def test_an_older_result_has_no_table_of_learners(older):
    section = record_section(older)

    assert "Learners that were asked" not in tables(section)
    assert "No learner was named" not in texts(section.blocks)
