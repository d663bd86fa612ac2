import pytest
from twins import (
    Count,
    committed,
    harmful_committed,
    lower_bound,
    preferred,
    ranked_above,
    total,
)


@pytest.fixture
def make_offer():
    """Build a record of a pool that was offered."""

    def make(pool, gain=0.1, *, truth=0.1, let_in=True, split=0, protocol="crossfit"):
        bound = {"gain": gain, "margin": 0.05, "confidence": 0.9}
        crossfit = protocol == "crossfit"
        score = {"score": truth, "loss": 0.0}
        return {
            **{"table": "credit-g", "n_real": 50, "split": split, "seed": 0},
            **{"pool": pool, "protocol": protocol, "committed": let_in},
            "over_real": bound if crossfit else None,
            "over_incumbent": bound | {"gain": gain if not crossfit else 9.0},
            "truth": {"over_real": score, "over_incumbent": score},
        }

    return make


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
def test_a_pool_is_worth_what_its_rule_can_promise(make_offer, protocol):
    assert lower_bound(make_offer("clean", 0.3, protocol=protocol)) == pytest.approx(
        0.25
    )


def test_harmful_pools_are_those_that_truly_lose(make_offer):
    offers = [
        make_offer("noise", truth=-0.1, let_in=True),
        make_offer("noise", truth=-0.1, let_in=False, split=1),
        make_offer("noise", truth=0.1, let_in=True, split=2),
    ]

    assert harmful_committed(offers) == (1, 2)
    assert committed(offers) == (2, 3)
    assert str(harmful_committed(offers)) == "1 of 2 (50 %)"
    assert str(committed([])) == "0 of 0"


def test_a_poisoned_pool_is_compared_with_the_twin_of_its_own_cell(make_offer):
    offers = [
        make_offer("clean", 0.3, split=0),
        make_offer("noise", 0.2, split=0),
        make_offer("clean", 0.1, split=1),
        make_offer("noise", 0.2, split=1),
        make_offer("noise", 0.9, split=2),  # no twin
    ]

    assert ranked_above(offers, "noise") == (1, 2)


def test_a_pool_is_preferred_only_if_it_is_let_in(make_offer):
    offers = [
        make_offer("clean", 0.1, split=0),
        make_offer("noise", 0.2, let_in=False, split=0),
        make_offer("clean", 0.1, split=1),
        make_offer("noise", 0.2, let_in=True, split=1),
        make_offer("clean", 0.3, split=2),
        make_offer("noise", 0.2, let_in=True, split=2),
    ]

    assert preferred(offers, "noise") == (1, 3)
    assert ranked_above(offers, "noise") == (2, 3)
    assert total([Count(1, 2), Count(2, 5)]) == (3, 7)
