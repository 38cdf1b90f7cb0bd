package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/internal/infer"
	"weir/internal/outage"
	"weir/schemas"
	"weir/window"
)

// maxInferred bounds --records.
const maxInferred = 100_000

func inferCommand() *cobra.Command {
	var topic, file, message string
	var records int64
	c := &cobra.Command{
		Use:   "infer",
		Short: "Print what is in a topic, and a job that reads it",
		Long: `Read the newest records of a topic, print the fields that they have as comments, with
types, shares and values, and a job that reads them: its time, groups, users, the id of an
event, positions and amounts. It is a guess, to be looked over: the fields that it was
chosen from are named beside each line. The last line says how many of these records the
job counts. The output is a part of weir.yaml that weir check accepts.

It reads JSON, TSV and CSV, JSON behind the name of a schema, and Avro and Protobuf whose
records name their schema in the registry that --registry.url gives, or all have that in
--schema-file. It joins no consumer group and writes nothing; it needs the right to read the
topic. The comments show values of the records.`,
		Example: "  weir infer --topic clicks > weir.yaml\n" +
			"  weir infer --topic clicks --registry.url http://registry:8081 > weir.yaml\n" +
			"  weir infer --topic clicks --kafka.brokers kafka:9092",
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case topic == "":
				return &exit{exitUsage, errors.New("--topic is missing"), "see weir infer --help"}
			case records < 1 || records > maxInferred:
				return &exit{exitUsage, fmt.Errorf("--records %d: want 1 to %d", records, maxInferred), "see weir infer --help"}
			}
			cfg, origins, err := loadConfig(c, config.Options{NoJobs: true})
			if err != nil {
				return err
			}
			quiet(cfg, origins)
			from, end, err := inferSchemas(cfg, file, message)
			if err != nil {
				return err
			}
			defer end()
			return inferJob(c.Context(), cfg, origins, topic, records, from, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	configFlags(c)
	c.Flags().StringVar(&topic, "topic", "", "the topic to read")
	c.Flags().Int64Var(&records, "records", 1000, "how many of the newest records to read, in equal shares of the partitions")
	c.Flags().StringVar(&file, "schema-file", "", "the file of the schema that all records have, .proto or of Avro")
	c.Flags().StringVar(&message, "message", "", "which message of a .proto file the records are, if it has several")
	return c
}

// inferSchemas finds where the schemas of records are.
func inferSchemas(cfg *config.Config, file, message string) (from infer.Schemas, end func(), err error) {
	isProto := filepath.Ext(file) == ".proto"
	switch {
	case message != "" && !isProto:
		return from, nil, &exit{exitUsage, errors.New("--message belongs to a --schema-file of Protobuf, which ends in .proto; with a registry each record says which message it is"), "see weir infer --help"}
	case file != "":
		from = infer.Schemas{Format: event.Avro, Name: file, Message: message}
		if isProto {
			from.Format = event.Protobuf
		}
		if from.File, err = schemas.Open(from.Format, file, message); err != nil {
			return from, nil, &exit{exitUsage, fmt.Errorf("--schema-file %s: %w", file, err), ""}
		}
	case cfg.Registry.URL != "" || cfg.Registry.Schemas != nil:
		if from.Registry, err = registryOf(cfg); err == nil {
			return from, from.Registry.Close, nil
		}
	}
	return from, func() {}, err
}

// inferJob prints what is in a topic.
func inferJob(ctx context.Context, cfg *config.Config, origins *config.Origins, topic string, n int64, from infer.Schemas, out, errs io.Writer) error {
	log := newLog(errs, cfg.Log)
	outages := outage.New(log)
	// A job that reads keys and headers, so that they are fetched.
	asks := &config.Job{Name: "infer", Version: 1, Topic: topic, Format: "json", Time: config.Time{Unit: "record"}, Window: config.Duration(time.Minute), Chunk: 1024, MaxGroups: 1,
		By: []config.Column{{Name: "key", Field: []string{"key"}}}}
	src, err := source(cfg, asks, ingest.Database{}, log, outages, false)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := kafkaService(cfg.Kafka.Brokers, cfg.Kafka.TLS.Enabled).reach(ctx, log, time.Duration(cfg.Kafka.ConnectTimeout), src.Ping); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	if t, err := src.Describe(within); err == nil && !t.Exists { // newestRecords would wait for it
		return &exit{exitFailed, fmt.Errorf("topic %s does not exist", topic),
			"--topic names it, and kafka.brokers the brokers: " + strings.Join(cfg.Kafka.Brokers, ", ")}
	}
	logs, err := src.Spans(within)
	if ingest.Lacks(err) {
		fmt.Fprintf(errs, "note: %v; the others are read\n", err)
	} else if err != nil {
		return err
	}
	records, err := newestRecords(within, src, newestOf(logs, n))
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(errs, "note: stopped after %s, with %d records\n", sampleTimeout, len(records))
		err = nil
	}
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return &exit{exitFailed, fmt.Errorf("topic %s holds no records", topic), ""}
	}
	facts := infer.Read(ctx, records, from, config.IsPath)
	if facts.Trouble != nil {
		fmt.Fprintf(errs, "note: %s\n", printable(facts.Trouble.Error()))
	}
	facts.Presets = presetsFor(facts)
	var text bytes.Buffer
	if err := facts.Write(&text, infer.JobName(topic), topic, config.IsColumn); err != nil {
		return err
	}
	if facts.Framed {
		if err := config.PrintRegistry(&text, cfg, origins); err != nil {
			return err
		}
	}
	if facts.Read > 0 {
		if err := tryJob(ctx, &text, records, facts); err != nil {
			return err
		}
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return err
	}
	return nothingRead(facts, topic, from)
}

