# Everything runs in .venv, which is made when it is missing. PYTHON may name another interpreter (3.11 or later).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto

.PHONY: help venv demo test lint bench completions schemas readme clean

help:
	@echo "make demo         read why a claim on the recorded fleet is pending"
	@echo "make test         run the tests"
	@echo "make lint         ruff, mypy --strict, import contracts"
	@echo "make bench        measure speed (prints figures, judges nothing)"
	@echo "make completions  write the completion scripts for bash, zsh and fish"
	@echo "make schemas      write the JSON Schemas of Kubernetes' kinds and of dractl's reports"
	@echo "make readme       renew the outputs in README.md"
	@echo "make clean        remove .venv and caches"

venv: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "dractl needs Python 3.11 or later; name one with make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: venv
	@echo '$$ dractl explain claim pair-on-h100-1 -n ml --demo'
	@$(BIN)/dractl explain claim pair-on-h100-1 -n ml --demo; code=$$?; [ $$code -le 1 ] || exit $$code

test: venv
	$(BIN)/python -m pytest -n $(WORKERS)

lint: venv
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: venv
	$(BIN)/python -m pytest -m benchmarks -s

completions: venv
	$(BIN)/python scripts/completions.py

schemas: venv
	$(BIN)/python schemas/generate.py
	$(BIN)/python schemas/reports.py
	$(BIN)/python schemas/host_report.py

readme: venv
	$(BIN)/python scripts/readme.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
