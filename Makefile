# Everything here needs make and Python 3.11 to 3.13, nothing else. Try `make demo`.
# Another interpreter: make demo PYTHON=/path/to/python

VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
CANDIDATES := python3.13 python3.12 python3.11 python3 python
# A version manager's shim may be on the path and still run nothing, so each candidate is asked to prove itself.
PROBE := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
VERSION := import ensurepip, sys, venv; print(sys.version)
CLINIC := sample_data/clinic.duckdb

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test check audit bench golden clean

help:
	@echo "make demo     answer a few questions about an invented clinic"
	@echo "make test     every test that takes seconds (under five minutes)"
	@echo "make check    format, lint, types, layers, documentation"
	@echo "make audit    every test, also the slow ones, on examples not tried before"
	@echo "make bench    run every program in benchmarks/"
	@echo "make golden   rewrite the expected plans after a change that is meant"
	@echo "make clean    remove what make made"

demo: $(VENV)/.installed $(CLINIC)
	@$(BIN)/dpsql demo

test: $(VENV)/.installed-dev $(CLINIC)
	$(RUN) -m pytest -m "not slow" -n 2

check: $(VENV)/.installed-dev $(CLINIC)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(RUN) -m pytest tests/test_docs.py tests/test_imports.py

audit: $(VENV)/.installed-dev $(CLINIC)
	HYPOTHESIS_PROFILE=explore $(RUN) -m pytest -n 2

bench: $(VENV)/.installed-dev
	@for program in benchmarks/*.py; do echo "== $$program"; $(RUN) $$program || exit; done

golden: $(VENV)/.installed-dev $(CLINIC)
	$(RUN) -m pytest tests/golden --update-golden

clean:
	rm -rf $(VENV) $(CLINIC) dpsql.egg-info build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CLINIC): sample_data/make_clinic.py | $(VENV)/.installed
	$(RUN) $< $@

$(VENV)/.installed: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(RUN):
	@for candidate in $(PYTHON) $(if $(PYTHON),,$(CANDIDATES)); do \
	    if "$$candidate" -c '$(PROBE)' >/dev/null 2>&1; then \
	        echo "creating $(VENV) with $$candidate"; exec "$$candidate" -m venv $(VENV); \
	    fi; \
	done; \
	echo "dpsql needs Python 3.11, 3.12 or 3.13 with the venv module. Asked for theirs, the candidates said:" >&2; \
	for candidate in $(or $(PYTHON),$(CANDIDATES)); do \
	    echo "  $$candidate: $$("$$candidate" -c '$(VERSION)' 2>&1)" >&2; \
	done; \
	echo "Say where one is: make demo PYTHON=/path/to/python" >&2; exit 1
