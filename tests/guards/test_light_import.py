"""Reading and writing tables loads neither torch nor what learns, draws or prints.

``tests/test_package.py`` says it of imports, ``tests/result/test_loading.py`` of saved
results.
"""

import subprocess
import sys
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "files"
TABLE = str(FILES / "quirks.csv")
HEAVY = ("torch", "sklearn", "matplotlib", "rich", "typer", "scipy")
NOTHING = (*HEAVY, "numpy", "pandas", "pyarrow")
WAYS = {
    "import": ("import tabtap; tabtap.__version__, dir(tabtap)", NOTHING),
    "show versions": ("import tabtap; tabtap.show_versions()", NOTHING),
    "read a frame": (
        "import tabtap.datasets, tabtap.table as t; "
        "t.describe(t.read_frame(tabtap.datasets.load_penguins(), 'species'))",
        HEAVY,
    ),
    "read and write a file": (
        "from tabtap.files import read_table, write_table; "
        f"table = read_table({TABLE!r}); "
        "write_table(table.frame, 'out.csv', n_real=15, like=table)",
        HEAVY,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_only_reads_loads_nothing_heavy(way, tmp_path):
    code, unwanted = WAYS[way]
    tell = f"import sys; print(set(sys.modules) & set({unwanted!r}), file=sys.stderr)"

    answer = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stderr.splitlines()[-1] == "set()"
