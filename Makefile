# Everything a newcomer needs: `make run`, `make test`, `make lint`, `make bench`.
# Only Python 3.11+, make and access to a package index are assumed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NODE_MODULES := tests/clients/node_modules
EDITOR := src/masthead/faces/admin/editor
GENERATOR := $(VENV)/client-generator
FUZZER := $(VENV)/fuzzer
MUTATOR := $(VENV)/mutator
LITESTREAM := $(VENV)/litestream
RELEASE_TOOLS := $(VENV)/release-tools
# requirements-test.lock has all that requirements.lock has, in the same versions.
LOCKS := requirements-test.lock requirements-build.lock tests/clients/requirements.lock \
  release/requirements.lock tests/service/backup/litestream.lock tests/fuzz/requirements.lock \
  tests/mutations/requirements.lock
# The whole service under faults, and single ways under kills.
FAULT_TESTS := tests/faults tests/durability tests/storage/test_disk_full.py tests/features/webhooks/test_kill.py \
  tests/features/mailings/test_kills.py tests/features/privacy/test_kill.py tests/features/statistics/test_exactness.py \
  tests/engine/jobs/test_processes.py tests/service/cli/test_import.py
BENCH_OPTIONS = $(if $(ONLY),--only "$(ONLY)") $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS))
# npm in the folder of the editor, which also holds the tools that check styles and scripts.
NODE_TOOL = $(BIN)/python tests/clients/node.py --prefix $(CURDIR)/$(EDITOR)

.PHONY: audit run install install-test test test-sweeps test-faults soak test-planted fuzz mutations cluster cluster-test lint format docs views \
  screenshots bench bench-commits catalogs catalogs-check lock editor dist clean

# make run, or make run PORT=8100
run: install
	$(BIN)/masthead serve --demo $(if $(PORT),--port $(PORT))

# Compiles what has changed, as pip does for a package that is not editable: an environment that
# writes no bytecode (PYTHONDONTWRITEBYTECODE) would compile all sources at every start.
install: $(VENV)/.installed
	$(BIN)/python -m compileall -q src

install-test: $(VENV)/.installed-test $(NODE_MODULES)/.installed $(EDITOR)/node_modules/.installed \
  $(GENERATOR)/.installed $(RELEASE_TOOLS)/.installed $(LITESTREAM)/.installed $(VENV)/.compiled-tests

# Every behaviour once, in ten minutes. make test ARGS="tests/features/posts -k slug" runs a part.
test: install-test
	$(BIN)/pytest -n auto --dist loadgroup --tier test $(ARGS)

# What repeats a behaviour over many inputs or environments: see tests/tiers.py.
test-sweeps: install-test
	$(BIN)/pytest -n auto --dist loadgroup --tier sweeps --durations 10 $(ARGS)

# Kills, full disks, cut connections, wrong clocks, under load; the table is in build/faults.md.
test-faults: install-test
	rm -f build/faults.jsonl
	$(BIN)/pytest -n auto --dist loadgroup $(FAULT_TESTS) $(ARGS)
	$(BIN)/python -m tests.faults

# An hour of mixed traffic on 200 sites, or MINUTES=10; the report and its plot are build/soak.md and .svg.
soak: $(VENV)/.installed-test
	$(BIN)/python -m tests.soak $(if $(MINUTES),--minutes $(MINUTES))

# Plants ten faults, one after another, in a copy of the tree: the tests of each room must find it.
test-planted: install-test
	$(BIN)/python -m tests.planted $(if $(ONLY),--only "$(ONLY)")

# Every parser of strangers' bytes, for 60 seconds each, or make fuzz ONLY=html SECONDS=600. Inputs and
# findings are in build/fuzz.
fuzz: $(VENV)/.installed-test $(FUZZER)/.installed
	PYTHONPATH=$(FUZZER) $(BIN)/python -m tests.fuzz $(if $(ONLY),--only "$(ONLY)") $(if $(SECONDS),--seconds $(SECONDS))

