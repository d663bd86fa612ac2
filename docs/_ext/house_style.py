"""What signatures have for readers of the code is left out of the pages."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def shorten_signature(  # noqa: PLR0913  Sphinx calls it so
    app: Sphinx,  # noqa: ARG001
    what: str,  # noqa: ARG001
    name: str,  # noqa: ARG001
    thing: Any,  # noqa: ANN401, ARG001
    options: Any,  # noqa: ANN401, ARG001
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Write a default that is made afresh each time as ``...``, which can be parsed."""
    if signature is not None:
        signature = signature.replace("<factory>", "...")
    return signature, returns


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("autodoc-process-signature", shorten_signature)
    return {"parallel_read_safe": True}