// presetsFor names the presets that find in the events what they need.
func presetsFor(facts *infer.Facts) (names []string) {
	for _, name := range config.Sources() {
		cfg, _, err := config.Load(config.Options{File: name, Data: fmt.Appendf(nil, "jobs: [{name: events, topic: events, preset: %s}]", name)})
		if err != nil { // never
			continue
		}
		spec := cfg.Jobs[0].Spec()
		needs := []string{spec.TimeField}
		for _, c := range spec.By {
			if !c.HasDefault {
				needs = append(needs, c.Path)
			}
		}
		if spec.Dedupe != nil {
			needs = append(needs, spec.Dedupe.Path)
		}
		lacks := func(field string) bool {
			f, _ := event.ParseField(field) // of a spec
			return !slices.ContainsFunc(f.Paths, func(path string) bool {
				if i := event.Column(spec.Columns, path); i >= 0 && !event.InEnvelope(path) {
					path = event.ColumnName(i)
				}
				return facts.Has(path)
			})
		}
		if spec.Format == facts.Format && !slices.ContainsFunc(needs, lacks) {
			names = append(names, name)
		}
	}
	return names
}

// nothingRead says why none of the records can be read; nil if one can.
func nothingRead(f *infer.Facts, topic string, from infer.Schemas) error {
	if f.Read > 0 {
		return nil
	}
	wrong, hint := "is JSON, TSV or CSV", "if all records have one schema of Avro or Protobuf, give its file with --schema-file"
	if from.File != nil {
		wrong, hint = "fits the schema in "+from.Name, "is it the schema of these records?"
	}
	if f.Named > 0 {
		wrong += fmt.Sprintf("; %d of %d name a schema of a registry, in front of the value or in a header, such as %s", f.Named, f.Records, f.Schema)
		hint = "give the registry that the producers use with --registry.url http://registry:8081, without --schema-file; see docs/inputs.md"
	}
	return &exit{exitFailed, fmt.Errorf("no record of topic %s %s", topic, wrong), hint}
}

// newestRecords returns the records of spans, with their keys and headers, in the order of partitions.
func newestRecords(ctx context.Context, src *ingest.Source, spans map[int32]event.Span) (records []event.Record, err error) {
	if len(spans) == 0 {
		return nil, nil
	}
	from, bytes, of := map[int32]int64{}, 0, map[int32][]event.Record{}
	left := maps.Clone(spans)
	for p, span := range spans {
		from[p] = span.First
	}
	err = fetch(ctx, src, from, func(b *event.Batch) error {
		span := spans[b.Partition]
		for _, rec := range b.Records {
			if rec.Offset < span.First || rec.Offset >= span.Next {
				continue
			}
			rec.Value = slices.Clone(rec.Value)
			if rec.Envelope != nil {
				rec.Envelope = &event.Envelope{Key: slices.Clone(rec.Envelope.Key), Headers: slices.Clone(rec.Envelope.Headers)}
			}
			of[b.Partition] = append(of[b.Partition], rec)
			bytes += len(rec.Value)
		}
		if b.Next >= span.Next {
			delete(left, b.Partition)
		}
		if len(left) == 0 || bytes >= sampleBytes {
			return errRead
		}
		return nil
	})
	for _, p := range slices.Sorted(maps.Keys(of)) {
		records = append(records, of[p]...)
	}
	return records, err
}

// tryJob writes what the job in a text does with its records.
func tryJob(ctx context.Context, text *bytes.Buffer, records []event.Record, facts *infer.Facts) error {
	o := config.Options{File: "the job", Data: text.Bytes()}
	if facts.Framed {
		o.Env = os.Environ() // which may have the password of the registry
	}
	cfg, _, err := config.Load(o)
	if err != nil {
		return err
	}
	spec := cfg.Jobs[0].Spec()
	judge, err := window.NewJudge(spec)
	if err != nil {
		return err
	}
	schemas, end, err := schemasOf(cfg, &cfg.Jobs[0], spec)
	if err != nil {
		return err
	}
	defer end()
	s, r := newSample(), &reading{judge: judge, schemas: schemas}
	judge.Start(0, 0, 0)
	for i, rec := range records {
		rec.Offset = int64(i)
		err := r.judged(ctx, &event.Batch{First: rec.Offset, Next: rec.Offset + 1, Records: []event.Record{rec}}, s.add)
		if err != nil && !errors.Is(err, errRead) {
			return err
		}
	}
	fmt.Fprintf(text, "# Of these %d records the job counts %d", facts.Records, s.outcomes[window.Counted])
	if facts.Each != "" {
		text.WriteString(" events")
	}
	for o, n := range s.outcomes {
		if n > 0 && window.Outcome(o) != window.Counted {
			fmt.Fprintf(text, ", %d are %v", n, window.Outcome(o))
		}
	}
	if s.waiting > 0 {
		fmt.Fprintf(text, ", %d wait for a schema that cannot be had", s.waiting)
	}
	text.WriteString(".\n")
	return nil
}
