"""The encoding is found, or said to be wrong with the line where it is."""

import pytest

from tabtap.files import write_table

TEXT = "name,größe\nZoë,1\nÅse,2\n"


@pytest.mark.parametrize(
    ("codec", "found", "mark"),
    [
        ("utf-8", "utf-8", False),
        ("utf-8-sig", "utf-8", True),
        ("utf-16", "utf-16-le", True),
        ("utf-16-le", "utf-16-le", False),
        ("utf-16-be", "utf-16-be", False),
        ("utf-32", "utf-32-le", True),
        ("windows-1252", "windows-1252", False),
    ],
)
def test_the_usual_encodings_are_found_and_kept(read, tmp_path, codec, found, mark):
    content = TEXT.encode(codec)

    table = read(content)
    write_table(table.frame.iloc[[0, 1, 1]], tmp_path / "out.csv", n_real=2, like=table)

    assert table.frame.columns.tolist() == ["name", "größe"]
    assert table.dialect.encoding == found
    assert table.dialect.byte_order_mark is mark
    assert (f"read as {found}" in table.notes) is (found != "utf-8")
    added = "Åse,2\n".encode(found)
    assert (tmp_path / "out.csv").read_bytes() == content + added


def test_an_encoding_may_be_named(read):
    table = read("名,値\n東京,1\n".encode("shift_jis"), encoding="shift_jis")

    assert table.frame["名"].tolist() == ["東京"]


def test_a_wrong_byte_late_in_utf8_is_not_taken_for_another_encoding(refusal):
    said = refusal("a,b\né,1\n".encode() + b"\xe9,2\n")

    assert "in UTF-8 up to line 3, where the byte 0xe9 does not fit" in said


def test_what_no_encoding_fits_is_refused_with_both_places(refusal):
    said = refusal(b"a,b\nx\xff,1\ny\x81,2\n")

    assert "neither in UTF-8 (byte 0xff in line 2) nor in windows-1252" in said
    assert "byte 0x81 in line 3" in said


def test_a_named_encoding_that_does_not_fit_is_refused(refusal):
    assert "is not in ascii: byte 0xc3 in line 2" in refusal(
        "a,b\né,1\n", encoding="ascii"
    )
    assert "knows no such text encoding" in refusal("a,b\n1,2\n", encoding="utf-9")


def test_a_name_that_the_encoding_lacks_is_refused_when_writing(read, tmp_path):
    table = read("a,b\né,1\n".encode("windows-1252"))

    with pytest.raises(ValueError, match=r"'→' cannot be written in windows-1252"):
        write_table(table.frame, tmp_path / "out.csv", n_real=1, like=table, mark="→")

    assert not (tmp_path / "out.csv").exists()
