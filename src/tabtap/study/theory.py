"""Appendix B of the paper, checked on runs and by simulation.

The identities hold by algebra; what is measured is how much they say.  Losses telescope
to the last digit; a bound of twice the largest error of a loss is wide; a theorem about
calibrated bars says nothing of bars that are not; and one row's influence on a logistic
model is known to first order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, stdtrit

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import Cell, Record, Store, Terms
from tabtap.evaluate.evaluators import HoldoutEvaluator
from tabtap.evaluate.learners import encode
from tabtap.rng import stream
from tabtap.study.calibration import Watch, tables_of
from tabtap.study.cell import repetition_of
from tabtap.study.protocol import Repetition
from tabtap.study.runs import plan_cells, prepare, run_tap
from tabtap.study.sources import SOURCES
from tabtap.study.studies import Study, StudyOptions
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table, concat

# ---- Equations 23 to 26: utilities of committed pools add up.


def committed_pools(pools: Sequence[Table], accepted: Sequence[bool]) -> list[Table]:
    """Return each pool if it was let in, and none of its rows if not (equation 23)."""
    return [
        pool if let_in else pool.empty()
        for pool, let_in in zip(pools, accepted, strict=True)
    ]


def training_sets(real: Table, committed: Sequence[Table]) -> list[Table]:
    """Return D_0 and what each committed pool makes of it (equation 24)."""
    sets = [real]
    for pool in committed:
        sets.append(concat([sets[-1], pool]))
    return sets


class Telescope(NamedTuple):
    """Both sides of equation 26."""

    gains: FloatArray
    """What each pool takes off the loss (equation 25)."""

    whole: float
    """What the run takes off it."""

    @property
    def gap(self) -> float:
        """How far the sum of the parts is from the whole; rounding, if anything."""
        return float(abs(self.gains.sum() - self.whole))


def telescope(sets: Sequence[Table], loss: Callable[[Table], float]) -> Telescope:
    """Return what pools gain one by one, and what they gain together.

    ``loss`` trains on a table and says what its learner loses on the real queries; it
    is asked anew on both sides of every pool.
    """
    pairs = itertools.pairwise(sets)
    gains = np.array([loss(before) - loss(after) for before, after in pairs])
    return Telescope(gains, loss(sets[0]) - loss(sets[-1]))


# ---- Equations 27 to 29: a plug-in utility errs by at most twice its losses' error.


class PlugInError(NamedTuple):
    """How far a plug-in loss is from the loss it stands for, and what follows."""

    largest: float
    """epsilon_L: the largest error of a loss, over the tables reached (equation 27)."""

    errors: FloatArray
    """Of each utility (equation 29)."""

    @property
    def bound(self) -> float:
        """What equation 28 says of the utilities' errors."""
        return 2.0 * self.largest

    @property
    def holds(self) -> bool:
        """Whether the bound holds, up to rounding."""
        return bool((np.abs(self.errors) <= self.bound * (1 + 1e-9) + 1e-12).all())


def plug_in_error(
    plugged: FloatArray, true: FloatArray, pairs: Sequence[tuple[int, int]]
) -> PlugInError:
    """Compare plug-in losses of some tables with true ones, and utilities of pairs.

    Examples
    --------
    >>> found = plug_in_error(np.array([0.7, 0.4]), np.array([0.6, 0.5]), [(0, 1)])
    >>> found.errors.round(3), round(found.bound, 3), found.holds
    (array([0.2]), 0.2, True)
    """
    off = plugged - true
    errors = np.array([off[before] - off[after] for before, after in pairs])
    return PlugInError(float(np.abs(off).max()), errors)


# ---- Theorem 3.1, and equation 30, by simulation.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Pools whose true gain is known, and the folds that estimate it."""

    true_gain: FloatArray
    """Shape (n_pools,), in deviations of a fold's error."""

    correlation: float = 0.0
    """Of the errors of two folds of one pool; folds share training rows."""

    bias: float = 0.0
    """What every fold adds: a generator that knows the query rows flatters its rows."""

    n_folds: int = 5

    def fold_gains(self, rng: np.random.Generator) -> FloatArray:
        """Draw what the folds estimate, shape (n_pools, n_folds)."""
        n_pools = len(self.true_gain)
        shared = rng.normal(size=(n_pools, 1)) * self.correlation**0.5
        own = rng.normal(size=(n_pools, self.n_folds)) * (1 - self.correlation) ** 0.5
        return np.asarray(self.true_gain[:, None] + self.bias + shared + own)


