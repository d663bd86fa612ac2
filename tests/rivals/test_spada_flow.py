import numpy as np
import pytest

from tabtap.rivals.spada_flow import FlowSettings, fit_flows

QUICK = FlowSettings(n_steps=400)


def fitted(numbers, contexts, settings=QUICK, seed=0):
    present = ~np.isnan(numbers)
    rng = np.random.default_rng(seed)
    return fit_flows(numbers, present, contexts, settings, rng)


def drawn(flows, place, context, n=4000):
    rng = np.random.default_rng(1)
    return flows.sample(place, np.tile(context, (n, 1)), rng)


def test_a_mean_and_a_spread_follow_their_condition():
    rng = np.random.default_rng(0)
    side = np.resize([-1.0, 1.0], 800)
    numbers = np.where(side > 0, 1 + 0.2 * rng.normal(size=800), rng.normal(size=800))
    flows = fitted(numbers[:, None], [side[:, None]])

    right, left = (drawn(flows, 0, np.array([[x]])) for x in (1.0, -1.0))

    assert [right.mean(), right.std()] == pytest.approx([1.0, 0.2], abs=0.08)
    assert [left.mean(), left.std()] == pytest.approx([0.0, 1.0], abs=0.15)


def test_two_humps_stay_two():
    rng = np.random.default_rng(0)
    humps = np.resize([-1.0, 1.0], 1000) + 0.15 * rng.normal(size=1000)
    flows = fitted(humps[:, None], [np.zeros((1000, 0))])

    numbers = drawn(flows, 0, np.zeros((1, 0)))

    assert (np.abs(numbers) < 0.4).mean() < 0.1
    assert (numbers > 0).mean() == pytest.approx(0.5, abs=0.08)


def test_flows_side_by_side_do_not_mix_and_holes_teach_nothing():
    rng = np.random.default_rng(0)
    context = rng.normal(size=(600, 2))
    numbers = np.column_stack([context[:, 0], -context[:, 1]])
    numbers += 0.2 * rng.normal(size=(600, 2))
    numbers[::3, 1] = np.nan
    flows = fitted(numbers, [context[:, :1], context[:, 1:]])

    first = drawn(flows, 0, np.array([[1.0]])).mean()
    second = drawn(flows, 1, np.array([[1.0]])).mean()

    assert [first, second] == pytest.approx([1.0, -1.0], abs=0.15)


def test_pure_noise_is_not_learned_by_heart():
    rng = np.random.default_rng(0)
    context, numbers = rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    flows = fitted(numbers, [context])

    # At the place of a real row: all others say nothing about it.
    spread = [drawn(flows, 0, context[[row]], 500).std() for row in range(10)]

    assert np.mean(spread) > 0.7
