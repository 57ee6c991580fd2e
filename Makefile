# Every target that needs the environment makes it first; the second time that costs nothing.
.DEFAULT_GOAL := help
.PHONY: help run test test-all bench lint clean bootstrap

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: bootstrap ## Try it: the sound ledger holds, a broken twin is caught. Prints where the HTML page is.
	@scripts/first-run

test: bootstrap ## Run the tests, the tidy rules, types and format (ARGS="-k name" narrows).
	@.venv/bin/python scripts/test $(ARGS)

test-all: bootstrap ## The same, and the fast tier on every other supported Python found here.
	@.venv/bin/python scripts/test --all $(ARGS)

bench: bootstrap ## Measure: ratios within one run, see benchmarks/README.md.
	@.venv/bin/python -m benchmarks $(ARGS)

lint: bootstrap ## Check style, format and types only.
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

clean: ## Remove environments, caches and reports; keeps every file under version control.
	rm -rf .venv .tools .hypothesis .mypy_cache .pytest_cache .ruff_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	[ ! -d reports ] || find reports -mindepth 1 ! -path reports/README.md -delete

bootstrap:
	@scripts/bootstrap