class Safety(NamedTuple):
    """What came of the paper's rule on many pools."""

    coverage: float
    """Share of pools whose estimate is within its bar of the truth (equation 20)."""

    committed: float
    """Share of pools that were let in."""

    unsafe: float
    """Share of all pools that were let in and gain less than tau: the theorem's."""

    unsafe_of_committed: float
    """The same, as a share of those let in; NaN if none was."""


def simulate_rule(
    pools: Pools,
    rng: np.random.Generator,
    *,
    tau: float = 0.0,
    confidence: float = 0.95,
) -> Safety:
    """Let the paper's rule decide about pools whose truth is known."""
    gains = pools.fold_gains(rng)
    estimate, margin = fold_bars(gains, confidence)
    covered = np.abs(estimate - pools.true_gain) <= margin
    let_in = estimate > tau + margin
    unsafe = let_in & (pools.true_gain < tau)
    return Safety(
        float(covered.mean()),
        float(let_in.mean()),
        float(unsafe.mean()),
        float(unsafe.sum() / let_in.sum()) if let_in.any() else float("nan"),
    )


def fold_bars(gains: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and error bar of each row of fold gains (equation 49)."""
    n_folds = gains.shape[1]
    quantile = float(stdtrit(n_folds - 1, (1 + confidence) / 2))
    deviation = gains.std(axis=1, ddof=1)
    return gains.mean(axis=1), np.asarray(quantile * deviation / n_folds**0.5)


# ---- Equations 31 to 34: the influence of one row on a logistic model.


@dataclass(frozen=True, slots=True, eq=False)
class LogisticModel:
    """Minimises the mean cross-entropy plus half the squared norm (equation 31)."""

    weights: FloatArray
    """theta(D)."""

    inputs: FloatArray
    """D: shape (n, d), a column of ones among them."""

    label: IntArray
    """0 or 1."""

    penalty: float
    """lambda."""

    @classmethod
    def fit(cls, inputs: FloatArray, label: IntArray, penalty: float) -> LogisticModel:
        """Find the minimum by Newton's method, with shorter steps if it overshoots."""
        weights = np.zeros(inputs.shape[1])
        for _ in range(_MOST_STEPS):
            model = cls(weights, inputs, label, penalty)
            slope = model.objective_gradient()
            if np.abs(slope).max() < _FLAT:
                break
            step = np.linalg.solve(model.hessian(), slope)
            before, share = model.objective(), 1.0
            while share > _LEAST_SHARE:
                moved = cls(weights - share * step, inputs, label, penalty)
                if moved.objective() <= before:
                    break
                share /= 2
            weights = weights - share * step
        return cls(weights, inputs, label, penalty)

    def losses(self, inputs: FloatArray, label: IntArray) -> FloatArray:
        """Return the cross-entropy of each of some rows."""
        signed = np.where(label == 1, 1.0, -1.0) * (inputs @ self.weights)
        return np.asarray(np.logaddexp(0.0, -signed))

    def objective(self) -> float:
        """Return F_D (equation 31)."""
        own = self.losses(self.inputs, self.label).mean()
        return float(own + self.penalty * (self.weights @ self.weights) / 2)

    def objective_gradient(self) -> FloatArray:
        """Return its gradient, which is 0 at the minimum."""
        own = self.gradients(self.inputs, self.label).mean(axis=0)
        return np.asarray(own + self.penalty * self.weights)

    def hessian(self) -> FloatArray:
        """Return H_D."""
        likely = expit(self.inputs @ self.weights)
        curved = self.inputs * (likely * (1 - likely))[:, None]
        own = curved.T @ self.inputs / len(self.inputs)
        return np.asarray(own + self.penalty * np.eye(len(self.weights)))

    def gradients(self, inputs: FloatArray, label: IntArray) -> FloatArray:
        """Return the gradient of each row's loss, shape (n_rows, d)."""
        return np.asarray((expit(inputs @ self.weights) - label)[:, None] * inputs)

    def shifts(
        self, inputs: FloatArray, label: IntArray, *, whole: bool = False
    ) -> FloatArray:
        """Return how far each row alone moves the weights, to first order.

        Equation 32; shape (n_rows, d).  The paper drops a term: with one row more the
        others weigh less and the penalty does not, so that the gradient of the new
        objective at the old minimum is (grad l + lambda theta) / (n + 1).  ``whole``
        keeps it; it is of the same order as what is left.
        """
        pull = self.gradients(inputs, label)
        n_rows = len(self.inputs)
        if whole:
            pull, n_rows = pull + self.penalty * self.weights, n_rows + 1
        return np.asarray(-np.linalg.solve(self.hessian(), pull.T).T / n_rows)

    def with_row(self, row: FloatArray, label: int) -> LogisticModel:
        """Train again with one row more."""
        inputs = np.vstack([self.inputs, row])
        return LogisticModel.fit(inputs, np.append(self.label, label), self.penalty)


_MOST_STEPS = 100
_FLAT = 1e-10
_LEAST_SHARE = 1e-6


def first_order_utility(
    model: LogisticModel,
    rows: tuple[FloatArray, IntArray],
    queries: tuple[FloatArray, IntArray],
    *,
    whole: bool = False,
) -> FloatArray:
    """Return what each row is worth to the queries, to first order.

    Equations 3 and 33: minus the gradient of the queries' loss (equation 34) along the
    shift of the weights that the row makes (equation 32; see it for ``whole``).
    """
    slope = model.gradients(*queries).mean(axis=0)
    return np.asarray(-model.shifts(*rows, whole=whole) @ slope)


def retrained_utility(
    model: LogisticModel,
    rows: tuple[FloatArray, IntArray],
    queries: tuple[FloatArray, IntArray],
) -> FloatArray:
    """Return what each row is worth by training again with it (equation 2)."""
    before = model.losses(*queries).mean()
    after = [
        model.with_row(row, int(label)).losses(*queries).mean()
        for row, label in zip(*rows, strict=True)
    ]
    return np.asarray(before - np.array(after))


class Agreement(NamedTuple):
    """How well the first order foretells what training again finds."""

    rank_correlation: float
    slope: float
    """Of retrained on foretold utilities, through 0; 1 is right."""

    same_sign: float
    relative_error: float
    """Median of |foretold - found| over the median of |found|."""


def agreement(foretold: FloatArray, found: FloatArray) -> Agreement:
    """Compare foretold with found utilities.

    Examples
    --------
    >>> agreement(np.array([1.0, -2.0, 3.0]), np.array([2.0, -4.0, 6.0]))
    Agreement(rank_correlation=1.0, slope=2.0, same_sign=1.0, relative_error=0.5)
    """
    one, other = (np.argsort(np.argsort(part)) for part in (foretold, found))
    same: BoolArray = np.sign(foretold) == np.sign(found)
    return Agreement(
        float(np.corrcoef(one, other)[0, 1]),
        float(foretold @ found / (foretold @ foretold)),
        float(same.mean()),
        float(np.median(np.abs(foretold - found)) / np.median(np.abs(found))),
    )


# ---- The study: runs, simulations and a logistic model, each cell one of them.


RUN, THEOREM, INFLUENCE = "run", "theorem", "influence"
"""What a cell may be about; a cell has it as its method."""

BINARY = ("electricity", "credit-g", "steel-plates-fault")
INFLUENCE_SIZES = (20, 50, 100, 200, 500)
PENALTY = 0.01
N_ADDED = 200
"""Rows whose influence is foretold: half of them have the wrong label."""

N_POOLS = 100_000

LENIENT = {"augment": {"commit": {"confidence": 0.5}}}
"""Bars so narrow that a run commits some of its pools; what adds up is the same."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield runs on every table, one simulation, and logistic models of all sizes."""
    under = replace(options, protocol="paper", n_real=None, splits=1)
    yield from plan_cells("theory", under, {RUN: LENIENT})
    terms = Terms(seed=options.seed)
    yield Cell(
        dataset=BINARY[0],  # any: it looks at none
        n_real=50,
        split=0,
        method=THEOREM,
        terms=terms,
        study="theory",
    )
    tables = [name for name in options.tables or BINARY if name in BINARY]
    sizes, splits = (INFLUENCE_SIZES, 5) if not options.quick else ((20, 200), 1)
    for split, n_real, table in options.repetitions(tables, sizes, splits):
        if table in BINARY:
            yield Cell(
                dataset=table,
                n_real=n_real,
                split=split,
                method=INFLUENCE,
                terms=terms,
                study="theory",
            )


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  all is its own
    """Do one of the three."""
    work = {RUN: measure_run, THEOREM: measure_theorem, INFLUENCE: measure_influence}
    return work[cell.method](cell)


def measure_run(cell: Cell) -> Record:
    """Run the paper's loop, and compare both sides of equations 26 and 28."""
    ground = prepare(cell)
    watch = Watch()
    run = run_tap(ground, watch)
    part, certificates = (
        ground.part,
        [decision.certificate for _, decision in watch.seen],
    )
    pools = [request.pool for request, _ in watch.seen]
    accepted = [certificate.committed for certificate in certificates]
    sets = training_sets(part.real, committed_pools(pools, accepted))
    summed = telescope(sets, lambda table: real_query_loss(table, part))
    plugged, true = [], []
    for request, decision in watch.seen:
        before, after = tables_of(request, decision)
        certificate = decision.certificate
        plugged += [-certificate.score_before, -certificate.score_after]
        true += [
            real_query_loss(part.training(rows if len(rows) else None), part)
            for rows in (before, after)
        ]
    pairs = [(2 * i, 2 * i + 1) for i in range(len(watch.seen))]
    found = plug_in_error(np.array(plugged), np.array(true), pairs)
    gains = [c.over_incumbent.gain for c in certificates if c.committed]
    return {
        "part": RUN,
        **run.about,
        "gap": summed.gap,
        "sum": float(summed.gains.sum()),
        "whole": summed.whole,
        "stated_sum": float(np.sum(gains)),
        "largest_loss_error": found.largest,
        "bound": found.bound,
        "largest_utility_error": float(np.abs(found.errors).max()),
        "mean_utility_error": float(np.abs(found.errors).mean()),
        "mean_gain": float(np.mean([c.over_incumbent.gain for c in certificates])),
        "holds": found.holds,
    }


def real_query_loss(train: Table, part: Repetition) -> float:
    """Return what a linear learner of some rows loses on the test rows."""
    answer = HoldoutEvaluator().predict([train], [part.test])[0].in_unit_of(part.real)
    return float(answer.losses(part.test).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Pools of one kind."""

    name: str
    useful: float
    """Share of pools that truly gain 1; the others truly lose 0.1."""

    correlation: float = 0.0
    bias: float = 0.0


SCENARIOS = (
    Scenario(name="half useful, folds independent", useful=0.5),
    Scenario(name="one in fifty useful, folds independent", useful=0.02),
    Scenario(name="none useful, folds independent", useful=0.0),
    Scenario(name="half useful, folds correlated 0.3", useful=0.5, correlation=0.3),
    Scenario(name="half useful, folds correlated 0.6", useful=0.5, correlation=0.6),
    Scenario(name="half useful, folds flattered by 0.5", useful=0.5, bias=0.5),
    Scenario(name="none useful, folds flattered by 1", useful=0.0, bias=1.0),
)


def measure_theorem(cell: Cell) -> Record:
    """Let the paper's rule decide about simulated pools."""
    lines = []
    for scenario in SCENARIOS:
        rng = stream(cell.terms.seed, "theorem", scenario.name)
        useful = rng.random(N_POOLS) < scenario.useful
        pools = Pools(
            true_gain=np.where(useful, 1.0, -0.1),
            correlation=scenario.correlation,
            bias=scenario.bias,
        )
        found = simulate_rule(pools, rng)._asdict()
        kept = {key: None if np.isnan(value) else value for key, value in found.items()}
        lines.append({**asdict(scenario), **kept})
    return {"part": THEOREM, "scenarios": lines}


def measure_influence(cell: Cell) -> Record:
    """Foretell what rows are worth to a model, and train it again with each."""
    part = repetition_of(cell)
    rng = stream(cell.terms.seed, "influence", cell.dataset, cell.n_real, cell.split)
    half = rng.permutation(len(part.test))
    added = part.test.take(half[: min(N_ADDED, len(half) // 2)])
    asked = part.test.take(half[len(half) // 2 :])
    seen, (rows, queries) = encode(part.real, [added, asked])
    first = part.test.target.min()
    label = (added.target != first).astype(np.int64)
    label[::2] = 1 - label[::2]
    known = (part.real.target != first).astype(np.int64)
    model = LogisticModel.fit(_with_ones(seen), known, PENALTY)
    new = (_with_ones(rows), label)
    held = (_with_ones(queries), (asked.target != first).astype(np.int64))
    retrained = retrained_utility(model, new, held)
    compared = {
        name: agreement(first_order_utility(model, new, held, whole=whole), retrained)
        for name, whole in (("paper", False), ("whole", True))
    }
    return {
        "part": INFLUENCE,
        "agreement": {name: found._asdict() for name, found in compared.items()},
        "typical_utility": float(np.median(np.abs(retrained))),
    }


def _with_ones(inputs: FloatArray) -> FloatArray:
    return np.column_stack([inputs, np.ones(len(inputs))])


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return what appendix B says, and how much it says of real runs."""
    by_part: dict[str, list[Record]] = {}
    for record in records:
        by_part.setdefault(record["part"], []).append(record)
    sections = {
        RUN: _run_section,
        THEOREM: _theorem_section,
        INFLUENCE: _influence_page,
    }
    return "\n\n".join(
        part
        for name, write in sections.items()
        if name in by_part
        for part in write(by_part[name])
    )


def _run_section(records: Sequence[Record]) -> list[str]:
    order = list(SOURCES)
    ordered = sorted(records, key=lambda r: order.index(r["cell"]["dataset"]))
    gap = max(record["gap"] for record in ordered)
    holds = sum(record["holds"] for record in ordered)
    ratio = np.median([r["bound"] / max(abs(r["mean_gain"]), 1e-12) for r in ordered])
    sums = TextTable(
        "Losses of a linear learner on the test rows: what committed pools take off it",
        (
            "table",
            "windows",
            "let in",
            "sum of pools",
            "whole run",
            "gap",
            "as estimated",
        ),
        tuple(
            (
                record["cell"]["dataset"],
                str(record["n_windows"]),
                str(record["n_committed"]),
                f"{record['sum']:+.4f}",
                f"{record['whole']:+.4f}",
                f"{record['gap']:.0e}",
                f"{record['stated_sum']:+.4f}",
            )
            for record in ordered
        ),
    )
    bounds = TextTable(
        "The plug-in loss against that loss, over all tables that a run reached",
        ("table", "largest error of a loss", "twice that", "largest of a utility",
         "mean of a utility", "mean estimated gain", "holds"),
        tuple(
            (
                record["cell"]["dataset"],
                f"{record['largest_loss_error']:.3f}",
                f"{record['bound']:.3f}",
                f"{record['largest_utility_error']:.3f}",
                f"{record['mean_utility_error']:.3f}",
                f"{record['mean_gain']:+.3f}",
                "yes" if record["holds"] else "no",
            )
            for record in ordered
        ),
    )  # fmt: skip
    return [
        "## Telescoping (equations 7 and 23 to 26)",
        f"**Found.** On {len(ordered)} runs the gains of committed pools add up to "
        f"that of the run, to within {gap:.0e}: refused pools count for nothing. The "
        "last column is the sum of what the rule had estimated of the same pools; its "
        "focus moves from window to window, so it is the sum of nothing in particular.",
        as_markdown(sums),
        "## The plug-in bound (equations 27 to 29)",
        f"**Found.** The bound holds in {holds} of {len(ordered)} runs, as it must. It "
        f"says little: it is {ratio:.0f} times the mean estimated gain (median of "
        "runs), because the plug-in loss is that of the hardest fifth of the rows and "
        "of another learner. Errors of losses cancel in a utility only as far as they "
        "are the same before and after.",
        as_markdown(bounds),
    ]


def _theorem_section(records: Sequence[Record]) -> list[str]:
    lines = records[0]["scenarios"]
    rows = tuple(
        (
            line["name"],
            f"{100 * line['coverage']:.1f}",
            f"{100 * line['committed']:.1f}",
            f"{100 * line['unsafe']:.2f}",
            "-"
            if line["unsafe_of_committed"] is None
            else f"{100 * line['unsafe_of_committed']:.1f}",
        )
        for line in lines
    )
    calibrated = [x for x in lines if not x["correlation"] and not x["bias"]]
    kept = all(line["unsafe"] <= 1 - line["coverage"] + 1e-3 for line in calibrated)
    return [
        "## Theorem 3.1 (equations 20, 30 and 49)",
        f"**{'Found' if kept else 'Not found'}.** With independent folds the bar holds "
        "in 95 % and harmful commitments stay below 5 % of all pools. The theorem is "
        "about all pools: of those that are let in, far more are harmful where useful "
        "pools are rare. Where folds err together, or a generator that has seen the "
        "query rows flatters its own rows, the bar is not calibrated and the theorem "
        "does not apply. Useful pools gain 1, the others lose 0.1, in deviations of a "
        f"fold's error; {N_POOLS:,} pools each, tau = 0.",
        as_markdown(
            TextTable(
                "What the paper's rule does with pools whose truth is known, in %",
                (
                    "pools",
                    "bar holds",
                    "let in",
                    "let in and harmful",
                    "of those let in",
                ),
                rows,
            )
        ),
    ]


def _influence_page(records: Sequence[Record]) -> list[str]:
    sizes = sorted({record["cell"]["n_real"] for record in records})
    rows = []
    for n_real in sizes:
        own = [r["agreement"] for r in records if r["cell"]["n_real"] == n_real]
        cells = [_means(own, name) for name in ("paper", "whole")]
        rows.append((str(n_real), *cells[0], cells[1][1], cells[1][3]))
    names = ", ".join(sorted({record["cell"]["dataset"] for record in records}))
    return [
        "## The influence of a row (equations 3 and 31 to 34)",
        f"A logistic model with penalty {PENALTY} on {names}; {N_ADDED} rows that it "
        "has not seen, half of them with the wrong label, each added alone. *Slope* "
        "and *error* compare the first-order utility with training again; *slope* 1 is "
        "right, *error* is the median difference over the median utility. The paper's "
        "form drops the penalty's own term, which is of the same order; *whole* keeps "
        "it. The paper calls the approximation crude under scarcity, and uses it as a "
        "guide only: it orders rows well.",
        as_markdown(
            TextTable(
                "First-order utility against training again, mean of cells",
                ("n_real", "rank correlation", "slope", "same sign %", "error",
                 "slope, whole", "error, whole"),
                tuple(rows),
            )
        ),
    ]  # fmt: skip


def _means(own: Sequence[Mapping[str, Any]], name: str) -> tuple[str, str, str, str]:
    mean = {
        key: float(np.mean([part[name][key] for part in own])) for key in own[0][name]
    }
    return (
        f"{mean['rank_correlation']:.3f}",
        f"{mean['slope']:.2f}",
        f"{100 * mean['same_sign']:.0f}",
        f"{mean['relative_error']:.2f}",
    )


STUDY = Study(
    name="theory",
    title="The theory of appendix B",
    question="Do the paper's identities and bounds hold, and how much do they say?",
    paper="appendix B",
    plan=plan,
    measure=measure,
    page=page,
)
