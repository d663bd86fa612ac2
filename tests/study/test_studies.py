"""What all studies have in common: names, options, records, rows and pages."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tabtap.compare.store import ROWS, Cell, Store, Terms, study_of
from tabtap.errors import UserInputError
from tabtap.study import cell as work
from tabtap.study import runs
from tabtap.study.cell import SYNTHETIC, made_rows
from tabtap.study.runs import merged, prepare, preset_of
from tabtap.study.studies import (
    STUDY_NAMES,
    StudyOptions,
    measure_cell,
    provenance,
    study_named,
    study_records,
    write_page,
)
from tabtap.table import concat

TERMS = Terms(budget=30, predictors=("KNN",))

pytestmark = pytest.mark.usefixtures("birds")


def cell(method="Jitter", **more):
    given = {"dataset": "credit-g", "n_real": 20, "split": 0, "terms": TERMS, **more}
    return Cell(method=method, **given)


@pytest.mark.parametrize("name", STUDY_NAMES)
def test_every_study_says_what_it_asks_and_plans_cells_of_its_own(name):
    study = study_named(name)
    for protocol in ("ours", "paper"):
        quick = list(study.plan(StudyOptions(quick=True, protocol=protocol)))
        whole = list(study.plan(StudyOptions(protocol=protocol)))

        assert study.name == name
        assert study.question.endswith("?")
        assert 0 < len(quick) < len(whole)
        assert {cell.study for cell in [*quick, *whole]} == {name}
        assert len({cell.key for cell in whole}) == len(whole)


def test_the_main_table_is_the_paper_s_grid_with_all_methods():
    cells = list(study_named("main").plan(StudyOptions()))

    assert {cell.n_real for cell in cells} == {20, 50, 100, 200, 500}
    assert {cell.split for cell in cells} == {0, 1, 2, 3, 4}
    assert len({cell.dataset for cell in cells}) == 7
    assert {"Copies", "TabDDPM", "TAP", "TAP + teacher"} <= {c.method for c in cells}
    assert len(cells) == 5 * 5 * 7 * 15


def test_options_replace_what_is_planned():
    options = StudyOptions(tables=("insurance",), n_real=(30,), splits=2, seed=9)

    cells = list(study_named("ladder").plan(options))

    assert [(c.dataset, c.n_real, c.split) for c in cells] == [
        ("insurance", 30, 0),
        ("insurance", 30, 1),
    ]
    assert cells[0].terms.seed == 9


def test_the_ablation_has_the_thirteen_configurations_of_table_8():
    paper = StudyOptions(protocol="paper", tables=("insurance",), splits=1)

    names = [cell.method for cell in study_named("ablation").plan(paper)]

    assert len(names) == 13
    assert names[0] == "TAP"


@pytest.mark.parametrize("name", ["main", "learnability", "ladder"])
def test_a_study_of_the_fast_preset_says_so_in_cells_and_command(name):
    study = study_named(name)
    some = {"tables": ("insurance",), "n_real": (50,), "splits": 1}
    fast = StudyOptions(preset="fast", **some)

    cells = [c for c in study.plan(fast) if c.method in ("TAP", "ladder")]

    assert [cell.settings["preset"] for cell in cells] == ["fast"]
    written = [{"cell": c.written(), "failure": None} for c in cells]
    assert " --preset fast --table insurance " in provenance(study, written)
    paper = study.plan(StudyOptions(preset="fast", protocol="paper", **some))
    assert all(cell.settings.get("preset") != "fast" for cell in paper)


def test_a_study_of_both_protocols_asks_for_neither_in_its_command():
    study = study_named("calibration")
    options = StudyOptions(tables=("insurance",), splits=1, preset="fast")

    written = [{"cell": c.written(), "failure": None} for c in study.plan(options)]

    command = "--store results --preset fast --table insurance "
    assert command in provenance(study, written)


@pytest.mark.parametrize("name", ["main", "ablation", "sensitivity"])
def test_a_study_whose_steps_somebody_else_judges_says_so_in_cells_and_command(name):
    study = study_named(name)
    some = {"tables": ("steel-plates-fault",), "n_real": (50,), "splits": 1}
    options = StudyOptions(protocol="paper", evaluator="linear", **some)

    cells = list(study.plan(options))

    judges = {c.method: c.settings.get("evaluator") for c in cells}
    assert judges.get("TAP", judges.get("default")) == "linear"
    written = [{"cell": c.written(), "failure": None} for c in cells]
    command = "--protocol paper --evaluator linear --table steel-plates-fault "
    assert command in provenance(study, written)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"evaluator": "linaer"}, "Try 'linear'"),
        ({"protocol": "theirs"}, "protocol='theirs' is not usable"),
        ({"preset": "slow"}, "preset='slow' is not usable"),
        ({"tables": ("titanic",)}, "tables='titanic' is not usable"),
    ],
)
def test_options_that_cannot_be_are_refused(options, reason):
    with pytest.raises(UserInputError, match=reason):
        StudyOptions(**options)


def test_an_unknown_study_is_refused_with_a_hint():
    with pytest.raises(UserInputError, match="Did you mean 'ladder'"):
        study_named("lader")


def test_a_cell_of_the_main_table_has_the_key_that_bench_gave_it():
    plain = cell()

    assert "study" not in plain.written()
    assert plain.key == cell(study="main").key
    assert cell(study="ladder").key.startswith("ladder-credit-g-20-0-jitter-")
    assert study_of({"cell": plain.written()}) == "main"


# ---- Rows beside records.


def test_rows_come_back_from_a_store_as_they_were_made(birds, tmp_path):
    store = Store(str(tmp_path))
    record = work.run_cell(cell())

    store.write(cell().key, record)

    (kept,) = store.records()
    assert kept[ROWS] == {"sizes": {SYNTHETIC: 30}, "kept": True}
    found = store.rows(cell().key, birds["classification"].schema)[SYNTHETIC]
    made = record[ROWS][SYNTHETIC]
    assert np.array_equal(found.missing, made.missing)
    assert np.array_equal(found.target, made.target)
    for ours, theirs in zip(found.cells, made.cells, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


def test_rows_that_were_kept_are_not_made_again(tmp_path, monkeypatch):
    store = Store(str(tmp_path))
    first = made_rows(cell(), store)
    monkeypatch.setattr(work, "method_named", lambda *_: pytest.fail("made again"))

    again = made_rows(cell(), store)

    assert store.has(cell().key)
    assert np.array_equal(first.target, again.target)


def test_no_rows_are_none(tmp_path):
    store = Store(str(tmp_path))

    assert made_rows(cell("Real"), store) is None
    assert made_rows(cell("Real"), store) is None
    assert made_rows(cell("Real"), None) is None


def test_rows_beyond_the_limit_are_not_kept(birds, tmp_path, monkeypatch):
    monkeypatch.setattr("tabtap.compare.store.MOST_BYTES", 100)
    store = Store(str(tmp_path))

    store.write(cell().key, work.run_cell(cell()))

    (kept,) = store.records()
    assert kept[ROWS]["kept"] is False
    assert store.rows(cell().key, birds["classification"].schema) is None


def test_damaged_rows_are_told(birds, tmp_path):
    store = Store(str(tmp_path))
    store.write(cell().key, work.run_cell(cell()))
    (file,) = (tmp_path / "rows").iterdir()
    file.write_bytes(b"PK")

    with pytest.raises(UserInputError, match="is damaged: it holds no rows"):
        store.rows(cell().key, birds["classification"].schema)


def test_a_record_has_scores_on_the_validation_rows_too():
    record = work.run_cell(cell("Copies"))

    part = work.repetition_of(cell())
    rows = record[ROWS][SYNTHETIC]
    assert set(record["validation"]) == {"KNN"}
    assert record["scores"] == part.score(rows, ("KNN",))
    assert len(part.training(rows)) == len(concat([part.real, rows])) == 50


# ---- Settings of a cell.


def test_the_paper_s_protocol_is_table_4_on_compact_backbones():
    preset = preset_of({"protocol": "paper"})

    assert preset.augment.commit.window_length == 20
    assert preset.augment.commit.protocol == "paper"
    assert preset.diffusion.size == "compact"


@pytest.mark.usefixtures("birds")
def test_backbones_of_the_cell_before_serve_the_next_one_of_the_same_rows(
    tiny_cells, monkeypatch
):
    first = tiny_cells("sensitivity")[0]
    changes = [{"teacher": "stack"}, {"diffusion": {"n_steps": 3}}]
    others = [replace(first, settings=merged(first.settings, c)) for c in changes]
    fitted = []
    fit = runs._fit
    monkeypatch.setattr(runs, "_fit", lambda *a: fitted.append(a) or fit(*a))
    monkeypatch.setattr(runs, "_LAST", {})

    one, two = prepare(first), prepare(others[0])
    assert len(fitted) == 1
    assert two.seconds == one.seconds > 0
    prepare(replace(first, split=1))
    prepare(others[1])
    assert len(fitted) == 3


def test_settings_of_a_cell_are_laid_over_each_other():
    base = {"protocol": "ours", "augment": {"n_steps": 64, "commit": {"patience": 1}}}

    settings = merged(base, {"augment": {"commit": {"window_length": 16}}})

    preset = preset_of({**settings, "evaluator": "holdout"})
    assert preset.augment.n_steps == 64
    assert preset.augment.commit.patience == 1
    assert preset.augment.commit.window_length == 16
    assert preset.evaluators["regression"] == "holdout"
    assert base["augment"]["commit"] == {"patience": 1}


# ---- Pages.


def test_a_page_tells_where_it_comes_from(tmp_path, tiny_cells):
    study, store = study_named("main"), Store(str(tmp_path / "store"))
    for each in tiny_cells("main"):
        if each.method in ("Real", "Copies", "Jitter"):
            store.write(each.key, measure_cell(each, store))

    out = tmp_path / "pages" / "main.md"
    written = write_page(study, study_records(study, store), out)

    text = out.read_text(encoding="utf-8")
    assert text.startswith("# The main table\n")
    assert "6 cells, of which 0 failed; seeds [3]" in text
    assert "tabtap study run main --store results" in text
    assert "A quick look" not in text  # whose budget is another one
    assert {path.name for path in written} == {
        "main.md",
        "main-gains.svg",
        "main-scarcity.svg",
    }
    assert all(path.is_file() for path in written)


def test_a_page_tells_which_sizes_have_fewer_splits():
    cells = [cell(), cell(n_real=50), cell(n_real=50, split=1), cell(n_real=100)]
    records = [{"cell": each.written(), "failure": None} for each in cells]

    text = provenance(study_named("main"), records)

    assert "n_real [20, 100], splits [0]; n_real [50], splits [0, 1]" in text


def test_a_store_without_records_of_a_study_says_how_to_get_some(tmp_path):
    store = Store(str(tmp_path))
    store.write(cell().key, work.run_cell(cell()))

    with pytest.raises(UserInputError, match="tabtap study run ladder --store"):
        study_records(study_named("ladder"), store)


def test_runs_of_one_cell_under_two_protocols_are_never_averaged(tmp_path):
    study, store = study_named("safety"), Store(str(tmp_path))
    for protocol in ("ours", "paper"):
        settings = {"protocol": protocol}
        each = cell("safety", study="safety", settings=settings)
        store.write(each.key, {"cell": each.written(), "failure": None})

    with pytest.raises(UserInputError, match="protocol ours; protocol paper"):
        study_records(study, store)

    (kept,) = study_records(study, store, "paper")
    assert kept["cell"]["settings"]["protocol"] == "paper"


def test_a_store_says_under_which_protocol_there_is_nothing(tmp_path):
    store = Store(str(tmp_path))
    each = cell("safety", study="safety", settings={"protocol": "ours"})
    store.write(each.key, {"cell": each.written(), "failure": None})

    with pytest.raises(UserInputError, match="under the protocol 'paper'"):
        study_records(study_named("safety"), store, "paper")


def test_a_page_of_failures_only_is_refused(tmp_path):
    record = {"cell": cell().written(), "failure": {"reason": "no memory"}}

    with pytest.raises(UserInputError, match=r"failed.*no memory"):
        write_page(study_named("main"), [record], tmp_path / "main.md")


def test_records_are_json(tiny_cells):
    (first, *_) = tiny_cells("ladder")

    record = measure_cell(first)

    kept = {name: value for name, value in record.items() if name != ROWS}
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept
    assert record["failure"] is None
