# svc: `make` lists the targets. Go builds and runs it. The tests want git, race wants
# gcc, browser and e2e want chromium, web, web-check and bench-peers want Node, fault and
# bench want root; what else is needed is built into .cache.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

GO     ?= go
BIN    := $(CURDIR)/bin/svc
CACHE  := $(CURDIR)/.cache
LINTER := $(CACHE)/bin/golangci-lint
GORELEASER := $(CACHE)/bin/goreleaser

# What the binary says of itself; a tarball without git is "dev".
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# One static build for the service, its tests, vet and the linter, so that each
# package is compiled once. Only the race detector needs cgo and a build of its own.
export CGO_ENABLED := 0
export GOFLAGS     := $(GOFLAGS) -buildvcs=false -trimpath

# Packages under test at once, and tests at once in each: stores and brokers under test
# share the cores and the disk with each other, and wait more than they work.
PARALLEL ?= 3
TESTS    ?= 8
# How long the tests of a package may take on a machine that has much else to do.
PATIENCE ?= 30m
FUZZTIME ?= 15s
FAULT_PROFILE ?= quick

# Packages whose tests write a file of the repository with -update.
GOLDEN = $(shell grep -lrE --include='*_test.go' 'flag.Bool.*"update"' cmd commands domain eventstore http projections streams 2>/dev/null | xargs -r -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1|\2/' | while IFS='|' read -r name what; do printf '  %-13s %s\n' "$$name" "$$what"; done

.PHONY: build
build: ## build bin/svc, static
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/svc

.PHONY: run
run: build ## build and start the service on its embedded default
	exec $(BIN) serve

.PHONY: test
test: ## run all tests
	$(GO) test -ldflags='-s -w' -p $(PARALLEL) -parallel $(TESTS) -timeout $(PATIENCE) ./...

# Packages without goroutines of their own, or with few, and those that put a whole service
# together of parts that are raced by themselves. make race-all races them too, which takes long.
RACELESS = ^svc/(domain(/.*)?|projections|cmd/svc|cmd/node(/.*)?|cmd/settings|http/api|commands/(accounts|archive|bulk|content|filesync|gitsync|merge|recording|repositories|sandbox|versioning|yamltext))$$
# Of those, the tests of what has goroutines nowhere else: streams to clients, runs, and
# who follows the log.
RACED = Socket|Follow|Stream|Watch|Trees|Contexts|AWait|Rebuild|InBulk|TriedAgain

# Compilers, tests and the linter collect garbage a third of their time where memory is not scarce.
build test cover arch race race-all browser e2e lint: export GOGC = 400

# go test starts packages in the order in which they are named. Those that take longest are named first, or the last one
# of a step would run alone: it waits, and a core is idle.
LONG_RACED = ./eventstore/jetstream ./streams/webhooks ./commands/collections ./streams/schedules ./http/oidc ./commands/fetch ./commands/files ./commands/runtime
LONG_RACED_RUNS = ./projections ./cmd/node/scenarios/events ./cmd/node/scenarios/nodes ./cmd/node/scenarios/runs
LONG = ./cmd/svc ./projections ./cmd/node/scenarios/nodes ./commands/versioning ./cmd/node ./http/api ./domain/merge ./commands/content ./commands/sandbox

.PHONY: race
race: ## run all tests, with the race detector where anything could race
	CGO_ENABLED=1 $(GO) test -race -ldflags='-s -w' -vet=off -p $(PARALLEL) -timeout $(PATIENCE) $(LONG_RACED) $$($(GO) list ./... | grep -vE '$(RACELESS)')
	CGO_ENABLED=1 $(GO) test -race -ldflags='-s -w' -vet=off -p $(PARALLEL) -timeout $(PATIENCE) -run '$(RACED)' $(LONG_RACED_RUNS) ./cmd/node/...
	$(GO) test -ldflags='-s -w' -vet=off -p $(PARALLEL) -parallel $(TESTS) -timeout $(PATIENCE) $(LONG) $$($(GO) list ./... | grep -E '$(RACELESS)')

.PHONY: race-all
race-all: ## run all tests with the race detector
	CGO_ENABLED=1 $(GO) test -race -ldflags='-s -w' -vet=off -p $(PARALLEL) -timeout $(PATIENCE) $(LONG_RACED) ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (15s) each
	@grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd commands domain eventstore http projections streams 2>/dev/null \
	| sed -E 's,/[^/]*:[0-9]+:func , ,' | sort -u | while read -r dir name; do \
		echo "fuzz $$dir $$name"; \
		$(GO) test "./$$dir" -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME); \
	done

.PHONY: bench
bench: build ## run the benchmarks; one line of JSON each
	@mkdir -p $(CACHE)
	@SVC_BINARY=$(BIN) $(GO) test -tags bench -count=1 -timeout 40m -run TestBench -v ./cmd/svc/bench/... 2>&1 \
	| tee $(CACHE)/bench.log | sed -nuE 's/^.*(\{"bench":.*\})[[:space:]]*$$/\1/p' \
	|| { cat $(CACHE)/bench.log >&2; exit 1; }

