import json
from dataclasses import replace

import numpy as np
import pytest
from stand_ins import CountingSteering, StopAfter

from tabtap.archive import Archive, read_archive, write_archive
from tabtap.domain.written import certificate_to_json, steps_to_arrays, steps_to_json
from tabtap.errors import FileFormatError, UserInputError
from tabtap.loop.resume import (
    FORMAT_NAME,
    FORMAT_VERSION,
    load_progress,
    save_progress,
)

KIND = {"name": FORMAT_NAME, "version": FORMAT_VERSION}


def random_worth(_action, rng, n_rows):
    return rng.normal(0.05, 1.0, n_rows)


class Frozen:
    """A clock that stands still, so that runs may be compared to the second."""

    def __call__(self):
        return 0.0


@pytest.fixture
def world(make_world):
    # Some windows are refused, some committed, and the last is cut to the budget.
    return make_world(
        random_worth, admits=lambda w: w > -1.0, n_steps=40, patience=9, seed=5
    )


@pytest.fixture
def everything(content):
    """Return all that a run knows, in a form that can be compared bit for bit."""

    def read(progress):
        states = steps_to_arrays(progress.steps)
        standing = progress.standing
        return (
            content(progress.committed),
            repr(steps_to_json(progress.steps)),
            {name: array.tobytes() for name, array in states.items()},
            [repr(certificate_to_json(c)) for c in progress.certificates],
            [
                {name: array.tobytes() for name, array in c.evidence.items()}
                for c in progress.certificates
            ],
            [
                scores and {k: v.tobytes() for k, v in scores.by_learner.items()}
                for scores in (standing.real, standing.incumbent)
            ],
            (
                standing.learner,
                standing.promised is None or standing.promised.tobytes(),
            ),
            (progress.steering, progress.seconds),
        )

    return read


@pytest.fixture
def kept(world, tmp_path):
    """Run to the end, saving after every window; give the outcome and the files."""
    start = world.start.steering
    files = []

    def keep(progress):
        files.append(tmp_path / f"after {progress.window}.progress")
        save_progress(progress, files[-1], context=world.scene)

    outcome = world.run(35, keep=keep, clock=Frozen())
    decisions = {c.committed for c in outcome.progress.certificates}
    assert decisions == {True, False}
    return outcome, files, start


def test_a_run_resumed_after_any_window_equals_the_uninterrupted_one(
    world, kept, everything
):
    outcome, files, start = kept

    for file in files:
        progress = load_progress(file, context=world.scene, start=start)
        resumed = world.run(35, progress=progress, clock=Frozen())

        assert resumed.stop is outcome.stop
        assert everything(resumed.progress) == everything(outcome.progress)
    assert len(files) > 4


def test_a_run_broken_off_within_a_window_equals_the_uninterrupted_one(
    world, kept, everything, tmp_path
):
    outcome, _, start = kept
    file = tmp_path / "broken off"

    def keep(progress):
        save_progress(progress, file, context=world.scene)

    with pytest.raises(KeyboardInterrupt):
        world.run(35, observer=StopAfter(n_steps=15), keep=keep, clock=Frozen())
    progress = load_progress(file, context=world.scene, start=start)
    resumed = world.run(35, progress=progress, clock=Frozen())

    assert progress.window == 3
    assert everything(resumed.progress) == everything(outcome.progress)


def test_a_run_that_has_not_begun_can_be_saved(world, tmp_path, everything):
    start = world.start.steering
    file = tmp_path / "start"

    save_progress(world.start, file, context=world.scene)
    progress = load_progress(file, context=world.scene, start=start)

    assert everything(progress) == everything(world.start)
    assert progress.standing.real is None


def test_time_spent_is_carried_over(world, tmp_path):
    start = world.start.steering
    file = tmp_path / "late"

    spent = replace(world.start, seconds=12.25)
    save_progress(spent, file, context=world.scene)

    assert load_progress(file, context=world.scene, start=start).seconds == 12.25


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda s: replace(s, seed=6), "other seed"),
        (lambda s: replace(s, config=replace(s.config, n_steps=20)), "other settings"),
        (
            lambda s: replace(s, lineages=replace(s.lineages, crossfit=False)),
            "other folds",
        ),
        (
            lambda s: replace(s, real=s.real.take(np.arange(12)[::-1])),
            "other real rows",
        ),
        (
            lambda s: replace(s, seed=6, config=replace(s.config, n_steps=20)),
            "other settings and seed",
        ),
    ],
    ids=["seed", "settings", "folds", "rows", "two things"],
)
def test_a_file_of_another_run_is_refused_with_what_differs(world, kept, change, named):
    _, files, start = kept

    with pytest.raises(FileFormatError, match=f"another run, with {named}"):
        load_progress(files[0], context=change(world.scene), start=start)


