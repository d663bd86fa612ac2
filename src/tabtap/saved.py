"""Dataclasses as JSON and arrays, field by field, and back.

What is written follows from the values, what is read from the type hints.  A class
whose fields have a form of their own replaces these before reading and after writing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

_Value = TypeVar("_Value")


def to_json(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return the fields of a dataclass, but for those that are arrays."""
    parts = _fields(value).items()
    return {name: _plain(p) for name, p in parts if not isinstance(p, np.ndarray)}


def arrays_of(value: Any) -> dict[str, NDArray[Any]]:  # noqa: ANN401
    """Return the fields of a dataclass that ``to_json`` leaves out."""
    parts = _fields(value).items()
    return {name: part for name, part in parts if isinstance(part, np.ndarray)}


def from_json(kind: type[_Value], saved: Mapping[str, Any]) -> _Value:
    """Return the dataclass that was written, its arrays among what was saved.

    A part that is no longer as ``to_json`` wrote it but a dataclass, a mapping or an
    array again is taken as it is, if it is of the type hinted.  A field that has a
    default may be missing: older files do not know it.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the content is not what the type hints say.
    """
    if isinstance(saved, kind):
        return saved
    hints = _hints(kind)
    return kind(**{name: _read(hints[name], part) for name, part in saved.items()})


_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


LEFT_OUT = MappingProxyType({"is_left_out_if_empty": True})
"""Metadata of a text that older files do not have: saved again, they are the same."""


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401
    parts = ((field, getattr(value, field.name)) for field in fields(value))
    return {f.name: part for f, part in parts if f.metadata != LEFT_OUT or part}


def _plain(part: Any) -> Any:  # noqa: ANN401
    if is_dataclass(part):
        return to_json(part)
    if isinstance(part, Enum):
        return part.value
    if isinstance(part, Mapping):
        # As pairs, because JSON objects are sorted; gates and learners have an order.
        return [[key, _plain(inner)] for key, inner in part.items()]
    if isinstance(part, (list, tuple)):
        return [_plain(inner) for inner in part]
    return part


def _read(hint: Any, saved: Any) -> Any:  # noqa: ANN401
    hint = _meant(hint)
    if reader := _READERS.get(get_origin(hint)):
        return reader(get_args(hint), saved)
    if hint in (Any, Hashable):
        return saved
    kind = get_origin(hint) or hint
    if isinstance(kind, type) and is_dataclass(kind):
        return from_json(kind, saved)
    if issubclass(kind, Enum):
        return kind(saved)
    if kind is np.ndarray and isinstance(saved, np.ndarray):
        return _array(get_args(hint), saved)
    # A whole number that was given for a float is written as it is.
    if type(saved) is not kind and (type(saved), kind) != (int, float):
        raise TypeError(f"{saved!r} is not a {kind.__name__}")
    return saved


def _meant(hint: Any) -> Any:  # noqa: ANN401
    """Return what an alias stands for: numpy's NDArray is one since Python 3.12."""
    alias = get_origin(hint)
    whole = getattr(alias, "__value__", None)
    return hint if whole is None else whole[get_args(hint)]


def _one_of(accepted: tuple[Any, ...], saved: Any) -> Any:  # noqa: ANN401
    if saved not in accepted:
        raise ValueError(f"{saved!r} is not one of {accepted}")
    return saved


def _either(hints: tuple[Any, ...], saved: Any) -> Any:  # noqa: ANN401
    if saved is None and NoneType in hints:
        return None
    *others, last = (hint for hint in hints if hint is not NoneType)
    for hint in others:
        with suppress(TypeError, ValueError):
            return _read(hint, saved)
    return _read(last, saved)


def _tuple(hints: tuple[Any, ...], saved: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if not isinstance(saved, (list, tuple)):
        raise TypeError(f"{saved!r} is not a list")
    each = hints[:1] * len(saved) if hints[-1] is Ellipsis else hints
    return tuple(_read(hint, part) for hint, part in zip(each, saved, strict=True))


def _mapping(hints: tuple[Any, ...], saved: Any) -> Mapping[Any, Any]:  # noqa: ANN401
    parts = saved.items() if isinstance(saved, Mapping) else saved
    return {_read(hints[0], key): _read(hints[1], part) for key, part in parts}


def _array(hints: tuple[Any, ...], saved: NDArray[Any]) -> NDArray[Any]:
    """Return an array if it holds what its hint says."""
    (wanted,) = get_args(hints[1])
    if wanted is not Any and saved.dtype != wanted:
        raise TypeError(f"an array of {saved.dtype} instead of {wanted.__name__}")
    return saved


_READERS: Mapping[Any, Callable[[tuple[Any, ...], Any], Any]] = {
    Literal: _one_of,
    Union: _either,
    UnionType: _either,
    tuple: _tuple,
    Mapping: _mapping,
}
