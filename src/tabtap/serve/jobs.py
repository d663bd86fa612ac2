"""Files that were dropped, runs that wait for their turn, and the one that is at work.

All of it is in one folder, so a server that was killed finds it again.  Names of files
and folders are made here, never by whoever sends a file.  A run is ``tabtap augment``
in a process of its own; it ends in order when this one does, however that ends.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from tabtap.archive import put_in_place
from tabtap.errors import UserInputError
from tabtap.serve.asked import ending_of, run_arguments, shown_name, table_arguments
from tabtap.wording import counted, plain

WAITING: Final = "waiting"
RUNNING: Final = "running"
STOPPING: Final = "stopping"
STOPPED: Final = "stopped"
DONE: Final = "done"
FAILED: Final = "failed"
ACTIVE = (WAITING, RUNNING, STOPPING)
UNFINISHED = (*ACTIVE, STOPPED)

WRITTEN = {
    "table": "table",  # with the ending of the file
    "report": "report.html",
    "result": "result.tap",
    "datasheet": "datasheet.md",
}
"""What a run writes, by the name under which it is asked for."""

PEEK = (sys.executable, "-m", "tabtap.serve.peek")
"""The command that says what columns a file has."""

_ID = re.compile(r"[0-9a-f]{16}")
_RUN, _FILE, _ANSWER, _SAID = "run.json", "file.json", "answer.json", "said.txt"
_PROGRESS = "progress.json"
_BAD_INPUT, _INTERRUPTED = 2, 130
_ANSWERED = (0, 3)
_POLL_SECONDS = 0.2
_STOP_SECONDS = 30.0
"""How long a run may take to end in order."""

_SHOWN_ANSWER = (
    "verdict", "headline", "why", "n_real", "n_synthetic", "learner", "notes", "seed",
    "seconds",
)  # fmt: skip


class GoneError(UserInputError):
    """There is no such file or run, or there is none any more."""


class TooMuchError(UserInputError):
    """A file is too large, or there are too many of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a server takes, and how long it keeps it."""

    n_bytes: int = 100_000_000
    """Size of a file."""

    n_files: int = 20
    n_runs: int = 50
    age_seconds: float = 7 * 86_400.0
    """After so long without a change a file goes, and what was made of it."""


@dataclass(slots=True, kw_only=True, eq=False)
class Upload:
    """A file that was dropped on the page."""

    id: str
    name: str
    """As its owner calls it: shown, and never a path."""

    ending: str
    size: int
    created: float
    content: Mapping[str, Any] = field(default_factory=dict)
    """Its columns and their first values."""

    look: Mapping[str, Any] | None = None
    """What ``tabtap inspect`` says of it, and what it was told."""

    version: int = 0

    @property
    def stored(self) -> str:
        """The name of the copy."""
        return f"train{self.ending}"


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """One augmentation that was asked for."""

    id: str
    file: str
    options: Mapping[str, Any]
    created: float
    state: str = WAITING
    began: float | None = None
    ended: float | None = None
    is_resumed: bool = False
    sentence: str = ""
    """What went wrong, or why it stopped."""

    progress: Mapping[str, Any] | None = None
    answer: Mapping[str, Any] | None = None
    version: int = 0


def written_name(upload: Upload, what: str) -> str:
    """Return the name under which something that a run wrote is downloaded."""
    stem = upload.name.partition(".")[0] or "table"
    if what == "table":
        return f"{stem}.augmented{upload.ending}"
    return f"{stem}.{WRITTEN[what]}"


def usual_folder() -> Path:
    """Return where files and runs are kept; TABTAP_CACHE moves it."""
    chosen = os.environ.get("TABTAP_CACHE")
    root = Path(chosen).expanduser() if chosen else user_cache_path("tabtap")
    return root / "serve"


# ---- All files and runs, and the thread that makes one run after the other.


class Jobs:
    """Files and runs of one folder, the next run taken up as soon as one is over.

    Parameters
    ----------
    folder : Path
        Where all of it is kept; created, for nobody else to read.
    limits : Limits, optional
        How much is taken, and how long it is kept.
    command : sequence of str, optional
        The command line, to be followed by ``augment`` and so on.
    now : callable, optional
        Seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limits: Limits | None = None,
        command: Sequence[str] = (sys.executable, "-m", "tabtap"),
        now: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.limits = limits or Limits()
        self.uploads: dict[str, Upload] = {}
        self.runs: dict[str, Run] = {}
        self.is_closing = threading.Event()
        self._command = tuple(command)
        self._now = now
        self._version = 0
        self._arriving: set[str] = set()
        self._changed = threading.Condition(threading.RLock())
        self._few = threading.Semaphore(2)
        self._thread = threading.Thread(target=self._work, daemon=True)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._lock = FileLock(folder / "serve.lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UserInputError(
                "tabtap serve is at work already on this machine. Open the page that "
                "it named, or end it first."
            ) from None
        self._find()

    # ---- From the first to the last.

    def start(self) -> None:
        """Begin to make runs."""
        self._thread.start()

    def close(self) -> int:
        """End the run at work in order, and delete all but what can be resumed.

        Returns
        -------
        int
            How many unfinished runs are kept.
        """
        self.is_closing.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        with self._changed:
            for run in [
                run for run in self.runs.values() if run.state in (DONE, FAILED)
            ]:
                self._drop_run(run)
            kept = {run.file for run in self.runs.values()}
            for upload in [up for up in self.uploads.values() if up.id not in kept]:
                self._drop(upload)
        self._lock.release()
        return len(self.runs)

    def _find(self) -> None:
        """Take up what an earlier server has left; what is no file of ours stays."""
        for place in sorted(self.folder.iterdir()):
            if not _ID.fullmatch(place.name) or place.is_symlink():
                continue
            try:
                kept = json.loads((place / _FILE).read_text(encoding="utf-8"))
                upload = Upload(**kept)
            except (OSError, ValueError, TypeError):  # not all of it had arrived
                shutil.rmtree(place, ignore_errors=True)
                continue
            self.uploads[upload.id] = upload
            self._note(upload)
            for inner in sorted(place.iterdir()):
                if _ID.fullmatch(inner.name):
                    self._find_run(inner)
        self.forget_old()

    def _find_run(self, place: Path) -> None:
        try:
            run = Run(**json.loads((place / _RUN).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            shutil.rmtree(place, ignore_errors=True)
            return
        self.runs[run.id] = run
        run.progress = _read_json(place / _PROGRESS)
        if run.state in ACTIVE:
            run.state = STOPPED
            run.sentence = "The server ended before this run did. Resume it to go on."
            self._keep(run)
        if run.state == DONE:
            run.answer = _read_json(place / _ANSWER)
        self._note(run)

    # ---- What the page asks for.

    def new_place(self, name: str) -> tuple[Upload, Path]:
        """Return a file to be, and where its content is to be written."""
        shown = shown_name(name)
        ending = ending_of(shown)
        with self._changed:
            n_files = len(self.uploads) + len(self._arriving)
            if n_files >= self.limits.n_files:
                raise TooMuchError(
                    f"There are {counted(n_files, 'file')} already. Remove one first."
                )
            number = secrets.token_hex(8)
            self._arriving.add(number)
        upload = Upload(
            id=number,
            name=shown,
            ending=ending,
            size=0,
            created=self._now(),
        )
        folder = self.folder / upload.id
        folder.mkdir(mode=0o700)
        return upload, folder / upload.stored

    def take(self, upload: Upload) -> Upload:
        """Read the columns of a file that has arrived, and keep it."""
        folder = self.folder / upload.id
        upload.size = (folder / upload.stored).stat().st_size
        try:
            upload.content = self._asked(upload, [*PEEK, upload.stored], (0,))
        except BaseException:
            self.give_up(upload)
            raise
        with self._changed:
            self._arriving.discard(upload.id)
            self.uploads[upload.id] = upload
            self._keep_upload(upload)
        return upload

    def give_up(self, upload: Upload) -> None:
        """Delete a file that did not arrive whole, or is no table."""
        shutil.rmtree(self.folder / upload.id, ignore_errors=True)
        with self._changed:
            self._arriving.discard(upload.id)

    def look_over(self, file: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what ``tabtap inspect`` says of a file, and keep it."""
        upload = self.upload(file)
        said = table_arguments(options, _names(upload))
        command = [*self._command, "inspect", upload.stored, *said, "--json"]
        answer = self._asked(upload, command, _ANSWERED)
        with self._changed:
            upload.look = {"options": dict(options), "answer": answer}
            if upload.id in self.uploads:
                self._keep_upload(upload)
        return answer

    def ask(self, file: str, options: Mapping[str, Any]) -> Run:
        """Put a run at the end of the queue."""
        upload = self.upload(file)
        run_arguments(options, _names(upload))  # so that it is refused here, if at all
        with self._changed:
            if len(self.runs) >= self.limits.n_runs:
                raise TooMuchError(
                    f"There are {counted(len(self.runs), 'run')} already. Remove one "
                    "first."
                )
            run = Run(
                id=secrets.token_hex(8),
                file=file,
                options=dict(options),
                created=self._now(),
            )
            self.place(run).mkdir(mode=0o700)
            self.runs[run.id] = run
            self._keep(run)
            if upload.look is not None:  # what a second tab shows as chosen
                upload.look = {**upload.look, "options": dict(options)}
                self._keep_upload(upload)
            self._changed.notify_all()
        return run

    def stop(self, run_id: str) -> None:
        """End a run in order, so that it can be resumed."""
        with self._changed:
            run = self.run(run_id)
            if run.state == WAITING:
                run.state, run.sentence = STOPPED, ""
            elif run.state == RUNNING:
                run.state = STOPPING
            else:
                raise UserInputError("This run is not at work: nothing to stop.")
            self._keep(run)

    def resume(self, run_id: str) -> None:
        """Put a run that was stopped, or has failed, at the end of the queue again."""
        with self._changed:
            run = self.run(run_id)
            if run.state not in (STOPPED, FAILED):
                raise UserInputError("Only a run that has stopped can be resumed.")
            run.state, run.sentence, run.is_resumed = WAITING, "", True
            run.created, run.ended = self._now(), None
            self._keep(run)
            self._changed.notify_all()

    def remove_run(self, run_id: str) -> None:
        """Delete a run, and all that it wrote."""
        with self._changed:
            run = self.run(run_id)
            _check_idle([run])
            self._drop_run(run)

    def remove(self, file: str) -> None:
        """Delete a file, and all that was made of it."""
        with self._changed:
            upload = self.upload(file)
            _check_idle([run for run in self.runs.values() if run.file == file])
            self._drop(upload)

    def upload(self, file: str) -> Upload:
        """Return a file by its number."""
        if file not in self.uploads:
            raise GoneError("There is no such file any more. Drop it again.")
        return self.uploads[file]

    def run(self, run_id: str) -> Run:
        """Return a run by its number."""
        if run_id not in self.runs:
            raise GoneError("There is no such run any more.")
        return self.runs[run_id]

    def written(self, run_id: str, what: str) -> tuple[Path, str]:
        """Return where something is that a run wrote, and the name to give it."""
        with self._changed:
            run = self.run(run_id)
            if what not in self._available(run):
                raise GoneError("This run has written nothing of that kind.")
            upload = self.upload(run.file)
            return self._path(run, what), written_name(upload, what)

    def changes(
        self, seen: Mapping[str, int]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """Return what is new to someone who saw some versions, and what is gone."""
        with self._changed:
            there: list[Upload | Run] = [*self.uploads.values(), *self.runs.values()]
            new = [each for each in there if seen.get(each.id) != each.version]
            new.sort(key=lambda each: (isinstance(each, Run), each.created))
            known = {each.id for each in there}
            return [self.shown(each) for each in new], [
                name for name in seen if name not in known
            ]

    def shown(self, each: Upload | Run) -> dict[str, Any]:
        """Return a file or a run as the page gets it."""
        if isinstance(each, Upload):
            return {
                "is": "file",
                "id": each.id,
                "version": each.version,
                "name": each.name,
                "size": each.size,
                "created": each.created,
                **each.content,
                "look": each.look,
            }
        answer = None
        if each.answer is not None:
            answer = {key: each.answer.get(key) for key in _SHOWN_ANSWER}
            advice = each.answer.get("advice") or ()
            answer["advice"] = [option.get("line") for option in advice]
        return {
            "is": "run",
            "id": each.id,
            "version": each.version,
            "file": each.file,
            "state": each.state,
            "options": each.options,
            "created": each.created,
            "began": each.began,
            "ended": each.ended,
            "sentence": each.sentence,
            "progress": each.progress,
            "answer": answer,
            "written": self._available(each),
        }

    def forget_old(self) -> None:
        """Delete files that nothing has happened to for too long."""
        oldest = self._now() - self.limits.age_seconds
        with self._changed:
            for upload in list(self.uploads.values()):
                runs = [run for run in self.runs.values() if run.file == upload.id]
                last = max([upload.created, *(r.ended or r.created for r in runs)])
                if last < oldest and not any(run.state in ACTIVE for run in runs):
                    self._drop(upload)

    # ---- One run after the other.

    def _work(self) -> None:
        while True:
            self.forget_old()
            with self._changed:
                if self.is_closing.is_set():
                    return
                waiting = [run for run in self.runs.values() if run.state == WAITING]
                if not waiting:
                    self._changed.wait(timeout=60.0)
                    continue
                run = min(waiting, key=lambda each: each.created)
                run.state, run.began = RUNNING, self._now()
                run.progress = run.answer = None
                self._keep(run)
            try:
                self._make(run)
            # Whatever happens to one run, the next one gets its turn.
            except Exception as error:  # noqa: BLE001
                self._end(run, FAILED, f"The run could not be made: {error}.")

    def _make(self, run: Run) -> None:
        """Run the command to its end, and tell how far it is meanwhile."""
        upload, place = self.upload(run.file), self.place(run)
        _wait_for_the_last(self._path(run, "table"))
        outputs = {
            "--out": self._path(run, "table"),
            "--report": self._path(run, "report"),
            "--save": self._path(run, "result"),
            "--datasheet": self._path(run, "datasheet"),
        }
        inside = self.folder / upload.id
        command = [*self._command, "augment", upload.stored]
        command += run_arguments(run.options, _names(upload))
        command += [
            f"{key}={path.relative_to(inside)}" for key, path in outputs.items()
        ]
        command += ["--json", *(["--resume", "--force"] if run.is_resumed else [])]
        with (
            (place / _ANSWER).open("wb") as answer,
            (place / _SAID).open("wb") as said,
            subprocess.Popen(
                command,
                cwd=inside,
                env={**os.environ, "TABTAP_PROGRESS": str(place / _PROGRESS)},
                stdin=subprocess.PIPE,
                stdout=answer,
                stderr=said,
                start_new_session=True,
            ) as child,
        ):
            self._watch(run, child)
        self._conclude(run, child.returncode)

    def _watch(self, run: Run, child: subprocess.Popen[bytes]) -> None:
        place, told, patience = self.place(run), 0, _STOP_SECONDS
        while True:
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=_POLL_SECONDS)
                return
            with suppress(OSError):
                written = (place / _PROGRESS).stat().st_mtime_ns
                if written != told:
                    told = written
                    with self._changed:
                        run.progress = _read_json(place / _PROGRESS)
                        self._note(run)
            if run.state == STOPPING or self.is_closing.is_set():
                if child.stdin is not None:
                    child.stdin.close()  # which it takes as Ctrl-C
                patience -= _POLL_SECONDS
                if patience <= 0:
                    child.kill()

    def _conclude(self, run: Run, code: int) -> None:
        place, upload = self.place(run), self.upload(run.file)
        if code in _ANSWERED:
            run.answer = _read_json(place / _ANSWER)
            self._end(run, DONE, "")
        elif code == _INTERRUPTED or run.state == STOPPING or self.is_closing.is_set():
            self._end(run, STOPPED, "")
        elif code < 0:
            self._end(
                run,
                FAILED,
                f"The system ended this run (signal {-code}), perhaps for want of "
                "memory. Resume it to go on.",
            )
        else:
            said = (place / _SAID).read_text(encoding="utf-8", errors="replace")
            self._end(run, FAILED, _sentence(said, upload))

    def _end(self, run: Run, state: str, sentence: str) -> None:
        with self._changed:
            run.state, run.sentence, run.ended = state, sentence, self._now()
            self._keep(run)

    def _asked(
        self, upload: Upload, command: Sequence[str], good: Sequence[int]
    ) -> dict[str, Any]:
        """Return what a short command answers, or raise its sentence."""
        with self._few:
            try:
                done = subprocess.run(
                    command,
                    cwd=self.folder / upload.id,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=600,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise UserInputError(
                    f"{upload.name!r} could not be read: {type(error).__name__}."
                ) from error
        if done.returncode not in good:
            raise UserInputError(
                _sentence(done.stderr.decode(errors="replace"), upload)
            )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    # ---- What is on the disk.

    def place(self, run: Run) -> Path:
        """Return the folder of a run."""
        return self.folder / run.file / run.id

    def _path(self, run: Run, what: str) -> Path:
        ending = self.upload(run.file).ending if what == "table" else ""
        return self.place(run) / f"{WRITTEN[what]}{ending}"

    def _available(self, run: Run) -> list[str]:
        if run.state not in (DONE, FAILED) or run.file not in self.uploads:
            return []
        return [what for what in WRITTEN if self._path(run, what).is_file()]

    def _note(self, each: Upload | Run) -> None:
        self._version += 1
        each.version = self._version

    def _keep(self, run: Run) -> None:
        self._note(run)
        names = [
            "id", "file", "options", "created", "state", "began", "ended",
            "is_resumed", "sentence",
        ]  # fmt: skip
        kept = {name: getattr(run, name) for name in names}
        put_in_place(json.dumps(kept).encode(), self.place(run) / _RUN)

    def _keep_upload(self, upload: Upload) -> None:
        self._note(upload)
        names = ("id", "name", "ending", "size", "created", "content", "look")
        kept = {name: getattr(upload, name) for name in names}
        put_in_place(json.dumps(kept).encode(), self.folder / upload.id / _FILE)

    def _drop_run(self, run: Run) -> None:
        shutil.rmtree(self.place(run), ignore_errors=True)
        self.runs.pop(run.id, None)

    def _drop(self, upload: Upload) -> None:
        shutil.rmtree(self.folder / upload.id, ignore_errors=True)
        self.uploads.pop(upload.id, None)
        for run in [run for run in self.runs.values() if run.file == upload.id]:
            self.runs.pop(run.id, None)


def _check_idle(runs: Sequence[Run]) -> None:
    if any(run.state in ACTIVE for run in runs):
        raise UserInputError("A run of it waits or is at work. Stop it first.")


def _names(upload: Upload) -> list[str]:
    """Return every name that a column of a file may go by."""
    looked = {} if upload.look is None else upload.look["answer"]
    columns = [*upload.content.get("columns", ()), *looked.get("columns", ())]
    return [
        name
        for column in columns
        for name in (column["name"], column.get("source", column["name"]))
    ]


def _wait_for_the_last(table: Path) -> None:
    """Wait until a run whose server was killed has ended; it does so by itself."""
    lock = table.with_name(f"{table.name}.run") / "run.lock"
    if lock.is_file():
        with suppress(Timeout), FileLock(lock, timeout=_STOP_SECONDS):
            pass


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _sentence(said: str, upload: Upload) -> str:
    """Return what a command ended with, in one paragraph, about the user's own file."""
    _, _, last = f"\n{said}".rpartition("\nError: ")
    flowing = re.sub(r"\n(?!\s*- )\s*", " ", plain(last.strip()))
    text = flowing.replace(upload.stored, upload.name)
    return text or "The run ended without a word. Run it on the command line to see."
