# Shortcuts. Nothing here is needed: each target is one or two commands that work without make.

FUZZ ?= 30s
COUNT ?= 6
MODULES = $(dir $(wildcard go.mod */go.mod */*/go.mod */*/*/go.mod))

.DEFAULT_GOAL := help

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: test
test: ## run the tests of every module, on the databases that are there
	go run ./internal/testall

.PHONY: race
race: ## the same under the race detector
	go run ./internal/testall -race

.PHONY: lint
lint: ## gofmt, go vet and golangci-lint (installs it into a cache)
	.ci/run fmt vet lint

.PHONY: fmt
fmt: ## format the Go code as the linter wants it (needs golangci-lint in PATH)
	@for module in $(MODULES); do (cd $$module && golangci-lint fmt) || exit 1; done

.PHONY: fuzz
fuzz: ## fuzz each decoder (FUZZ=30s or FUZZ=5000x for each target)
	go run ./internal/testall -fuzz $(FUZZ)

.PHONY: bench
bench: ## run the benchmarks as they are quoted (COUNT=6 times; benchstat reads the output)
	@for module in $(MODULES); do (cd $$module && go test -run='^$$' -bench=. -count=$(COUNT) ./...) || exit 1; done

.PHONY: cover
cover: ## show how much of each package the root module's tests cover
	go test -coverprofile=coverage.out -coverpkg=./... ./...
	go tool cover -func=coverage.out | tail -n 1
	@echo "read it with: go tool cover -html=coverage.out"

.PHONY: tidy-check
tidy-check: ## check that go mod tidy would change nothing
	.ci/run tidy

.PHONY: quickstart
quickstart: ## run the first example
	go run ./examples/quickstart

.PHONY: ci
ci: ## everything that a merge checks
	.ci/run
