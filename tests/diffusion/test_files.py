import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tabtap.archive import Archive, read_archive, write_archive
from tabtap.diffusion import files
from tabtap.diffusion.files import read_stack, save_stack
from tabtap.errors import FileFormatError

CPU = torch.device("cpu")
KIND = {"name": files.FORMAT_NAME, "version": files.FORMAT_VERSION}


def test_every_field_of_a_stack_comes_back(tmp_path, stack):
    save_stack(stack, tmp_path / "s")

    back = read_stack(tmp_path / "s", CPU)

    assert back.config == stack.config
    assert back.layout == stack.layout
    assert back.training == stack.training
    assert back.unseen_folds == stack.unseen_folds == (0, 1, 2)
    assert torch.equal(back.weights, stack.weights)
    assert back.weights.dtype == stack.weights.dtype


def test_every_array_of_an_encoding_comes_back_bit_for_bit(tmp_path, stack):
    save_stack(stack, tmp_path / "s")

    back = read_stack(tmp_path / "s", CPU).encodings

    for restored, encoding in zip(back, stack.encodings, strict=True):
        assert files._encoding_arrays(restored).keys() == (
            files._encoding_arrays(encoding).keys()
        )
        for name, array in files._encoding_arrays(encoding).items():
            copy = files._encoding_arrays(restored)[name]
            assert copy.dtype == array.dtype, name
            assert copy.shape == array.shape, name
            assert copy.tobytes() == array.tobytes(), name


def test_levels_keep_their_types_and_identifiers_stay_out(tmp_path, backbone):
    backbone.save(tmp_path / "b")

    back = read_stack(tmp_path / "b", CPU).encodings[0].schema

    before = backbone.schema.features
    assert [type(v) for c in back.features[1:] for v in c.levels] == [
        type(v) for c in before[1:] for v in c.levels
    ]
    assert back.features[1:] == before[1:]
    assert back.features[0].levels == ()
    assert len(before[0].levels) == 48
    assert b"p001" not in (tmp_path / "b").read_bytes()


def altered(path, change):
    """Rewrite a file with other content and a checksum that fits it."""
    archive = read_archive(path, **KIND)
    write_archive(change(archive), path, **KIND)


CHANGES = {
    "no config": lambda a: Archive(a.arrays, {**a.about, "config": {}}),
    "unknown setting": lambda a: Archive(
        a.arrays, {**a.about, "config": {**a.about["config"], "colour": 1}}
    ),
    "impossible setting": lambda a: Archive(
        a.arrays, {**a.about, "config": {**a.about["config"], "width": -1}}
    ),
    "other width": lambda a: Archive(
        a.arrays, {**a.about, "config": {**a.about["config"], "width": 31}}
    ),
    "no schema": lambda a: Archive(a.arrays, {**a.about, "schema": None}),
    "unknown group": lambda a: Archive(
        a.arrays, {**a.about, "groups": [[{"kind": "triple"}]]}
    ),
    "too few folds": lambda a: Archive(a.arrays, {**a.about, "unseen_folds": []}),
    "no weights": lambda a: Archive(
        {n: v for n, v in a.arrays.items() if n != "weights"}, a.about
    ),
    "no scale": lambda a: Archive(
        {n: v for n, v in a.arrays.items() if ".scale." not in n}, a.about
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_holds_no_backbone_is_refused(tmp_path, backbone, change):
    path = tmp_path / "b"
    backbone.save(path)
    altered(path, change)

    with pytest.raises(FileFormatError, match="is damaged") as caught:
        read_stack(path, CPU)

    assert "\n" not in str(caught.value)


def with_config(**parts):
    return lambda a: Archive(
        a.arrays, {**a.about, "config": {**a.about["config"], **parts}}
    )


def with_layout(**parts):
    return lambda a: Archive(
        a.arrays, {**a.about, "layout": {**a.about["layout"], **parts}}
    )


def with_levels(n_levels):
    def change(archive):
        about = json.loads(json.dumps(archive.about))
        single = [g for g in about["groups"][0] if g["kind"] == "single"]
        single[0]["n_levels"] = n_levels
        return Archive(archive.arrays, about)

    return change


HUGE = {
    "width": with_config(width=10**9),
    "width of the paper's network": with_config(size="paper", width=10**9),
    "depth": with_config(depth=10**12),
    "width and depth": with_config(width=2, depth=10**9),
    "tokens": with_layout(group_sizes=[10**12]),
    "tokens of many groups": with_layout(group_sizes=[10**6] * 10**4),
    "negative tokens": with_layout(group_sizes=[-1]),
    "numbers": with_layout(n_numbers=10**12),
    "conditions": with_layout(n_conditions=10**12),
    "states": with_layout(n_states=10**12),
    "levels": with_levels(10**12),
    "weights of another type": lambda a: Archive(
        {**a.arrays, "weights": a.arrays["weights"].astype(np.float64)}, a.about
    ),
}


@pytest.mark.parametrize("change", HUGE.values(), ids=HUGE)
def test_a_network_is_not_built_unless_the_weights_are_those_of_it(
    tmp_path, backbone, change, monkeypatch
):
    path = tmp_path / "b"
    backbone.save(path)
    altered(path, change)
    monkeypatch.setattr(files, "Denoiser", None)

    with pytest.raises(FileFormatError, match="is damaged") as caught:
        read_stack(path, CPU)

    assert "NoneType" not in str(caught.value)  # it was not even asked for


def test_a_newer_version_is_refused(tmp_path, backbone):
    path = tmp_path / "b"
    backbone.save(path)
    content = read_archive(path, **KIND)
    newer = files.FORMAT_VERSION + 1
    write_archive(content, path, name=files.FORMAT_NAME, version=newer)

    with pytest.raises(FileFormatError, match=f"format version {newer}"):
        read_stack(path, CPU)


def test_a_group_of_an_unknown_sort_is_not_saved_in_silence(tmp_path, backbone):
    class Strange:
        columns = np.array([0])

    encoding = replace(backbone.stack.encodings[0], groups=(Strange(),))
    odd = replace(backbone.stack, encodings=(encoding,))

    with pytest.raises(TypeError, match="Strange"):
        save_stack(odd, tmp_path / "b")

    assert list(tmp_path.iterdir()) == []
