"""A whole schema as JSON, and back.

A saved schema leaves the values of identifiers out, so that a model does not name the
rows it learned from.  A result holds the rows themselves, and so their identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tabtap.table.saved_schema import (
    level_from_json,
    level_to_json,
    schema_from_json,
    schema_to_json,
)
from tabtap.table.schema import Kind, Schema


def whole_schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as JSON, the values of identifiers included."""
    hidden = {
        str(place): {
            "levels": [level_to_json(level) for level in column.levels],
            "categories": [level_to_json(level) for level in column.categories],
        }
        for place, column in enumerate(schema.features)
        if column.kind is Kind.IDENTIFIER
    }
    return {"schema": schema_to_json(schema), "identifiers": hidden}


def whole_schema_from_json(saved: Mapping[str, Any]) -> Schema:
    """Return the schema that ``whole_schema_to_json`` wrote."""
    schema = schema_from_json(saved["schema"])
    features = list(schema.features)
    for place, hidden in saved["identifiers"].items():
        features[int(place)] = replace(
            features[int(place)],
            levels=tuple(level_from_json(level) for level in hidden["levels"]),
            categories=tuple(level_from_json(level) for level in hidden["categories"]),
        )
    return replace(schema, features=tuple(features))
