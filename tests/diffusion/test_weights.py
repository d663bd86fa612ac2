import torch

from tabtap.diffusion.network import WeightPlan, linear, linear_shapes

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
