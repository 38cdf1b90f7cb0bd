package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
)

// This file tests obstacles that stop one job, or the reading of one partition,
// and nothing else.

// twoJobs configures the clicks job, and the same by the name of other on a
// topic of its own.
func (s *stage) twoJobs() {
	s.t.Helper()
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")),
		strings.Replace(fmt.Sprintf(clicksJob, s.topic("other")), "name: clicks", "name: other", 1))
	s.migrate()
}

// others waits until the other job has counted so many events.
func (s *stage) others(n int64) {
	s.t.Helper()
	await.Until(s.t, func() error {
		if got := s.number("SELECT sum(hits) FROM other_1m"); got != n {
			return notYet("job other has counted %d of %d", got, n)
		}
		return nil
	})
}

// A topic that is made again stops the job that reads it, and no other job; the
// process says so until it ends, with exit code 1.
func TestOneJobStops(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.twoJobs()
	s.create("clicks", 4)
	s.create("other", 4)
	s.produced("other", 3_000, "--kind", "clicks")
	p := s.weir("run")
	s.others(3_000)
	s.recreate("other", 4)
	p.says(`"level":"ERROR".*a job has stopped; the other jobs go on without it.*"job":"other".*deleted and created again.*--new-epoch`)
	p.ready(503, "job other: stopped", "deleted and created again")
	truth := s.produced("clicks", 5_000)
	s.caughtUp("clicks")
	if st := p.status(); st["other"].State != "stopped" || st["other"].Error == "" || st["clicks"].State != "running" || st["clicks"].Error != "" {
		t.Errorf("the status: %+v", st)
	}
	p.signal(syscall.SIGTERM)
	p.exits(1).says(`^hint: .*--new-epoch`)
	s.sameClicks(truth)
}

// A job without the right to read its topic waits and names the missing right;
// the other job counts. When the right is given the job continues, and so does
// a job whose right was taken away while it ran.
func TestOneJobForbidden(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.twoJobs()
	if err := os.WriteFile(filepath.Join(s.dir, "password"), []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.rewrite("kafka: {brokers: ["+strings.Join(s.brokers, ", ")+"]", "kafka: {sasl: {mechanism: plain, user: ada, password_file: password}, brokers: ["+house.broker.get(t).Listener("SASL")[0]+"]")
	s.create("clicks", 2)
	s.create("other", 2)
	right := func(topic, group string) *kadm.ACLBuilder {
		b := kadm.NewACLs().Allow("User:ada").AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpRead, kadm.OpDescribe)
		if topic != "" {
			b.Topics(topic)
		}
		if group != "" {
			b.Groups(group)
		}
		return b
	}
	give := func(b *kadm.ACLBuilder) {
		t.Helper()
		asked(s, func(ctx context.Context) (kadm.CreateACLsResults, error) { return s.admin.CreateACLs(ctx, b) })
	}
	give(right(s.topic("clicks"), s.name+".clicks"))
	truth := s.produced("clicks", 5_000)
	s.produced("other", 3_000, "--kind", "clicks")

	p := s.weir("run")
	s.caughtUp("clicks")
	s.sameClicks(truth)
	topicRight, groupRight := `user "ada" needs READ and DESCRIBE on topic "`+s.topic("other")+`"`, `user "ada" needs READ on group "`+s.name+`.other"`
	p.ready(503, "job other: joining", topicRight)
	p.says(`"level":"WARN".*a permission is missing, and topic ` + s.topic("other") + ` is not read.*needs READ and DESCRIBE`)
	if code, body, err := p.get("/livez"); err != nil || code != 200 {
		t.Errorf("/livez: %d %s %v", code, body, err)
	}
	give(right(s.topic("other"), ""))
	p.ready(503, "job other: joining", groupRight)
	give(right("", s.name+".other"))
	p.ready(200)
	s.others(3_000)
	p.says(`the permission is granted; topic ` + s.topic("other") + ` is read`)

	asked(s, func(ctx context.Context) (kadm.DeleteACLsResults, error) {
		return s.admin.DeleteACLs(ctx, right(s.topic("other"), ""))
	})
	p.ready(503, "job other: running", topicRight)
	s.produced("other", 1_000, "--kind", "clicks", "--seed", "2")
	more := s.produced("clicks", 2_000, "--seed", "2")
	s.caughtUp("clicks")
	s.sameClicks(union(truth, more))
	give(right(s.topic("other"), ""))
	s.others(4_000)
	p.ready(200)
	p.signal(syscall.SIGTERM)
	p.exits(0)

	// A backfill does not wait.
	asked(s, func(ctx context.Context) (kadm.DeleteACLsResults, error) {
		return s.admin.DeleteACLs(ctx, right(s.topic("other"), ""))
	})
	await.Until(t, func() error { // brokers take a moment to know
		if p := s.weir("run", "--until", "end"); p.wait() != 1 {
			return notYet("exit code %d", p.code)
		} else if !strings.Contains(p.log.String(), "error: job other") || !strings.Contains(p.log.String(), topicRight) {
			t.Errorf("a backfill without the right said\n%s", p.log.tail(5))
		}
		return nil
	})
}

