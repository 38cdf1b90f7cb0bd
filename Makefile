# Every command that a document quotes is a target here.
# `make run` and `make test` need Go, Node's npm, and Java with Maven; whatever
# else they need they fetch themselves, once, into .cache.

SHELL := /bin/bash
CACHE := $(CURDIR)/.cache
LINT  := $(CACHE)/bin/golangci-lint-2.15.0
# The longest first: Go starts packages in this order, and names each once.
PKGS  ?= ./e2e ./sinks/clickhouse ./ingest ./cmd/weir ./serve/redis ./sketches/hll ./locks/redislock ./...
# Of those without broker and engine.
UNITS := ./cmd/weir ./serve/redis ./locks/redislock ./serve/http ./jobs ./...
export CGO_ENABLED ?= 0
# What is compiled does not depend on where the checkout lies, so that a second
# checkout, the tests that build weir, and lint find it in Go's cache.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

.PHONY: help alerts promtool panels pictures brokers registry run build image arm64 stack test check unit flaky lint race noepoll fuzz sim sim-controls e2e chaos chaos-stack chaos-brokers soak bench docs vuln engine kafka pyclient redis redispy browser tools ci clean bench-pipeline bench-groups bench-questions bench-measures bench-redis bench-sketches bench-formats bench-views bench-resp bench-live bench-stalled bench-fsync bench-latency bench-scale bench-idle bench-members bench-compare bench-profile avx longest hostile

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

run: engine build ## everything in one process tree: broker, engine, jobs, traffic; ctrl-C drains
	@bin/weir up $(ARGS)

# What weir --version says, and the labels of the image.
export WEIR_VERSION  := $(or $(WEIR_VERSION),$(shell git describe --tags --dirty 2>/dev/null),devel)
export WEIR_REVISION := $(or $(WEIR_REVISION),$(shell git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null),unknown)

# TAGS=noepoll: the Redis endpoint with its plain loop.
build: ## bin/weir
	@go build -tags "$(TAGS)" -trimpath -ldflags "-X main.version=$(WEIR_VERSION) -X main.revision=$(WEIR_REVISION)" -o bin/weir ./cmd/weir

avx: ## bin/weir-avx: for processors with AVX2 (Intel from 2013, AMD from 2015); it starts on no other
	@GOAMD64=v3 go build -tags "$(TAGS)" -trimpath -ldflags "-X main.version=$(WEIR_VERSION) -X main.revision=$(WEIR_REVISION)" -o bin/weir-avx ./cmd/weir

image: ## the container image weir:local, with version and revision stamped in
	docker compose --env-file demo.env build weir

arm64: ## build what the image holds for arm64
	GOOS=linux GOARCH=arm64 go build -tags static -trimpath -o bin/weir-arm64 ./cmd/weir

stack: engine redis build ## run docker-compose.yml for real, on docker or a bare Debian as root; see docs/stack.md
	@go build -trimpath -o bin/stack ./stack
	@bin/stack $(or $(ARGS),-floors)

# -count=1, for Go would serve a result again although the programs that a test
# starts say something else by now: broker, redis-server, go list. Three packages
# at a time even on two cores, because those with brokers and engines wait often. With
# four, each takes longer, and what asks at intervals asks more often. Vet is part of
# lint. The timeout is the last resort; no test depends on how long it takes.
test: tools build ## everything a change must pass, real broker, engine and redis-server included
	go test -count=1 -p 3 -vet=off -timeout 60m $(PKGS)

alerts: promtool ## the tests of the alert rules, with Prometheus's promtool
	go test -count=1 ./dashboards -run 'TestHealthy$$|TestAlerts$$|TestSeries$$'

check: ## what one runs at each save: lint, the tests without broker and engine, 1,000 schedules
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint unit

# -short leaves out what starts a broker or an engine (internal/kafkatest and
# localtest decide that), and the simulator takes a thousand schedules. Vet is part of
# lint. Four packages at a time even on two cores: the longest wait more than they compute.
unit: redis ## the tests without broker and engine
	go test -short -vet=off -p 4 $(UNITS)

N ?= 10
flaky: tools build ## the whole suite N times beside two busy loops; fails unless all N pass
	@.ci/flaky $(N)

lint: $(LINT) ## golangci-lint with .golangci.yml
	$(LINT) run

race: tools ## the tests of the concurrent packages under the race detector
	CGO_ENABLED=1 go test -race -timeout 25m ./event ./window ./jobs ./ingest ./serve/... ./sinks/memory ./locks/...

OLDER := kafka-0.11 event-hubs kafka-2.1 kafka-2.8 kafka-3.0 redpanda-24
brokers: kafka ## the tests of package ingest with the versions of older brokers
	for b in $(OLDER); do echo $$b; WEIR_TEST_BROKER=$$b go test -count=1 ./ingest || exit 1; done

registry: ## the test with a real schema registry (Apicurio), which it fetches once: 142 MB
	@internal/registrytest/registry.sh fetch
	go test -count=1 -tags registry ./cmd/weir -run 'TestRealRegistry$$'