# Changes rules, access, signing, limits, retries, gating and payment states, one expression after another:
# the tests near each must find it. The table is in build/mutations.md; make mutations ONLY=signing.
mutations: $(VENV)/.installed-test $(MUTATOR)/.installed
	PYTHONPATH=$(CURDIR)/$(MUTATOR) $(BIN)/python -m tests.mutations $(if $(ONLY),--only "$(ONLY)")

# Two services and two workers on a PostgreSQL cluster, on loopback, until Ctrl-C; PORT=8080. Needs the
# Debian packages that it names. See docs/scaling.md.
cluster: $(VENV)/.installed-test
	$(BIN)/python -m tests.cluster $(if $(PORT),--port $(PORT))

# Ten minutes of faults under load; the table is in build/cluster.md.
cluster-test: $(VENV)/.installed-test
	$(BIN)/pytest -n 0 -s tests/cluster/ten_minutes.py

lint: $(VENV)/.installed-test $(EDITOR)/node_modules/.installed
	$(BIN)/ruff format --check src tests bench release docs
	$(BIN)/ruff check src tests bench release docs
	$(BIN)/djangofmt --check src
	$(NODE_TOOL) run --silent check-styles
	$(NODE_TOOL) run --silent check-scripts
	$(BIN)/mypy

format: $(VENV)/.installed-test $(EDITOR)/node_modules/.installed
	$(BIN)/ruff format src tests bench release docs
	$(BIN)/ruff check --fix src tests bench release docs
	$(BIN)/djangofmt src
	$(NODE_TOOL) run --silent format-styles

# Writes the pages of docs/reference anew.
docs: $(VENV)/.installed-test
	$(BIN)/python -m tests.docs.pages

# Writes the typed views of records, from the declarations of their collections.
views: $(VENV)/.installed-test
	$(BIN)/python -m tests.views

# Collects the words of the source, and adds the new ones to the catalog of every language.
catalogs: $(VENV)/.installed-test
	$(BIN)/python -m tests.catalogs update

# What the catalogs lack: translations, placeholders, words of the glossaries. ONLY=de, or several.
catalogs-check: $(VENV)/.installed-test
	$(BIN)/python -m tests.catalogs check $(ONLY)

# Every page of the demo and of the admin, light and dark, desktop and phone, into build/screenshots;
# needs Chromium.
# Also writes those in docs/images; make screenshots ONLY=docs writes no others.
screenshots: $(VENV)/.installed-test
	$(BIN)/python -m tests.docs.screenshots $(if $(filter docs,$(ONLY)),--docs)

# Masthead beside PocketBase; a whole run, some fifteen minutes, writes the table of
# docs/benchmarks.md. make bench ONLY="v1 list", ROUNDS=2 or SECONDS=0.5 for a quick look.
bench: $(VENV)/.installed-test
	$(BIN)/python -m bench $(BENCH_OPTIONS)

# The current version beside an older commit: make bench-commits BASE=HEAD~3, with the same options.
# BASE=. is this version beside itself; ENGINE=postgresql measures both on PostgreSQL.
bench-commits: $(VENV)/.installed-test
	$(if $(BASE),,$(error Say which commit: make bench-commits BASE=<commit>))
	$(BIN)/python -m bench.commits "$(BASE)" $(BENCH_OPTIONS) $(if $(ENGINE),--engine $(ENGINE))

# One feature, for example make bench-mailings OPTIONS="--members 2000": docs/benchmarks.md lists them.
bench-%: $(VENV)/.installed-test
	$(BIN)/python -m bench.$* $(OPTIONS)

