package http

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"weir/internal/spelling"
	"weir/jobs"
)

// stuck is how long the flush loop of a running job may make no step before
// /livez fails, so that an orchestrator restarts the process. An insert that
// hangs does not stop the loop: an outage of Kafka or ClickHouse does not fail
// /livez.
const stuck = 30 * time.Second

// livez fails if the flush loop of a job makes no step: then a restart helps.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	for _, j := range s.statuses() {
		if j.State == "running" && !j.Beat.IsZero() && time.Since(j.Beat) > stuck {
			http.Error(w, fmt.Sprintf("job %s: its loop has stood for %s", j.Job, time.Since(j.Beat).Round(time.Second)), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

// readyz fails for each reason of unready. A finding of the last audit does not fail it: a process
// out of service repairs no row, and its counting and answers are as good as before. readyz then
// answers 200 and names the finding.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	for _, j := range s.statuses() {
		if text := unready(&j); text != "" {
			http.Error(w, fmt.Sprintf("job %s: %s", j.Job, text), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
	if a := s.audit(); a.Mismatches > 0 {
		fmt.Fprintf(w, "but the audit of %s found %s: see /api/v1/status, or run weir verify\n", a.At.UTC().Format(time.RFC3339), spelling.Count(a.Mismatches, "mismatch"))
	}
}

// unready returns why a job is not ready, or "".
func unready(j *jobs.Status) string {
	switch {
	case j.Error != "" || j.Group != "":
		return j.State + ": " + cmp.Or(j.Error, j.Group)
	case j.State != "running":
		return j.State
	case j.LastError != "":
		return "the last flush failed: " + j.LastError
	case j.SinkError != "":
		return "the ledger cannot be read: " + j.SinkError
	case j.Uncounted != nil:
		return fmt.Sprint(j.Uncounted)
	}
	return ""
}
