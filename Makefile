PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PEERS := build/node_modules/.package-lock.json
PYTHONS ?= 3.11 3.12 3.13 3.14

.PHONY: help run test lint mutants access hostile faults-long soak resolve pictures vit bench bench-quick audit sbom clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' Makefile

run: $(VENV)/run.stamp  ## the dashboard, at http://localhost:8501
	$(BIN)/streamlit run app.py

test: $(VENV)/test.stamp $(VENV)/browser.stamp $(VENV)/supply.stamp $(VENV)/axe.stamp  ## every test, the browser's included
	$(BIN)/python -m pytest -n auto --dist loadfile

access: $(VENV)/browser.stamp $(VENV)/axe.stamp  ## for everyone: axe-core on every page in every state, keyboard, colours, words
	$(BIN)/python -m pytest tests/access tests/pages/test_text_alternatives.py --every-state

lint: $(VENV)/test.stamp  ## format, style, types, imports, completeness of the translations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/pages/test_catalogue.py

mutants: $(VENV)/test.stamp  ## does the suite notice faults put in on purpose?
	$(BIN)/python -m tests.mutants

hostile: $(VENV)/test.stamp  ## tries ten times more hostile links, fields, edits and uploads than `make test`
	ATTENTION_EXPLORER_CASES=24000 $(BIN)/python -m pytest -q -n auto --dist loadfile tests/hostile

faults-long: $(VENV)/browser.stamp  ## a connection cut for 130 seconds (`make test` has the other faults)
	$(BIN)/python -m pytest tests/faults/long_cut.py

soak: $(VENV)/test.stamp  ## 50 sessions come and go for half an hour: does anything grow?
	$(BIN)/python -m benchmarks.soak

resolve: $(VENV)/test.stamp  ## can requirements.txt be installed on every supported Python?
	@for version in $(PYTHONS); do \
		$(BIN)/uv pip compile --quiet --python-version $$version --only-binary :all: --no-binary unidic-lite \
			requirements.txt > /dev/null || exit 1; \
		echo "Python $$version: resolved"; \
	done

pictures: $(VENV)/test.stamp $(VENV)/browser.stamp  ## takes the READMEs' pictures of the pages anew
	$(BIN)/python docs/pictures.py

vit: $(VENV)/run.stamp  ## trains the model that reads digits anew (ten seconds)
	$(BIN)/python -m attn_core.vit

audit: $(VENV)/supply.stamp  ## known vulnerabilities of all that the app runs on (needs the internet)
	$(BIN)/python -m tests.supply.audit

sbom: $(VENV)/supply.stamp  ## writes build/sbom.json: all that the app runs on, with its licences
	$(BIN)/python -m tests.supply.sbom

bench: $(PEERS) $(VENV)/browser.stamp  ## how fast, each figure beside its floor or peer (20 minutes; wants a quiet machine)
	$(BIN)/python -m benchmarks

bench-quick: $(PEERS) $(VENV)/browser.stamp  ## does every benchmark still run? (says nothing of speed)
	$(BIN)/python -m benchmarks --quick

clean:  ## removes the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or later is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements.txt
	@touch $@

$(VENV)/test.stamp: tests/requirements.txt $(VENV)/run.stamp
	$(BIN)/python -m pip install --quiet -r tests/requirements.txt
	@touch $@

$(VENV)/bench.stamp: benchmarks/requirements.txt $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	@touch $@

$(PEERS): $(VENV)/bench.stamp
	PATH="$(abspath $(BIN)):$$PATH" npm install --silent --prefix build d3@5.7.0 jquery@2.1.0 requirejs@2.3.6
	@touch $@

$(VENV)/browser.stamp: tests/install_system.sh $(VENV)/test.stamp
	PATH="$(abspath $(BIN)):$$PATH" bash tests/install_system.sh
	@touch $@

$(VENV)/axe.stamp: tests/access/package-lock.json $(VENV)/test.stamp
	PATH="$(abspath $(BIN)):$$PATH" npm ci --silent --prefix tests/access
	@touch $@

$(VENV)/supply.stamp: tests/supply/requirements.txt $(VENV)/test.stamp
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/supply
	$(BIN)/uv pip install --quiet --python $(VENV)/supply -r tests/supply/requirements.txt
	@touch $@
