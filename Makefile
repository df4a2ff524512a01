# `make run` and `make test` set up everything they need on a machine with python3, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LENGTH ?= 10
SEED ?=
# The tests start many processes; without bytecode files each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test lint fuzz proof soak bombs promises fuzz-inputs mutate coverage bench bench-quick bench-documents bench-http hosts docs remote dist browser images clean help

run: $(READY)  ## show the same lines of a file in each dialect
	@$(BIN)/python examples/tour.py

test: $(READY)  ## lint, type check and run every test in its short form; three minutes on two cores
	@$(BIN)/ruff check -q . && $(BIN)/ruff format --check -q . && echo "lint: ok"
	@$(BIN)/mypy >$(VENV)/types.txt 2>&1 & types=$$!; $(BIN)/python -m pytest -n 3 --dist worksteal; tests=$$?; \
		wait $$types; types=$$?; cat $(VENV)/types.txt; test $$tests = 0 -a $$types = 0

fuzz: $(READY)  ## the property tests with random examples, LENGTH=10 times as many as `make test` has; SEED=N repeats a run
	@seed=$(SEED); test -n "$$seed" || seed=$$($(BIN)/python -c 'import secrets; print(secrets.randbelow(1 << 32))'); \
		echo "make fuzz LENGTH=$(LENGTH) SEED=$$seed"; \
		EYESPAN_FUZZ=$(LENGTH) $(BIN)/python -m pytest -n 3 --dist worksteal -m 'hypothesis and not soak' --hypothesis-seed=$$seed

lint: $(READY)  ## format the code and fix what ruff can fix
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt $(wildcard src/eyespan/_native/*.c hatch_build.py)
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("eyespan needs Python 3.11 or newer; $(PYTHON) is %d.%d. Try: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12" % v[:2])'
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || rm -rf $(VENV)
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing into $(VENV), once; about a minute"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[dev]' \
		| sed -un 's/^Collecting \([^ ]*\).*/  \1/p'
	@$(BIN)/python -c 'import eyespan'
	@touch $@

proof: $(READY)  ## every proof of docs/security.md at full length, one after the other; some four hours
	@for each in soak bombs promises fuzz fuzz-inputs mutate coverage; do $(MAKE) --no-print-directory $$each || exit; done

soak: $(READY)  ## races, agreement, long tests, exact data, load; an hour and a half
	@EYESPAN_RACE_READS=5000000 $(BIN)/python -m pytest -s tests/guard/test_race.py
	@EYESPAN_AGREEMENT_PATHS=1000000 $(BIN)/python -m pytest -s tests/guard/test_agreement.py
	@EYESPAN_TESTS=long $(BIN)/python -m pytest -n 2 --dist worksteal
	@EYESPAN_TESTS=long $(BIN)/python -m pytest -m soak
	@$(BIN)/python -m proof exact
	@$(BIN)/python -m proof load

bombs: $(READY)  ## read small bombs in every dialect and over HTTP; measure memory and time; an hour
	@$(BIN)/python -m proof bombs
	@$(BIN)/python -m proof stores

promises: $(READY)  ## measure the figures of docs/security.md on this machine; one minute
	@$(BIN)/python -m proof promises

fuzz-inputs: $(READY)  ## 2,000 inputs for each target, and the accelerator under sanitizers; ten minutes
	@$(BIN)/python -m proof fuzz --target all --runs 2000 --jobs 2
	@$(BIN)/python -m proof sanitizers

mutate: $(READY)  ## deliberate defects, each of which must make a test fail; ten minutes
	@$(BIN)/python -m proof mutate

coverage: $(READY)  ## lines and branches of guard, lines and readers that the tests run; ten minutes
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage
	@$(BIN)/python -m proof coverage

bench: $(READY)  ## measure reads of text, compared with other tools, which it installs; some ten minutes
	@$(BIN)/python bench/run.py && $(BIN)/python bench/readme.py

bench-quick: $(READY)  ## the same with small sizes; two minutes
	@$(BIN)/python bench/run.py --quick

bench-http: $(READY)  ## measure HTTP servers under load, compared with the SDK, fastmcp and the npm server; some three minutes
	@$(BIN)/python bench/http_servers.py --write

bench-documents: $(READY)  ## measure documents, compared with pypdf, pdfminer.six, markitdown and Pillow; some seven minutes
	@$(BIN)/python bench/documents.py

hosts: $(READY)  ## test with real Claude Code, Codex, Gemini CLI, agent frameworks and the MCP conformance suite
	@tools/hosts.sh && tools/hosts_frameworks.sh && tools/mcp_conformance.sh && $(BIN)/python -m proof originals

browser: $(READY)  ## the tests of the page in a real Chromium, which it installs on Debian, with axe-core; its images; three minutes
	@command -v chromedriver curl >/dev/null || apt-get install -y -q chromium chromium-driver curl
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt selenium pygments
	@if command -v npm >/dev/null; then npm install --silent --prefix build/browser axe-core@4.14.0; else echo "no npm: accessibility is not checked"; fi
	@$(BIN)/python -m pytest tests/extras/http/page

images: browser  ## the images of the page in docs/images, as the tests in Chromium made them
	@cd build/screenshots && cp view-start-1280-light.png $(CURDIR)/docs/images/view-start.png && \
		cp view-preview-1280-light.png $(CURDIR)/docs/images/view-preview.png && \
		cp view-activity-1280-light.png $(CURDIR)/docs/images/view-activity.png && \
		cp view-why-1280-light.png $(CURDIR)/docs/images/view-why.png

docs: $(READY)  ## build the site of docs/ into build/site, with strict links; one minute
	@$(BIN)/python tools/reference.py
	@test -d build/docs-venv/lib/*/site-packages/material || { $(PYTHON) -m venv build/docs-venv && build/docs-venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt mkdocs-material; }
	@NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --quiet && echo "build/site/index.html"

remote: $(READY)  ## the tests of remote roots with real servers of S3 and Azure, which it installs, and bombs from stores; half an hour
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'moto[server]'
	@if command -v npm >/dev/null; then mkdir -p build/servers && npm install --silent --prefix build/servers s3rver@3.7.1 azurite@3.37.0; \
		else echo "no npm: s3rver and azurite are not tested"; fi
	@$(BIN)/python -m pytest tests/extras/remote
	@$(BIN)/python -m proof bombs --quick --remote s3 https https-whole --dialect native forge

dist: $(READY)  ## build and check the source archive and the wheels, and run what hosts install from them; tools in build/dist-venv, three minutes
	@$(PYTHON) packaging/build.py
	@EYESPAN_WHEELS=$(CURDIR)/dist EYESPAN_HOSTS_UV=$(CURDIR)/build/dist-venv/bin/uv $(BIN)/python -m pytest tests/extras/hosts/test_installation.py

clean:  ## remove everything that the other commands made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