.PHONY: bench-peers
bench-peers: $(CACHE)/bin/pocketbase $(CACHE)/node-red/node_modules/.bin/node-red ## compare with PocketBase and Node-RED; one line of JSON each
	@$(GO) test -tags bench -count=1 -timeout 10m -run TestPeers -v ./cmd/svc/bench 2>&1 \
	| tee $(CACHE)/bench-peers.log | sed -nuE 's/^.*(\{"bench":.*\})[[:space:]]*$$/\1/p' \
	|| { cat $(CACHE)/bench-peers.log >&2; exit 1; }

POCKETBASE := cmd/svc/bench/testdata/pocketbase

$(CACHE)/bin/pocketbase: $(POCKETBASE)/go.mod $(POCKETBASE)/go.sum $(POCKETBASE)/main.go
	cd $(POCKETBASE) && $(GO) build -o $@ .

$(CACHE)/node-red/node_modules/.bin/node-red:
	npm install --no-audit --no-fund --prefix $(CACHE)/node-red node-red

.PHONY: browser
browser: ## look at the pages with a real browser (chromium)
	$(GO) test -tags browser -ldflags='-s -w' -vet=off -count=1 -timeout 3m -run RealBrowser ./http/oidc

# Tests of the console at once: each has a page of the one browser, and most share one service.
PAGES ?= 3

.PHONY: e2e
e2e: build ## use the console with a real browser (chromium); pictures go to .cache/e2e (RUN=TestSignIn: some tests only)
	rm -rf $(CACHE)/e2e
	SVC_BINARY=$(BIN) $(GO) test -tags e2e -ldflags='-s -w' -vet=off -count=1 -timeout $(PATIENCE) -parallel $(PAGES) $(if $(RUN),-run '$(RUN)' -v) ./cmd/svc/e2e

.PHONY: walk
walk: build ## take the pictures of docs/console.md: from the first start to a trace, by keys only
	SVC_BINARY=$(BIN) SVC_WALK_DIR=$(CURDIR)/docs/console $(GO) test -tags e2e -count=1 -run '^TestWalk$$' ./cmd/svc/e2e

.PHONY: tour
tour: build ## take the pictures of docs/console.md: every screen, light and dark
	SVC_BINARY=$(BIN) SVC_TOUR_DIR=$(CURDIR)/docs/console $(GO) test -tags e2e,tour -count=1 -run '^TestTour$$' ./cmd/svc/e2e

.PHONY: blocks
blocks: build ## take the pictures of docs/pages.md: every block as its YAML there makes it
	SVC_BINARY=$(BIN) SVC_BLOCKS_DIR=$(CURDIR)/docs/pages $(GO) test -tags e2e -count=1 -run '^TestBlockPictures$$' ./cmd/svc/e2e

WEB := http/console/web

$(WEB)/node_modules/.package-lock.json: $(WEB)/package.json $(WEB)/package-lock.json
	cd $(WEB) && npm ci --no-audit --no-fund
	@touch $@

.PHONY: web
web: $(WEB)/node_modules/.package-lock.json ## build the console of its sources: http/console/dist (needs Node)
	cd $(WEB) && npm run build

.PHONY: web-check
web-check: $(WEB)/node_modules/.package-lock.json ## check the sources of the console: types, units, messages, budgets, and that dist is built of them
	cd $(WEB) && npm run check

CLIENTS ?= $(CACHE)/clients

.PHONY: clients
clients: $(WEB)/node_modules/.package-lock.json ## build the client for TypeScript: .cache/clients/svc-client-VERSION.tgz (needs Node)
	@mkdir -p $(CLIENTS)
	cd http/client/typescript && rm -rf dist && $(CURDIR)/$(WEB)/node_modules/.bin/tsc -p . && npm pack --silent --pack-destination $(CLIENTS)

.PHONY: fault
fault: ## run the fault tests (FAULT_PROFILE=quick, or full)
	@mkdir -p $(CACHE); export FAULT_PROFILE=$(FAULT_PROFILE); status=0; \
	shown() { grep -vE '^=== (RUN|PAUSE|CONT)'; }; \
	others() { $(FAULT) -parallel 12 -run Fault -v ./commands/versioning && $(FAULT) -run Full -v ./projections; }; \
	others > $(CACHE)/fault.log 2>&1 & others=$$!; \
	trap 'kill $$others 2>/dev/null || true' EXIT; \
	$(FAULT) -parallel 4 -v ./cmd/svc/fault/... ./eventstore/crashfs/... | shown || status=$$?; \
	wait $$others || status=$$?; \
	shown < $(CACHE)/fault.log; exit $$status

# The tests of versioning wait for leases and remotes more than they work: more at once than cores, and beside the others.
FAULT = $(GO) test -tags fault -ldflags='-s -w' -vet=off -count=1 -timeout $(if $(filter full,$(FAULT_PROFILE)),60m,10m)

