import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from tabtap.domain import Bound
from tabtap.errors import FileFormatError
from tabtap.result import Finding, load_result, verify
from tabtap.result.verify import verify_copies
from tabtap.table import read_frame


def wrong(result):
    findings = verify(result)

    assert {finding.kind for finding in findings} <= {"wrong"}
    return [str(finding) for finding in findings]


def with_certificate(result, place, **parts):
    certificates = list(result.certificates)
    certificates[place] = replace(certificates[place], **parts)
    return replace(result, certificates=tuple(certificates))


def with_evidence(result, place, name, change):
    evidence = dict(result.certificates[place].evidence)
    evidence[name] = change(evidence[name])
    return with_certificate(result, place, evidence=evidence)


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
@pytest.mark.parametrize("gain", [0.01, -0.01, float("nan")])
def test_an_honest_result_has_no_findings(make_result, table, tmp_path, gain, protocol):
    result = make_result(table, gain=gain, protocol=protocol)
    result.save(tmp_path / "r")

    assert verify(result) == verify(load_result(tmp_path / "r")) == []


def test_groups_and_runs_without_rows_are_honest_too(make_result, classes):
    mice = np.array(["ann", "bob", "cat", "dan"] * 3)

    for result in (
        make_result(classes, groups=mice, gain=0.03),
        make_result(classes, budget=0),
        make_result(classes, none_pass=True),
        make_result(classes, min_gain=0.05),
    ):
        assert verify(result) == []


def test_a_cell_changed_in_a_saved_file_is_found(forge):
    def change(_about, arrays, _members):
        arrays["delivered.cell3"][-1] += 1

    findings = verify(load_result(forge(change)))

    last = load_result(forge(lambda *_: None)).certificates[-1].window
    text = "the rows are not those that were checked: another hash"
    assert findings == [Finding("wrong", last, text)]


def test_names_dtypes_and_levels_are_part_of_what_is_certified(forge):
    def swap(about, _arrays, _members):
        about["table"]["schema"]["target"]["column"]["levels"].reverse()

    findings = [str(finding) for finding in verify(load_result(forge(swap)))]

    table = "names, dtypes or levels are not those of the table given"
    assert findings[0] == f"result: {table}"
    assert findings[1].startswith("window 0: names, dtypes, levels, ancestors or redr")
    assert len(findings) == 1 + len(load_result(forge(lambda *_: None)).certificates)


def schema_of(about):
    return about["table"]["schema"]


def feature(number):
    return lambda about, _: schema_of(about)["features"][number]


def target(about, _arrays):
    return schema_of(about)["target"]["column"]


def with_part(where, **parts):
    """Return a change of some fields of a part of the file's JSON."""
    return lambda about, arrays: where(about, arrays).update(parts)


def with_array(name, change):
    def changed(_about, arrays):
        arrays[name] = np.ascontiguousarray(change(arrays[name]))

    return changed


def rename_category(about, _arrays):
    place = feature(2)(about, None)
    place["levels"] = [{"b": "c"}.get(level, level) for level in place["levels"]]
    place["categories"] = [{"b": "c"}.get(name, name) for name in place["categories"]]


def exchange_names(about, _arrays):
    first, other = feature(0)(about, None), feature(3)(about, None)
    first["name"], other["name"] = other["name"], first["name"]


def rename_row_in_identifier(about, _arrays):
    about["table"]["identifiers"]["4"]["levels"][0] = "p999"