// A transaction whose producer is gone keeps a partition from being read. The
// log, the status, the metrics, weir check and weir verify name it; a backfill
// waits for it, and then says what it did not read.
func TestOpenTransaction(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 2)
	click := func(partition int32, n int) (rs []*kgo.Record) {
		for i := range n {
			rs = append(rs, &kgo.Record{Topic: s.topic("clicks"), Partition: partition, Value: fmt.Appendf(nil, `{"ts":%d,"user_id":%d,"page":"/"}`, time.Now().UnixMilli(), i)})
		}
		return rs
	}
	if err := s.client.ProduceSync(t.Context(), append(click(0, 100), click(1, 100)...)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	dead, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.UnknownTopicRetries(-1), kgo.TransactionalID(s.name), kgo.TransactionTimeout(14*time.Minute), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dead.Close)
	if err := dead.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := dead.ProduceSync(t.Context(), click(1, 13)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := s.client.ProduceSync(t.Context(), click(1, 500)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	producer, _, err := dead.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	p := s.weir("run")
	stands := "partition 1 cannot be read beyond offset 100"
	idle(func() { p.says(`"level":"WARN".*a transaction stays open.*` + stands) })
	open := p.status()["clicks"].OpenTransactions
	if len(open) != 1 || open[0].Partition != 1 || open[0].Offset != 100 || open[0].Records != 513 {
		t.Errorf("the status: %+v", open)
	}
	p.ready(200) // a restart would not help, and the other partition is counted
	if _, body, err := p.get("/metrics"); err != nil || !strings.Contains(body, `weir_open_transaction_records{job="clicks",topic="`+s.topic("clicks")+`"} 513`) {
		t.Errorf("/metrics: %v", err)
	}
	named := fmt.Sprintf("%s: 513 records are in or behind a transaction that is open, of producer %d in epoch ", stands, producer)
	abort := fmt.Sprintf("abort --topic %s --partition 1 --start-offset 100", s.topic("clicks"))
	for _, c := range []string{"check", "verify"} {
		if out := s.weir(c).exits(0).out.String(); !strings.Contains(out, named) || !strings.Contains(out, abort) {
			t.Errorf("weir %s says nothing of it:\n%s", c, out)
		}
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)

	idle(func() {
		back := s.weir("run", "--until", "end").exits(1)
		back.says(`^error: job clicks: topic .*: not all was read: ` + stands + `.*513 records`)
		back.says(`^hint: .*weir check`)
	})
	if n := s.number("SELECT sum(hits) FROM clicks_1m"); n != 200 {
		t.Errorf("%d counted, want the 200 that can be read", n)
	}
	if err := dead.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	s.untilEnd()
	if n := s.number("SELECT sum(hits) FROM clicks_1m"); n != 700 {
		t.Errorf("%d counted, want all but the 13 of the transaction", n)
	}
	s.adds("clicks")
}
