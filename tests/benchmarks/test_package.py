import json
import subprocess

import numpy as np
import package
import pytest
from package import as_arrays, ask_package
from questions import real_question


@pytest.fixture
def question():
    return real_question("wine", 20, seed=0)


def test_questions_become_plain_arrays_of_numbers(question):
    arrays = as_arrays([question, question])

    assert arrays["n_questions"] == 2
    assert arrays["1/n_folds"] == 1
    assert arrays["1/0/rows"].shape == (20, 13)
    assert arrays["1/0/asked"].shape == (158, 13)
    assert np.array_equal(arrays["0/0/labels"], question.contexts[0].target)


def test_what_the_process_prints_becomes_answers(monkeypatch, question):
    told = np.tile([0.2, 0.5, 0.3], (158, 1)).tolist()
    line = json.dumps([{"seconds": 1.5, "probabilities": [told]}])
    done = subprocess.CompletedProcess([], 0, stdout=f"noise\n{line}\n", stderr="")
    monkeypatch.setattr(package.subprocess, "run", lambda *_, **__: done)

    (answer,) = ask_package("python", [question], n_members=1, repeats=1)

    assert answer.seconds == 1.5
    assert np.allclose(answer.predictions[0].probabilities, told)


def test_a_process_that_fails_says_why(monkeypatch, question):
    done = subprocess.CompletedProcess([], 1, stdout="", stderr="No module tabpfn")
    monkeypatch.setattr(package.subprocess, "run", lambda *_, **__: done)

    with pytest.raises(SystemExit, match="No module tabpfn"):
        ask_package("python", [question], n_members=1, repeats=1)
