"""The command line as a page starts it in tests: it learns little, and takes its time.

``--learner=forest`` stands for a judge that always likes more rows,
``--learner=xgboost`` for one that also waits at each step, so that a run can be met in
the middle.
"""

import runpy
import sys
import time
from pathlib import Path

CLI = Path(__file__).parents[1] / "cli"
LEARNERS = {"--learner=forest": 0.0, "--learner=xgboost": 0.25}


def pace(seconds):
    from tabtap.cli.progress import Progress

    tell = Progress.on_step

    def on_step(self, record):
        tell(self, record)
        time.sleep(seconds)

    Progress.on_step = on_step


def main():
    quick = runpy.run_path(str(CLI / "quick_tabtap.py"))
    for learner, seconds in LEARNERS.items():
        if learner in sys.argv:
            sys.path.append(str(CLI))
            sys.argv[sys.argv.index(learner)] = "--learner=judges:helpful"
            if seconds:
                pace(seconds)
    if "--preset=fast" in sys.argv:
        sys.argv[sys.argv.index("--preset=fast")] = "--preset"
        sys.argv.insert(sys.argv.index("--preset") + 1, "fast")
    return quick["main"]()


if __name__ == "__main__":
    sys.exit(main())
