# Two commands do everything on a fresh machine: `make run` and `make test`.
VENV := .venv
BIN := $(VENV)/bin
SETUP := .setup/environment

.PHONY: run test test-all check docs bench package bundle fuzz clean

run: ## open the window on the simulated servo and the example session; without a display run the demo
	@$(SETUP) run
	@.setup/start

test: ## what a change must pass, headless; AT=tests/core/export for one part
	@$(SETUP) test
	@.setup/tests -m "not exhaustive" $(AT)

test-all: ## all tests: what must pass before a change lands
	@$(SETUP) test
	@.setup/tests $(AT)

check: ## lint, format, types, room rules
	@$(SETUP) test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: ## build/site: the documentation, which needs no network to build or to read
	@$(SETUP) docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict -f .setup/docs/mkdocs.yml

bench: ## figures and ratios of this machine; WHAT=--help lists those that run by name only, e.g. WHAT="planted clean"
	@$(SETUP) test
	$(BIN)/python -m tests.bench $(WHAT)

package: ## dist: wheel and source distribution; a tag vX.Y.Z is the version
	@$(SETUP) test
	$(BIN)/python -m hatchling build -d dist -t sdist -t wheel

bundle: package ## dist/ServoBench: one folder that needs no Python, then its window is opened and records
	.setup/bundle/build
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest tests/packages/test_bundle.py

# atheris guides the search by coverage; where there is none (Python 3.14, macOS) it goes by mutation alone.
fuzz: ## 10 CPU minutes for each parser of outside bytes; WHAT="log_bam run_bytes --minutes 1" for some, WHAT=--help
	@$(SETUP) test
	$(BIN)/python -m pip install --quiet -e ".[fuzz]"
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m tests.fuzz $(WHAT)

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
