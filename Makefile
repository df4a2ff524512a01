# Two commands do all the set-up on a machine with python3, pip and make: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test lint fuzz soak mutate coverage promises bench bench-quick bench-documents hosts clean help

run: $(READY)  ## show eyespan at work: the same lines in each dialect
	@$(BIN)/python examples/tour.py

test: $(READY)  ## lint, type check and run every test
	@$(BIN)/ruff check -q . && $(BIN)/ruff format --check -q . && echo "lint: ok"
	@$(BIN)/mypy && $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)  ## put the code in shape
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt $(wildcard src/eyespan/_native/*.c hatch_build.py)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once; half a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

fuzz: $(READY)  ## 2,000 inputs for each of 41 targets, the accelerator under sanitizers; some ten minutes
	@$(BIN)/python tools/fuzz.py --target all --runs 2000 --jobs 2
	@PYTHON=$(BIN)/python tools/fuzz_native.sh

soak: $(READY)  ## the proofs of docs/security.md at full length: races, agreement, faults, exact data, load; an hour and a half
	@EYESPAN_RACE_READS=5000000 $(BIN)/python -m pytest -s tests/guard/test_race.py
	@EYESPAN_AGREEMENT_PATHS=1000000 $(BIN)/python -m pytest -s tests/guard/test_agreement.py
	@$(BIN)/python -m pytest -m soak
	@$(BIN)/python tools/exact.py
	@$(BIN)/python tools/load.py

promises: $(READY)  ## what docs/security.md promises in figures, measured on this machine; two minutes
	@$(BIN)/python tools/promises.py

mutate: $(READY)  ## 73 deliberate defects, each must turn a test red; some ten minutes
	@$(BIN)/python tools/mutate.py

coverage: $(READY)  ## lines and branches of guard, lines and readers that the tests run: all, or it fails; some ten minutes
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage
	@PYTHON=$(BIN)/python tools/coverage.sh

bench: $(READY)  ## every figure of the README, beside the peers; installs them, some 40 minutes
	@$(BIN)/python bench/run.py && $(BIN)/python bench/readme.py
	@$(BIN)/python bench/documents.py

bench-quick: $(READY)  ## the same on small sizes, two minutes
	@$(BIN)/python bench/run.py --quick

bench-documents: $(READY)  ## documents beside pypdf, pdfminer.six, markitdown and Pillow; some seven minutes
	@$(BIN)/python bench/documents.py

hosts: $(READY)  ## real Claude Code, Codex, agent frameworks and the MCP conformance suite as judges
	@tools/hosts.sh && tools/hosts_frameworks.sh && tools/mcp_conformance.sh

clean:  ## remove what the other commands made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
