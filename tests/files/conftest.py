import pytest

from tabtap.errors import UserInputError
from tabtap.files import read_table


@pytest.fixture
def put(tmp_path):
    """Write a file and return its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def read(put):
    """Read a table from the content of a file."""

    def read_content(content, name="table.csv", **settings):
        return read_table(put(content, name), **settings)

    return read_content


@pytest.fixture
def refusal(put):
    """Return what is said of a file that cannot be read: one paragraph."""

    def read_content(content, name="table.csv", **settings):
        path = put(content, name)
        with pytest.raises(UserInputError) as caught:
            read_table(path, **settings)
        said = str(caught.value)
        assert "\n" not in said
        return said

    return read_content