def test_a_column_of_another_name_makes_another_table(world, kept):
    _, files, start = kept
    schema = world.scene.real.schema
    renamed = replace(schema, features=(replace(schema.features[0], name="other"),))
    scene = replace(world.scene, real=replace(world.scene.real, schema=renamed))

    with pytest.raises(FileFormatError, match="other real rows"):
        load_progress(files[0], context=scene, start=start)


def test_what_else_must_be_the_same_is_said_by_its_name(world, tmp_path):
    start = world.start.steering
    file = tmp_path / "judged"
    save_progress(world.start, file, context=world.scene, others={"referee": "a"})

    load_progress(file, context=world.scene, start=start, others={"referee": "a"})
    for others in ({"referee": "b"}, None):
        with pytest.raises(FileFormatError, match="with other referee"):
            load_progress(file, context=world.scene, start=start, others=others)


def test_a_damaged_file_is_refused(world, kept):
    _, files, start = kept
    content = files[1].read_bytes()
    files[1].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    with pytest.raises(FileFormatError, match="damaged"):
        load_progress(files[1], context=world.scene, start=start)


def with_array(name, change):
    return lambda arrays, _: arrays.update({name: change(arrays[name])})


def refuse_the_last(_arrays, about):
    last = [c for c in about["certificates"] if c["committed"]][-1]
    last["committed"] = False


def commit_the_refused(_arrays, about):
    first = next(c for c in about["certificates"] if not c["committed"])
    first["committed"] = True


def with_hash(_arrays, about):
    committed = next(c for c in about["certificates"] if c["committed"])
    committed["pool_sha256"] = "0" * 64


def twice(arrays, _about):
    for name in [name for name in arrays if name.startswith("committed.")]:
        arrays[name] = np.concatenate([arrays[name], arrays[name]])


FORGERIES = {
    "a cell": with_array("committed.cell0", lambda a: a + 1),
    "labels": with_array("committed.target", lambda a: a[::-1].copy()),
    "holes": with_array("committed.missing", lambda a: np.ones_like(a)),
    "order": with_array("committed.cell0", lambda a: a[::-1].copy()),
    "lineages": with_array("committed.unseen_fold", lambda a: np.zeros_like(a)),
    "unknown lineage": with_array("committed.unseen_fold", lambda a: a + 99),
    "windows": with_array("committed.step", lambda a: np.roll(a, 1)),
    "unknown steps": with_array("committed.step", lambda a: a + 999),
    "ancestors": with_array("committed.origin", lambda a: a + 99),
    "a window less": refuse_the_last,
    "a window more": commit_the_refused,
    "hash": with_hash,
    "all rows twice": twice,
    "scores of fewer rows": lambda arrays, _: arrays.update(
        {k: v[:-1] for k, v in arrays.items() if k.startswith("standing.real.learner")}
    ),
    "no time": lambda _, about: about.update(seconds="long"),
    "no standing": lambda _, about: about.update(standing=None),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_rows_that_no_certificate_is_about_are_not_taken_up(world, kept, change):
    _, files, start = kept
    found = read_archive(files[-1], **KIND)
    arrays, about = dict(found.arrays), json.loads(json.dumps(found.about))
    change(arrays, about)
    write_archive(Archive(arrays, about), files[-1], **KIND)

    with pytest.raises(FileFormatError, match="is damaged"):
        load_progress(files[-1], context=world.scene, start=start)


def test_a_memory_that_cannot_be_read_is_refused_in_a_sentence(world, kept):
    _, files, _ = kept

    class Forgetful(CountingSteering):
        def restore(self, saved):
            raise UserInputError(f"{len(saved.arrays)} weights are too few")

    with pytest.raises(FileFormatError, match=r"damaged: .*1 weights are too few"):
        load_progress(files[0], context=world.scene, start=Forgetful(None, None, None))


def test_a_save_that_fails_leaves_the_file_before_it(world, kept):
    _, files, start = kept
    before = files[0].read_bytes()

    class Broken(CountingSteering):
        def save(self):
            return Archive(super().save().arrays, {"liked": object()})  # not for JSON

    parts = world.start.steering
    broken = Broken(parts.policy, parts.sensor, parts.critic)
    with pytest.raises(TypeError):
        save_progress(
            replace(world.start, steering=broken), files[0], context=world.scene
        )

    assert files[0].read_bytes() == before
    assert len(list(files[0].parent.iterdir())) == len(files)
    assert load_progress(files[0], context=world.scene, start=start).window == 1
