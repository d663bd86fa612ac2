"""A quick look at every study, on the paper's own tables, ends soon and has a page."""

import os
import time

import pytest

from tabtap.compare.runner import Cluster
from tabtap.compare.store import Store
from tabtap.study.studies import (
    STUDY_NAMES,
    StudyOptions,
    run_study,
    study_named,
    study_records,
    write_page,
)

MOST_SECONDS = 600


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("TABTAP_DATA"), reason="needs TABTAP_DATA")
@pytest.mark.parametrize("name", STUDY_NAMES)
def test_a_quick_look_ends_within_ten_minutes_and_says_what_was_found(name, tmp_path):
    study, store = study_named(name), Store(str(tmp_path / "store"))
    options = StudyOptions(quick=True)
    started = time.monotonic()

    summary = run_study(study, options, store, cluster=Cluster(jobs=2))

    assert time.monotonic() - started < MOST_SECONDS
    assert summary.n_done == summary.n_cells
    records = study_records(study, store)
    assert all(record["failure"] is None for record in records)
    text = write_page(study, records, tmp_path / f"{name}.md")[0].read_text("utf-8")
    assert "ound.**" in text
