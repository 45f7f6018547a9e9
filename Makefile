# kscope. `make up` starts it, `make test` tests it. Needs Python 3.11 or newer, and make.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
# Take the Python that was named, even if the machine has a faster one.
AS_NAMED := $(if $(filter file,$(origin PYTHON)),,--this-python)
PY := .venv/bin/python
NODE := $(PY) kscope/up/setup.py node
ESLINT := $(NODE) node_modules/eslint/bin/eslint.js
PRETTIER := $(NODE) node_modules/prettier/bin/prettier.cjs
DJADE := .venv/bin/djade --target-version 5.2
TEMPLATES := $(sort $(wildcard $(addsuffix /*.html,templates templates/* templates/*/*)))
TSC := $(NODE) node_modules/typescript/bin/tsc
# Warnings are errors: a link or a heading that is not there, a page that no list of pages has. All is
# read anew, since pictures may have come.
SITE := .venv/bin/sphinx-build -q -E -W --keep-going -c docs/site -d build/doctrees . build/site
FRONT_END := static tests/js .ci eslint.config.js
# Of Hypothesis; the time makes others each time.
EXPLORE_SEEDS ?= $(shell first=$$(date +%s); seq $$first $$((first + 19)))
# Containers often set it. Each process of a test, of which there are hundreds, would then compile
# every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: sbom audit help setup setup-dev up test test-py test-js test-e2e test-kubectl test-chaos test-compose test-bench walk soak explore fuzz words check docs screenshots format bench lock clean clean-data

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## install everything that `make up` needs
	@$(PYTHON) kscope/up/setup.py runtime $(AS_NAMED)

setup-dev: ## install what tests and checks need as well
	@$(PYTHON) kscope/up/setup.py dev $(AS_NAMED)

up: setup ## start kscope and print its address; Ctrl-C stops it
	@exec $(PY) manage.py up

test: setup-dev ## the whole suite, on servers of its own; all parts, also when one fails
	@.ci/parts test-py "test-js test-e2e test-chaos"

test-py: setup-dev
	@$(PY) -u -m pytest -rs -n 2 --dist worksteal $(PYTEST_ARGS)

test-js: setup-dev
	@$(NODE) --test $(sort $(wildcard tests/js/*/*.test.js tests/js/*/*/*.test.js))

test-kubectl: setup-dev ## the commands of every kubectl that is found; writes docs/kubectl.md
	@$(PY) -u -m pytest -rs -o addopts="-p tests.plugin -p kube.clusters.plugin --import-mode=importlib" tests/kubectl

test-e2e: setup-dev
	@DJANGO_ALLOW_ASYNC_UNSAFE=1 $(PY) -u -m pytest -rs -o addopts="-p tests.plugin --import-mode=importlib" tests/e2e

test-chaos: setup-dev ## kill what runs, at random moments with a seed, and look for what was lost
	@$(PY) -u -m pytest -rs -o addopts="-p tests.plugin --import-mode=importlib -n 2 --dist worksteal" tests/chaos

test-compose: setup-dev ## what docker-compose.yml asks for, in namespaces in place of a daemon; needs root
	@$(PY) -u -m pytest -rs -o addopts="-p tests.plugin --import-mode=importlib" tests/compose

walk: setup-dev ## every page of every demo at 20 random instants in Chromium; SEED=7 WALK_ARGS="--instants 5"
	@$(PY) -m tests.walk --seed $(or $(SEED),1) $(WALK_ARGS)

test-bench: setup-dev ## try every part of the bench at its least size; its figures mean nothing
	@$(PY) -m bench --least

soak: setup-dev ## 200 such episodes, 50 runs at once, and 1,000 forks of forks; SOAK_ARGS="--episodes 50 --seed 7" for others
	@$(PY) -m tests.chaos.soak $(SOAK_ARGS)
	@KSCOPE_TEST_RUNS=50 $(PY) -m pytest -q tests/chaos/test_many_runs.py
	@KSCOPE_TEST_FORKS=1000 $(PY) -m pytest -q tests/web/record/test_fork_trees.py

explore: setup-dev ## all of what the suite tries a sample of; the properties on new examples; EXPLORE_SEEDS="7 8"
	@failed=""; KSCOPE_EXPLORE=1 $(PY) -m pytest --timeout=0 -q -n 2 \
	    $$(grep -rl --include="test_*.py" "^from tests.samples import" tests) || failed=" (samples)"; \
	for seed in $(EXPLORE_SEEDS); do echo "== seed $$seed"; \
	    $(PY) -m pytest --timeout=0 -q -n 2 tests/properties --hypothesis-profile=new --hypothesis-seed=$$seed \
	    || failed="$$failed $$seed"; done; \
	    test -z "$$failed" || { echo "failed with EXPLORE_SEEDS=\"$$failed\""; exit 1; }

fuzz: setup-dev ## 20,000 broken inputs of each kind; FUZZ_KIND, FUZZ_FIRST and FUZZ_COUNT choose some
	@FUZZ_COUNT=$${FUZZ_COUNT:-20000} FUZZ_SECONDS=$${FUZZ_SECONDS:-7200} \
	    $(PY) -m pytest --timeout=0 -n 2 -rP --show-capture=stdout tests/fuzz

words: setup-dev ## collect the words of pages into the catalogues of kscope/locale
	$(PY) .ci/words.py

check: setup-dev ## format, lint, types, import contracts, unused code, numbers of STYLE.md, names of tests, migrations, documents
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(ESLINT) $(FRONT_END)
	$(PRETTIER) --check $(FRONT_END)
	$(TSC) --project tsconfig.json
	$(DJADE) --check $(TEMPLATES)
	$(PY) -m pyright
	.venv/bin/lint-imports --no-cache
	$(PY) .ci/words.py --check
	$(PY) .ci/unused.py
	$(PY) .ci/style.py
	$(PY) .ci/sentences.py
	$(PY) .ci/test_names.py
	$(PY) manage.py check
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m tests.docs
	$(PY) manage.py versions --check
	$(SITE)

docs: setup-dev ## build the documents as a site, build/site; a link that leads nowhere fails
	$(SITE)
	@echo "file://$(CURDIR)/build/site/index.html"

screenshots: setup-dev ## take the pictures of the documents, for build/site; three are committed, in docs/pictures
	@$(PY) -m tests.pictures $(PICTURES)

format: setup-dev ## write the format that `make check` wants
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(ESLINT) --fix $(FRONT_END)
	$(PRETTIER) --write $(FRONT_END)
	$(DJADE) $(TEMPLATES)

bench: setup-dev ## measure the engine, the database and the stream
	$(PY) -m bench

lock: setup-dev ## resolve requirements/*.in anew into exact, hashed *.txt
	requirements/lock

sbom: setup-dev ## write kscope.cdx.json: all packages with licences and hashes, in CycloneDX
	@$(PY) .ci/sbom.py kscope.cdx.json

audit: setup-dev ## look all packages up in lists of known vulnerabilities, where these can be reached
	@$(PY) .ci/audit.py

clean-data: ## delete the database and the logs of `make up`
	rm -rf "$$(readlink -f .kscope/postgres || true)" .kscope

clean: clean-data ## delete everything that was installed or made
	rm -rf .venv node_modules kscope/exports/page/built.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
