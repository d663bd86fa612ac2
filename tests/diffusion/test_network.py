from itertools import pairwise

import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.network import (
    Denoiser,
    FixedSchedule,
    LearnedSchedule,
    NoiseLevel,
    WeightPlan,
    linear,
    linear_shapes,
    make_schedule,
)

# ---- The denoiser.


N_MEMBERS, N_ROWS = 2, 16
LAYOUT = Layout(3, (4, 2), 0, 5)


@pytest.fixture(params=["compact", "paper"])
def scene(request):
    """Give a denoiser with random weights and rows for it."""
    config = DiffusionConfig(size=request.param, width=16, depth=1)
    generator = torch.Generator().manual_seed(0)
    denoiser = Denoiser(LAYOUT, config)
    flat = denoiser.plan.initial(N_MEMBERS, generator)
    flat += 0.2 * torch.randn(flat.shape, generator=generator)
    shape = (N_MEMBERS, N_ROWS, 3)
    rows = {
        "noisy": torch.randn(shape, generator=generator),
        "clean": torch.randn(shape, generator=generator),
        "kept": torch.zeros(shape),
        "tokens": torch.zeros(N_MEMBERS, N_ROWS, 2, dtype=torch.long),
        "condition": torch.zeros(N_MEMBERS, N_ROWS, dtype=torch.long),
    }
    return denoiser, denoiser.plan.views(flat), rows


def call(scene, sigma=1.0, **changes):
    denoiser, weights, rows = scene
    rows = rows | changes
    level = NoiseLevel(
        torch.full((1, 1, 1), sigma).log() / 4, torch.full((1, 1, 1), sigma)
    )
    rest = rows["clean"], rows["kept"], rows["tokens"], rows["condition"]
    return denoiser(weights, rows["noisy"], level, rest)


def test_every_row_gets_numbers_and_a_logit_for_every_token(scene):
    numbers, logits = call(scene)

    assert numbers.shape == (N_MEMBERS, N_ROWS, 3)
    assert logits.shape == (N_MEMBERS, N_ROWS, 2, 4)
    assert torch.isfinite(logits[..., 0, :]).all()
    # The second group has two tokens only.
    assert torch.isfinite(logits[..., 1, :2]).all()
    assert (logits[..., 1, 2:] == -torch.inf).all()


def test_without_noise_numbers_are_what_they_are(scene):
    numbers, _ = call(scene, sigma=1e-6)

    assert torch.allclose(numbers, scene[2]["noisy"], atol=1e-4)


def test_under_much_noise_the_answer_does_not_grow_with_it(scene):
    noisy = 1000.0 * scene[2]["noisy"]

    numbers, _ = call(scene, sigma=1000.0, noisy=noisy)

    assert numbers.abs().max() < 100


def test_a_clean_number_is_read_only_where_it_is_kept(scene):
    base = call(scene)
    other = scene[2]["clean"] + 1.0

    assert torch.equal(call(scene, clean=other)[0], base[0])
    kept = torch.ones_like(scene[2]["kept"])
    changed = call(scene, clean=other, kept=kept)[1]
    assert not torch.allclose(changed, call(scene, kept=kept)[1])


@pytest.mark.parametrize("part", ["tokens", "condition"])
def test_tokens_and_the_label_change_the_answer(scene, part):
    changed = call(scene, **{part: scene[2][part] + 1})

    assert not torch.allclose(changed[0], call(scene)[0])


def test_the_mask_is_a_token_of_its_own(scene):
    denoiser, _, rows = scene
    masked = denoiser.mask_tokens.expand_as(rows["tokens"])

    answers = [call(scene, tokens=masked - step)[0] for step in range(2)]

    assert denoiser.mask_tokens.tolist() == [4, 2]
    assert not torch.allclose(*answers)


def test_members_answer_for_themselves(scene):
    same = {name: part[:1].expand_as(part) for name, part in scene[2].items()}

    numbers, _ = call(scene, **same)

    assert not torch.allclose(numbers[0], numbers[1])


