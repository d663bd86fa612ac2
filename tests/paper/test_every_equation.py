"""Each of the paper's fifty numbered equations is named by a test module here.

A module says in its docstring which equations it is about: "Equation 7", "Equations 16
and 35", "Equations 23 to 26".  Some are printed twice (8 and 45, 11 and 37, ...).
"""

import ast
import re
from pathlib import Path

N_EQUATIONS = 50
NUMBERS = re.compile(r"Equations? (\d+(?:(?:, | and | to )\d+)*)")


def equations_of(docstring):
    """Return the numbers that a docstring names.

    >>> sorted(equations_of("Equations 3, 7 and 9 to 11: all."))
    [3, 7, 9, 10, 11]
    """
    named = set()
    for words in NUMBERS.findall(docstring):
        for part in re.split(r", | and ", words):
            first, _, last = part.partition(" to ")
            named |= set(range(int(first), int(last or first) + 1))
    return named


def test_no_equation_is_left_out():
    named = {}
    for module in sorted(Path(__file__).parent.glob("test_eq*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        for number in equations_of(ast.get_docstring(tree) or ""):
            named.setdefault(number, []).append(module.name)

    missing = [number for number in range(1, N_EQUATIONS + 1) if number not in named]
    assert missing == []
    assert set(named) == set(range(1, N_EQUATIONS + 1))


def test_a_module_is_named_after_an_equation_that_it_is_about():
    for module in Path(__file__).parent.glob("test_eq*.py"):
        number = int(module.name[len("test_eq") :][:2])
        docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))

        assert number in equations_of(docstring), module.name


def test_numbers_are_read_as_they_are_written():
    assert equations_of("Equations 3, 7 and 9 to 11.") == {3, 7, 9, 10, 11}
    assert equations_of("As equation 5 says.") == set()
