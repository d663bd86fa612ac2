import warnings

import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.errors import EvaluatorFallbackWarning, UserInputError
from tabtap.evaluate import HoldoutEvaluator, choose_evaluator, in_context, weights
from tabtap.evaluate.choose import KnownEvaluator, pick


def candidate(name, **known):
    known.setdefault("reason", "it is there")
    return KnownEvaluator(name, lambda _: HoldoutEvaluator(), **known)


BEST = candidate("best", absent=lambda _: "its weights are not here.")
CLOSED = candidate("closed", is_open=False)
PLAIN = candidate("plain")


def test_the_first_that_can_be_used_is_chosen_without_a_warning():
    chosen = pick([PLAIN, BEST], task="regression", license_policy="open")

    assert chosen.why == "plain: it is there."


def test_passing_over_a_better_one_is_announced():
    with pytest.warns(EvaluatorFallbackWarning, match="Falling back to plain"):
        chosen = pick([BEST, PLAIN], task="regression", license_policy="open")

    assert "best was passed over: its weights are not here." in chosen.why


def test_weights_that_are_not_open_are_never_chosen_unasked():
    chosen = pick([CLOSED, PLAIN], task="regression", license_policy="open")

    assert chosen.why.startswith("plain:")
    assert "closed is not free for every use" in chosen.why


def test_weights_that_are_not_open_are_chosen_where_any_licence_will_do():
    chosen = pick([CLOSED, PLAIN], task="regression", license_policy="any")

    assert chosen.why.startswith("closed:")


def test_what_does_another_task_or_waits_to_be_asked_is_left_out():
    other = candidate("other", tasks=("classification",))
    shy = candidate("shy", automatic=())

    chosen = pick([other, shy, PLAIN], task="regression", license_policy="open")

    assert chosen.why.startswith("plain:")


def test_where_nothing_can_be_used_the_reasons_are_given():
    with pytest.raises(UserInputError, match=r"best was passed over.*closed is not"):
        pick([BEST, CLOSED], task="regression", license_policy="open")


@pytest.mark.parametrize("name", ["ensemble", "holdout", "panel"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_names_give_the_evaluators_that_fit(name, task):
    chosen = choose_evaluator(name, task=task, n_jobs=2)

    assert chosen.evaluator.name == name
    assert chosen.evaluator.n_jobs == 2
    assert chosen.why == f"{name}: asked for by name."


def test_an_estimator_is_wrapped_and_an_evaluator_is_taken_as_it_is():
    own = HoldoutEvaluator()

    wrapped = choose_evaluator(LogisticRegression(), task="classification")

    assert wrapped.evaluator.name == "LogisticRegression"
    assert choose_evaluator(own, task="classification").evaluator is own


def test_without_weights_auto_falls_back_aloud_and_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(weights, "weights_path", lambda _: None)

    with pytest.warns(EvaluatorFallbackWarning, match="fetch_weights") as caught:
        chosen = choose_evaluator(task="classification")

    assert chosen.evaluator.name == "ensemble"
    assert caught[0].filename == __file__


def test_the_open_tabpfn_regressor_is_the_first_choice_for_numbers(monkeypatch):
    monkeypatch.setattr(in_context, "missing_part", lambda *_: None)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = choose_evaluator("auto", task="regression")

    assert chosen.evaluator.name == "tabpfn-v2"
    assert "Built with PriorLabs-TabPFN" in chosen.why


def test_without_its_package_numbers_fall_back_aloud_with_the_way_to_get_it(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path))
    monkeypatch.setattr(in_context, "find_spec", lambda _: None)

    with pytest.warns(EvaluatorFallbackWarning, match="fetch_weights") as caught:
        chosen = choose_evaluator("auto", task="regression")

    assert chosen.evaluator.name == "ensemble"
    assert "pip install 'tabtap[tabpfn]'" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("version", ["v2.5", "v2.6", "v3", "v3.5"])
def test_later_tabpfn_weights_come_only_by_name(monkeypatch, version):
    monkeypatch.setattr(in_context, "missing_part", lambda *_: None)

    chosen = choose_evaluator(f"tabpfn-{version}", task="classification")
    unasked = choose_evaluator(task="regression")

    assert chosen.evaluator.name == f"tabpfn-{version}"
    assert unasked.evaluator.name == "tabpfn-v2"
    assert "tabpfn-v3.5 is not free for every use" in unasked.why


def test_where_any_licence_will_do_the_newest_tabpfn_is_chosen(monkeypatch):
    monkeypatch.setattr(in_context, "missing_part", lambda *_: None)

    chosen = choose_evaluator(task="classification", license_policy="any")

    assert chosen.evaluator.name == "tabpfn-v3.5"


def test_tabicl_by_name_is_refused_where_it_is_not(monkeypatch):
    monkeypatch.setattr(in_context, "find_spec", lambda _: None)

    with pytest.raises(UserInputError, match=r"'tabicl' cannot be used.*pip install"):
        choose_evaluator("tabicl", task="classification")


def test_tabpfn_v1_by_name_is_refused_without_weights_or_for_regression(monkeypatch):
    monkeypatch.setattr(weights, "weights_path", lambda _: None)

    with pytest.raises(
        UserInputError, match=r"'tabpfn-v1' cannot be used.*fetch_weights"
    ):
        choose_evaluator("tabpfn-v1", task="classification")
    with pytest.raises(UserInputError, match="'tabpfn-v1' does classification, but"):
        choose_evaluator("tabpfn-v1", task="regression")


def test_unknown_names_and_policies_are_refused():
    with pytest.raises(UserInputError, match="evaluator='tabfpn' is not usable"):
        choose_evaluator("tabfpn", task="regression")
    with pytest.raises(UserInputError, match="license_policy='free' is not usable"):
        choose_evaluator("auto", task="regression", license_policy="free")


@pytest.mark.parametrize(
    ("name", "task", "said"),
    [
        ("foo", "regression", "referee='foo' is not usable"),
        ("tabpfn-v1", "regression", "referee='tabpfn-v1' does classification"),
        ("tabicl", "classification", "referee='tabicl' cannot be used"),
    ],
)
def test_messages_name_the_setting_that_was_passed(monkeypatch, name, task, said):
    monkeypatch.setattr(in_context, "find_spec", lambda _: None)

    with pytest.raises(UserInputError, match=said):
        choose_evaluator(name, task=task, role="referee")
