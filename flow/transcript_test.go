package flow

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"weir/event"
	"weir/internal/backoff"
	"weir/internal/transcript"
	"weir/measures/hll"
	"weir/window"
)

// TestTranscripts runs testdata/*.txt: the inputs of a machine and, under each,
// everything that Ready returns. The first word is the time. Rewrite the outputs
// with `go test ./flow -run Transcripts -update` and review the diff.
//
//	T new [opens] [flush=N] [ledger=N] [memory=N] [rows=N] [retry=FIRST-MOST] [commit=N]
//	T wake
//	T held BYTES [ROWS]
//	T behind LEFT BYTES
//	T taken [row] [PARTITION:NEXT]... [payload=BYTES]; row: of a group that is new; lines: of each plan that opens an epoch
//	T inserted ROUND
//	T answer durable|unknown|fatal
//	T committed|refused
//	T leave WITHIN
func TestTranscripts(t *testing.T) { transcript.Run(t, start) }

// script is a machine under a transcript's commands.
type script struct {
	t    *testing.T
	m    *Machine
	spec *window.Spec
	rows int // so far
}

func start(t *testing.T) func(string) string {
	s := &script{t: t, spec: &window.Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 60_000, Skew: 60_000,
		Chunk: 256, MaxGroups: 1000, By: []window.Dimension{{Name: "page", Path: "page"}}, Measures: []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}},
	}}
	return func(line string) string {
		words := strings.Fields(line)
		if len(words) < 2 || words[1] != "new" && s.m == nil {
			t.Fatalf("%s?", line)
		}
		now := Time(s.number(words[0]))
		s.input(line, now, words[1], words[2:])
		return s.ready(now)
	}
}

func (s *script) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatalf("%q: %v", text, err)
	}
	return n
}

func (s *script) input(line string, now Time, command string, args []string) {
	switch command {
	case "new":
		s.start(now, args)
	case "wake": // by the clock
	case "held":
		rows := int64(0)
		if len(args) > 1 {
			rows = s.number(args[1])
		}
		s.m.Held(s.number(args[0]), rows)
	case "behind":
		s.m.Behind(Time(s.number(args[0])), s.number(args[1]))
	case "taken":
		s.m.Taken(s.changes(args))
	case "inserted":
		s.m.Inserted(uint64(s.number(args[0])))
	case "answer":
		answer, ok := map[string]Answer{"durable": Durable, "unknown": Unknown, "fatal": Fatal}[args[0]]
		if !ok {
			s.t.Fatalf("%s?", line)
		}
		s.m.Answered(now, answer)
	case "committed":
		s.m.Committed(now, true)
	case "refused":
		s.m.Committed(now, false)
	case "leave":
		s.m.Leave(now, Time(s.number(args[0])))
	default:
		s.t.Fatalf("%s?", line)
	}
}

func (s *script) start(now Time, args []string) {
	cfg := Config{Flush: 10, Behind: 50, Ledger: 10, Memory: 1_000_000, Rows: 1000, Retry: backoff.Backoff[Time]{First: 2, Most: 8}, Commit: 5}
	plans := []window.Plan{{Partition: 0}, {Partition: 1}}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		switch k {
		case "opens":
			plans[1].Opens = true
		case "flush":
			cfg.Flush = Time(s.number(v))
			cfg.Behind, cfg.Ledger = 5*cfg.Flush, cfg.Flush
		case "ledger":
			cfg.Ledger = Time(s.number(v))
		case "memory":
			cfg.Memory = Budget(s.number(v))
		case "rows":
			cfg.Rows = s.number(v)
		case "commit":
			cfg.Commit = Time(s.number(v))
		case "retry":
			first, most, _ := strings.Cut(v, "-")
			cfg.Retry = backoff.Backoff[Time]{First: Time(s.number(first)), Most: Time(s.number(most))}
		default:
			s.t.Fatalf("new %s?", a)
		}
	}
	s.m = New(cfg, plans, now)
}

func (s *script) changes(args []string) *window.Changes {
	c := &window.Changes{Table: window.NewTable(s.spec)}
	for _, a := range args {
		if bytes, ok := strings.CutPrefix(a, "payload="); ok {
			c.Dead = append(c.Dead, window.DeadLetter{Offset: int64(len(c.Dead)), Payload: make([]byte, s.number(bytes))})
			continue
		}
		if a == "row" {
			s.row(c)
			continue
		}
		if a == "lines" {
			c.Lines = append(c.Lines, window.Line{Partition: 1})
			continue
		}
		p, next, _ := strings.Cut(a, ":")
		c.Next = append(c.Next, window.Position{Partition: int32(s.number(p)), Offset: s.number(next)})
	}
	return c
}

// row puts a row into the table of changes.
func (s *script) row(c *window.Changes) {
	op, err := window.NewOperator(s.spec)
	if err != nil {
		s.t.Fatal(err)
	}
	op.Start(window.Plan{})
	s.rows++
	record := event.Record{Value: fmt.Appendf(nil, `{"ts":0,"user":"u","page":"%d"}`, s.rows)}
	if err := op.Observe(&event.Batch{Next: 1, Records: []event.Record{record}}); err != nil {
		s.t.Fatal(err)
	}
	c.Table = op.Take().Table
}

// ready prints what Ready returns, and checks that a second call returns nothing
// more.
func (s *script) ready(now Time) string {
	var b strings.Builder
	rd := s.m.Ready(now)
	if rd.Insert != nil {
		fmt.Fprintf(&b, "insert %d rows\n", rd.Insert.Table.Len())
	}
	if c := rd.Write; c != nil {
		fmt.Fprint(&b, "write"+positions(c.Next))
		if c.Sent != nil {
			fmt.Fprintf(&b, " %d rows, %d sent, from round %d on", c.Table.Len(), c.Sent.Table.Len(), c.Sent.Round)
		}
		if len(c.Lines) > 0 {
			fmt.Fprint(&b, " lines")
		}
		if len(c.Dead) > 0 {
			fmt.Fprint(&b, " payload")
		}
		fmt.Fprintln(&b)
	}
	for range rd.Reuse {
		fmt.Fprintln(&b, "reuse")
	}
	if rd.Take {
		fmt.Fprintln(&b, "take")
	}
	if rd.Commit != nil {
		fmt.Fprintln(&b, "commit"+positions(rd.Commit))
	}
	wake := "never"
	if rd.Wake != Never {
		wake = strconv.FormatInt(int64(rd.Wake), 10)
	}
	gate := ""
	if !rd.Open {
		gate = ", gate closed"
	}
	fmt.Fprintf(&b, "%s%s, wake %s\n", rd.Phase, gate, wake)
	if again := s.m.Ready(now); again.Open != rd.Open || again.Commit != nil || again.Insert != nil || again.Write != nil || again.Reuse != nil || again.Take || again.Phase != rd.Phase || again.Wake != rd.Wake {
		s.t.Errorf("after\n%sa second Ready returns more: %+v", &b, again)
	}
	return b.String()
}

func positions(ps []window.Position) string {
	var b strings.Builder
	for _, p := range ps {
		fmt.Fprintf(&b, " %d:%d", p.Partition, p.Offset)
	}
	return b.String()
}
