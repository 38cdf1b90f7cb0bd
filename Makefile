# Every command that a document quotes is a target here. `make help` lists them.
# `make run` needs Go and Node's npm; `make test` also Java with Maven, and Python. Whatever
# else they need they fetch themselves, once, into .cache.

SHELL := /bin/bash
CACHE := $(CURDIR)/.cache
LINT  := $(CACHE)/bin/golangci-lint-2.15.0
# What is compiled does not depend on where the checkout lies, so that a second
# checkout, the tests that build weir, and lint find it in Go's cache.
export CGO_ENABLED ?= 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
# What weir --version says, and the labels of the image.
export WEIR_VERSION  := $(or $(WEIR_VERSION),$(shell git describe --tags --dirty 2>/dev/null),devel)
export WEIR_REVISION := $(or $(WEIR_REVISION),$(shell git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null),unknown)
# For which processors of amd64 weir is built: v3 where this one has AVX2 and what came with it (Intel from 2013, AMD
# from 2015), else v1, for all. A build for v3 refuses to start on an older processor.
export WEIR_AMD64 := $(or $(GOAMD64),$(shell for f in avx2 bmi1 bmi2 f16c fma abm movbe; do grep -qsw $$f /proc/cpuinfo || { echo v1; exit; }; done; echo v3))
STAMP := -ldflags "-X main.version=$(WEIR_VERSION) -X main.revision=$(WEIR_REVISION)"

.PHONY: $(shell grep -oE '^[a-z-]+:' $(MAKEFILE_LIST) | tr -d ':')

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

run: engine build ## everything in one process tree: broker, engine, jobs, traffic; ctrl-C drains
	@bin/weir up $(ARGS)

build: ## bin/weir, for processors like this one or newer
	@GOAMD64=$(WEIR_AMD64) go build $(STAMP) -o bin/weir ./cmd/weir

portable: ## bin/weir-portable: for every processor of its architecture
	@GOAMD64=v1 go build $(STAMP) -o bin/weir-portable ./cmd/weir

image: ## the container image weir:local, with version and revision stamped in; GOAMD64=v1 for every amd64 processor
	docker compose --env-file demo.env build weir

# Packages whose tests start a program, those that take longest first. Go would serve their results
# again although that program says something else by now: a broker, redis-server, go list.
SEAMS := ./sinks/clickhouse ./ingest ./cmd/weir ./serve/redis ./sketches/hll ./demo/local/... ./serve/http \
	./jobs/redislock ./sketches/geo ./sketches/bitmap ./internal/kafkatest ./internal/redistest ./internal/floors ./dashboards .
# Three packages at a time even on two cores, because those with brokers and engines wait
# often. Vet is part of lint. The timeout is the last resort; no test depends on how long it takes.
test: tools ## what every change must pass: each claim, and each seam once with the real part; minutes
	go test -p 4 -vet=off $$(comm -23 <(go list ./... | sort) <(go list $(SEAMS) | sort))
	go test -count=1 -p 3 -vet=off -timeout 60m $(SEAMS)
	go -C proof test -count=1 -p 3 -vet=off -timeout 60m ./...

# The whole suite with the tests of the tag prove, then whatever is a program of its own.
prove: tools ## what a release must pass as well: chaos, soak, shards, other brokers, the stack, 20,000 schedules; hours
	@dashboards/promtool.sh >/dev/null
	@cmd/weir/registrytest/registry.sh fetch
	@internal/redistest/suite.sh >/dev/null
	go test -tags prove -count=1 -p 3 -vet=off -timeout 4h $(SEAMS) ./...
	go -C proof test -tags prove -count=1 -p 3 -vet=off -timeout 4h ./...
	@$(MAKE) --no-print-directory sim sim-controls race brokers
	@$(MAKE) --no-print-directory stack ARGS=-optional
	@$(MAKE) --no-print-directory chaos soak MINUTES=5
	GOARCH=arm64 go vet ./...
	GOARCH=arm64 go -C proof vet ./...
	@.ci/vuln || [ $$? = 75 ] # then it has said that no database could be reached

