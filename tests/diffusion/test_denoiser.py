import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.network import Denoiser, Level

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
    level = Level(torch.full((1, 1, 1), sigma).log() / 4, torch.full((1, 1, 1), sigma))
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
    level = Level(torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
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
