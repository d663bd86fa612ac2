import evaluators
import pytest
import torch
from contenders import Answer
from evaluators import (
    HIDDEN,
    N_LAYERS,
    WIDTH,
    forward_operations,
    instructions,
    product_rate,
)
from evaluators_page import OURS
from records import read_records
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tabtap.evaluate import HoldoutEvaluator
from tabtap.evaluate.tabpfn_v1_network import Batch, Network


@pytest.fixture(autouse=True)
def few_and_small(monkeypatch):
    """Let questions be fewer and smaller than those that are published."""
    monkeypatch.setattr(evaluators, "SIZES", ((40, 3), (40, 5), (60, 3)))
    monkeypatch.setattr(evaluators, "CONTEXTS", (20, 200))


@pytest.fixture
def only_holdout(monkeypatch):
    """Let a single quick evaluator be there, and another one not."""
    found = {"holdout": HoldoutEvaluator()}, {"tabicl": "it is not installed"}
    monkeypatch.setattr(evaluators, "contenders", lambda _task: found)
    monkeypatch.setattr(evaluators, "PRODUCT_REPEATS", 2)


@pytest.mark.usefixtures("only_holdout")
def test_every_part_is_written_with_its_commit(tmp_path, capsys):
    out = tmp_path / "e.jsonl"

    evaluators.main(["--repeats", "1", "--seeds", "1", "--out", str(out)])

    records = read_records(out)
    parts = [record["part"] for record in records]
    assert {part: parts.count(part) for part in dict.fromkeys(parts)} == {
        **{"limit": 2, "absent": 2, "speed": 6},
        "quality": 7,  # two sizes of four tables; wine has no 200 rows to spare
    }
    assert all("commit" in record for record in records)
    assert all(record["seconds"] > 0 for record in records if "seconds" in record)
    assert "quality digits 200 holdout" in capsys.readouterr().out


@pytest.mark.usefixtures("only_holdout")
def test_what_is_too_slow_is_not_asked_larger_questions(monkeypatch):
    monkeypatch.setattr(evaluators, "ask", lambda *_: Answer((), 31.0))

    records = list(evaluators.measure_speed(1))

    sizes = [r["n_features"] for r in records if r["part"] == "speed"]
    assert sizes == [3, 3]  # the first size of each task


def test_the_package_is_asked_the_same_questions_as_ours(monkeypatch):
    found = {OURS: HoldoutEvaluator(), "panel": None}, {}
    monkeypatch.setattr(evaluators, "contenders", lambda _task: found)
    asked = []

    def answer(_python, questions, n_members, repeats):
        asked.append((n_members, repeats, len(questions)))
        predictions = HoldoutEvaluator().predict
        return [
            Answer(tuple(predictions(q.contexts, q.queries)), 2.0) for q in questions
        ]

    monkeypatch.setattr(evaluators, "ask_package", answer)

    records = list(evaluators.measure_package("python", 4, [0]))

    assert asked == [(1, 4, 3), (3, 4, 3), (32, 4, 2), (1, 1, 5), (3, 1, 5)]
    ours = [r["n_features"] for r in records if r.get("evaluator") == OURS]
    assert ours == [3, 5, 3]
    quality = [record for record in records if record["part"] == "package quality"]
    assert len(quality) == 10
    assert all(0.5 < record["score"] <= 1 for record in quality)


@pytest.fixture
def network():
    """Return a network of the real shapes whose weights are all zero."""
    shapes = {
        **{"encoder": (WIDTH, 100), "y_encoder": (WIDTH, 1)},
        **{"decoder.0": (HIDDEN, WIDTH), "decoder.2": (10, HIDDEN)},
    }
    for number in range(N_LAYERS):
        layer = f"transformer_encoder.layers.{number}."
        shapes[f"{layer}self_attn.out_proj"] = (WIDTH, WIDTH)
        shapes[f"{layer}linear1"] = (HIDDEN, WIDTH)
        shapes[f"{layer}linear2"] = (WIDTH, HIDDEN)
    weights = {f"{name}.weight": torch.zeros(shape) for name, shape in shapes.items()}
    weights |= {f"{name}.bias": torch.zeros(shape[0]) for name, shape in shapes.items()}
    for number in range(N_LAYERS):
        layer = f"transformer_encoder.layers.{number}."
        weights[f"{layer}self_attn.in_proj_weight"] = torch.zeros(3 * WIDTH, WIDTH)
        weights[f"{layer}self_attn.in_proj_bias"] = torch.zeros(3 * WIDTH)
        for norm in ("norm1", "norm2"):
            weights[f"{layer}{norm}.weight"] = torch.zeros(WIDTH)
            weights[f"{layer}{norm}.bias"] = torch.zeros(WIDTH)
    return Network(weights, torch.device("cpu"), torch.float32)


def test_operations_are_those_torch_counts_in_the_forward(network):
    batch = Batch(
        context=torch.zeros(2, 10, 100),
        labels=torch.zeros(2, 10),
        is_row=torch.ones(2, 10, dtype=torch.bool),
        queries=torch.zeros(2, 16, 100),  # full blocks, so that nothing is filled up
    )

    # Only plain attention is made of products that the counter knows.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        network.logits(batch)

    assert forward_operations(2, 10, 16) == counter.get_total_flops()


def test_the_rate_of_a_product_is_positive_and_threads_are_left_alone():
    before = torch.get_num_threads()

    assert product_rate(16, repeats=2) > 1e6
    assert torch.get_num_threads() == before


def test_instructions_are_those_the_system_lists(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("model name : x\nflags\t\t: sse avx2 amx_bf16 sha_ni\n")

    assert instructions(listing) == ["avx2", "amx_bf16"]
    assert instructions(tmp_path / "absent") is None
