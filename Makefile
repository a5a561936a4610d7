# Everything runs in a private environment, .venv, installed from the pinned and hashed requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
TORCH ?= torch>=2.6
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
unexport PYTHONDONTWRITEBYTECODE  # the tests start hundreds of interpreters, and each would compile the library anew

PYRIGHT := 1.1.414

.PHONY: help install test test-all test-torch browser coverage check lint types types-library types-around pyright floors package release-dry-run reproduce docs fuzz benchmark lock clean

help:                    ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

install: .venv/.installed  ## the private environment

.venv/.installed: requirements.lock pyproject.toml  # modules are compiled when they are first imported: most never are
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

test: install            ## tests and doctests, each of a few seconds at most
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: install        ## the slow ones too: statistical checks, random faults, every figure
	$(BIN)/python -m pytest -n 2

test-torch: .venv-torch/.installed  ## tests that need PyTorch, on its processor device
	.venv-torch/bin/python -m pytest tests/simulation/test_torch_backend.py tests/simulation/data/test_features.py \
		tests/simulation/data/test_sample.py tests/nn tests/test_pyg.py tests/benchmarks/gnn src/gcnlimit/nn

.venv-torch/.installed: requirements.lock pyproject.toml  # TORCH_INDEX=URL: wheels of another index, TORCH=torch==2.9.0: a version
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$(TORCH)"
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

coverage: install        ## tests, and which lines of FILE they reach: make coverage FILE=src/gcnlimit/csbm.py
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov=gcnlimit --cov-report= $(TESTS)
	$(BIN)/python -m coverage report --show-missing --include="$(or $(FILE),*)"

browser:                 ## Chromium and its driver on Debian, for the tests of the explorer
	apt-get install --yes --no-install-recommends chromium chromium-driver

lint: install            ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: types-library types-around  ## mypy: the library and code of a user in strict mode, and the code around them

types-library: install
	$(BIN)/mypy

types-around: install
	$(BIN)/mypy --config-file tests/mypy.ini

pyright: .venv-wheel/.installed  ## mypy and pyright, strict, on code of a user beside the installed wheel
	cd tests/typing && ../../.venv-wheel/bin/mypy --strict --config-file= --cache-dir=/dev/null user.py
	cd tests/typing && ../../.venv-wheel/bin/pyright --pythonpath ../../.venv-wheel/bin/python

.venv-wheel/.installed: pyproject.toml $(shell find src -name '*.py')
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check mypy "pyright[nodejs]==$(PYRIGHT)" scipy-stubs
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps .
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check ".[sweep]"
	touch $@

floors: install          ## which module may import which
	$(BIN)/lint-imports

package: install         ## wheel and sdist, built, installed and tried outside the checkout
	$(BIN)/python tests/packaging/install.py $(PACKAGE)

check: lint types floors package test  ## what the continuous integration runs on a push

release-dry-run: install ## what a release publishes, into dist/: built, checked, installed and tried; VERSION=1.2.3 must be its version
	@test -z "$(VERSION)" || grep -q '"$(VERSION)"' src/gcnlimit/_version.py || { echo "src/gcnlimit/_version.py has another version than $(VERSION)"; exit 1; }
	@test -z "$(VERSION)" || grep -q '^## $(VERSION)' CHANGELOG.md || { echo "CHANGELOG.md has no section $(VERSION)"; exit 1; }
	rm -rf dist
	$(BIN)/python tests/packaging/install.py --keep dist $(PACKAGE)
	$(BIN)/twine check --strict dist/*

reproduce: install       ## the main job: regenerate every figure of the paper into figures/
	$(BIN)/gcnlimit reproduce --out figures

docs: install            ## the site, into build/docs
	$(BIN)/sphinx-build -E -W -q -b html docs build/docs

SECONDS ?= 60
SEED ?= 0
fuzz: install            ## random problems, and nonsense at doors, command line, files and explorer: make fuzz SECONDS=60 SEED=0
	$(BIN)/python -m validation.fuzz_inputs --seconds $(SECONDS) --seed $(SEED)
	$(BIN)/python -m validation.fuzz --points 1000000 --seed $(SEED) --seconds $(SECONDS)

benchmark: install       ## tables of ratios, measured side by side
	$(BIN)/python -m benchmarks

lock:                    ## renew the pins (needs uv)
	uv pip compile pyproject.toml --extra all --group dev --universal --fork-strategy fewest --generate-hashes --no-strip-extras \
		--no-header --no-annotate --python-version 3.11 --output-file requirements.lock

clean:                   ## remove what was built
	rm -rf .coverage .venv .venv-torch .venv-wheel build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache figures
