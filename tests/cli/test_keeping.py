import contextlib
import sys

import pytest

from tabtap.cli.augment import clear, holds_a_run, run_folder, taken
from tabtap.errors import UserInputError
from tabtap.table import read_frame


def test_a_run_is_kept_beside_the_table_it_will_write():
    assert str(run_folder("there/out.csv", None)).endswith("out.csv.run")


def test_a_table_for_a_pipe_is_kept_by_its_content(tmp_path, monkeypatch, birds):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path))
    first, other = read_frame(birds, "sex"), read_frame(birds.iloc[::-1], "sex")

    folders = [run_folder("-", table) for table in (first, first, other)]

    assert folders[0] == folders[1] != folders[2]
    assert folders[0].parent == tmp_path / "runs"


RUN = ("progress-0123456789abcdef.tap", "backbones-fedcba9876543210.tap", "run.lock")
OTHERS = (
    "Cargo.lock",
    "poetry.lock",
    ".lock",
    "run.lock.bak",
    "diary.txt",
    "progress-report.tap",
    "progress-0123456789abcdef.tap.old",
    "backbones-of-dinosaurs.tap",
)


def test_only_files_of_a_run_are_removed(tmp_path):
    for name in (*RUN, *OTHERS):
        (tmp_path / name).touch()

    assert holds_a_run(tmp_path)
    clear(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == set(OTHERS)
    assert not holds_a_run(tmp_path)


with_links = pytest.mark.skipif(
    sys.platform == "win32", reason="links are for administrators there"
)


def test_a_folder_with_nothing_else_in_it_goes_with_the_run(tmp_path):
    folder = tmp_path / "out.csv.run"
    folder.mkdir()
    for name in RUN:
        (folder / name).touch()

    clear(folder)
    clear(folder)  # and is not missed

    assert list(tmp_path.iterdir()) == []


@with_links
@pytest.mark.parametrize("name", RUN)
def test_what_a_link_in_the_folder_leads_to_stays_as_it_is(tmp_path, name):
    folder, theirs = tmp_path / "out.csv.run", tmp_path / "theirs"
    folder.mkdir()
    theirs.write_bytes(b"precious")
    (folder / name).symlink_to(theirs)

    with contextlib.suppress(UserInputError), taken(folder):
        pass
    clear(folder)

    assert theirs.read_bytes() == b"precious"
    assert (folder / name).is_symlink()


@with_links
def test_a_folder_that_is_a_link_is_neither_used_nor_cleared(tmp_path):
    folder, theirs = tmp_path / "out.csv.run", tmp_path / "theirs"
    theirs.mkdir()
    for name in RUN:
        (theirs / name).write_bytes(b"precious")
    folder.symlink_to(theirs, target_is_directory=True)

    with pytest.raises(UserInputError, match="is a link"), taken(folder):
        pass
    clear(folder)

    assert {path.name for path in theirs.iterdir()} == set(RUN)
    assert all(path.read_bytes() == b"precious" for path in theirs.iterdir())


@with_links
def test_a_lock_that_leads_nowhere_makes_no_file_there(tmp_path):
    folder = tmp_path / "out.csv.run"
    folder.mkdir()
    (folder / "run.lock").symlink_to(tmp_path / "made")

    with pytest.raises(UserInputError, match="is a link"), taken(folder):
        pass

    assert not (tmp_path / "made").exists()


def test_two_runs_do_not_share_a_folder(tmp_path):
    folder = tmp_path / "out.csv.run"

    with taken(folder):
        with (
            pytest.raises(UserInputError, match="Another run is at work"),
            taken(folder),
        ):
            pass
        assert folder.is_dir()

    assert not folder.exists()