# How long a command takes does not depend on how its connection is read.
noepoll: redis ## the tests of the Redis endpoint without epoll
	go test -count=1 -tags noepoll ./serve/redis -skip 'TestLongest$$'

FUZZTIME ?= 20s
fuzz: ## every fuzz target for FUZZTIME each
	@set -e; for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "== $$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s $$p; \
	  done; done

e2e: tools ## the whole from outside: truth, kills, outages, damage by hand; some minutes
	go test -count=1 -timeout 60m ./e2e $(ARGS)

CYCLES ?= 200
SEED ?= 0
chaos: tools ## CYCLES cycles of faults on real processes, of a SEED (0: a new one); totals in the end, see docs/chaos.md
	go test -count=1 -timeout 12h -v ./e2e -run 'TestChaos$$' -args -floors -cycles $(CYCLES) -seed $(SEED)

chaos-stack: engine redis build ## CYCLES strikes of a SEED on the containers of the stack, compared with the truth after each
	@go build -trimpath -o bin/stack ./stack
	@bin/stack -floors -cycles $(CYCLES) -seed $(SEED) $(ARGS)

chaos-brokers: engine redis build ## CYCLES strikes of a SEED on three brokers with replicas, compared with the truth after each
	@go build -trimpath -o bin/stack ./stack
	@bin/stack -floors -brokers -cycles $(CYCLES) -seed $(SEED)

MINUTES ?= 30
soak: tools ## MINUTES of a steady rate with a strike now and then, and of an open page: memory stays flat, audits clean
	go test -count=1 -timeout 12h -v ./e2e -run 'TestSoak$$|TestPageHeap$$' -args -minutes $(MINUTES) -seed $(SEED)

SEEDS ?= 20000
sim: ## SEEDS simulated schedules of the core under faults
	@go build -trimpath -o bin/sim ./sim/cmd/sim
	@bin/sim -seeds $(SEEDS)

sim-controls: ## plant every mistake in the simulator and see each found
	@go run -tags mistakes ./sim/cmd/sim -controls

engine: ## fetch the ClickHouse engine (libchdb) once, checksummed
	@go run ./internal/local/libchdb/fetch

kafka: ## fetch the Kafka broker's jars once
	@internal/kafkatest/kafka.sh jars

pyclient: ## install ClickHouse's Python client once, for the engine's test
	@internal/python.sh pyclient clickhouse-connect 1.12.0

redis: ## install redis-server and redis-tools where they are missing
	@internal/redistest/install.sh

redispy: ## install redis-py once, for the endpoint's test
	@internal/python.sh redispy redis 5.2.1

browser: ## fetch Chromium and axe-core once, for the tests of the page
	@internal/browsertest/fetch.sh

promtool: ## fetch Prometheus's promtool once, for the tests of the alert rules
	@dashboards/promtool.sh >/dev/null

tools: engine kafka pyclient redis redispy browser promtool

panels: ## what draws the dashboard of these pictures: Grafana's front-end libraries, of npm
	@dashboards/panels/build.sh

pictures: tools build panels ## the pictures of docs/pictures, of a running weir up; some minutes
	go test -count=1 -timeout 20m ./e2e -run 'TestPicture' -args -pictures

vuln: ## known vulnerabilities in what is called; VULNDB=file:///… where the online database cannot be reached
	@.ci/vuln

docs: ## write the generated documents anew
	go test ./internal/config -run Generated -update
	go test ./serve/redis -run 'Document|Cookbook' -update
	go test ./cmd/weir -run 'Dashboards$$' -update

ci: ## what .ci/run does
	.ci/run

clean: ## remove what was built; .cache stays
	rm -rf bin

$(LINT):
	@echo "building golangci-lint 2.15.0 (some minutes, once)"
	@GOBIN=$(CACHE)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	@mv $(CACHE)/bin/golangci-lint $@

# Each exits 1 under a floor; -k lets the others go on.
bench: ## every measurement against its floors, one after the other; about two hours
	$(MAKE) -k bench-redis bench-sketches bench-resp bench-views bench-pipeline bench-live bench-viewers bench-latency bench-idle bench-groups bench-scale bench-questions bench-measures bench-formats bench-members

bench-pipeline: EVENTS ?= 10000000
bench-pipeline: tools build ## the main job against the naive pipeline, ten million events
	go build -trimpath -o bin/bench-pipeline ./bench/pipeline
	bin/bench-pipeline -events $(EVENTS)

bench-groups: tools build ## a million events in 750,000 groups: CPU of weir and engine, memory, disk; fails over a floor
	go build -trimpath -o bin/bench-groups ./bench/groups
	bin/bench-groups $(ARGS)

bench-questions: engine build ## who came back, funnels and sessions of a million users through the views, one thread; fails over a floor
	go build -trimpath -o bin/bench-questions ./bench/questions
	bin/bench-questions $(ARGS)

