# Everything one does with this repository; `make help` lists it.
GO       ?= go
TAGS     := netgo
BIN      := bin/schakel
# Of the build: what --version, the portal's footer and schakel_build_info report. A tag names the version of its commit and
# of those after it; outside a git repository give VERSION=1.2.0 COMMIT=… DATE=… by hand.
VERSION   = $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || echo dev)
COMMIT    = $(shell git rev-parse HEAD 2>/dev/null)
DATE      = $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%d 2>/dev/null)
RELEASE  := schakel/server/release
# -s -w leave out the tables for debuggers; stack traces do not need them.
LDFLAGS   = -s -w -X $(RELEASE).version=$(VERSION) -X $(RELEASE).commit=$(COMMIT) -X $(RELEASE).date=$(DATE) -X $(RELEASE).tested=$(TESTED) $(LINK)
# Packages off the paths of events; compiled without inlining they take 4 MB less, and pages a tenth more time. Benchmarks
# and a plain go test do not use this. pgtype is on those paths, but is called through interfaces, where nothing is inlined anyway.
COLD     := schakel/templates schakel/web/account schakel/web/admin schakel/web/amqp schakel/web/contracts schakel/web/docs schakel/web/site schakel/web/traffic \
	filippo.io/age filippo.io/hpke schakel/web/partners schakel/web/deliveries schakel/web/datasets schakel/web/search \
	schakel/server schakel/delivery/endpointcheck schakel/registry/audit schakel/registry/oinregister schakel/registry/identity/passkey \
	schakel/registry/contracts/compare schakel/registry/amqp/cpa schakel/registry/contracts/lint schakel/registry/contracts/outline \
	schakel/registry/contracts/bundle schakel/registry/contracts/contract schakel/registry/contracts/mirror schakel/registry/amqp schakel/registry/installation \
	schakel/registry/partners schakel/registry/mail schakel/registry/datasets schakel/registry/services schakel/store/backup \
	schakel/registry/confirm schakel/registry/profile schakel/registry/keys schakel/registry/mandate schakel/web/confirm \
	schakel/delivery/trace schakel/delivery/mutation/export schakel/delivery/mutation/replica schakel/delivery/mutation/area schakel/delivery/mutation/format/lint schakel/delivery/amqp/certs schakel/delivery/amqp/cms schakel/delivery/amqp/link schakel/delivery/amqp/message schakel/delivery/amqp/msghead schakel/registry/identity/token schakel/delivery/inbox schakel/delivery/amqp/xsd schakel/delivery/amqp/rabbitmq \
	crypto/x509 net/url net/textproto math/big github.com/Azure/go-amqp schakel/store/replicate os log/slog encoding/asn1 encoding/csv encoding/gob encoding/pem archive text/template mime net/mail runtime/pprof net/http/pprof internal/profile go/token go/doc/comment \
	github.com/prometheus/client_golang github.com/klauspost/compress github.com/beorn7/perks golang.org/x/mod github.com/robfig/cron/v3 \
	github.com/jacoelho/xsd github.com/go-jose/go-jose/v4 regexp/syntax \
	github.com/alecthomas/kong github.com/alexedwards github.com/oasdiff github.com/coreos/go-oidc/v3 golang.org/x/oauth2 github.com/mfridman/interpolate github.com/sethvargo/go-retry github.com/getkin/kin-openapi github.com/pressly/goose/v3 github.com/prometheus/common \
	github.com/prometheus/procfs github.com/wneessen/go-mail github.com/yuin/goldmark go.yaml.in/yaml/v4 \
	github.com/jackc/pgx/v5/pgtype golang.org/x/text vendor/golang.org/x/text image html/template text/tabwriter encoding/xml expvar google.golang.org/protobuf github.com/go-webauthn github.com/fxamacker/cbor github.com/pquerna rsc.io/qr
# Catalogues, guides, API documents, style sheets, scripts and migrations go into the program compressed, which takes 1.9 MB less: see .ci/small. Not in a folder
# with a space in its name, which the flag cannot hold.
TEXTS    := $(wildcard templates/i18n/texts/*.txt server/operating*.md server/guide/*.md server/rules/RULES.md server/release/*.md \
	server/packaging/THIRD-PARTY.md delivery/*/*.md registry/contracts/contract/pipelines*.md web/*/*.yaml \
	static/css/*.css static/js/*.js static/vendor/utrecht/*.css static/vendor/htmx/*.js store/migrations/*.sql store/migrations/*/*.sql)
