"""``tabtap serve`` whose runs are quick; its folder is the first argument."""

import signal
import sys
from pathlib import Path

if hasattr(signal, "SIGHUP"):  # ignored if the tests were started with nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

PACED = (sys.executable, str(Path(__file__).with_name("paced_tabtap.py")))


def main():
    from tabtap.cli.app import main as command
    from tabtap.serve import jobs

    class PacedJobs(jobs.Jobs):
        def __init__(self, folder):
            super().__init__(folder, command=PACED)

    folder = Path(sys.argv[1])
    jobs.Jobs, jobs.usual_folder = PacedJobs, lambda: folder
    return command(["serve", "--port", sys.argv[2], "--no-browser"])


if __name__ == "__main__":
    sys.exit(main())
