# One static binary and the certificates to trust: no shell, no package
# manager, no root.
#
#   docker build -t weir:local .
#
# The tag static leaves the embedded ClickHouse engine out: whatever can load
# a shared library needs a dynamic linker, and this image has none. Everything
# else is in it.

ARG GO_VERSION=1.26

FROM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/build \
    GOCACHE=/go/build CGO_ENABLED=0 go build -tags static -trimpath -ldflags "-s -w" -o /out/weir ./cmd/weir

FROM scratch
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="Exactly-once sketches from Kafka into ClickHouse" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE /LICENSE
COPY --from=build /out/weir /weir
USER 65532:65532
EXPOSE 8686
STOPSIGNAL SIGTERM
# The address comes from /etc/weir/weir.yaml and the environment, as for run.
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=6 CMD ["/weir", "healthcheck"]
ENTRYPOINT ["/weir"]
CMD ["run"]
