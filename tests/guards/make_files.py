"""Make the golden files anew: ``python tests/guards/make_files.py FOLDER``.

It says how those in ``files`` were made.  They are not made again when the code is
moved: that files of before can still be read is what they are for.
"""

import contextlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tabtap.datasets import load_penguins

QUIRKS = (
    'code;"age";weight;when;member;note;outcome',
    '007;34;71,50;2024/01/31;TRUE;"said ""no""; left";well',
    "010;51;80,25;2024/02/01;FALSE;;ill",
    '012;47;NA;2024/02/15;TRUE;"two',
    'lines";ill',
    "013;29;59,00;2024/02/16;TRUE;naïve;well",
    "014;62;91,75;2024/02/16;FALSE; spaced ;ill",
    "015;38;70,10;2024/03/01;TRUE;-;well",
    "016;45;NA;;FALSE;€ 5;ill",
    "017;33;66,60;2024/03/03;TRUE;-;well",
    "018;58;88,88;2024/03/04;FALSE;-;ill",
    "019;41;72,00;2024/03/05;TRUE;-;well",
    "020;36;64,25;2024/03/06;TRUE;=1+1;well",
    "021;55;85,50;2024/03/07;FALSE;-;ill",
    "022;49;79,95;2024/03/08;FALSE;-;ill",
    "023;31;61,05;2024/03/09;TRUE;-;well",
    "024;60;90,00;2024/03/10;FALSE;-;ill",
)
"""A table as spreadsheets of some countries write it; see ``write_quirks``."""

RULES = """[[rule]]
name = "grown up"
text = "age >= 18"

[[rule]]
column = "weight"
max = 90
"""

GRID = """datasets = ["insurance"]
n_real = [20]
splits = 2
budget = 30
methods = ["Real", "Copies", "Jitter"]
predictors = ["KNN"]
"""


class MoreIsBetter:
    """A judge that is the surer of the truth the more rows its context has."""

    name = "more is better"

    def predict(self, contexts, queries):
        pairs = zip(contexts, queries, strict=True)
        return [self._answer(len(context), asked) for context, asked in pairs]

    def _answer(self, n_rows, asked):
        from tabtap.domain import ClassPrediction, ValuePrediction

        sure = 1 / (1 + np.exp(-n_rows / 50))
        if asked.schema.target.task == "regression":
            off = np.full(len(asked), (1 - sure) * np.std(asked.target_values))
            return ValuePrediction(asked.target_values + off, np.ones(len(asked)))
        n_classes = asked.schema.n_conditions
        p = np.full((len(asked), n_classes), (1 - sure) / (n_classes - 1))
        p[np.arange(len(asked)), asked.target.astype(int)] = sure
        return ClassPrediction(p)


def tiny_preset():
    """Return settings with which a run takes a second and its files little room."""
    from tabtap.api import Preset
    from tabtap.config import (
        AugmentConfig,
        CommitConfig,
        DiffusionConfig,
        PolicyConfig,
        ProposalConfig,
        UtilityConfig,
    )

    return Preset(
        augment=AugmentConfig(
            n_steps=12,
            actions_per_batch=2,
            policy=PolicyConfig(exploration=0.9, width=8),
            proposal=ProposalConfig(candidates_per_step=4),
            utility=UtilityConfig(n_folds=3, n_partitions=1),
            commit=CommitConfig(window_length=4, min_gain=0.0),
        ),
        diffusion=DiffusionConfig(
            n_steps=25, n_sample_steps=4, width=8, depth=1, device="cpu"
        ),
        evaluators={"classification": "linear", "regression": "linear"},
        teacher="none",
    )


def penguins():
    """Return thirty birds, some of them not measured."""
    birds = load_penguins().dropna(subset=["sex"]).sample(30, random_state=1)
    birds = birds.reset_index(drop=True)
    birds.loc[[3, 11], "bill_length_mm"] = np.nan
    return birds


