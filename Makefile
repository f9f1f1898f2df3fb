# Shortcuts: each target is one or two commands that also work without make.

FUZZ ?= 30s
COUNT ?= 6
MODULES = $(dir $(wildcard go.mod */go.mod */*/go.mod */*/*/go.mod */*/*/*/go.mod))

.DEFAULT_GOAL := help

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: heart
heart: ## run the tests of the root module
	go test ./...

.PHONY: test
test: ## run the tests of every module, on the servers that are running
	go run ./internal/testall

.PHONY: race
race: ## the same with the race detector
	go run ./internal/testall -race

.PHONY: lint
lint: ## gofmt and golangci-lint (installs it into a cache)
	.ci/run fmt lint

.PHONY: fmt
fmt: ## format the Go code (needs golangci-lint in PATH)
	@for module in $(MODULES); do (cd $$module && golangci-lint fmt) || exit 1; done

.PHONY: fuzz
fuzz: ## run each fuzz target (FUZZ=30s or FUZZ=5000x)
	FUZZ_TIME=$(FUZZ) .ci/run fuzz

.PHONY: bench
bench: ## run the benchmarks COUNT=6 times, for benchstat
	go test -run='^$$' -bench=. -count=$(COUNT) work

.PHONY: cover
cover: ## show the coverage of the root module's tests
	go test -coverprofile=coverage.out -coverpkg=./... ./...
	go tool cover -func=coverage.out | tail -n 1
	@echo "details: go tool cover -html=coverage.out"

.PHONY: tidy-check
tidy-check: ## check that go mod tidy changes nothing
	.ci/run tidy

.PHONY: quickstart
quickstart: ## run the first example
	go run ./examples/quickstart

.PHONY: ci
ci: ## everything that a merge checks
	.ci/run
