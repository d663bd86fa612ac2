from tabtap.api import TabularAugmenter


class Diary:
    """Writes down what it is told of, in order."""

    def __init__(self):
        self.told = []

    def on_step(self, record):
        self.told.append(("step", record.step))

    def on_window(self, record):
        self.told.append(("window", record.n_committed))


class FullDiary(Diary):
    def on_training(self, progress):
        self.told.append(("training", progress.step))

    def on_plan(self, plan):
        self.told.append(("plan", plan))


def told(observer, tiny, helpful, patients, **settings):
    X, y, _ = patients
    augmenter = TabularAugmenter(
        preset=tiny, evaluator="linear", referee=helpful, budget=16, random_state=0,
        **settings,
    )  # fmt: skip
    augmenter.fit_table(X, y=y, observer=observer)
    return observer.told


def test_an_observer_sees_learning_then_the_plan_then_steps(tiny, helpful, patients):
    heard = told(FullDiary(), tiny, helpful, patients)

    kinds = [kind for kind, _ in heard]
    assert kinds.index("training") < kinds.index("plan") < kinds.index("step")
    assert heard[kinds.index("training")][1] == 20
    plan = heard[kinds.index("plan")][1]
    assert (plan.n_steps, plan.window_length, plan.budget) == (12, 4, 16)
    assert (plan.n_windows, plan.n_committed) == (0, 0)
    assert heard[-1] == ("window", 16)


def test_an_observer_need_not_care_for_learning(tiny, helpful, patients):
    kinds = {kind for kind, _ in told(Diary(), tiny, helpful, patients)}

    assert kinds == {"step", "window"}


def test_a_run_that_is_over_is_taken_up_at_its_end(tiny, helpful, patients, tmp_path):
    told(FullDiary(), tiny, helpful, patients, checkpoint=tmp_path)

    ((kind, plan),) = told(FullDiary(), tiny, helpful, patients, checkpoint=tmp_path)

    assert kind == "plan"
    assert (plan.n_windows, plan.n_committed) == (1, 16)
