package clickhouse

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/window"
)

// TestChangesInWords: if a change of the configuration is not allowed, the error of Job has
// the key as in the configuration, its values before and after, and the remedy. If it is
// allowed, Job opens, with a note if the user should know something.
func TestChangesInWords(t *testing.T) {
	long(t)
	const day = 24 * time.Hour
	was := func() Job {
		j := clicks()
		j.Spec.Measures = j.Spec.Measures[:2]
		return j
	}
	untouched := open(t) // for the cases in which neither Job nor Migrate changes a table
	install(t, untouched, was())
	for _, x := range []struct {
		name   string
		change func(j *Job)
		refuse string // error of Job; empty: it opens, with
		note   string
		stays  bool // Migrate gives the same error, or the note remains after it
	}{
		{"nothing", func(*Job) {}, "", "", true},
		{"a group column more", func(j *Job) { j.Spec.By = append(j.Spec.By, window.Column{Name: "lang", Path: "lang"}) },
			`job clicks, version 1: jobs[3].by was [{"field":"page","name":"page"},{"field":"country","has_default":true,"name":"country"}], is [{"field":"page","name":"page"},{"field":"country","has_default":true,"name":"country"},{"field":"lang","name":"lang"}]: ` +
				"put it back, or raise jobs[3].version to 2, which begins new tables and counts the log again as far as Kafka keeps it; the tables of version 1 stay", "", true},
		{"another window and chunk", func(j *Job) {
			j.Spec.Window, j.Spec.Chunk = 30_000, 128
			j.Rollups[0].Window = 30 * time.Second
		},
			`jobs[3].chunk was 64, is 128; jobs[3].window was "1m", is "30s": put it back`, "", true},
		{"another topic", func(j *Job) { j.Topic = "clicks2" }, "jobs[3].topic was clicks, is clicks2: put it back", "", true},
		{"another time", func(j *Job) { j.Spec.TimeUnit = event.Seconds }, `jobs[3].time.unit was "ms", is "s": put it back`, "", true},
		{"a measure more", func(j *Job) {
			j.Spec.Measures = append(j.Spec.Measures, window.Measure{Name: "revenue", Kind: window.HLL, Path: "id"})
		}, "job clicks: measure revenue is new: run `weir migrate`", "", false},
		{"a geo measure more", func(j *Job) {
			j.Spec.Measures = append(j.Spec.Measures, window.Measure{Name: "spots", Kind: window.Geo, Path: "user", Lon: "lon", Lat: "lat"})
		}, "job clicks: measure spots is new: run `weir migrate`", "", false},
		{"a measure renamed", func(j *Job) { j.Spec.Measures[0].Name = "visitors" },
			"measure visitors is new, and users is gone, which meant the same: a measure cannot be renamed: call it users again, or run `weir migrate`, after which visitors begins empty", "", false},
		{"a measure changed", func(j *Job) { j.Spec.Measures[0].Path = "visitor" },
			`jobs[3].measures[0] (users).field was "user", is "visitor": put it back, or raise jobs[3].version to 2`, "", true},
		{"a measure removed", func(j *Job) { j.Spec.Measures = slices.Delete(j.Spec.Measures, 1, 2) },
			"", "job clicks: measure active is no longer in jobs[3].measures: its values stay, and new windows lack it", true},
		{"a rollup more", func(j *Job) { j.Rollups = append(j.Rollups, Rollup{Window: 7 * day}) }, "job clicks: rollup 7d is new: run `weir migrate`", "", false},
		{"a rollup removed", func(j *Job) { j.Rollups = j.Rollups[:2] },
			"", "rollup 1d is no longer in jobs[3].rollups: the table clicks_1d_rollup and the view clicks_1d stay and get nothing new", true},
		{"another keep", func(j *Job) { j.Keep = 500 * day },
			"", "table clicks_state: jobs[3].keep was 400d, is 500d: run `weir migrate`; until then rows live as before", false},
		{"a keep of a rollup", func(j *Job) { j.Rollups[2].Keep = 800 * day },
			"", "table clicks_1d_rollup: jobs[3].rollups[2].keep was for ever, is 800d: run `weir migrate`", false},
		{"another keep_states", func(j *Job) { j.Rollups[0].KeepStates = 60 * day },
			"", "live by another TTL than keep_states in jobs[3].rollups says: run `weir migrate`", false},
		{"a version raised", func(j *Job) { j.Spec.Version = 3 }, "job clicks: version 3 is new: the newest with tables is 1: run `weir migrate`", "", false},
		{"another job", func(j *Job) { j.Spec.Job = "visits" }, "job visits: it is new: run `weir migrate`", "", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, is := untouched, was()
			if !x.stays {
				c = open(t)
				install(t, c, was())
			}
			is.Place = "jobs[3]"
			x.change(&is)
			judge := func(when string, refuse, note string) {
				t.Helper()
				s, err := c.Job(t.Context(), is)
				switch {
				case refuse != "" && !fatalWith(err, refuse):
					t.Errorf("%s the job opens with %v, want %q", when, err, refuse)
				case refuse == "" && err != nil:
					t.Errorf("%s the job opens with %v", when, err)
				case refuse != "":
				case (note == "") != (len(s.Notes) == 0) || note != "" && !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, note) }):
					t.Errorf("%s the notes are %q, want %q", when, s.Notes, note)
				}
			}
			judge("before the migration", x.refuse, x.note)
			_, err := c.Migrate(t.Context(), []Job{is}, Migration{})
			if x.stays && x.refuse != "" {
				if !fatalWith(err, x.refuse) {
					t.Errorf("it migrates with %v, want %q", err, x.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case x.stays:
				judge("after the migration", "", x.note)
			case x.name == "a measure renamed":
				judge("after the migration", "", "measure users is no longer in")
			default:
				judge("after the migration", "", "")
			}
		})
	}
}

// TestVersionLowered: the older version opens, with a note that no view shows what it
// counts; the newer one opens without a note.
func TestVersionLowered(t *testing.T) {
	c := open(t)
	old, next := clicks(), clicks()
	next.Spec.Version = 2
	install(t, c, old)
	install(t, c, next)
	s, err := c.Job(t.Context(), old)
	if err != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "version is 1, and the database has version 2, which the views show: this process counts into the tables of version 1, which no view shows; set version to 2") {
		t.Errorf("%v, %v", s.Notes, err)
	}
	if s, err = c.Job(t.Context(), next); err != nil || len(s.Notes) != 0 {
		t.Errorf("the newer version: %v, %v", s.Notes, err)
	}
	if others, err := c.Others(t.Context(), []Job{total()}); err != nil || len(others) != 1 || others[0] != "clicks (version 2)" {
		t.Errorf("other jobs: %v, %v", others, err)
	}
}
