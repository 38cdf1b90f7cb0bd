// Command weir reads events from Kafka, keeps mergeable sketches per window, and
// merges them into ClickHouse.
//
// Files:
//
//	main.go       the root command, exit codes, signals
//	help.go       groups of commands, help in two levels, completion
//	run.go        weir run: the jobs, their endpoints and the rollup lock
//	web.go        what the HTTP endpoint asks of ClickHouse by itself: statements and dead letters
//	up.go         weir up: broker, ClickHouse and generator in this process, the jobs in another process
//	watch.go      the live table of weir up
//	supervisor.go the process of weir up that runs the jobs, and is started again when it is killed
//	recovery.go   what came of the death of a process: how long it took, and what the audit says
//	migrate.go    weir migrate
//	repair.go     weir repair
//	infer.go      weir infer: what is in a topic, and a job that reads it
//	sample.go     weir check --sample: the newest records under a job's rules
//	values.go     what these have for each measure, and at each path
//	tap.go        weir tap: records as they come, with their outcomes
//	check.go      weir check: one line for each thing it looks at
//	scale.go      what check says of a job's chunk at the rate of its topic, and of racks
//	verify.go     weir verify, and the flags for a span of windows
//	audit.go      the audit that a running process repeats
//	findings.go   the sentence and the remedy for each class of findings
//	dashboard.go  weir dashboard: Grafana dashboards for the configured jobs
//	reading.go    reads offsets of a topic for a judge of outcomes, as tap and --sample need it
//	wire.go       makes sources, sinks and jobs from the configuration
//	gen.go        weir gen: traffic whose exact counts are known, and the file with them
//	traffic.go    the traffic of weir up, and of its past
//	produce.go    weir produce: lines of a file or pipe into a topic
//	producer.go   writes a generator's records, or lines, into a topic
//	serve.go      weir serve: the Redis endpoint without jobs
//	service.go    waiting for Kafka and ClickHouse, and which of their errors are permanent
//	top.go        weir top: the board, which shows the numbers of a process, and its keys
//	board.go      asks the HTTP API of a process for what the board shows
//	health.go     weir healthcheck
//	configcmd.go  weir config
//	embedded.go   weir broker, weir engine: the embedded services alone
//	version.go    weir version
//	terminal.go   what a terminal shows: texts from data, which cannot steer it, and a log above a screen
//	listen.go     opens listeners; names the key and the program at fault if it cannot
//	descriptors.go how many connections each listener may have; the bound of memory
//	profile.go profile_off.go
//	              with the tag profile: profiles of the process
//	instance.go   the client id that tells running processes apart
//	tls.go        certificates and keys
//	spool.go      the log's queue in front of a slow standard error
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // retention goes by time zones, also on a machine without a list of them

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/config"
	"weir/demo/local"
	"weir/ingest"
	"weir/internal/spelling"
	"weir/jobs"
	"weir/window"
)

// Exit codes, as documented in docs/commands.md. Service managers know 69 and 78 from
// sysexits.h.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnavailable = 69 // a dependency cannot be reached
	exitUnflushed   = 75 // stopped with unflushed changes; they will be replayed
	exitConfig      = 78
)

// exit is an error with an exit code and, possibly, a remedy.
type exit struct {
	code int
	err  error
	hint string
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

func main() {
	local.MaybeChild() // the engine of `weir up` is this binary, started again
	os.Exit(profiled(func() int { return execute(untilSignal(), os.Args[1:], os.Stdout, os.Stderr) }))
}

// untilSignal returns a context that ends with the first SIGINT, SIGTERM or SIGHUP. A
// second SIGINT or SIGTERM ends the process at once. A second SIGHUP does not,
// because a closed terminal sends one, and the shell in it another.
func untilSignal() context.Context {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		signal.Ignore(syscall.SIGHUP)
		stop()
	})
	return ctx
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	c, err := root.ExecuteContextC(ctx)
	if s, ok := c.ErrOrStderr().(*spool); ok {
		defer s.Close()
		stderr = s
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		if c.Annotations[untilStopped] != "" {
			return 0 // stopped before it began: nothing is left to do
		}
		err = errors.New("interrupted")
	}
	code, hint := classify(err)
	fmt.Fprintln(stderr, "error:", printableLines(err.Error()))
	if hint != "" {
		fmt.Fprintln(stderr, "hint:", printableLines(hint))
	}
	return code
}

// outliveReaders lets the process continue when the reader of its standard output or standard
// error is gone; only its lines are lost. Without it the next line would end the process: right
// only where the output is the purpose.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

// untilStopped is the annotation of commands that normally end by a signal.
const untilStopped = "until stopped"

// classify finds the exit code of an error.
func classify(err error) (code int, hint string) {
	var e *exit
	var bad *config.Error
	switch {
	case errors.As(err, &e):
		return e.code, e.hint
	case errors.As(err, &bad):
		return exitConfig, ""
	case errors.Is(err, jobs.ErrUnflushed):
		return exitUnflushed, ""
	}
	for _, d := range decisions {
		if errors.Is(err, d.err) {
			return exitFailed, d.hint
		}
	}
	return exitFailed, ""
}