FORGERIES = {
    "labels swapped": lambda a, _: target(a, _)["levels"].reverse(),
    "category renamed": rename_category,
    "order of categories": with_part(feature(2), categories=["b", "z", "a"]),
    "category declared": with_part(feature(2), categories=["y", "b", "a"]),
    "category ordered": with_part(feature(2), ordered=True),
    "column renamed": with_part(feature(0), name="age"),
    "target renamed": with_part(target, name="well"),
    "columns exchanged": exchange_names,
    "narrower numbers": with_part(feature(0), dtype="float32"),
    "other time zone": with_part(feature(1), dtype="datetime64[us, UTC]"),
    "clock on the wall": with_part(feature(1), wall_clock=True),
    "other holes": with_part(feature(0), markers=["none"]),
    "other kind": with_part(feature(2), kind="boolean"),
    "identifier": rename_row_in_identifier,
    "target elsewhere": lambda a, _: schema_of(a)["target"].update(position=0),
    "container": lambda a, _: schema_of(a)["form"].update(columns_name="those"),
    "ancestors": with_array("delivered.origin", lambda a: np.roll(a, 1)),
    "ancestors of real rows": with_array("real.origin", lambda a: a[::-1]),
    "marks": with_array("delivered.regenerate", lambda a: ~a),
    "no marks": with_array("delivered.regenerate", np.zeros_like),
    "lineages": with_array("delivered.unseen_fold", lambda a: (a + 1) % 3),
    "scores of gates": with_array("delivered.score.distance", lambda a: a + 1),
    "steps of rows": with_array("delivered.step", lambda a: a ^ 1),
    "exploration": lambda a, _: a["steps"][0].update(exploration=0.123),
    "template": lambda a, _: a["steps"][0].update(template="explore"),
    "states": with_array("steps.uncertainty", lambda a: a + 0.5),
    "hashes removed": lambda a, _: a.pop("content_sha256"),
    "hashes emptied": lambda a, _: a.update(content_sha256={}),
    "hash of a window removed": lambda a, _: a["content_sha256"].pop("window 1"),
    "rows said to be forgotten": lambda a, _: a.update(forgotten=[99]),
    "more said to be removed": lambda a, _: a.update(forgotten=[12], n_removed=3),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_found_though_every_checksum_of_the_file_fits(forge, change):
    path = forge(lambda about, arrays, _members: change(about, arrays))

    result = load_result(path)
    findings = [*verify(result), *verify_copies(result, path)]

    assert {finding.kind for finding in findings} & {"wrong", "unknown"}


def parquet_of(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


COPIES = {
    "synthetic.parquet": lambda result: parquet_of(result.synthetic[::-1]),
    "provenance.parquet": lambda result: parquet_of(
        result.provenance.assign(anchor_row=0)
    ),
    "certificates.json": lambda result: (
        result.certificates_json()
        .replace('"committed": true', '"committed": false')
        .encode()
    ),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("what", ["another", "empty", "text"])
def test_a_copy_that_says_something_else_is_found(forge, result, name, what):
    other = {"another": COPIES[name](result), "empty": b"{}", "text": b"trust me"}
    path = forge(lambda _about, _arrays, members: members.update({name: other[what]}))

    findings = verify_copies(load_result(path), path)

    text = f"{name} is not what the result says"
    assert findings == [Finding("wrong", None, text)]


def test_a_copy_of_the_same_values_by_another_writer_is_the_same(forge):
    def rewrite(_about, _arrays, members):
        for name in ("synthetic.parquet", "provenance.parquet"):
            table = parquet.read_table(io.BytesIO(members[name]))
            buffer = io.BytesIO()
            parquet.write_table(table, buffer, compression="gzip", version="1.0")
            assert buffer.getvalue() != members[name]
            members[name] = buffer.getvalue()
        members["certificates.json"] = members["certificates.json"].replace(b"  ", b"")

    path = forge(rewrite)

    assert verify_copies(load_result(path), path) == []


def test_a_copy_that_unpacks_to_much_more_than_the_rows_is_not_read(
    forge, result, monkeypatch
):
    bomb = parquet_of(result.synthetic.assign(key="x" * 10**7))
    path = forge(
        lambda _about, _arrays, members: members.update({"synthetic.parquet": bomb})
    )

    def read(_file):
        raise AssertionError("it was read")

    monkeypatch.setattr(parquet.ParquetFile, "read", read)
    (finding,) = verify_copies(load_result(path), path)

    assert finding.text == "synthetic.parquet is not what the result says"


def test_rows_that_stay_keep_their_hashes_when_others_are_forgotten(result):
    left = result.forget(int(result.parent_indices[0]))
    renamed = replace(left.real.schema.features[0], name="age")
    schema = replace(
        left.real.schema, features=(renamed, *left.real.schema.features[1:])
    )
    rows = replace(left.delivered.rows, schema=schema)

    findings = verify(replace(left, delivered=replace(left.delivered, rows=rows)))

    lost = [f.window for f in findings if f.kind == "forgotten"]
    wrong = [f.window for f in findings if f.kind == "wrong"]
    assert lost[0] is None
    assert sorted([*lost[1:], *wrong]) == [c.window for c in left.certificates]
    assert wrong


def test_no_hash_of_a_forgotten_row_is_left(result):
    """Whoever knows the other rows could test guesses of it."""
    lost, *_ = result.delivered.step // 2  # two steps make a window

    left = result.forget(int(result.parent_indices[0])).content_sha256

    assert left.keys() <= result.content_sha256.keys() - {"real", f"window {lost}"}
    assert "steps" in left


@pytest.mark.parametrize("container", ["pandas", "polars", "numpy", "arrow"])
def test_results_of_every_container_are_honest(make_result, tmp_path, container):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=30).round(2),
            "n": rng.integers(0, 90, 30),
            "name": rng.choice(["a", "b", "ç"], 30),
            "wave": pd.to_datetime(["2020-01-01", "2021-01-01"] * 15).tz_localize(
                "UTC"
            ),
            "y": rng.choice(["no", "yes"], 30),
        }
    )
    given = {
        "pandas": lambda: (frame.assign(band=pd.cut(frame["wave"], 2)), "y"),
        "polars": lambda: (pytest.importorskip("polars").from_pandas(frame), "y"),
        "numpy": lambda: (frame[["x", "n"]].to_numpy(), frame["y"].to_numpy()),
        "arrow": lambda: (frame.convert_dtypes(dtype_backend="pyarrow"), "y"),
    }
    X, y = given[container]()
    table = read_frame(X, y) if isinstance(y, str) else read_frame(X, y=y)
    result, path = make_result(table), tmp_path / "r"
    assert len(result.delivered)

    for made in (result, result.forget(int(result.parent_indices[0]))):
        made.save(path)
        back = load_result(path)

        assert verify_copies(back, path) == []
        assert verify(back) == verify(made)
        assert {finding.kind for finding in verify(back)} <= {"forgotten"}


