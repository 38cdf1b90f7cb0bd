package window_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"weir/event"
	"weir/internal/transcript"
	"weir/measures/geo"
	"weir/measures/hll"
	. "weir/window"
)

// TestTranscripts runs testdata/*.txt: commands and, under each, everything
// the operator would store. Read them as the package's specification; rewrite
// the outputs with `go test ./window -run Transcripts -update` and review the
// diff.
//
//	spec [chunk=N] [groups=N] [dedupe] [where=FIELD:TEXT] [places=optional|required|none] [cell[=DEFAULT]]
//	resume committed=N start=N end=N [known=EPOCH:[FIRST-]NEXT[:TOPIC]]... [recreated] [no-id] [skip] [new-epoch]
//	record OFFSET RECORD-TIME JSON
//	to OFFSET      offsets up to here have no more records
//	unreadable FIRST NEXT RECORD-TIME WHY
//	take           print the changes since the last take
func TestTranscripts(t *testing.T) { transcript.Run(t, startTranscript) }

func startTranscript(t *testing.T) func(line string) string {
	spec := &Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Seconds,
		Window: 60_000, Lateness: 3600_000, Skew: 600_000, Chunk: 8, MaxGroups: 3,
		By:       []Dimension{{Name: "page", Path: "page"}},
		Measures: []Measure{{Name: "users", Kind: hll.Kind, Path: "user"}},
	}
	var op *Operator
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		return n
	}
	return func(line string) string {
		words := strings.Fields(line)
		switch words[0] {
		case "spec":
			for _, w := range words[1:] {
				k, v, _ := strings.Cut(w, "=")
				switch k {
				case "chunk":
					spec.Chunk = number(v)
				case "groups":
					spec.MaxGroups = int(number(v))
				case "dedupe":
					spec.Dedupe = &Dedupe{Path: "id", Error: 1e-6}
				case "places":
					spec.Measures = spec.Measures[:1]
					if v != "none" {
						spec.Measures = append(spec.Measures, Measure{Name: "places", Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat", Optional: v == "optional"})
					}
				case "cell":
					spec.By = []Dimension{{Name: "page", Path: "page"}, {Name: "cell", Lon: "lon", Lat: "lat", Precision: 5, Default: v, HasDefault: v != ""}}
				case "where":
					f, in, _ := strings.Cut(v, ":")
					spec.Where = append(spec.Where, Condition{Path: f, In: []string{in}})
				default:
					t.Fatalf("spec %s?", w)
				}
			}
		case "resume":
			a := event.Assignment{TopicID: [16]byte{1}}
			var known *Known
			var policy Policy
			for _, w := range words[1:] {
				k, v, _ := strings.Cut(w, "=")
				switch k {
				case "committed":
					a.Committed = number(v)
				case "start":
					a.LogStart = number(v)
				case "end":
					a.LogEnd = number(v)
				case "known":
					e, n, _ := strings.Cut(v, ":")
					n, id, ok := strings.Cut(n, ":")
					if !ok {
						id = "1"
					}
					first, next, ok := strings.Cut(n, "-")
					if !ok {
						first, next = "0", n
					}
					known = known.With(Known{Epoch: uint8(number(e)), First: number(first), Next: number(next), TopicID: [16]byte{byte(number(id))}})
				case "blank": // a line of epoch 0 that counted nothing
					first, next, _ := strings.Cut(v, "-")
					l := Line{First: number(first), Next: number(next), TopicID: [16]byte{1}}
					l.Outcomes[Gap] = uint64(l.Next - l.First)
					known = known.With(l.Known())
				case "recreated":
					a.TopicID = [16]byte{2}
				case "no-id":
					a.TopicID = [16]byte{}
				case "skip":
					policy.SkipLost = true
				case "new-epoch":
					policy.NewEpoch = true
				default:
					t.Fatalf("resume %s?", w)
				}
			}
			plan, err := spec.Resume(a, ledgerOf(0, known), policy)
			if err != nil {
				return "error: " + err.Error()
			}
			more := ""
			if plan.Cut < plan.Lost {
				more = fmt.Sprintf(", cut from %d", plan.Cut)
			}
			if plan.Twice > 0 {
				more += fmt.Sprintf(", %d counted twice", plan.Twice)
			}
			if plan.Opens {
				more += ", opens"
			}
			op = newOperator(t, spec)
			op.Start(plan)
			return fmt.Sprintf("epoch %d, fetch from %d, count from %d, lost from %d, %d counted again%s", plan.Epoch, plan.Warm, plan.Start, plan.Lost, plan.Replays, more)
		case "record":
			doc := strings.SplitN(line, " ", 4)
			off := number(doc[1])
			observe(t, op, event.Batch{First: off, Next: off + 1, Records: []event.Record{
				{Offset: off, Time: event.Time(number(doc[2]) * 1000), Value: []byte(doc[3])}}})
		case "to":
			next := op.Progress(0).Next
			observe(t, op, event.Batch{First: next, Next: number(words[1])})
		case "unreadable":
			doc := strings.SplitN(line, " ", 5)
			observe(t, op, event.Batch{First: number(doc[1]), Next: number(doc[2]), Time: event.Time(number(doc[3]) * 1000), Unreadable: doc[4]})
		case "take":
			return render(op.Take())
		default:
			t.Fatalf("%s?", line)
		}
		return ""
	}
}
