# One command per job. `make` alone lists them.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# Dozens of short processes run here: without compiled files each would compile its imports anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test soak peers check format lock clean

help: ## List the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(INSTALLED) ## Set up .venv with everything that the commands below need

$(INSTALLED): requirements.txt pyproject.toml lab/pyproject.toml
	@$(PYTHON) tools/check_machine.py
	@echo "Setting up .venv (once; about a minute) …"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python tools/install.py
	@touch $(INSTALLED)

SECONDS ?= 30
OUT ?= out/demo
demo: setup ## Compare the four consumers on this machine: two rounds of 30 s, report in out/demo
	@$(BIN)/shardlane-lab demo --seconds $(SECONDS) --out $(OUT)

test: setup ## The whole test suite
	@$(BIN)/python -m pytest -n 2 --dist loadscope

SHARE ?= 1
soak: setup ## Hours of fuzzing, property tests and random histories (SHARE=0.01: minutes)
	@$(BIN)/python tools/soak.py --share $(SHARE)

peers: setup ## Programs nobody here wrote read from the local Kinesis (needs Java, Maven, Go, Rust)
	@$(BIN)/python -m bench.peers.run

check: setup ## Format, lint, types, import directions, code shape
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python tools/import_directions.py
	@$(BIN)/python tools/code_shape.py

format: setup ## Format the code and fix what the linter can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: setup ## Pin every dependency anew in requirements.txt
	@$(BIN)/uv pip compile --universal --quiet --group dev pyproject.toml lab/pyproject.toml \
	  --no-emit-package shardlane --custom-compile-command "make lock" --output-file requirements.txt

clean: ## Remove what the commands made (not .venv)
	@rm -rf out cdk.out .pytest_cache .mypy_cache .ruff_cache .hypothesis
