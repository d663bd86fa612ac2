"""Commands whose answers are known in advance, without the seconds that torch takes.

``peek FILE`` reads the first line as a header; ``inspect`` finds nothing; ``augment``
writes its files and says what it was called with.  What it does first, its learner
says: forest waits until nobody listens, boosting fails, network is killed.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

WAIT_SECONDS = 60


def main():
    command, file, *rest = sys.argv[1:]
    return {"peek": peek, "inspect": look, "augment": augment}[command](file, rest)


def peek(file, rest):
    del rest
    header = Path(file).read_text(encoding="utf-8").splitlines()[0]
    if "," not in header:
        sys.stderr.write(f"Error: '{file}' has one column only, which is no\ntable.\n")
        return 2
    columns = [{"name": n, "source": n, "examples": []} for n in header.split(",")]
    found = {"n_rows": 1, "columns": columns, "notes": [], "sheet": None}
    sys.stdout.write(json.dumps(found))
    return 0


def look(file, rest):
    del file
    found = {"columns": [], "remarks": [], "notes": [], "said": rest}
    sys.stdout.write(json.dumps(found))
    return 0


def augment(file, rest):
    said = dict(part.partition("=")[::2] for part in rest)
    tell(0.5, ["Window 1: 4 rows let in, gain +0.1; 4 of 8 rows so far."])
    learner = said["--learner"]
    if learner == "forest" and "--resume" not in said:
        sys.stdin.buffer.read() or sys.exit(130)
    if learner == "network":
        os.kill(os.getpid(), signal.SIGKILL)
    if learner == "boosting":
        sys.stderr.write(f"A word.\nError: '{file}' cannot be\nlearned:\n  - too few\n")
        return 2
    if learner == "neighbors":
        wait_for(Path(said["--out"]).parent / "go")
    for option in ("--out", "--report", "--save", "--datasheet"):
        Path(said[option]).write_text(f"{option} of {file}", encoding="utf-8")
    answer = {"verdict": "augment", "headline": "Yes.", "why": "So.", "said": rest}
    answer |= {"notes": [], "advice": [{"line": "Do."}]}
    sys.stdout.write(json.dumps(answer))
    return 0


def tell(share, said):
    now = {
        "stage": "generating rows",
        "share": share,
        "line": "step 1 of 2",
        "said": said,
    }
    now |= {"seconds_left": 3.0, "n_rows": 4, "budget": 8}
    Path(os.environ["TABTAP_PROGRESS"]).write_text(json.dumps(now), encoding="utf-8")


def wait_for(path):
    for _ in range(WAIT_SECONDS * 20):
        if path.exists():
            return
        time.sleep(0.05)
    sys.exit("nobody came")


if __name__ == "__main__":
    sys.exit(main())