.PHONY: badinput
badinput: ## run the catalogue of bad input: tests named TestBad… and TestGarbage…, and every fuzz corpus
	$(GO) test -count=1 -timeout 10m -run '^(TestBad|TestGarbage|Fuzz)' -v ./cmd/settings/... ./commands/... ./domain/... ./http/... \
	| grep -E '^(ok|FAIL|panic|--- (PASS|FAIL): )'

.PHONY: vet
vet: ## run go vet on everything, tagged tests included
	$(GO) vet -tags bench,browser,e2e,fault,release ./...

.PHONY: lint
lint: $(LINTER) ## run golangci-lint
	GOLANGCI_LINT_CACHE=$(CACHE)/golangci $(LINTER) run ./...

# The linter has a module of its own, so that its dependencies stay out of ours.
$(LINTER): tools/go.mod tools/go.sum
	cd tools && $(GO) build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: arch
arch: ## check the architecture rules: imports, folders, no init functions
	$(GO) test -ldflags='-s -w' -vet=off -count=1 -run 'TestProjectFollowsTheRules|TestABrokenRule|TestWhatIsAllowed' ./cmd/svc

.PHONY: authz-matrix
authz-matrix: ## ask every route as every kind of caller; writes docs/authz-matrix.md
	$(GO) test -count=1 -timeout 5m -run TestAuthorizationMatrix ./cmd/node -update

.PHONY: golden
golden: ## rewrite the files that are generated from tables, and all golden files
	@for dir in $(GOLDEN); do $(GO) test -count=1 "$$dir" -update; done

.PHONY: cover
cover: ## write coverage.out and print the total
	$(GO) test -p $(PARALLEL) -parallel $(TESTS) -timeout $(PATIENCE) -coverprofile=coverage.out -coverpkg=./... ./...
	@$(GO) tool cover -func=coverage.out | tail -1

# What CI runs, with the time of each step. lint, which runs the analyzers of vet too, takes what the others leave of
# the machine from the beginning on. Generated files (docs/events.md, docs/config.md, golden lists) and the guard of the
# OpenAPI document are compared by tests, which race runs.
CHECKS := build arch web-check race browser e2e fault

.PHONY: check
check: ## everything that must hold before a change lands: build arch web-check race browser e2e fault lint (with vet)
	@mkdir -p $(CACHE); : > $(CACHE)/check.txt; \
	nice -n 19 $(MAKE) --no-print-directory lint > $(CACHE)/lint.log 2>&1 & lint=$$!; \
	trap 'kill $$lint 2>/dev/null || true' EXIT; \
	linted() { local status=0; wait $$lint || status=$$?; cat $(CACHE)/lint.log; return $$status; }; \
	step() { \
		local name=$$1 from=$$SECONDS status=ok; shift; echo "-- $$name"; \
		"$$@" || status=FAIL; \
		printf '   %-4s %-9s %4d s\n' $$status $$name $$((SECONDS - from)) >> $(CACHE)/check.txt; \
		[ $$status = ok ]; \
	}; \
	for name in $(CHECKS); do step $$name $(MAKE) --no-print-directory $$name; done; \
	step lint linted; \
	cat $(CACHE)/check.txt

# Of the version that Go 1.26 can build; the sums of its modules are compared with those of sum.golang.org.
GORELEASER_VERSION := v2.16.0

$(GORELEASER):
	GOBIN=$(CACHE)/bin $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

# What a release has beside the binary: the manual, the completions of shells and the client for TypeScript.
.PHONY: release-files
release-files: clients
	@mkdir -p $(CACHE)/release
	$(GO) build -o $(CACHE)/release/svc ./cmd/svc
	gzip -9nc docs/man/svc.1 > $(CACHE)/release/svc.1.gz
	for shell in bash zsh fish; do $(CACHE)/release/svc completion $$shell > $(CACHE)/release/svc.$$shell; done

# Images are built where a Docker daemon runs. GoReleaser reads the commit only of a repository with a remote.
.PHONY: release
release: $(GORELEASER) ## build everything of a release into dist, and publish nothing (minutes; not part of check)
	$(if $(shell git remote),,GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://svc.example.com/svc.git) \
		$(GORELEASER) release --config deploy/goreleaser.yml --snapshot --clean $$(docker info > /dev/null 2>&1 || echo --skip=docker)

# Status 2 says that the configuration is valid but that something in it is deprecated, which formulas of Homebrew are.
.PHONY: release-check
release-check: $(GORELEASER) ## check what make release built, and build it again to compare the bytes (minutes; not part of check)
	$(GORELEASER) check deploy/goreleaser.yml || [ $$? = 2 ]
	$(GO) test -tags release -count=1 -timeout $(PATIENCE) -v ./cmd/svc/release | grep -vE '^=== (RUN|PAUSE|CONT)'

.PHONY: clean
clean: ## remove what was built; data/ stays
	rm -rf bin dist coverage.out $(CACHE) $(WEB)/node_modules $(WEB)/.build http/client/typescript/dist