@pytest.mark.parametrize("size", ["compact", "paper"])
@pytest.mark.parametrize(
    "layout",
    [Layout(2, (), 0, 1), Layout(0, (3,), 0, 2)],
    ids=["numbers", "categories"],
)
def test_a_table_of_one_sort_of_column_is_enough(size, layout):
    denoiser = Denoiser(layout, DiffusionConfig(size=size, width=8, depth=1))
    weights = denoiser.plan.views(
        denoiser.plan.initial(1, torch.Generator().manual_seed(0))
    )
    numbers = torch.zeros(1, 4, layout.n_numbers)
    tokens = torch.zeros(1, 4, len(layout.group_sizes), dtype=torch.long)
    level = NoiseLevel(torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    rest = numbers, numbers, tokens, torch.zeros(1, 4, dtype=torch.long)

    found, logits = denoiser(weights, numbers, level, rest)

    assert found.shape == numbers.shape
    assert logits.shape[:3] == (1, 4, len(layout.group_sizes))


def test_the_paper_s_size_is_tabdiff_s():
    # Two blocks on either side of an MLP of 1,024 units; millions of weights.
    paper = Denoiser(Layout(77, (), 0, 8), DiffusionConfig.paper())
    compact = Denoiser(Layout(77, (), 0, 8), DiffusionConfig())

    assert 5_000_000 < paper.plan.n_weights < 15_000_000
    assert compact.plan.n_weights < 500_000


# ---- Weights of all members in one matrix.


PLAN = WeightPlan(
    {
        **linear_shapes("first", 30, 20),
        "norm.gain": (1, 20),
        **linear_shapes("last", 20, 2),
    }
)


def test_views_share_the_matrix_and_cover_it():
    flat = torch.zeros(3, PLAN.n_weights)

    for view in PLAN.views(flat).values():
        view.fill_(1.0)

    assert (flat == 1.0).all()


def test_first_weights_keep_the_size_of_what_goes_through():
    flat = PLAN.initial(2, torch.Generator().manual_seed(0))

    views = PLAN.views(flat)
    inputs = torch.randn(2, 500, 30, generator=torch.Generator().manual_seed(1))
    assert 0.8 < linear(views, "first", inputs).std() < 1.2
    assert (views["norm.gain"] == 1).all()
    assert (views["first.bias"] == 0).all()
    assert (views["last"] == 0).all()


def test_each_member_applies_its_own_layer():
    views = PLAN.views(PLAN.initial(2, torch.Generator().manual_seed(0)))
    inputs = torch.ones(2, 16, 30)

    made = linear(views, "first", inputs)

    for member in range(2):
        expected = inputs[member] @ views["first"][member]
        assert torch.allclose(made[member], expected, atol=1e-6)
    assert not torch.allclose(made[0], made[1])


def test_a_layer_without_inputs_is_possible():
    plan = WeightPlan({"number": (0, 4)})

    assert plan.initial(2, torch.Generator().manual_seed(0)).shape == (2, 0)


# ---- Noise levels.


SCHEDULE_LAYOUT = Layout(3, (4, 2, 5), 0, 2)


def make(kind, layout=SCHEDULE_LAYOUT, **settings):
    """Return a schedule and two members' first weights for it."""
    schedule = make_schedule(layout, DiffusionConfig(schedule=kind, **settings))
    plan = WeightPlan({"any.bias": (1, 1), **schedule.shapes})
    flat = plan.initial(2, torch.Generator().manual_seed(0))
    return schedule, plan.views(flat)


def test_settings_choose_the_schedule():
    assert isinstance(make("fixed")[0], FixedSchedule)
    assert isinstance(make("learned")[0], LearnedSchedule)


@pytest.mark.parametrize("kind", ["fixed", "learned"])
def test_the_way_back_falls_from_most_noise_to_none(kind):
    schedule, weights = make(kind, n_sample_steps=9, sigma_min=0.02, sigma_max=20.0)

    sigmas = [level.sigma for level in schedule.reverse_levels(weights)]

    assert len(sigmas) == 10
    assert all((after < before).all() for before, after in pairwise(sigmas))
    assert torch.allclose(sigmas[0], torch.tensor(20.0), rtol=1e-4)
    assert (sigmas[-1] == 0).all()


def test_the_fixed_way_back_is_edm_s_power_grid():
    schedule, weights = make("fixed", n_sample_steps=5, sigma_min=0.1, sigma_max=10.0)

    found = [float(level.sigma) for level in schedule.reverse_levels(weights)[:-1]]

    ends = 10.0 ** (1 / 7), 0.1 ** (1 / 7)
    expected = [(ends[0] + k / 4 * (ends[1] - ends[0])) ** 7 for k in range(5)]
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", ["fixed", "learned"])
def test_training_noise_has_a_level_for_every_row(kind):
    schedule, weights = make(kind)

    noise = schedule.draw(weights, 50, torch.Generator().manual_seed(0))

    numbers, tokens = torch.zeros(2, 50, 3), torch.zeros(2, 50, 3)
    assert (noise.level.sigma + numbers).shape == (2, 50, 3)
    assert (noise.masking + tokens).shape == (2, 50, 3)
    assert noise.level.noise_level.shape == (2, 50, 1)
    assert (noise.level.sigma > 0).all()
    assert ((noise.masking >= 0) & (noise.masking <= 1)).all()
    assert len(noise.level.noise_level.unique()) == 100


def test_learned_schedules_start_at_edm_s_power_and_even_masking():
    schedule, weights = make("learned", sigma_min=0.002, sigma_max=80.0)

    noise = schedule.draw(weights, 50, torch.Generator().manual_seed(0))

    time = noise.level.noise_level
    expected = (0.002 ** (1 / 7) + time * (80 ** (1 / 7) - 0.002 ** (1 / 7))) ** 7
    assert torch.allclose(noise.level.sigma, expected.expand(2, 50, 3), rtol=0.02)
    assert torch.allclose(noise.masking, time.expand(2, 50, 3), atol=0.01)


def test_learned_schedules_follow_their_weights():
    schedule, weights = make("learned")
    weights["schedule.power.bias"][0, 0, 0] = 5.0
    weights["schedule.rate.bias"][0, 0, 0] = 3.0

    noise = schedule.draw(weights, 50, torch.Generator().manual_seed(0))

    assert not torch.allclose(noise.level.sigma[0, :, 0], noise.level.sigma[0, :, 1])
    # A larger rate masks later.
    assert (noise.masking[0, :, 0] < noise.masking[0, :, 1]).all()


@pytest.mark.parametrize("kind", ["fixed", "learned"])
def test_every_free_token_is_uncovered_at_an_event_that_takes_place(kind):
    schedule, weights = make(kind, n_sample_steps=9)
    generator = torch.Generator().manual_seed(0)
    free = torch.rand(2, 200, 3, generator=generator) < 0.6
    chance = torch.rand(2, 200, 3, generator=generator)

    event = schedule.uncovered_at(weights, free, chance)

    assert (event[free] >= 0).all()
    assert (event[free] < sum(schedule.events())).all()
    assert len(schedule.events()) == 9


def test_no_two_tokens_are_uncovered_together_while_there_are_events_enough():
    schedule, weights = make("fixed")
    chance = torch.rand(2, 200, 3, generator=torch.Generator().manual_seed(0))
    everything = torch.ones(2, 200, 3, dtype=torch.bool)

    event = schedule.uncovered_at(weights, everything, chance)

    assert event.sort(dim=-1).values.diff(dim=-1).min() >= 1


def test_many_tokens_share_a_bounded_number_of_events():
    schedule, weights = make("fixed", layout=Layout(0, (2,) * 300, 0, 1))
    chance = torch.rand(1, 5, 300, generator=torch.Generator().manual_seed(0))

    event = schedule.uncovered_at(weights, torch.ones(1, 5, 300).bool(), chance)

    n_events = sum(schedule.events())
    assert n_events <= 64
    assert set(event.unique().tolist()) == set(range(n_events))
