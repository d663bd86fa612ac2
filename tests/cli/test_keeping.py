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


def test_only_files_of_a_run_are_removed(tmp_path):
    for name in ("progress-1.tap", "backbones-1.tap", "run.lock", "diary.txt"):
        (tmp_path / name).touch()

    assert holds_a_run(tmp_path)
    clear(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]
    assert not holds_a_run(tmp_path)


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
