package zones

import (
	"archive/zip"
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/event"
)

var update = flag.Bool("update", false, "take the file of Go's distribution")

// TestFile: the file is the one that the Go of the build has. Where a newer Go has other rules, -update takes them, and
// jobs with a zone whose rules have changed need a higher version.
func TestFile(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goes, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		err = os.WriteFile("zoneinfo.zip", goes, 0o600)
	} else if !bytes.Equal(file, goes) {
		t.Error("zoneinfo.zip is not that of Go: run this test with -update")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNames: what is no name of the file is none, whatever the machine has.
func TestNames(t *testing.T) {
	t.Setenv("ZONEINFO", t.TempDir())
	for _, name := range []string{"", "Local", "Europe", "Europe/", "europe/berlin", "Europe/Berlim", "../Europe/Berlin", "/etc/localtime", "CEST"} {
		if z, err := Of(name); err == nil || !strings.Contains(err.Error(), "is no time zone; write a name of the IANA") {
			t.Errorf("%q: %v, %v", name, z, err)
		}
	}
	berlin, paris := zone(t, "Europe/Berlin").String(), zone(t, "Europe/Paris").String()
	if name, rules, _ := strings.Cut(berlin, ", rules "); name != "Europe/Berlin" || len(rules) != 8 || strings.HasSuffix(paris, rules) {
		t.Errorf("%s and %s", berlin, paris)
	}
}

func zone(t *testing.T, name string) *event.Zone {
	t.Helper()
	z, err := Of(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestAgainstTime: around each change of each zone, a time that clocks show once is that time; one that they show
// twice is the first; and one that they do not show has the offset from before the change.
func TestAgainstTime(t *testing.T) {
	all, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	const minute = 60_000
	var once, twice, never int
	for _, f := range all.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		where, err := Load(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		z := zone(t, f.Name)
		offset := func(at int64) int64 {
			_, seconds := time.UnixMilli(at).In(where).Zone()
			return int64(seconds) * 1000
		}
		for at := time.Unix(0, 0).In(where); at.Year() < 2040; {
			if at = next(at); at.IsZero() {
				break
			}
			change := at.UnixMilli()
			before, after := offset(change-1), offset(change)
			for shown := change + min(before, after) - 90*minute; shown < change+max(before, after)+90*minute; shown += 30 * minute {
				first, second := shown-before, shown-after
				want := second
				switch isFirst, isSecond := first < change, second >= change; {
				case isFirst && isSecond:
					want = first
					twice++
				case isFirst:
					want = first
					once++
				case !isSecond:
					want = first
					never++
				default:
					once++
				}
				if got := z.UTC(event.Time(shown)); before != after && int64(got) != want {
					t.Fatalf("%s shows %v: %d, want %d", f.Name, time.UnixMilli(shown).UTC(), got, want)
				}
			}
		}
		for _, at := range []string{"1970-01-01T00:00:00Z", "2026-11-20T10:05:00Z", "2105-07-01T12:00:00Z", "2106-02-07T00:00:00Z"} {
			at, err := time.Parse(time.RFC3339, at)
			if err != nil {
				t.Fatal(err)
			}
			if shown := at.UnixMilli() + offset(at.UnixMilli()); int64(z.UTC(event.Time(shown))) != at.UnixMilli() {
				t.Errorf("%s: %v is another time", f.Name, at)
			}
		}
	}
	if once < 100_000 || twice < 10_000 || never < 10_000 {
		t.Errorf("%d times once, %d twice, %d never", once, twice, never)
	}
}
