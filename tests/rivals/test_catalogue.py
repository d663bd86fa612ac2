import subprocess
import sys

import pytest

from tabtap.errors import UserInputError
from tabtap.rivals import METHOD_NAMES, method_named


def test_names_are_in_the_order_of_the_papers_tables():
    rivals = ["SMOTE", "TVAE", "CTGAN", "ARF", "SPADA", "TabDDPM", "TabDiff", "TAP"]

    assert [name for name in METHOD_NAMES if name in rivals] == rivals
    assert METHOD_NAMES[0] == "Real"


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_every_name_is_a_method_that_goes_by_it(name):
    assert method_named(name).name == name
    assert method_named(name.upper()).name == name


def test_settings_reach_the_method():
    assert method_named("ARF", n_trees=7).n_trees == 7
    assert method_named("hard inpainting").rung == "hard inpainting"


def test_a_misspelled_name_is_refused_with_the_likely_one():
    with pytest.raises(UserInputError, match="Did you mean 'TabDDPM'"):
        method_named("tabdpm")


def test_a_setting_that_the_method_lacks_is_refused_with_those_it_has():
    with pytest.raises(UserInputError, match="ARF has no setting 'trees'; it has n_tr"):
        method_named("ARF", trees=3)
    with pytest.raises(UserInputError, match="One shot has no setting 'rung'"):
        method_named("One shot", rung="hard inpainting")


def test_naming_the_methods_imports_none_of_them():
    code = (
        "import sys; import tabtap.rivals as c; "
        "c.method_named('SMOTE'); "
        "sys.exit(any(m.startswith('tabtap.rivals.spada') or "
        "m == 'tabtap.rivals.ladder' for m in sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