// decisions are the errors that need a decision of the operator, with the
// possible decisions.
var decisions = []struct {
	err  error
	hint string
}{
	{window.ErrRecreated, recreatedHint},
	{ingest.ErrRecreated, recreatedHint},
	{window.ErrBeyondEnd, "the log was truncated: raise the job's version, which counts what is left once, in new tables; or run once with --new-epoch, which counts it beside what was counted before, so twice"},
	{jobs.ErrSchema, "the rest is read by a run after the schema can be had; the log says what the registry answers, and docs/inputs.md what to do about a schema that is lost"},
	{jobs.ErrLeader, "the rest is read by a run after the partitions have a leader; kafka-topics.sh --describe --unavailable-partitions says which brokers have them"},
	{jobs.ErrUnread, "the rest is read by a run after the transaction has ended; weir check names its producer, and how to abort it if it is dead"},
	{window.ErrRetention, "kafka.on_data_loss: skip records the gap in weir_ledger and goes on; nothing can bring the records back"},
}

const recreatedHint = "weir run --new-epoch counts the new topic, beside what was counted of the old one"

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "Exactly-once sketches from Kafka into ClickHouse",
		Long: `weir reads events from Kafka (JSON, Avro, Protobuf, TSV or CSV), counts them and keeps
HyperLogLog, bitmap, Bloom and position sketches per window and group, and merges them
into ClickHouse.

Try it without anything else installed:   weir up
See what is in a topic:                   weir infer --topic clicks
Run it against your own systems:          weir migrate -c weir.yaml && weir run -c weir.yaml`,
		SilenceUsage:  true, // an error at run time is no reason to print the help
		SilenceErrors: true, // printed once, by execute
	}
	root.Version = buildInfo().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	serving := []*cobra.Command{upCommand(), runCommand(), genCommand(), produceCommand(), engineCommand(), brokerCommand(), serveCommand()}
	for _, c := range serving {
		c.Annotations = map[string]string{untilStopped: "true"}
		c.PreRun = func(c *cobra.Command, _ []string) {
			outliveReaders()
			c.SetErr(newSpool(c.ErrOrStderr()))
		}
	}
	root.AddCommand(serving...)
	root.AddCommand(checkCommand(), inferCommand(), tapCommand(), topCommand(), dashboardCommand(), migrateCommand(), verifyCommand(), repairCommand(), healthcheckCommand(), configCommand(), versionCommand())
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	arrange(root)
	strict(root)
	return root
}

// strict makes superfluous arguments and unknown commands usage errors, for all
// subcommands. For an unknown command cobra would print the help without an
// error.
func strict(c *cobra.Command) {
	for _, sub := range c.Commands() {
		strict(sub)
	}
	switch {
	case c.HasSubCommands():
		c.Args, c.DisableFlagsInUseLine = cobra.ArbitraryArgs, true
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return c.Help()
		}
	case c.Args == nil:
		c.Args = noArgs
	}
}

func unknownCommand(c *cobra.Command, name string) error {
	hint := "see " + c.CommandPath() + " --help"
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(name); len(near) > 0 {
		hint = "did you mean " + c.CommandPath() + " " + near[0] + "?"
	}
	return &exit{exitUsage, fmt.Errorf("%s has no command %q", c.CommandPath(), name), hint}
}

// wrongFlag is the error for a flag that cannot be read. If a word is no command, as in `weir
// rum -c weir.yaml`, the word is wrong: the flag belongs to another command.
func wrongFlag(c *cobra.Command, err error) error {
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		return unknownCommand(c, c.Flags().Arg(0))
	}
	hint := "see " + c.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var all []string
		c.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
		if near := spelling.Nearest(unknown.GetSpecifiedName(), all); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return &exit{exitUsage, err, hint}
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &exit{exitUsage, fmt.Errorf("%s takes no arguments, got %q", c.CommandPath(), args), "see " + c.CommandPath() + " --help"}
	}
	return nil
}

// loadConfig finds and loads the configuration of a command that needs one.
func loadConfig(c *cobra.Command, o config.Options) (*config.Config, *config.Origins, error) {
	given, _ := c.Flags().GetString("config")
	file, searched := config.Find(given, os.Environ())
	if file == "" && len(o.Presets) == 0 && !o.NoJobs {
		return nil, nil, &exit{exitConfig, fmt.Errorf("no configuration found; looked for %s", strings.Join(searched, ", ")),
			"give one with -c weir.yaml, or try weir without any: weir up"}
	}
	o.File, o.Flags, o.Env = file, c.Flags(), os.Environ()
	cfg, origins, err := config.Load(o)
	var bad *config.Error
	if err != nil && !errors.As(err, &bad) {
		err = &exit{exitConfig, err, ""}
	}
	return cfg, origins, err
}

// newLog makes the log of a process. Data goes to standard output, everything
// else, such as the log, to standard error.
func newLog(w io.Writer, l config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // checked by config
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String()) // with its unit, not in nanoseconds
		}
		return a
	}}
	format := l.Format
	spool, spooled := w.(*spool)
	if spooled {
		w = spool.to
	}
	if format == "auto" {
		format = "json"
		if isTerminal(w) {
			format = "text"
		}
	}
	log := func(w io.Writer) *slog.Logger {
		if format == "text" {
			return slog.New(slog.NewTextHandler(w, o))
		}
		return slog.New(slog.NewJSONHandler(w, o))
	}
	if !spooled {
		return log(w)
	}
	spool.say.Store(log(w))
	return log(spool)
}
