# One static binary and the certificates to trust: no shell, no package
# manager, no root.
#
#   make image
#
# which is docker compose build with the version and revision of the checkout.
#
# The tag static leaves the embedded ClickHouse engine out: whatever can load
# a shared library needs a dynamic linker, and this image has none. The embedded
# broker is left out with it. Everything else is in the image.

ARG GO_VERSION=1.26
ARG GO_IMAGE=golang:${GO_VERSION}

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION
ARG REVISION
ARG GOAMD64=v1
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/build \
    GOCACHE=/go/build CGO_ENABLED=0 go build -tags static -trimpath \
    -ldflags "-s -w -X main.version=${VERSION} -X main.revision=${REVISION}" -o /out/weir ./cmd/weir

FROM scratch
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="Exactly-once sketches from Kafka into ClickHouse" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE /LICENSE
COPY --from=build /out/weir /weir
USER 65532:65532
EXPOSE 8686
STOPSIGNAL SIGTERM
# No HEALTHCHECK: the image runs weir migrate and weir gen as well, which answer
# nothing. Where it runs weir run, /weir healthcheck is the check.
ENTRYPOINT ["/weir"]
CMD ["run"]