def test_labels_of_a_type_that_cannot_be_saved_are_hashed_all_the_same(make_result):
    quarters = pd.Categorical(pd.PeriodIndex(["2024Q1", "2024Q2"] * 6, freq="Q"))
    frame = pd.DataFrame({"x": np.arange(12) * 0.1, "q": quarters, "y": ["a", "b"] * 6})

    result = make_result(read_frame(frame, "y"))

    assert verify(result) == []


def test_changed_labels_and_real_rows_are_found(result):
    rows = result.delivered.rows
    flipped = replace(rows, target=rows.target[::-1].copy())

    assert wrong(replace(result, delivered=replace(result.delivered, rows=flipped)))
    assert wrong(replace(result, real=result.real.take(np.arange(12)[::-1]))) == [
        "result: the real rows are not those that the run was given"
    ]


def test_rows_that_were_added_or_taken_away_are_found(result):
    fewer = replace(result, delivered=result.delivered.take(np.arange(8)))
    stray = replace(result.delivered, step=np.full(9, 99))

    assert wrong(fewer)[0].endswith(f"instead of {result.certificates[-1].n_rows}")
    assert wrong(replace(result, delivered=stray))[0] == (
        "result: 9 synthetic rows of no committed window"
    )


def test_a_margin_or_a_mean_that_the_scores_do_not_give_is_found(result):
    bound = result.certificates[0].over_real
    kinder = replace(bound, margin=bound.margin / 2)

    assert (
        "not what the scores give"
        in wrong(with_certificate(result, 0, over_real=kinder))[0]
    )
    assert "score_after is 0.9" in wrong(
        with_certificate(result, 0, score_after=0.9)
    )[0]  # fmt: skip
    assert "window 0: the gain over real rows is not stated" in wrong(
        with_certificate(result, 0, over_real=None)
    )


