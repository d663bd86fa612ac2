import zipfile
from dataclasses import replace

import numpy as np
import pytest

from tabtap.archive import Archive, pack_archive, unpack_archive
from tabtap.domain import Bound
from tabtap.result import Finding, load_result, verify
from tabtap.result.files import EXACT, FORMAT_NAME, FORMAT_VERSION

KIND = {"name": FORMAT_NAME, "version": FORMAT_VERSION}


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


def test_a_cell_changed_in_a_saved_file_is_found(saved):
    """The file's own checksum is mended, as somebody who means it would."""
    with zipfile.ZipFile(saved) as file:
        members = {name: file.read(name) for name in file.namelist()}
    found = unpack_archive(members[EXACT], saved, **KIND)
    cells = found.arrays["delivered.cell3"].copy()
    cells[-1] += 1
    forged = Archive({**found.arrays, "delivered.cell3": cells}, found.about)
    with zipfile.ZipFile(saved, "w") as file:
        for name, member in {**members, EXACT: pack_archive(forged, **KIND)}.items():
            file.writestr(name, member)

    findings = verify(load_result(saved))

    last = load_result(saved).certificates[-1].window
    text = "the rows are not those that were checked: another hash"
    assert findings == [Finding("wrong", last, text)]


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
