package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/internal/outage"
	"weir/jobs"
	"weir/schemas"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// This file connects the packages: it makes the parts of a process from the
// configuration and passes them to each other. Only this package imports both
// sides of every boundary.

// group returns the consumer group of one job. Each job has its own, so that jobs on
// one topic do not share positions, and a new version begins at the beginning
// of the log.
func group(cfg *config.Config, j *config.Job) string {
	g := cfg.Kafka.Group + "." + j.Name
	if j.Version > 1 {
		g += ".v" + strconv.Itoa(j.Version)
	}
	return g
}

// database returns the configured database, in the form that members of a group use.
func database(cfg *config.Config, id string) ingest.Database {
	name := cfg.ClickHouse.Database
	if u, err := url.Parse(cfg.ClickHouse.Addresses()[0][0]); err == nil && u.Host != "" {
		name += " at " + u.Host // without the user
	}
	return ingest.Database{ID: id, Name: name}
}

// source opens one job's reader; with awaits it waits for missing rights.
func source(cfg *config.Config, j *config.Job, into ingest.Database, log *slog.Logger, outages *outage.Reporter, awaits bool) (*ingest.Source, error) {
	k := &cfg.Kafka
	s := j.Spec()
	c := ingest.Config{
		Brokers: k.Brokers, Group: group(cfg, j), Topic: j.Topic, Envelopes: s.ReadsEnvelope(), ClientID: self.String(), Gone: self.succeeds,
		Database: into, Session: time.Duration(k.Session), Rack: k.Rack, AwaitRights: awaits, Log: log, Outages: outages,
	}
	c.Member.Index, c.Member.Of = k.Fixed()
	if k.TLS.Enabled {
		t, err := tlsConfig(k.TLS.TLS)
		if err != nil {
			return nil, &exit{exitConfig, fmt.Errorf("kafka.tls: %w", err), ""}
		}
		c.TLS = t
	}
	if k.SASL.Mechanism != "" {
		c.SASL = login(&k.SASL)
	}
	return ingest.Open(c)
}

// schemasOf returns what finds the schemas of a job's records; nil if their format needs none.
func schemasOf(cfg *config.Config, j *config.Job, s *window.Spec) (jobs.Schemas, func(), error) {
	none := func() {}
	switch {
	case j.Schema != nil:
		return j.Schema, none, nil
	case !s.Framed():
		return nil, none, nil
	}
	r, err := registryOf(cfg)
	if err != nil {
		return nil, none, err
	}
	return r.For(s.Format), r.Close, nil
}

// checkLost returns an error if a job calls a schema lost whose records can be read: all of
// them would be malformed. A registry that does not answer says nothing about that.
func checkLost(ctx context.Context, cfg *config.Config, s *window.Spec, place string) error {
	if s.LostSchemas == nil {
		return nil
	}
	r, err := registryOf(cfg)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for _, key := range s.LostSchemas {
		if n := event.NameOf(key, s.Glue); r.For(s.Format).Has(ctx, n) {
			return &exit{exitConfig, fmt.Errorf("%s.lost_schemas lists %v, which is in the registry or in registry.schemas", place, n),
				"take it out of the list; if records of it have become malformed meanwhile, raise version too, so that they are counted"}
		}
	}
	return nil
}

func registryOf(cfg *config.Config) (*schemas.Registry, error) {
	c := schemas.Config{URL: cfg.Registry.URL, User: cfg.Registry.User, Password: cfg.Registry.Password.Reveal()}
	for _, s := range cfg.Registry.Schemas {
		if c.Local == nil {
			c.Local = map[string]string{}
		}
		c.Local[s.ID] = s.Text
	}
	if cfg.Registry.TLS != (config.TLS{}) {
		var err error
		if c.TLS, err = tlsConfig(cfg.Registry.TLS); err != nil {
			return nil, &exit{exitConfig, fmt.Errorf("registry.tls: %w", err), ""}
		}
	}
	r, err := schemas.NewRegistry(c)
	if err != nil {
		return nil, &exit{exitConfig, err, ""}
	}
	return r, nil
}

// login says how to authenticate to the brokers.
func login(s *config.SASL) ingest.SASL {
	bearer := ingest.SASL{Mechanism: "oauthbearer", Extensions: s.ExtensionList()}
	switch {
	case s.Mechanism == "aws-msk-iam":
		bearer.Tokens = ingest.MSK(s.Region)
	case s.TokenFile != "":
		bearer.Tokens = ingest.TokenFile(s.TokenFile)
	case s.TokenURL != "":
		bearer.Tokens = ingest.ClientCredentials(s.TokenURL, s.ClientID, s.ClientSecret.Reveal(), strings.Fields(s.Scope)...)
	default:
		return ingest.SASL{Mechanism: s.Mechanism, User: s.User, Password: s.Password.Reveal()}
	}
	return bearer
}

// waitLimit returns how long records of a partition may wait without a flush of it: a
// member may have died, its partitions gone to another one, and the first flush
// of that one may be slow.
func waitLimit(cfg *config.Config) time.Duration {
	const margin = 10 * time.Second
	return time.Duration(cfg.Kafka.Session+cfg.Flush.Interval+cfg.ClickHouse.InsertTimeout) + margin
}

func sinkClient(cfg *config.Config, log *slog.Logger) (*clickhouse.Client, error) {
	c := &cfg.ClickHouse
	var t *tls.Config
	if c.TLS != (config.TLS{}) {
		var err error
		if t, err = tlsConfig(c.TLS); err != nil {
			return nil, &exit{exitConfig, fmt.Errorf("clickhouse.tls: %w", err), ""}
		}
	}
	var shards [][]string
	if len(c.Shards) > 0 {
		shards = c.Addresses()
	}
	return clickhouse.Open(wire.Config{
		URLs: c.URLs, Shards: shards, Database: c.Database, User: c.User, Password: c.Password.Reveal(), TLS: t,
		Cluster: c.Cluster, InsertTimeout: time.Duration(c.InsertTimeout), Fsync: c.Fsync, Log: log,
	})
}

// sinkJobs returns all configured jobs in the form of the sink.
func sinkJobs(cfg *config.Config) (all []schema.Job) {
	for i := range cfg.Jobs {
		all = append(all, cfg.Jobs[i].Stored(cfg.Jobs[i].Spec()))
	}
	return all
}

var (
	_ jobs.Source = (*ingest.Source)(nil)
	_ jobs.Sink   = (*clickhouse.Sink)(nil)
)