SMALL    := $(if $(word 2,$(CURDIR)),,.cache/small/overlay.json)
# Of the program that is built and of the one that is tested, which so compile each package once.
# Of registry, registry/identity, registry/contracts and delivery/amqp the packages below are on those paths: they check tokens and data, and send.
FLAGS    := -trimpath $(SMALL:%=-overlay=$(CURDIR)/%) $(COLD:%=-gcflags=%/...=-l) -gcflags=schakel/registry/identity=-l -gcflags=schakel/registry/contracts=-l -gcflags=schakel/delivery/amqp=-l \
	-gcflags=schakel/registry=-l -gcflags=net=-l -gcflags=crypto/tls=-l
PACKAGES ?= ./...
LOAD     ?= --seconds 5
MILLION  := BenchmarkLists|BenchmarkBacklog|BenchmarkPages|BenchmarkFind

export CGO_ENABLED := 1
# Without -g, which Go adds by itself: tables for debuggers, which are stripped, took a quarter of the time that SQLite compiles. Nor the
# tables by which exceptions unwind, which C has none of: they took 130 kB of the program.
export CGO_CFLAGS ?= -O2 -fno-asynchronous-unwind-tables

.DEFAULT_GOAL := help
.PHONY: help demo run test quick build release notices generate lint bench million e2e faults

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## two Schakels with sample data on :8080 and :8081, in a scratch folder
	@exec $(BIN) demo

run: build ## an empty Schakel on http://localhost:8080, data in ./data
	@exec $(BIN) serve

test: $(SMALL) ## install what the tests need (when root), then run all tests
	@GO='$(GO)' GOFLAGS='$(FLAGS)' .ci/test $(PACKAGES)

quick: ## tests that need Go alone, on SQLite, in a minute and a half
	@env -u CI -u SCHAKEL_TEST $(GO) test -ldflags=-w -tags $(TAGS) $(PACKAGES)

build: $(SMALL) ## the binary, stripped, as bin/schakel
	$(GO) build -tags $(TAGS) $(FLAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./server

$(SMALL): .ci/small Makefile $(TEXTS)
	@.ci/small $(TEXTS)

release: ## programs, packages, images and checksums in dist, see .ci/release; RELEASE_FLAGS=--check builds twice
	@GO='$(GO)' .ci/release $(RELEASE_FLAGS)

notices: ## write the notices of third parties anew, after a change of go.mod
	$(GO) run ./server/packaging/pack notices > server/packaging/THIRD-PARTY.md.new
	mv server/packaging/THIRD-PARTY.md.new server/packaging/THIRD-PARTY.md

generate: ## write the _templ.go files of templates anew from the .templ files
	$(GO) tool templ generate -path ./templates

lint: ## static analysis, formatting, generated code, and known vulnerabilities
	@GO='$(GO)' .ci/lint

# On PostgreSQL too.
bench million: export SCHAKEL_TEST := all

bench: ## measure the parts, whether encryption costs more than it may, then a whole program with its own loader; LOAD='--seconds 60 --only single' narrows it
	$(GO) test -run '^$$' -bench . -skip '$(MILLION)|Encryption' -benchtime 0.3s -benchmem ./delivery/event ./store ./delivery/outbox
	$(GO) test -run '^$$' -bench . -benchtime 0.3s ./delivery/mutation/...
	$(GO) test -run '^$$' -bench Encryption -benchtime 101x ./delivery/outbox
	$(GO) run ./server/load $(LOAD)

million: ## measure what is slow to prepare: lists, pages and deliveries among a million rows
	$(GO) test -run '^$$' -bench '$(MILLION)' -timeout 30m ./store ./delivery/outbox ./web

e2e: $(SMALL) ## only the tests of the whole program, in a real browser too
	@GO='$(GO)' GOFLAGS='$(FLAGS)' .ci/test ./server/e2e

faults: $(SMALL) ## only the fault suite: kills, power loss, full disks, dead databases, bad receivers
	@GO='$(GO)' GOFLAGS='$(FLAGS)' .ci/faults
