import pytest


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_all_weights_are_listed_with_size_and_licence(in_process, empty_cache):
    answer = in_process("weights", "list", cwd=empty_cache)

    assert answer.code == 0
    assert "tabpfn-v1 98 MB, Apache-2.0 not fetched" in " ".join(answer.out.split())
    assert "tabpfn-v2-regressor" in answer.out


def test_weights_that_are_not_here_are_said_to_be_so(in_process, empty_cache):
    answer = in_process("weights", "path", "tabpfn-v1", cwd=empty_cache)

    assert (answer.code, answer.out) == (3, "")
    assert "tabtap weights fetch tabpfn-v1" in answer.said


def test_fetching_shows_where_they_are_then(in_process, empty_cache, monkeypatch):
    place = empty_cache / "weights.safetensors"
    monkeypatch.setattr(
        "tabtap.evaluate.weights.fetch_weights",
        lambda name, observer: place if (name, bool(observer)) == ("a", True) else None,
    )

    answer = in_process("weights", "fetch", "a", cwd=empty_cache)

    assert (answer.code, answer.out) == (0, f"{place}\n")


def test_weights_of_another_name_are_bad_input(in_process, empty_cache):
    answer = in_process("weights", "path", "tabpfn-v9", cwd=empty_cache)

    assert answer.code == 2
    assert "'tabpfn-v1'" in answer.said
