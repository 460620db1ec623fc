# Every target sets up what it needs itself: on a fresh machine, start with `make demo`.

BIN := .venv/bin
READY := .venv/.ready
KERNELS := .venvs/ipykernel73 .venvs/ipykernel74
FRONTEND := deep_notebook/views/frontend
NOTEBOOKS := notebooks

# What stops a run within a fraction of a second is tested while nothing else is at work; the rest in several processes.
ALONE := tests/kernel/test_interrupts.py tests/kernel/test_questions.py \
	tests/acceptance/test_b6_b9_after_an_interrupt.py tests/browser/test_stopping.py

.DEFAULT_GOAL := help
.PHONY: help demo lab test lint format bench widget model browser kernels clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## run the quickstart notebook with the local model and show what the agent did
	@$(BIN)/deep-notebook model pull
	@$(BIN)/python scripts/demo.py $(NOTEBOOKS)/01-quickstart.ipynb

lab: $(READY) ## open JupyterLab on the notebooks
	@$(BIN)/jupyter lab --ip=127.0.0.1 $$(test "$$(id -u)" != 0 || echo --allow-root) $(NOTEBOOKS)

test: $(READY) kernels browser model ## run every check and every test (ARGS="tests/unit -k name" narrows it)
ifdef ARGS
	@$(BIN)/python -m pytest $(ARGS)
else
	@$(BIN)/python -m pytest $(ALONE)
	@$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile $(ALONE:%=--ignore=%)
endif

lint: $(READY) ## check style and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

format: $(READY) ## mend what ruff can mend
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: $(READY) ## measure what has to stay fast
	@$(BIN)/python tests/benchmarks

widget: ## rebuild the run view and the panels from their TypeScript (needs Node 20 or newer)
	cd $(FRONTEND) && npm ci && npm run build

# What the targets above stand on.

model: $(READY)
	@$(BIN)/deep-notebook model pull || echo 'The embedded model is missing: the tests that need it will be skipped.' >&2

browser:
	@sh scripts/ensure_browser.sh

kernels: $(KERNELS:=/.ready)

$(READY): pyproject.toml
	@echo 'Setting up .venv'
	@python=$$(sh scripts/find_python.sh) && "$$python" -m venv .venv
	@$(BIN)/python -m pip install --quiet 'uv>=0.7,<1'
	@$(BIN)/uv pip install --quiet --python .venv --editable '.[lab,local]' --group dev
	@touch $@

PIN_ipykernel73 := ipykernel~=7.3.0
PIN_ipykernel74 := ipykernel~=7.4.0

.venvs/%/.ready: pyproject.toml | $(READY)
	@echo 'Setting up .venvs/$*'
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .venvs/$*
	@$(BIN)/uv pip install --quiet --python .venvs/$* --editable '.[local,mcp]' '$(PIN_$*)'
	@touch $@

clean: ## remove everything that was built or installed here (pulled models stay: deep-notebook model remove)
	rm -rf .venv .venvs build dist test-artifacts .mypy_cache .ruff_cache .pytest_cache .hypothesis $(FRONTEND)/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
