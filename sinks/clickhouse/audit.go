package clickhouse

import (
	"fmt"
	"strconv"
	"strings"

	"weir/window"
)

// quiet is how long, in seconds, something must not have been written for the
// audit to look at it.
const quiet = 5

// auditView is the statement of weir_audit, over all jobs of the database.
func (c *Client) auditView(jobs []registered) string {
	d := auditData{c: c, Quiet: quiet}
	for _, r := range jobs {
		d.Jobs = append(d.Jobs, auditJob{c, r})
	}
	return render("audit", d)
}

// auditData is what the template of weir_audit sees.
type auditData struct {
	c     *Client
	Quiet int
	Jobs  []auditJob
}

func (d auditData) View() string      { return d.c.name("weir_audit") }
func (d auditData) OnCluster() string { return d.c.onCluster() }
func (d auditData) Ledger() string    { return d.c.name("weir_ledger") }

// Others is the sum of all fates but counted.
func (d auditData) Others() string {
	var sum []string
	for f := window.Counted + 1; f < window.Fates; f++ {
		sum = append(sum, "max(_l."+quote(f.String())+")")
	}
	return strings.Join(sum, " + ")
}

// auditJob is one job there, as it stands in weir_jobs.
type auditJob struct {
	c *Client
	r registered
}

func (j auditJob) Name() string    { return j.r.job }
func (j auditJob) Version() uint32 { return j.r.version }
func (j auditJob) Rollup() string  { return j.c.name(j.r.rollup) }

func (j auditJob) State() string {
	base := j.r.job
	if j.r.version > 1 {
		base += "_v" + strconv.Itoa(int(j.r.version))
	}
	return j.c.name(base + "_state")
}

func (j auditJob) Groups() string {
	var b strings.Builder
	for _, g := range j.r.groups {
		b.WriteString(quote(g) + ", ")
	}
	return b.String()
}

// GroupText is the group as one text.
func (j auditJob) GroupText() string {
	if len(j.r.groups) == 0 {
		return "''"
	}
	quoted := make([]string, len(j.r.groups))
	for i, g := range j.r.groups {
		quoted[i] = quote(g)
	}
	return "arrayStringConcat([" + strings.Join(quoted, ", ") + "], ' ')"
}

// Start is the rollup's window of a state row.
func (j auditJob) Start() string {
	return fmt.Sprintf("toDateTime(intDiv(toUnixTimestamp(window_start), %d) * %d, 'UTC')", j.r.seconds, j.r.seconds)
}

// Horizon is how far back, in seconds, state rows are certainly still there:
// what began before may have lost rows to the TTL. A quarter of it, up to a
// day, is left for a rollup that was late.
func (j auditJob) Horizon() uint32 { return j.r.keep - min(j.r.keep/4, 86400) }
