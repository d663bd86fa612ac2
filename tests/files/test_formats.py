"""A name says the format, whatever its case."""

from pathlib import PurePath

import pytest

from tabtap.errors import UserInputError
from tabtap.files.formats import EXTENSIONS, check_format, form_of


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_extension_is_known_in_either_case(extension):
    form = form_of(PurePath("Table" + extension.upper()))

    assert form == (EXTENSIONS[extension], None)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.csv.gz", ("csv", "gz")),
        ("a.TSV.BZ2", ("tsv", "bz2")),
        ("a.jsonl.xz", ("jsonl", "xz")),
        ("a.2024.json.zst", ("json", "zst")),
        ("a.zip", ("csv", "zip")),
    ],
)
def test_text_may_be_compressed(name, form):
    assert form_of(PurePath(name)) == form


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.xls", "before 2007. Save it as .xlsx"),
        ("a.pkl", "can run code"),
        ("a.rds", "write.csv"),
        ("a.docx", "the extension '.docx'. Rename it"),
        ("a", "no extension"),
        ("a.parquet.gz", "compressed inside"),
    ],
)
def test_a_name_that_cannot_be_read_gets_advice(name, words):
    with pytest.raises(UserInputError, match=name) as caught:
        form_of(PurePath(name))

    assert words in str(caught.value)


def test_a_format_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(UserInputError, match="csv, tsv, parquet"):
        check_format("xls")
