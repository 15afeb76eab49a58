PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTHONS ?= 3.11 3.12 3.13 3.14

.PHONY: help run test lint mutants resolve pictures clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-9s %s\n", $$1, $$2}' Makefile

run: $(VENV)/run.stamp  ## the dashboard, at http://localhost:8501
	$(BIN)/streamlit run app.py

test: $(VENV)/test.stamp $(VENV)/browser.stamp  ## every test, the browser's included
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/test.stamp  ## format, style, types, imports, completeness of the translations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/pages/test_catalogue.py

mutants: $(VENV)/test.stamp  ## does the suite notice faults put in on purpose?
	$(BIN)/python -m tests.mutants

resolve: $(VENV)/test.stamp  ## can requirements.txt be installed on every supported Python?
	@for version in $(PYTHONS); do \
		$(BIN)/uv pip compile --quiet --python-version $$version --only-binary :all: --no-binary unidic-lite \
			requirements.txt > /dev/null || exit 1; \
		echo "Python $$version: resolved"; \
	done

pictures: $(VENV)/test.stamp $(VENV)/browser.stamp  ## takes the READMEs' pictures of the pages anew
	$(BIN)/python docs/pictures.py

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

$(VENV)/browser.stamp: tests/install_browser.sh $(VENV)/test.stamp
	PATH="$(abspath $(BIN)):$$PATH" bash tests/install_browser.sh
	@touch $@