lint: $(LINT) ## golangci-lint with .golangci.yml
	$(LINT) run
	cd proof && $(LINT) run
	cd bench && $(LINT) run

race: tools ## the tests of the concurrent packages under the race detector
	CGO_ENABLED=1 go test -race -timeout 25m ./event ./window ./jobs ./ingest ./serve/... ./sinks/memory

OLDER := kafka-0.11 event-hubs kafka-2.1 kafka-2.8 kafka-3.0 redpanda-24
brokers: tools ## the tests of package ingest with the versions of older brokers
	for b in $(OLDER); do echo $$b; WEIR_TEST_BROKER=$$b go test -count=1 ./ingest || exit 1; done

FUZZTIME ?= 20s
fuzz: ## every fuzz target for FUZZTIME each
	@set -e; for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "== $$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s $$p; \
	  done; done

SEEDS ?= 20000
sim: ## SEEDS simulated schedules of the core under faults
	@go -C proof build -o ../bin/sim ./sim/cmd/sim
	@bin/sim -seeds $(SEEDS)

sim-controls: ## plant every mistake in the simulator and see each found
	@go -C proof run ./sim/cmd/sim -controls

CYCLES ?= 200
SEED ?= 0
chaos: tools ## CYCLES cycles of faults on real processes, of a SEED (0: a new one); totals in the end
	go -C proof test -tags prove -count=1 -timeout 12h -v ./e2e -run 'TestChaos$$' -args -cycles $(CYCLES) -seed $(SEED)

MINUTES ?= 30
soak: tools ## MINUTES of a steady rate with a strike now and then, and of an open page: memory stays flat, audits clean
	go -C proof test -tags prove -count=1 -timeout 12h -v ./e2e -run 'TestSoak$$|TestPageHeap$$' -args -minutes $(MINUTES) -seed $(SEED)

stack: engine redis build ## run docker-compose.yml for real, on docker or a bare Debian as root
	@go -C proof build -o ../bin/stack ./stack
	@bin/stack $(ARGS)

tools: engine redis ## fetch what the tests need, once: engine, broker, redis-server, clients, Chromium
	@internal/kafkatest/kafka.sh jars
	@internal/python.sh pyclient clickhouse-connect 1.12.0
	@internal/python.sh redispy redis 5.2.1
	@proof/browser/fetch.sh

engine: ## fetch the ClickHouse engine (libchdb) once, checksummed
	@go run ./demo/local/libchdb/fetch

redis: ## install redis-server and redis-tools where they are missing
	@internal/redistest/install.sh

pictures: tools build ## the pictures of docs/pictures, of a running weir up
	go -C proof test -tags prove -count=1 -timeout 20m ./e2e -run 'TestPicture' -args -pictures

vuln: ## known vulnerabilities in what is called; VULNDB=file:///… where the online database cannot be reached
	@.ci/vuln

docs: ## write the generated documents anew
	go test ./config -run Generated -update
	go test ./serve/redis -run 'Document|Cookbook' -update
	go test ./cmd/weir -run 'Dashboards$$' -update

clean: ## remove what was built; .cache stays
	rm -rf bin

$(LINT):
	@echo "building golangci-lint 2.15.0 (some minutes, once)"
	@GOBIN=$(CACHE)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	@mv $(CACHE)/bin/golangci-lint $@

# Each exits 1 under a floor; -k lets the others go on.
bench: ## every measurement against its floors, one after the other; about two hours
	$(MAKE) -k bench-redis bench-sketches bench-resp bench-views bench-pipeline bench-live bench-viewers bench-idle bench-questions bench-measures bench-scale bench-formats

bench-pipeline: EVENTS ?= 10000000
bench-pipeline: tools build ## the main job against the naive pipeline, ten million events
	go -C bench build -o ../bin/bench-pipeline ./pipeline
	bin/bench-pipeline -events $(EVENTS)

bench-questions: engine build ## who came back, funnels and sessions of a million users through the views, one thread; fails over a floor
	go -C bench build -o ../bin/bench-questions ./questions
	bin/bench-questions $(ARGS)

