# `make test` and `make demo` need only Python 3.11 or newer and make: they build their own .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help test lint types layers pytest demo bench clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

# Reinstalled only when the requirements change; the package itself is installed in place.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set it with make PYTHON=/path/to/python3 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[test]'
	@touch $@

test: lint types layers pytest  ## lint, types, layers, tests and doctests; warnings are errors

lint: $(STAMP)  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

layers: $(STAMP)  ## the import contract of ARCHITECTURE.md
	$(BIN)/lint-imports

pytest: $(STAMP)  ## tests and doctests
	$(BIN)/python -m pytest -n 2

demo: $(STAMP)  ## audit generated data and print what is found
	$(BIN)/python examples/demo.py

bench: $(STAMP)  ## speed and memory against plain NumPy
	$(BIN)/python benchmarks/audit.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
