# `make demo` and `make test` work on a fresh machine with Python 3.11 or newer: each makes
# its own virtual environment with pinned dependencies first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: chaos demo test lint format crds reference deploy lock clean help conformance

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(VENV)/.installed: requirements.txt requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; found $$($(PYTHON) --version). Name one with: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

demo: $(VENV)/.installed  ## the main job in one minute, on an API server in the process
	$(BIN)/rulesengine demo

test: $(VENV)/.installed  ## every test; on a real control plane too where Go is there
	$(BIN)/python -m pytest

conformance: $(VENV)/.installed  ## the CEL specification's tests: one line per file
	$(BIN)/python -m tests.conformance

chaos: $(VENV)/.installed  ## twenty minutes of faults, kills and edits on a real control plane (needs Go)
	$(BIN)/python -m tests.cluster.chaos

lint: $(VENV)/.installed  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed  ## bring the code into form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

crds: $(VENV)/.installed  ## write crds/ anew from the models
	$(BIN)/python -m rulesengine.api.crd crds

reference: $(VENV)/.installed  ## write docs/reference/ anew from the code
	$(BIN)/python -m rulesengine.cli.reference docs/reference

deploy: $(VENV)/.installed  ## write deploy/kustomize and deploy/helm anew
	$(BIN)/rulesengine install --kustomize deploy/kustomize --helm deploy/helm/rulesengine

lock:  ## pin what pyproject.toml asks for, anew
	rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/pip install --quiet .
	(echo "# Everything rulesengine runs with, pinned. Made by: make lock"; $(VENV)-lock/bin/pip freeze --exclude rulesengine) > requirements.txt
	$(VENV)-lock/bin/pip install --quiet '.[dev]'
	(echo "# What building, testing and linting needs besides requirements.txt, pinned. Made by: make lock"; echo "-r requirements.txt"; $(VENV)-lock/bin/pip freeze --exclude rulesengine | grep -vxF -f requirements.txt) > requirements-dev.txt
	rm -rf $(VENV)-lock

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