bench-measures: EVENTS ?= 5000000
bench-measures: tools build ## what sum, quantile, topk and set cost in the clicks job, weir alone and with the engine; fails over a floor
	go -C bench build -o ../bin/bench-measures ./measures
	bin/bench-measures -events $(EVENTS) $(ARGS)

# BUILDS are binaries, made with make build, make portable, or of another commit.
BUILDS ?= bin/weir,bin/weir-portable
bench-compare: EVENTS ?= 10000000
bench-compare: tools build portable ## builds of weir against each other on one topic, in turns: CPU, engine, memory; ARGS=-lz4
	go -C bench build -o ../bin/bench-pipeline ./pipeline
	bin/bench-pipeline -events $(EVENTS) -compare $(BUILDS) $(ARGS)

bench-profile: EVENTS ?= 10000000
bench-profile: tools build ## CPU profile, and heap at the end, of weir in the main job, into bin/profile
	go build -tags profile -trimpath -o bin/weir-profile ./cmd/weir
	go -C bench build -o ../bin/bench-pipeline ./pipeline
	rm -rf bin/profile && mkdir bin/profile
	WEIR_PROFILE=bin/profile bin/bench-pipeline -events $(EVENTS) -rounds 1 -compare bin/weir-profile $(ARGS)
	@f=$$(ls -t bin/profile/*.cpu | head -1); f=$${f%.cpu}; \
	  go tool pprof -sample_index=inuse_space -top bin/weir-profile $$f.heap | head -30; \
	  go tool pprof -top bin/weir-profile $$f.cpu | head -50

bench-live: EVENTS ?= 24000000
bench-live: tools build ## what a hundred live questions a second cost the pipeline; fails under the floor
	go -C bench build -o ../bin/bench-live ./live
	bin/bench-live -events $(EVENTS)

bench-viewers: EVENTS ?= 24000000
bench-viewers: tools build ## what a hundred viewers of the page cost the pipeline; fails under the floor
	go -C bench build -o ../bin/bench-live ./live
	bin/bench-live -viewers -events $(EVENTS) -out bench/results/viewers.txt

bench-fsync: engine ## what clickhouse.fsync costs a flush, on the disk of TMPDIR: time, syncs, CPU of the engine; a minute
	go test -run xxx -bench Fsync -benchtime 40x ./sinks/clickhouse

bench-idle: tools build ## what weir and engine use at 2,500 events a second and without traffic, one process, three, and the demo; fails over a floor
	go -C bench build -o ../bin/bench-idle ./idle
	bin/bench-idle $(ARGS)

bench-redis: tools ## the sketches against redis-server, one run; fails under a floor
	go -C bench build -o ../bin/bench-sketches ./sketches
	bin/bench-sketches redis

bench-sketches: ## the sketches against the usual Go libraries, one run; fails under a floor
	go -C bench build -o ../bin/bench-sketches ./sketches
	bin/bench-sketches libraries

bench-scale: ## slots of a row, their bytes, and what a restart reads, at 1 to 100 million events a second; a minute
	go -C bench run ./scale

bench-formats: EVENTS ?= 4000000
bench-formats: tools build ## Avro and Protobuf against JSON through the whole pipeline, then against twmb/avro and dynamicpb, one run each; fails under a floor
	go -C bench build -o ../bin/bench-formats ./formats
	bin/bench-formats -events $(EVENTS) $(ARGS)
	go test -run xxx -bench Formats -benchtime 1x -cpu 1 ./schemas -args -floors

bench-views: export RATE ?= 100000
bench-views: engine ## a day of windows, the last minutes and the open hour through the views at RATE events/s; fails over a floor
	go test -run xxx -bench 'Day|Live' -benchtime 20x ./sinks/clickhouse -args -floors

bench-resp: redis build ## the Redis endpoint against redis-server, redis-benchmark on both in one run; fails under a floor
	go -C bench build -o ../bin/bench-resp ./resp
	bin/bench-resp