def test_scores_that_do_not_follow_from_the_window_before_are_found(result):
    texts = wrong(with_evidence(result, 1, "before", lambda scores: scores - 0.1))

    assert "window 1: the scores 'before' are not those of the windows before" in texts
    assert "window 1: there are not as many scores with the pool as without" in wrong(
        with_evidence(result, 1, "real", lambda scores: scores[:-1])
    )


def test_a_decision_against_the_rule_is_found(make_result, classes):
    refused = make_result(classes, gain=-0.01)

    texts = wrong(with_certificate(refused, 0, committed=True))

    assert "window 0: the pool was committed, against the rule" in texts


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
def test_a_pool_without_a_row_to_deliver_may_not_be_committed(
    make_result, classes, protocol
):
    result = make_result(classes, protocol=protocol)

    texts = wrong(with_certificate(result, 0, n_rows=0))

    assert "window 0: the pool was committed, against the rule" in texts


def test_a_failed_attempt_that_is_passed_off_as_shown_is_found(make_result, classes):
    refused = make_result(classes, gain=-0.01)

    texts = wrong(with_certificate(refused, 0, shown=True))

    assert "window 0: shown=True is not what the bound says" in texts
    assert "window 1: look 2 is stated, but it is look 1" in texts


def test_a_rule_that_asks_for_more_than_before_is_applied(result):
    second = result.certificates[1]
    same = dict(second.evidence, after=second.evidence["before"])
    idle = Bound(0.0, 0.0, second.over_real.confidence)
    promised = result.certificates[0].over_real

    texts = wrong(
        with_certificate(
            result,
            1,
            evidence=same,
            over_incumbent=idle,
            over_real=promised,
            score_after=second.score_before,
        )
    )

    assert "window 1: the pool was committed, against the rule" in texts


def test_confidence_looks_and_order_are_checked(result):
    first = result.certificates[0]
    surer = replace(first.over_real, confidence=0.5)

    assert "window 0: confidence is 0.5, it should be 0.925" in wrong(
        with_certificate(result, 0, over_real=surer)
    )
    assert "window 0: look 2 is stated, but it is look 1" in wrong(
        with_certificate(result, 0, look=2)
    )
    assert "window 7: it is the certificate number 0" in wrong(
        with_certificate(result, 0, window=7)
    )


def test_evidence_that_is_missing_is_found(result):
    assert "window 0: there is no evidence 'real'" in wrong(
        with_certificate(result, 0, evidence={})
    )
    assert "window 0: there is no protocol 'trust me'" in wrong(
        with_certificate(result, 0, protocol="trust me")
    )


def test_the_paper_s_error_bar_and_gain_are_recomputed(make_result, classes):
    result = make_result(classes, protocol="paper")
    bound = result.certificates[0].over_incumbent

    for forged, said in (
        (replace(bound, margin=0.0), "the error bar is 0, the folds give"),
        (replace(bound, gain=9.0), "the gain 9 is outside what any fold gained"),
    ):
        assert said in wrong(with_certificate(result, 0, over_incumbent=forged))[0]


def test_what_was_forgotten_is_said_and_not_called_wrong(result):
    findings = verify(result.forget(int(result.parent_indices[0])))

    assert {finding.kind for finding in findings} == {"forgotten"}
    assert findings[0].window is None
    assert findings[1].text.endswith("forgotten, so its hash is no help")


def test_settings_that_do_not_name_the_rule_are_said(result):
    vague = replace(result, about=replace(result.about, settings={}))

    text = "the settings do not say when a pool is committed"
    assert verify(vague) == [Finding("unknown", None, text)]


@pytest.mark.parametrize("settings", ["3", "[]", '{"augment": 3}', "null"])
def test_settings_that_are_none_are_damage(forge, settings):
    path = forge(lambda about, *_: about["run"].update(settings=settings))

    with pytest.raises(FileFormatError, match="damaged"):
        load_result(path)
