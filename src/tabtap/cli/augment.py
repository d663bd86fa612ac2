"""``tabtap augment``: the table with the rows added that are shown to help."""

from __future__ import annotations

from tabtap.cli import options as opt
from tabtap.cli.job import Job, default_out, run_job
from tabtap.cli.reading import TableOptions

EPILOG = """Examples:
$ tabtap augment train.csv --target outcome
$ tabtap augment train.parquet -t price --referee lightgbm --report train.html
$ tabtap augment visits.csv -t sick --groups patient --ignore notes -n auto
$ tabtap augment - -t label < train.csv > bigger.csv

A run that was interrupted goes on with --resume; until then nothing is written.

Exit codes: 0 augmented, 3 no gain (the output equals the input), 2 bad input, \
130 interrupted, 1 a mistake in tabtap."""


def augment(  # noqa: PLR0913  one option for each thing that can be said
    train: opt.Train,
    *,
    target: opt.Target = None,
    out: opt.Out = None,
    report: opt.ReportFile = None,
    save: opt.SaveFile = None,
    mark: opt.Mark = None,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    budget: opt.Budget = "500",
    preset: opt.PresetChoice = opt.PresetName.DEFAULT,
    mixture: opt.Mixture = "real",
    time_budget: opt.TimeBudget = None,
    seed: opt.Seed = 0,
    resume: opt.Resume = False,
    device: opt.Device = "auto",
    jobs: opt.Jobs = 1,
    debug: opt.Debug = False,
    schema: opt.SchemaFile = None,
    kind: opt.Kinds = None,
    ignore: opt.Ignored = None,
    groups: opt.Groups = None,
    task: opt.Task = opt.TaskName.AUTO,
    sheet: opt.Sheet = None,
    format_name: opt.Format = None,
    rules: opt.Rules = None,
    referee: opt.Referee = "auto",
    scoring: opt.Scoring = None,
    confidence: opt.Confidence = None,
    evaluator: opt.Evaluator = "auto",
    license_policy: opt.LicensePolicy = opt.LicenseName.OPEN,
) -> int:
    """Add rows to TRAIN, but only those that are shown to help.

    Every pool of new rows is put to the test on real rows that neither its generator
    nor the learner has seen. What fails is thrown away, and if nothing passes, TRAIN
    comes back as it was. Your rows come first and unchanged, then the new ones.
    """
    table = TableOptions(
        train=train,
        target=target,
        schema=schema,
        kinds=tuple(kind or ()),
        ignored=tuple(ignore or ()),
        groups=groups,
        task=task.value,
        sheet=sheet,
        format=format_name,
    )
    return run_job(
        Job(
            table=table,
            out=default_out(train) if out is None else out,
            report=report,
            save=save,
            mark=mark,
            force=force,
            as_json=as_json,
            quiet=quiet,
            budget=budget,
            preset=preset.value,
            mixture=mixture,
            time_budget=time_budget,
            seed=seed,
            resume=resume,
            rules=rules,
            referee=referee,
            evaluator=evaluator,
            scoring=scoring,
            confidence=confidence,
            license_policy=license_policy.value,
            device=device,
            jobs=jobs,
            debug=debug,
        )
    )