bench-measures: EVENTS ?= 5000000
bench-measures: tools build ## what sum, quantile, topk and set cost in the clicks job, weir alone and with the engine; fails over a floor
	go build -trimpath -o bin/bench-measures ./bench/measures
	bin/bench-measures -events $(EVENTS) $(ARGS)

# BUILDS are binaries, made with make build, make avx, or of another commit.
BUILDS ?= bin/weir,bin/weir-avx
bench-compare: EVENTS ?= 10000000
bench-compare: tools build avx ## builds of weir against each other on one topic, in turns: CPU, engine, memory; ARGS=-lz4
	go build -trimpath -o bin/bench-pipeline ./bench/pipeline
	bin/bench-pipeline -events $(EVENTS) -compare $(BUILDS) $(ARGS)

bench-profile: EVENTS ?= 10000000
bench-profile: tools build ## CPU profile, and heap at its peak, of weir in the main job, into bin/profile; see docs/performance.md
	go build -tags profile -trimpath -o bin/weir-profile ./cmd/weir
	go build -trimpath -o bin/bench-pipeline ./bench/pipeline
	rm -rf bin/profile && mkdir bin/profile
	WEIR_PROFILE=bin/profile bin/bench-pipeline -events $(EVENTS) -rounds 1 -compare bin/weir-profile $(ARGS)
	@f=$$(ls -t bin/profile/*.cpu | head -1); f=$${f%.cpu}; cat $$f.memory; \
	  go tool pprof -sample_index=inuse_space -top bin/weir-profile $$f.heap | head -30; \
	  go tool pprof -top bin/weir-profile $$f.cpu | head -50

bench-live: EVENTS ?= 24000000
bench-live: tools build ## what a hundred live questions a second cost the pipeline; fails under the floor
	go build -trimpath -o bin/bench-live ./bench/live
	bin/bench-live -events $(EVENTS)

bench-viewers: EVENTS ?= 24000000
bench-viewers: tools build ## what a hundred viewers of the page, and a thousand that read nothing, cost the pipeline; fails under the floor
	go build -trimpath -o bin/bench-live ./bench/live
	bin/bench-live -viewers -events $(EVENTS) -out bench/results/viewers.txt

bench-fsync: engine ## what clickhouse.fsync costs a flush, on the disk of TMPDIR: time, syncs, CPU of the engine; a minute
	go test -run xxx -bench Fsync -benchtime 40x ./sinks/clickhouse

bench-stalled: ## the CPU time of a process that answers streams, for 255, 500 and 1,000 clients that read nothing; four minutes
	go test -run xxx -bench Stalled -benchtime 1x ./serve/http

bench-idle: tools build ## what weir and engine use at 2,500 events a second and without traffic, one process, three, and the demo; fails over a floor
	go build -trimpath -o bin/bench-idle ./bench/idle
	bin/bench-idle $(ARGS)

bench-members: tools build ## what restarting one of eight members costs the others' partitions: weir's group, members by number, franz-go's group; fails over a floor
	go build -trimpath -o bin/bench-members ./bench/members
	bin/bench-members $(ARGS)

bench-scale: ## two workers against one, each on a CPU of its own, without broker and engine; fails under the floor
	go build -trimpath -o bin/bench-scale ./bench/scale
	bin/bench-scale $(ARGS)

bench-latency: EVENTS ?= 10000000
bench-latency: tools build ## what 5, 20 and 50 ms to Kafka, to ClickHouse and to both cost; fails under a floor
	go build -trimpath -o bin/bench-latency ./bench/latency
	bin/bench-latency -events $(EVENTS) $(ARGS)

bench-redis: tools ## the sketches against redis-server, one run; fails under a floor
	go run ./bench/sketches redis

bench-sketches: ## the sketches against the usual Go libraries, one run; fails under a floor
	go run ./bench/sketches libraries

bench-formats: EVENTS ?= 4000000
bench-formats: tools build ## Avro and Protobuf against JSON through the whole pipeline, then against twmb/avro and dynamicpb, one run each; fails under a floor
	go build -trimpath -o bin/bench-formats ./bench/formats
	bin/bench-formats -events $(EVENTS) $(ARGS)
	go test -run xxx -bench Formats -benchtime 1x -cpu 1 ./schemas -args -floors

bench-views: export RATE ?= 100000
bench-views: engine ## a day of windows, the last minutes and the open hour through the views at RATE events/s; fails over a floor
	go test -run xxx -bench 'Day|Live' -benchtime 20x ./sinks/clickhouse -args -floors

longest: ## how long the longest commands of the Redis endpoint hold up the others
	@go test -count=1 -v ./serve/redis -run 'TestLongest$$' -args -million

hostile: ## MINUTES of clients that do their worst to weir serve: memory within its bound, PING p99 below 20 ms
	go test -count=1 -timeout 12h -v ./cmd/weir -run 'TestHostileMix$$' -args -hostile $(MINUTES)m -floors

bench-resp: redis build ## the Redis endpoint against redis-server, redis-benchmark on both in one run; fails under a floor
	go run ./bench/resp
