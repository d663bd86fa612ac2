"""Bring the weights of trained judges to this machine, once.

Run it with the names of some weights, or without to see what there is.  pip does the
fetching, so your index and proxy apply.  Without a network it says so and goes on.
"""

from __future__ import annotations

import sys

from tabtap.errors import WeightsError
from tabtap.evaluate.weights import fetch_weights, list_weights, weights_path


def main(names: list[str]) -> None:
    """Fetch what is named, or list what can be."""
    for name in names:
        fetch(name)
    if not names:
        print("weights                megabytes  here")
        for known in list_weights():
            here = "yes" if known.path else "no"
            print(f"{known.name:<21} {known.download_bytes / 1e6:>10.0f}  {here}")


def fetch(name: str) -> None:
    """Bring one set of weights unless it is here, and say so in a line."""
    if weights_path(name) is not None:
        return
    print(f"Fetching the weights {name} ...")
    try:
        fetch_weights(name)
    except WeightsError as error:
        print(f"Going on without them. {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
