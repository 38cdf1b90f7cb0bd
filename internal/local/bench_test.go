package local_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"weir/internal/local"
)

// BenchmarkStart measures the time from StartEngine to the first answer, on an
// empty directory, and the child's memory at that time.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		e, err := local.StartEngine(b.Context(), local.EngineConfig{Listen: "127.0.0.1:0", Data: b.TempDir(), Memory: 1 << 30, Log: quiet})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric(residentMB(b, e.Pid()), "MB-rss")
		e.Close()
		b.StartTimer()
	}
}

func residentMB(b *testing.B, pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kb float64
	if _, err := fmt.Sscan(after, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}

// BenchmarkSelectOne measures a request: a session of the engine, a query, the
// answer.
func BenchmarkSelectOne(b *testing.B) {
	conn := open(b, clickhouse.CompressionNone)
	run(b, conn, "SELECT 1")
	for b.Loop() {
		run(b, conn, "SELECT 1")
	}
}

// BenchmarkInsertStates inserts Native blocks of 1,000 dense HyperLogLog
// states of 12.5 kB.
func BenchmarkInsertStates(b *testing.B) {
	const typ, rows = "AggregateFunction(uniqCombined64(14), UInt64)", 1000
	conn := open(b, clickhouse.CompressionNone)
	run(b, conn, "CREATE TABLE t (k UInt64, s "+typ+" CODEC(ZSTD(1))) ENGINE = AggregatingMergeTree ORDER BY k")
	registers := make([]byte, 12288)
	for i := range registers {
		registers[i] = byte(i*37) & 0x1c // ranks up to 28 wherever the six bits are cut
	}
	state := "\x03" + string(registers) + string(make([]byte, 4*52+2))
	var keys []uint64
	var states []string
	for i := range rows {
		keys, states = append(keys, uint64(i)), append(states, state)
	}
	block := nativeStates(typ, keys, states)
	b.SetBytes(int64(len(block)))
	ctx := clickhouse.Context(b.Context(), clickhouse.WithSettings(clickhouse.Settings{"optimize_on_insert": 0, "async_insert": 0}))
	n := 0
	for b.Loop() {
		if err := conn.InsertFormat(ctx, "Native", "INSERT INTO t", bytes.NewReader(block)); err != nil {
			b.Fatal(err)
		}
		n += rows
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkInsertRows inserts batches of 100,000 plain rows.
func BenchmarkInsertRows(b *testing.B) {
	for name, method := range compressions {
		b.Run(name, func(b *testing.B) {
			conn := open(b, method)
			run(b, conn, "CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a")
			n := 0
			for b.Loop() {
				batch, err := conn.PrepareBatch(b.Context(), "INSERT INTO t")
				if err != nil {
					b.Fatal(err)
				}
				for i := range 100_000 {
					if err := batch.Append(uint64(i), "some text"); err != nil {
						b.Fatal(err)
					}
				}
				if err := batch.Send(); err != nil {
					b.Fatal(err)
				}
				n += 100_000
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkStream reads ten million numbers as Native.
func BenchmarkStream(b *testing.B) {
	conn := open(b, clickhouse.CompressionNone)
	for b.Loop() {
		rows, err := conn.Query(b.Context(), "SELECT number FROM numbers(10000000)")
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
		}
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(80_000_000)
}
