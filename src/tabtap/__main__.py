"""``python -m tabtap``: the command line, where no script is installed."""

import sys

from tabtap.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
