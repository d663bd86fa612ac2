"""Streams that are closed, narrow, or short of letters: the answer is the same."""

import io
import json
import os
import subprocess
import sys

import pytest

from tabtap.cli.app import main

ROWS = "dose,kind,sick\n" + "".join(
    f"{i}.5,k{i % 3},{('no', 'yes')[i % 2]}\n" for i in range(24)
)
LETTERS = ROWS.replace("k0", "größe").replace("dose", "höhe")


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "letters.csv").write_text(LETTERS, encoding="utf-8")
    return tmp_path


def run_in_shell(folder, line):
    """Run a line of shell in which tabtap is the real command."""
    return subprocess.run(
        ["sh", "-c", line.replace("tabtap", f"{sys.executable} -m tabtap")],
        cwd=folder, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="the shell is Unix's")
class TestInAShell:
    def test_no_message_lands_in_the_table_when_the_error_stream_is_closed(self, table):
        done = run_in_shell(
            table, "tabtap augment - -t sick -n 0 < table.csv 2>&-; echo $? > code"
        )

        assert done.stdout.decode() == ROWS
        assert (table / "code").read_text().strip() == "3"

    def test_no_file_gets_the_number_of_a_closed_stream(self, table):
        done = run_in_shell(
            table,
            "tabtap inspect table.csv -t sick --out s.toml --debug <&- >&- 2>&-; "
            "echo $? > code",
        )

        assert (done.stdout, done.stderr) == (b"", b"")
        assert (table / "code").read_text().strip() == "0"
        assert (table / "s.toml").read_text(encoding="utf-8").startswith("# What")

    def test_help_that_nobody_reads_ends_quietly(self, table):
        done = run_in_shell(table, "{ tabtap --help; echo $? > code; } | true")

        assert (table / "code").read_text().strip() == "141"
        assert done.stderr == b""


class TestInThisProcess:
    @pytest.fixture(autouse=True)
    def _here(self, table, monkeypatch):
        monkeypatch.chdir(table)

    def test_an_error_has_its_code_without_an_error_stream(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "stderr", None)

        code = main(["inspect", "nope.csv", "-t", "sick", "--debug"])

        sys.stderr.close()  # the one that stands in
        assert (code, capsys.readouterr().out) == (2, "")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["inspect", "table.csv", "-t", "sick"],
            ["inspect", "table.csv", "-t", "sick", "--json"],
            ["--help"],
            ["--version"],
            ["inspect", "--help"],
        ],
        ids=" ".join,
    )
    def test_a_closed_output_is_no_mistake(self, monkeypatch, capsys, arguments):
        monkeypatch.setattr(sys, "stdout", None)

        code = main(arguments)

        assert (code, capsys.readouterr().err) == (0, "")

    def test_a_table_is_not_made_for_a_closed_output(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "stdout", None)

        code = main(["augment", "table.csv", "-t", "sick", "--out", "-"])

        assert code == 2
        assert "Standard output is closed" in capsys.readouterr().err

    def test_a_closed_input_is_said(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "stdin", None)

        code = main(["inspect", "-", "-t", "sick"])

        assert code == 2
        assert "Standard input is closed" in capsys.readouterr().err

    @pytest.mark.parametrize("columns", ["0", "1", "2", "19", "x", "-5", "", "5000"])
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["inspect", "table.csv", "-t", "sick"], 0),
            (["inspect", "nope.csv", "-t", "sick"], 2),
            (["inspect", "--help"], 0),
            (["--help"], 0),
        ],
        ids=["table", "no table", "help of a command", "help"],
    )
    def test_any_width_will_do(self, monkeypatch, capsys, columns, arguments, expected):
        monkeypatch.setenv("COLUMNS", columns)

        code = main(arguments)

        assert code == expected
        assert "mistake" not in capsys.readouterr().err

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-8"])
    @pytest.mark.parametrize(
        "arguments",
        [
            ["inspect", "letters.csv", "-t", "sick"],
            ["inspect", "letters.csv", "-t", "sick", "--json"],
            ["inspect", "letters.csv", "-t", "sükc"],
            ["inspect", "--help"],
        ],
        ids=["table", "json", "error", "help"],
    )
    def test_letters_that_the_terminal_lacks_are_written_out(
        self, monkeypatch, encoding, arguments
    ):
        out, err = io.BytesIO(), io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding))
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding))

        code = main(arguments)

        sys.stderr.flush()
        written, said = out.getvalue().decode(encoding), err.getvalue().decode(encoding)
        assert code == (2 if "sükc" in arguments else 0), said
        if "--json" in arguments:
            assert "größe" in json.loads(written)["columns"][1]["seen"]
        elif code == 0 and "--help" not in arguments:
            lacks = encoding == "ascii"
            assert (r"h\xf6he" if lacks else "höhe") in written

    @pytest.mark.parametrize("arguments", [["--help"], ["inspect", "--help"]])
    def test_a_reader_of_help_that_went_away_is_no_error(
        self, monkeypatch, capsys, arguments
    ):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w", encoding="utf-8") as gone:
            monkeypatch.setattr(sys, "stdout", gone)
            code = main(arguments)

        assert (code, capsys.readouterr().err) == (141, "")