# Rewrites the Python lock files.
lock: $(VENV)/.installed-test
	$(BIN)/uv pip compile pyproject.toml --extra mcp --extra redis --universal --generate-hashes --no-header -q -o requirements.lock
	$(BIN)/uv pip compile --group build --universal --generate-hashes --no-header -q -o requirements-build.lock
	$(BIN)/uv pip compile pyproject.toml --extra mcp --extra redis --extra otel --extra test --universal --generate-hashes --no-header -q \
	  -c requirements.lock -c requirements-build.lock -o requirements-test.lock
	$(BIN)/uv pip compile tests/clients/requirements.in --universal --generate-hashes --no-header -q \
	  -o tests/clients/requirements.lock
	$(BIN)/uv pip compile release/requirements.in --universal --generate-hashes --no-header -q \
	  -o release/requirements.lock
	$(BIN)/uv pip compile tests/fuzz/requirements.in --universal --generate-hashes --no-header -q \
	  -o tests/fuzz/requirements.lock
	$(BIN)/uv pip compile tests/mutations/requirements.in --universal --generate-hashes --no-header -q \
	  -c requirements-test.lock -o tests/mutations/requirements.lock

# Known faults of the pinned dependencies, ours and those that build and test; needs the network.
# make audit OPTIONS="--vulnerability-service osv" asks OSV instead of PyPI, in the same words.
audit: $(RELEASE_TOOLS)/.installed
	@failed=0; for lock in $(LOCKS); do echo "$$lock:"; \
	  $(RELEASE_TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off \
	    -r $$lock $(OPTIONS) || failed=1; done; exit $$failed

# Builds the admin's editor from its source and lock file. A test compares the bytes.
editor: $(EDITOR)/node_modules/.installed
	$(NODE_TOOL) run --silent build

# A release in dist/: wheel, source archive, pinned dependencies, SBOM and checksums.
dist: install $(RELEASE_TOOLS)/.installed
	$(BIN)/python -m release dist

clean:
	rm -rf $(VENV) $(NODE_MODULES) $(EDITOR)/node_modules build/commits build/wheels-* dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock requirements-build.lock pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock -r requirements-build.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.installed-test: requirements-test.lock $(VENV)/.installed
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-test.lock
	touch $@

# pytest compiles the tests when it first reads them: here once, instead of in each of its processes.
$(VENV)/.compiled-tests: $(VENV)/.installed-test
	-$(BIN)/pytest --collect-only -q > /dev/null
	touch $@

# Litestream's program stands apart: its package would bring a web framework along.
$(LITESTREAM)/.installed: tests/service/backup/litestream.lock $(VENV)/.installed-test
	rm -rf $(LITESTREAM)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps \
	  --target $(LITESTREAM) -r tests/service/backup/litestream.lock
	touch $@

# Clients of others in JavaScript, run by the Node.js that the Python lock brings.
$(NODE_MODULES)/.installed: tests/clients/package-lock.json $(VENV)/.installed-test
	$(BIN)/python tests/clients/node.py ci --silent --ignore-scripts
	touch $@

$(EDITOR)/node_modules/.installed: $(EDITOR)/package-lock.json $(VENV)/.installed-test
	$(NODE_TOOL) ci --silent
	touch $@

# The generator of Python clients and Pelican's importer stand apart: both need older versions of
# packages than we do, and neither is part of what we ship.
$(GENERATOR)/.installed: tests/clients/requirements.lock $(VENV)/.installed-test
	rm -rf $(GENERATOR)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps \
	  --target $(GENERATOR) -r tests/clients/requirements.lock
	touch $@

# Where there is no package of it, inputs are changed at random, without looking at what they reach.
$(FUZZER)/.installed: tests/fuzz/requirements.lock $(VENV)/.installed-test
	rm -rf $(FUZZER)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
	  --target $(FUZZER) -r tests/fuzz/requirements.lock || mkdir -p $(FUZZER)
	touch $@

$(MUTATOR)/.installed: tests/mutations/requirements.lock $(VENV)/.installed-test
	rm -rf $(MUTATOR)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps \
	  --target $(MUTATOR) -r tests/mutations/requirements.lock
	touch $@

# What lists the contents of a release and asks for faults of dependencies. In an environment of its own: it needs much that we don't.
$(RELEASE_TOOLS)/.installed: release/requirements.lock | $(VENV)/bin/python
	$(BIN)/python -m venv --clear $(RELEASE_TOOLS)
	$(RELEASE_TOOLS)/bin/pip install -q --disable-pip-version-check --require-hashes \
	  -r release/requirements.lock
	touch $@
