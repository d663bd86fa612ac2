"""The map of the house: who imports whom, and the counts that tell rooms from drawers.

``python docs/house_map.py`` writes the map into ``docs/explanation/architecture.md``,
between its two marks; ``--counts`` prints the counts, and ``--walk`` also those
modules that one call of ``tabtap.augment`` enters, which takes half a minute.
"""

from __future__ import annotations

import ast
import importlib
import statistics
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
BEGIN, END = "<!-- map: begin -->\n", "<!-- map: end -->\n"


def module_paths(source: Path = SOURCE) -> dict[str, Path]:
    """Return every module's file by its dotted name."""
    return {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in sorted(source.rglob("*.py"))
    }


def import_graph(source: Path = SOURCE) -> dict[str, set[str]]:
    """Return the modules of the package that each module imports, anywhere in it."""
    paths = module_paths(source)
    return {
        name: _imported(ast.parse(path.read_text(encoding="utf-8")), paths) - {name}
        for name, path in paths.items()
    }


def _imported(tree: ast.Module, modules: dict[str, Path]) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            deeper = {f"{node.module}.{alias.name}" for alias in node.names}
            found = deeper & modules.keys()
            names |= found
            if len(found) < len(deeper):
                names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names} & modules.keys()
    return names


def readers(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return who imports each module."""
    found: dict[str, set[str]] = {name: set() for name in graph}
    for name, imported in graph.items():
        for other in imported:
            found[other].add(name)
    return found


def single_readers(graph: dict[str, set[str]]) -> dict[str, str]:
    """Return the modules that only one other of their own package reads, and which."""
    is_package = {other.rpartition(".")[0] for other in graph}
    return {
        name: next(iter(who))
        for name, who in readers(graph).items()
        if len(who) == 1
        and name not in is_package
        and next(iter(who)).rpartition(".")[0] == name.rpartition(".")[0]
    }


def counts(source: Path = SOURCE) -> dict[str, int | float]:
    """Return the figures that the page shows."""
    paths = module_paths(source)
    lines = [
        len(path.read_text(encoding="utf-8").splitlines()) for path in paths.values()
    ]
    stems = Counter(path.stem for path in paths.values() if path.stem != "__init__")
    return {
        "modules": len(lines),
        "median lines": statistics.median(lines),
        "largest file": max(lines),
        "lines": sum(lines),
        "modules with one reader": len(single_readers(import_graph(source))),
        "names that occur twice": sum(count > 1 for count in stems.values()),
    }


def entered_modules() -> list[str]:
    """Return the files of the package in which ``tabtap.augment`` runs a line."""
    import tabtap
    from tabtap.datasets import load_penguins

    package = str(Path(tabtap.__file__).parent)
    for name in module_paths():
        importlib.import_module(name)  # so that what importing runs is not counted
    entered = set()

    def watch(frame, event, argument):  # noqa: ANN001, ANN202, ARG001
        name = frame.f_code.co_filename
        if name.startswith(package):
            entered.add(name[len(package) + 1 :])

    birds = load_penguins().dropna(subset=["sex"]).sample(60, random_state=1)
    sys.setprofile(watch)
    try:
        tabtap.augment(birds, "sex", budget=40, preset="fast", random_state=0)
    finally:
        sys.setprofile(None)
    return sorted(entered)


def the_map(source: Path = SOURCE) -> str:
    """Return the map as Markdown: each package, its modules, and what they import."""
    graph = import_graph(source)
    alone = single_readers(graph)
    packages = sorted({_home(name) for name in graph})
    parts = []
    for package in packages:
        inside = sorted(name for name in graph if _home(name) == package)
        lines = [_line(name, graph) + _mark(alone.get(name)) + "\n" for name in inside]
        parts.append(f"**{package or 'top level'}**\n\n" + "".join(lines))
    return "\n".join(parts)


def _mark(reader: str | None) -> str:
    if reader is None:
        return ""
    return f" (read by `{reader.rpartition('.')[2]}` alone)"


def _home(name: str) -> str:
    parts = name.split(".")
    is_package = (SOURCE / Path(*parts) / "__init__.py").is_file()
    inside = parts[1:] if is_package else parts[1:-1]
    return "/".join(inside)


def _line(name: str, graph: dict[str, set[str]]) -> str:
    home = _home(name)
    own, others = [], set()
    for other in sorted(graph[name]):
        if _home(other) == home:
            own.append(other.removeprefix("tabtap."))
        else:
            others.add(_home(other) or other.removeprefix("tabtap."))
    short = [other.rpartition(".")[2] for other in own]
    told = ", ".join(f"`{other}`" for other in short + sorted(others))
    leaf = name.rpartition(".")[2] if name.count(".") else name
    is_package = home and name == "tabtap." + home.replace("/", ".")
    title = f"{leaf}/" if is_package else leaf
    return f"- `{title}`" + (f" reads {told}" if told else "")


def main(arguments: list[str]) -> None:
    """Write the map, or print counts."""
    if not arguments:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(before + BEGIN + the_map() + END + after, encoding="utf-8")
        return
    for name, value in counts().items():
        print(f"{value:10,}  {name}")  # noqa: T201
    if "--walk" in arguments:
        entered = entered_modules()
        print(f"{len(entered):10,}  modules that tabtap.augment enters")  # noqa: T201
        print("\n".join(entered))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
