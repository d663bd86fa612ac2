"""``tabtap demo``: the whole of it on forty penguins that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tabtap.cli.augment import Job, run_job
from tabtap.cli.options import Budget, Debug, Preset, PresetName, Seed, option
from tabtap.cli.terminal import Screen
from tabtap.errors import UserInputError

EPILOG = """Examples:
$ tabtap demo
$ tabtap demo --out-dir penguins --preset fast

Exit codes: 0 augmented, 3 no gain, 2 bad input, 130 interrupted."""

N_BIRDS = 40
_BUDGET = "300"
_TARGET, _LEARNER = "species", "boosting"


def demo(
    *,
    out_dir: Annotated[
        Path, option("--out-dir -o FOLDER", "Where the files go; created.")
    ] = Path("tabtap-demo"),
    preset: Preset = PresetName.DEFAULT,
    budget: Budget = _BUDGET,
    seed: Seed = 0,
    debug: Debug = False,
) -> int:
    """Add rows to forty penguins for someone who trains boosting, and write all files.

    The species of a bird is to be told from its measures. The answer is about that
    learner, and says what else could be done. It takes about a minute.
    """
    birds = _write_birds(out_dir)
    Screen.standard().say(
        f"{N_BIRDS} penguins of the built-in table, and someone who will train "
        "boosting to tell their species: would new rows help?\nThe same by hand:\n"
        f"    tabtap augment {birds} --target {_TARGET} --learner {_LEARNER} "
        f"--preset {preset.value} --budget {budget}\n"
    )
    return run_job(
        Job(
            train=str(birds),
            target=_TARGET,
            learner=_LEARNER,
            out=str(out_dir / "penguins.augmented.csv"),
            report=out_dir / "penguins.html",
            save=out_dir / "penguins.tap",
            force=True,  # the demo's own files of an earlier time
            budget=budget,
            preset=preset,
            seed=seed,
            debug=debug,
            resume=True,
            again=f"tabtap demo --out-dir {out_dir}",
        )
    )


def _write_birds(folder: Path) -> Path:
    from tabtap.archive import put_in_place
    from tabtap.datasets import load_penguins

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserInputError(
            f"--out-dir {str(folder)!r} cannot be made: {error.strerror or error}."
        ) from error
    birds = load_penguins().dropna(subset=["sex"]).sample(N_BIRDS, random_state=1)
    path = folder / "penguins.csv"
    put_in_place(birds.to_csv(index=False).encode(), path)
    return path
