# Every target works on a fresh machine with make and Python 3.10 or newer, and is
# quick when nothing has changed: installing is redone only when pyproject.toml changes.

VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
PYTHON ?= python3 python3.13 python3.12 python3.11 python3.10 python
JOBS ?= 2
RESULTS := build/results

# One thread for each test process: the networks are too small to share among cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# Weights of the judges, once, into the user's cache.  Without a network it says so in
# a line and goes on: what needs them is skipped, or falls back, and says so too.
FETCH := $(BIN)/python examples/02_fetch_weights.py

.DEFAULT_GOAL := help
.PHONY: help demo test check docs slow fuzz judges oldest bench results format clean

help:  ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.installed-core  ## add rows to 40 penguins, if they are shown to help
	@$(ONE_THREAD) $(BIN)/tabtap demo --out-dir build/demo || [ $$? -eq 3 ]  # no gain

test: check  ## run the checks and every quick test, doctest and README example
	@$(FETCH) tabpfn-v1
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --durations=10

check: $(VENV)/.installed-dev  ## lint, format, types and the rule about imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

# Warnings are errors, and nothing is fetched.
docs: $(VENV)/.installed-docs  ## build the pages into build/docs
	@$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q docs build/docs
	@echo "Open build/docs/index.html"

slow: $(VENV)/.installed-dev  ## run the tests that train for longer
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) -m slow

# As many inputs as one likes: make fuzz FUZZ=1000000.  It tells how many each test was
# given, also where it is ended midway.
FUZZ ?= 100000
fuzz: $(VENV)/.installed-dev  ## try 100,000 spoilt files on every reader
	TABTAP_FUZZ=$(FUZZ) $(ONE_THREAD) $(BIN)/python -m pytest -q --hypothesis-show-statistics \
	  tests/hostile/test_fuzz.py

judges: $(VENV)/.installed-judges  ## test the optional judges too: TabPFN v2, TabICL
	@$(FETCH) tabpfn-v1 tabpfn-v2-regressor
	$(ONE_THREAD) $(BIN)/python -m pytest -q tests/evaluate tests/contracts

# In an environment of its own, with the oldest Python that is there: for the newest
# there are no builds of old packages.  Every floor in pyproject.toml is pinned.  What
# old packages still use of newer ones is no fault of ours: of that no warning fails.
# All quick tests, or some of them: make oldest TESTS="tests/table tests/files"
oldest:  ## run the quick tests with the oldest packages that are allowed
	@$(MAKE) --no-print-directory VENV=$(OLDEST) \
	  PYTHON='python3.10 python3.11 $(PYTHON)' $(OLDEST)/bin/python
	@sed -nE 's/^[^#]*"([a-z0-9-]+)>=([0-9.]+)[",;].*/\1==\2/p' pyproject.toml \
	  > $(OLDEST)/floors.txt
	@echo "Installing the oldest packages that are allowed into $(OLDEST) ..."
	@$(OLDEST)/bin/python -m pip install --quiet --editable '.[all]' \
	  hypothesis pytest pytest-xdist --constraint $(OLDEST)/floors.txt
	@$(OLDEST)/bin/python -c 'import tabtap; tabtap.show_versions()'
	$(ONE_THREAD) $(OLDEST)/bin/python -m pytest -q -n $(JOBS) \
	  -W ignore::DeprecationWarning $(TESTS)

bench: $(VENV)/.installed-dev  ## measure speed and memory
	$(BIN)/python benchmarks/backbone.py
	$(ONE_THREAD) $(BIN)/python benchmarks/augment.py
	$(ONE_THREAD) $(BIN)/python benchmarks/evaluators.py --parts speed
	$(ONE_THREAD) $(BIN)/python benchmarks/compare.py

# Hours.  What is already measured is kept: remove $(RESULTS) to begin anew.  Tables
# come from the folder that TABTAP_DATA names, or else from OpenML.  The package of
# TabPFN v1 is measured if V1_PYTHON names a Python that has it: see
# benchmarks/packages.py; the package ctgan likewise, by CTGAN_PYTHON.
results: $(VENV)/.installed-dev  ## measure everything and write docs/results
	$(ONE_THREAD) $(BIN)/python benchmarks/backbone.py --out $(RESULTS)/speed.jsonl
	$(ONE_THREAD) $(BIN)/python benchmarks/fidelity.py \
	  --out $(RESULTS)/fidelity.jsonl
	$(ONE_THREAD) $(BIN)/python benchmarks/usefulness.py --jobs $(JOBS) \
	  --out $(RESULTS)/usefulness.jsonl
	$(ONE_THREAD) $(BIN)/python benchmarks/evaluators.py \
	  $(if $(V1_PYTHON),--package-python $(V1_PYTHON)) \
	  --out $(RESULTS)/evaluators.jsonl
	$(BIN)/python benchmarks/evaluators_page.py \
	  --records $(RESULTS)/evaluators.jsonl
	$(if $(CTGAN_PYTHON),$(ONE_THREAD) $(BIN)/python benchmarks/rivals.py \
	  --package-python $(CTGAN_PYTHON) --out $(RESULTS)/rivals.jsonl \
	  --page docs/results/rivals.md)
	$(BIN)/python benchmarks/report.py --speed $(RESULTS)/speed.jsonl \
	  --fidelity $(RESULTS)/fidelity.jsonl --usefulness $(RESULTS)/usefulness.jsonl
	$(ONE_THREAD) $(BIN)/python benchmarks/augment.py --page \
	  --out $(RESULTS)/augment.jsonl
	for study in $$($(BIN)/tabtap study list | cut -d' ' -f1); do \
	  $(ONE_THREAD) $(BIN)/tabtap study run $$study --jobs $(JOBS) \
	    --store $(RESULTS)/studies && \
	  $(BIN)/tabtap study page $$study --store $(RESULTS)/studies --force \
	    --out docs/results/study-$$study.md || exit; done
	$(ONE_THREAD) $(BIN)/python benchmarks/answers.py --workers $(JOBS)
	$(ONE_THREAD) $(BIN)/python benchmarks/scale.py --out $(RESULTS)/scale.jsonl

format: $(VENV)/.installed-dev  ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the virtual environment and every cache
	rm -rf $(VENV) $(OLDEST) .hypothesis .mypy_cache .pytest_cache .ruff_cache dist

$(VENV)/.installed-core: pyproject.toml | $(BIN)/python
	@echo "Installing tabtap into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing tabtap and the tools to test it into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed-core $(VENV)/.installed-docs

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	@echo "Installing tabtap and the tools to build its pages into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@ $(VENV)/.installed-core

$(VENV)/.installed-judges: $(VENV)/.installed-dev
	@echo "Installing the packages of the optional judges into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[dev,tabpfn,tabicl]'
	@touch $@

# The first candidate that is new enough wins.  Editable installs need pip 21.3.
$(BIN)/python:
	@for candidate in $(PYTHON); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; \
	  then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "tabtap needs Python 3.10 or newer, and none of these is: $(PYTHON)." >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3.12 test" >&2; \
	  exit 1; \
	fi; \
	echo "Creating $(VENV) with $$("$$found" --version) ..."; \
	"$$found" -m venv $(VENV) && $(BIN)/python -m pip install --quiet 'pip>=21.3'
