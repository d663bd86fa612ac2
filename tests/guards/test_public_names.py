"""Names that users were shown keep working, wherever the code behind them lives.

``public_names.txt`` holds every name that the README, the pages and the examples show;
``public_signatures.txt`` what the reference says of them: parameters and members.
``python tests/guards/test_public_names.py`` adds names that are new in the pages, and
takes none away; one that goes is taken out by hand.
"""

import ast
import enum
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import tabtap

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NAMES = HERE / "public_names.txt"
SIGNATURES = HERE / "public_signatures.txt"


def resolve(name):
    """Return what a dotted name stands for, imported as a user would."""
    words = name.split(".")
    for n_packages in range(len(words), 0, -1):
        module = ".".join(words[:n_packages])
        try:
            found = import_module(module)
        except ModuleNotFoundError as error:
            # A module that is there, and needs one that is not, is another matter.
            if not f"{module}.".startswith(f"{error.name}."):
                raise
            continue
        for word in words[n_packages:]:
            found = getattr(found, word)
        return found
    raise ModuleNotFoundError(f"no package of {name!r} can be imported")


def signatures(name):
    """Return what the reference says of a name: its parameters and its members."""
    thing = resolve(name)
    if not isinstance(thing, type):
        return [f"{name}{_parameters(thing)}"] if callable(thing) else []
    plain = issubclass(thing, (enum.Enum, BaseException)) or _is_protocol(thing)
    lines = [name if plain else f"{name}{_parameters(thing)}"]
    ours = [part for part in thing.__mro__ if part.__module__.startswith("tabtap")]
    members = {member for part in ours for member in vars(part)}
    members |= {field for part in ours for field in inspect.get_annotations(part)}
    for member in sorted(members):
        if not member.startswith("_"):
            is_method = inspect.isroutine(value := getattr(thing, member, None))
            suffix = _parameters(value) if is_method else ""
            lines.append(f"{name}.{member}{suffix}")
    return lines


def _is_protocol(thing):
    return getattr(thing, "_is_protocol", False)


def _parameters(thing):
    """Return names and ways of passing; a default may change, a name may not."""
    try:
        found = inspect.signature(thing).parameters.values()
    except ValueError:  # no Python function
        return "(...)"
    bare = [
        p.replace(
            annotation=inspect.Parameter.empty,
            default=p.default if p.default is p.empty else ...,
        )
        for p in found
    ]
    return str(inspect.Signature(bare)).replace("=Ellipsis", "=...")


def read(path):
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", read(NAMES))
def test_a_name_that_users_were_shown_can_be_imported(name):
    resolve(name)


def test_no_name_of_the_package_itself_comes_or_goes_unnoticed():
    recorded = {name for name in read(NAMES) if name.count(".") == 1}

    assert {f"tabtap.{name}" for name in tabtap.__all__} <= recorded
    assert {"augment", "load", "TabularAugmenter"} <= set(dir(tabtap))


def test_parameters_and_members_of_public_names_are_those_of_the_reference():
    recorded = set(read(SIGNATURES))

    found = {line for name in read(NAMES) for line in signatures(name)}

    assert sorted(recorded - found) == []  # parameters may come, with a new record
    assert sorted(found - recorded) == []


def names_shown():
    """Return the names in directives of the reference, code, and running text."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in pages]
    blocks = [
        code
        for text in texts
        for code in re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.M | re.S)
    ]
    examples = (ROOT / "examples").glob("*.py")
    blocks += [path.read_text(encoding="utf-8") for path in examples]
    found = {name for text in texts for name in _mentioned(text)}
    found |= {name for text in blocks for name in _mentioned(text) | _imported(text)}
    directive = r"^\.\. automodule:: (\S+)\n(?!   :no-members:)"
    for module in re.findall(directive, "\n".join(texts), re.M):
        found |= {f"{module}.{name}" for name in _members(import_module(module))}
    return found


def _mentioned(text):
    return set(re.findall(r"(?<![\w./])tabtap(?:\.[A-Za-z_]\w*)+", text))


def _imported(code):
    return {
        f"{part.module}.{alias.name}"
        for part in ast.walk(ast.parse(code))
        if isinstance(part, ast.ImportFrom) and (part.module or "").startswith("tabtap")
        for alias in part.names
    }


def _members(module):
    """Return what autodoc shows: ``__all__``, or else what the module defines."""
    own = (
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and getattr(thing, "__module__", None) == module.__name__
    )
    return getattr(module, "__all__", None) or own


if __name__ == "__main__":
    names = sorted({*read(NAMES), *names_shown()})
    NAMES.write_text("\n".join(names) + "\n", encoding="utf-8")
    lines = sorted({line for name in names for line in signatures(name)})
    SIGNATURES.write_text("\n".join(lines) + "\n", encoding="utf-8")