def patients():
    """Return a table with a column of every kind, under labels of its own."""
    rng = np.random.default_rng(0)
    n = 30
    age = rng.integers(20, 80, n)
    frame = pd.DataFrame(
        {
            "patient": [f"id-{i:04}" for i in range(n)],
            "age": age,
            "dose": np.round(rng.normal(5, 2, n), 1),
            "clinic": pd.Categorical(rng.choice(["nørth", "south"], n)),
            "stage": pd.Categorical(
                rng.choice(["I", "II", "III"], n), ["I", "II", "III"], ordered=True
            ),
            "smoker": rng.random(n) < 0.3,
            "seen": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "cost": np.round(age * 10.0 + rng.normal(0, 20, n), 2),
        },
        index=[f"p{i}" for i in range(n)],
    )
    frame.loc["p3", "dose"] = np.nan
    return frame


def augment(frame, target, **settings):
    """Run with the tiny preset and the judge that likes rows."""
    import tabtap

    told = {"preset": tiny_preset(), "referee": MoreIsBetter(), "random_state": 0}
    return tabtap.augment(frame, target, budget=8, **told, **settings)


def facts(result):
    """Return what must be the same of a result that is read by later code."""
    return {
        "verdict": result.verdict,
        "why": result.why,
        "stop": result.stop.name,
        "n_real": len(result.real),
        "real_sha256": result.real_sha256,
        "parents": result.parent_indices.tolist(),
        "groups": np.asarray(result.groups).tolist(),
        "synthetic": result.synthetic.to_csv(lineterminator="\n").splitlines(),
        "augmented": [len(part) for part in result.augmented()],
        "provenance": result.provenance.astype(str).to_dict("records"),
        "certificates": json.loads(result.certificates_json()),
        "refused": dict(result.waterfall.refused),
        "settings": result.about.settings,
        "rules": list(result.about.rules),
        "versions": dict(result.about.versions),
        "left_after_forgetting_row_12": len(result.forget(12).synthetic),
    }


def leave_a_run(folder):
    """Leave a run behind in a folder, as Ctrl-C after its first window does."""
    from tabtap.errors import RunInterrupted

    with contextlib.suppress(RunInterrupted):
        kept_run(folder).fit_table(penguins(), "sex", observer=StopAfterOneWindow())


def kept_run(folder):
    """Return the augmenter that left a run behind, to go on with it."""
    import tabtap

    return tabtap.TabularAugmenter(
        preset=tiny_preset(),
        budget=16,
        referee=MoreIsBetter(),
        confidence=0.8,  # the default when it was made
        random_state=0,
        checkpoint=folder,
    )


class StopAfterOneWindow:
    """Interrupts a run, as Ctrl-C would."""

    def on_step(self, record):
        pass

    def on_window(self, record):  # noqa: ARG002
        raise KeyboardInterrupt


def write_quirks(path):
    """Write a table with a mark of its encoding, and without a last line end."""
    path.write_bytes("\r\n".join(QUIRKS).encode("utf-8-sig"))


def main(folder):
    from tabtap.cli.app import main as tabtap_main
    from tabtap.config import DiffusionConfig
    from tabtap.diffusion import fit_backbone
    from tabtap.table import read_frame

    write_quirks(folder / "quirks.csv")
    (folder / "rules.toml").write_text(RULES, encoding="utf-8")
    schema = folder / "schema.toml"
    table = str(folder / "quirks.csv")
    tabtap_main(["inspect", table, "-t", "outcome", "-o", str(schema), "--force"])

    rules = ["2500 <= body_mass_g <= 6500"]
    results = {
        "penguins": augment(penguins(), "sex", rules=rules),
        "patients": augment(patients(), "cost", groups="clinic"),
    }
    for name, result in results.items():
        result.save(folder / f"{name}.tap")
        text = json.dumps(facts(result), indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    # The two above are of before results had hashes of names and lineage.
    results["penguins"].save(folder / "hashed.tap")

    config = DiffusionConfig(n_steps=25, n_sample_steps=4, width=8, depth=1)
    birds = read_frame(penguins(), "sex")
    backbone = fit_backbone(birds, rng=np.random.default_rng(0), config=config)
    backbone.save(folder / "backbone.safetensors")

    leave_a_run(folder / "run")

    grid = folder / "grid.toml"  # its table is found as TABTAP_DATA says
    grid.write_text(GRID, encoding="utf-8")
    tabtap_main(["bench", "run", str(grid), "--store", str(folder / "bench")])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
