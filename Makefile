# Two commands do everything from nothing: `make serve` and `make test`. `make help` lists the rest.
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
ADDRESS ?= 127.0.0.1:8787
SUITE ?= core
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup serve test check format bench soak docs site screenshots release lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.serve $(VENV)/.assets ## make .venv with the product in it
	@echo "The command commonplace is in $(BIN). To put it on the PATH of a shell: . $(BIN)/activate"

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.serve: $(VENV)/bin/python requirements/serve.txt pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/serve.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.assets: $(VENV)/.serve src/commonplace/console/assets/packages.json requirements/assets.txt
	@$(BIN)/python tools/setup_assets.py
	@touch $@

$(VENV)/.dev: $(VENV)/.serve requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

serve: setup ## set up and run the product on http://127.0.0.1:8787
	@$(BIN)/commonplace models install --if-missing
	MCP_ENABLE_MUTATION=1 $(BIN)/commonplace serve --http $(ADDRESS)

test: $(VENV)/.dev check ## set up and run all tests
	@$(BIN)/commonplace models install --if-missing
	@$(BIN)/python tools/setup_assets.py
	$(BIN)/python tools/setup_node.py
	$(BIN)/python tools/setup_chromium.py
	$(BIN)/python tools/setup_proxies.py
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(VENV)/.dev ## format, lint, types, imports, docs drift, links of the site
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/reference.py --check
	$(BIN)/zensical build --strict --clean >/dev/null

format: $(VENV)/.dev ## format and fix what can be fixed
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format --quiet .

bench: $(VENV)/.dev ## benchmarks: make bench SUITE=core
	$(BIN)/python tools/setup_node.py
	$(BIN)/python -m benchmarks.$(subst -,_,$(SUITE))

soak: $(VENV)/.dev ## the long campaigns, whole
	$(BIN)/python tools/setup_proxies.py
	COMMONPLACE_SOAK=1 $(BIN)/python -m pytest --timeout=7200

docs: $(VENV)/.dev ## write the generated reference
	$(BIN)/python tools/reference.py

site: $(VENV)/.dev ## build the documentation site in site/
	$(BIN)/zensical build --strict --clean

screenshots: $(VENV)/.dev ## take the pictures in docs/images
	$(BIN)/python tools/setup_chromium.py
	$(BIN)/python tools/screenshots.py

release: $(VENV)/.dev $(VENV)/.assets ## build sdist, wheel and bundle, check them in a fresh environment
	$(BIN)/python tools/setup_node.py
	$(BIN)/python tools/release.py

lock: $(VENV)/.dev ## pin the dependencies again
	$(BIN)/python tools/lock.py

clean: ## remove what set-up made
	rm -rf $(VENV) .tools site .cache .mypy_cache .ruff_cache .pytest_cache
