package local_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/await"
	"weir/internal/local/localtest"
)

// open returns an unmodified clickhouse-go over HTTP.
func open(t testing.TB, method clickhouse.CompressionMethod) driver.Conn {
	t.Helper()
	url, db := localtest.Engine(t)
	conn, err := clickhouse.Open(&clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{strings.TrimPrefix(url, "http://")},
		Auth:        clickhouse.Auth{Database: db},
		Compression: &clickhouse.Compression{Method: method},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

var compressions = map[string]clickhouse.CompressionMethod{
	"none": clickhouse.CompressionNone, "lz4": clickhouse.CompressionLZ4, "zstd": clickhouse.CompressionZSTD,
	"gzip": clickhouse.CompressionGZIP, "deflate": clickhouse.CompressionDeflate, "brotli": clickhouse.CompressionBrotli,
}

// eachCompression runs a test with every way clickhouse-go can compress.
func eachCompression(t *testing.T, f func(t *testing.T, conn driver.Conn)) {
	for name, method := range compressions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open(t, method))
		})
	}
}

func run(t testing.TB, conn driver.Conn, sql string, args ...any) {
	t.Helper()
	if err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func scan[T any](t testing.TB, conn driver.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestHandshake(t *testing.T) {
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		if err := conn.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := conn.ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		if v.Version.Major < 26 || v.Timezone.String() != "Etc/UTC" && v.Timezone.String() != "UTC" {
			t.Errorf("handshake: version %v, timezone %v", v.Version, v.Timezone)
		}
	})
}

func TestTypesRoundTrip(t *testing.T) {
	type row struct {
		A uint64
		B string
		C time.Time
		D []string
		E map[string]uint64
		F *float64
		G string
		H time.Time
	}
	f := 2.5
	rows := []row{
		{1, "one", time.Unix(1763600000, 0).UTC(), []string{"x", "y"}, map[string]uint64{"k": 1 << 63}, &f, "low", time.UnixMilli(1763600000123).UTC()},
		{2, "", time.Unix(0, 0).UTC(), []string{}, map[string]uint64{}, nil, "low", time.UnixMilli(1).UTC()},
		{3, "a\n\nb\x00\xff'\\\t;", time.Unix(1, 0).UTC(), []string{"\n\n"}, map[string]uint64{"\n\n": 0}, &f, "", time.UnixMilli(2).UTC()},
	}
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		run(t, conn, `CREATE TABLE t (A UInt64, B String, C DateTime('UTC'), D Array(String), E Map(String, UInt64), F Nullable(Float64), G LowCardinality(String), H DateTime64(3, 'UTC')) ENGINE = MergeTree ORDER BY A`)
		batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t")
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if err := batch.AppendStruct(&rows[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := batch.Send(); err != nil {
			t.Fatal(err)
		}
		var got []row
		if err := conn.Select(t.Context(), &got, "SELECT * FROM t ORDER BY A"); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, rows) {
			t.Errorf("got  %+v\nwant %+v", got, rows)
		}
	})
}

func TestParameters(t *testing.T) {
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		for _, want := range []string{"plain", "it's", `back\slash`, "tab\tnewline\n\n", "{x:String}", "ä€𝄞"} {
			var s string
			var n uint64
			ctx := clickhouse.Context(t.Context(), clickhouse.WithParameters(clickhouse.Parameters{"s": escapeTSV(want), "n": "18446744073709551615"}))
			if err := conn.QueryRow(ctx, "SELECT {s:String}, {n:UInt64}").Scan(&s, &n); err != nil {
				t.Fatalf("%q: %v", want, err)
			}
			if s != want || n != 1<<64-1 {
				t.Errorf("parameter %q came back as %q, %d", want, s, n)
			}
			if got := scan[string](t, conn, "SELECT ?", want); got != want {
				t.Errorf("bound %q came back as %q", want, got)
			}
		}
	})
}

// escapeTSV escapes a value as clients of ClickHouse's HTTP interface do.
func escapeTSV(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`).Replace(s)
}

// TestEmptyLineInData tests the reason for the whole insert path: the engine
// cuts inline data at 0x0A 0x0A, in RowBinary without any error.
func TestEmptyLineInData(t *testing.T) {
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		run(t, conn, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
		bytesOf := []byte{1, '\n', '\n', 2, '\n', '\n', '\n'}
		if err := conn.InsertFormat(t.Context(), "RowBinary", "INSERT INTO t", bytes.NewReader(bytesOf)); err != nil {
			t.Fatal(err)
		}
		if got := scan[uint64](t, conn, "SELECT count() FROM t"); got != uint64(len(bytesOf)) {
			t.Errorf("%d rows stored of %d", got, len(bytesOf))
		}
		run(t, conn, "INSERT INTO t VALUES (3)\n\n,(4)\n\n")
		if got := scan[uint64](t, conn, "SELECT count() FROM t"); got != uint64(len(bytesOf))+2 {
			t.Errorf("%d rows after VALUES", got)
		}
	})
}

// nativeStates writes one Native block of (k UInt64, s AggregateFunction(…)).
func nativeStates(typ string, keys []uint64, states []string) []byte {
	var b []byte
	str := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	b = binary.AppendUvarint(b, 2)
	b = binary.AppendUvarint(b, uint64(len(keys)))
	str("k")
	str("UInt64")
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint64(b, k)
	}
	str("s")
	str(typ)
	for _, s := range states {
		b = append(b, s...) // back to back, no lengths
	}
	return b
}

func TestRawAggregateStates(t *testing.T) {
	const typ = "AggregateFunction(uniqCombined64(14), UInt64)"
	small := func(keys ...uint64) string {
		b := []byte{1, byte(len(keys))}
		for _, k := range keys {
			b = binary.LittleEndian.AppendUint64(b, k)
		}
		return string(b)
	}
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		run(t, conn, "CREATE TABLE t (k UInt64, s "+typ+") ENGINE = AggregatingMergeTree ORDER BY k")
		// 0x0a0a0a0a… as key and as state: nothing but line ends.
		lines := uint64(0x0a0a0a0a0a0a0a0a)
		block := nativeStates(typ, []uint64{lines, 7}, []string{small(lines, 1, 2), small()})
		for range 2 { // merging twice changes nothing
			if err := conn.InsertFormat(t.Context(), "Native", "INSERT INTO t", bytes.NewReader(block)); err != nil {
				t.Fatal(err)
			}
		}
		if got := scan[string](t, conn, "SELECT toString(groupArray((k, n))) FROM (SELECT k, toUInt64(uniqCombined64Merge(14)(s)) AS n FROM t GROUP BY k ORDER BY k)"); got != "[(7,0),(723401728380766730,3)]" {
			t.Errorf("merged to %s", got)
		}
		r, err := conn.QueryFormat(t.Context(), "RowBinary", "SELECT s FROM t FINAL ORDER BY k")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(small()) + len(small(0, 0, 0)); len(raw) != want || raw[0] != 1 {
			t.Errorf("read back %d bytes %x, want %d", len(raw), raw, want)
		}
	})
}

func TestExternalTables(t *testing.T) {
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		table, err := ext.NewTable("pane", ext.Column("a", "UInt64"), ext.Column("s", "String"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if err := table.Append(uint64(i), "\n\n"); err != nil {
				t.Fatal(err)
			}
		}
		ctx := clickhouse.Context(t.Context(), clickhouse.WithExternalTable(table))
		run(t, conn, "CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a")
		if err := conn.Exec(ctx, "INSERT INTO t SELECT a, s FROM pane WHERE a >= 50"); err != nil {
			t.Fatal(err)
		}
		var n, sum uint64
		if err := conn.QueryRow(ctx, "SELECT count(), sum(a) FROM pane WHERE a IN (SELECT a FROM t) AND s = '\n\n'").Scan(&n, &sum); err != nil {
			t.Fatal(err)
		}
		if n != 50 || sum != 50*(50+99)/2 {
			t.Errorf("%d rows, sum %d", n, sum)
		}
		if err := conn.QueryRow(t.Context(), "SELECT count() FROM pane").Scan(&n); code(err) != 60 {
			t.Errorf("the table of one query is there in the next: %v", err)
		}
	})
}

// code is ClickHouse's code of an error.
func code(err error) int32 {
	var ex *clickhouse.Exception
	if errors.As(err, &ex) {
		return ex.Code
	}
	return 0
}

func TestErrors(t *testing.T) {
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		run(t, conn, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
		for sql, want := range map[string]int32{
			"SELECT * FROM nosuch":           60,
			"SELECT nosuch FROM t":           47,
			"SELECT FROM WHERE":              62,
			"SELECT 1; SELECT 2":             62,
			"SELECT nosuch(1)":               46,
			"SELECT throwIf(1)":              395,
			"SELECT 1 INTO OUTFILE 'x.csv'":  358,
			"SELECT {nosuch:UInt8}":          456,
			"SELECT 1 SETTINGS nosuch = 1":   115,
			"DROP TABLE nosuch":              60,
			"INSERT INTO t VALUES ('x'), (1": 0, // any code
			"SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage = 50000000": 241,
		} {
			err := conn.Exec(t.Context(), sql)
			if got := code(err); err == nil || got == 0 || want != 0 && got != want {
				t.Errorf("%s: code %d, want %d: %v", sql, got, want, err)
			}
		}
		if err := conn.InsertFormat(t.Context(), "Native", "INSERT INTO t", strings.NewReader("\x01\x01\x01a\x05UInt8")); code(err) == 0 {
			t.Errorf("a block cut short: %v", err)
		}
		if got := scan[uint64](t, conn, "SELECT count() FROM t"); got != 0 {
			t.Errorf("%d rows of broken inserts", got)
		}
		if err := conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"nosuch": 1})), "SELECT 1"); code(err) != 115 {
			t.Errorf("unknown setting: %v", err)
		}
	})
}

// TestErrorAfterRows fails after megabytes of rows were sent with status 200.
func TestErrorAfterRows(t *testing.T) {
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		const sql = "SELECT number, throwIf(number = 500000) FROM numbers(600000)"
		rows, err := conn.Query(t.Context(), sql)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			rows.Close()
		}
		if code(err) != 395 {
			t.Errorf("rows: %v", err)
		}
		r, err := conn.QueryFormat(t.Context(), "CSV", sql)
		var n int64
		if err == nil {
			n, err = io.Copy(io.Discard, r)
			r.Close()
		}
		if code(err) != 395 || n < 1<<20 {
			t.Errorf("format: %d bytes, %v", n, err)
		}
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"wait_end_of_query": 1}))
		if _, err = conn.QueryFormat(ctx, "CSV", sql); code(err) != 395 {
			t.Errorf("wait_end_of_query: %v", err)
		}
	})
}

func TestLargeResult(t *testing.T) {
	eachCompression(t, func(t *testing.T, conn driver.Conn) {
		const n = 500_000
		rows, err := conn.Query(t.Context(), "SELECT number, toString(number) FROM numbers(500000)")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var want uint64
		var a uint64
		var s string
		for rows.Next() {
			if want%1000 == 0 {
				if err := rows.Scan(&a, &s); err != nil || a != want || s != fmt.Sprint(want) {
					t.Fatalf("row %d is %d, %q, %v", want, a, s, err)
				}
			}
			want++
		}
		if rows.Err() != nil || want != n {
			t.Errorf("%d rows, %v", want, rows.Err())
		}
	})
}

// TestSettingsStayInTheirQuery runs queries with different settings, databases
// and parameters at the same time; none may see another's.
func TestSettingsStayInTheirQuery(t *testing.T) {
	conn := open(t, clickhouse.CompressionNone)
	run(t, conn, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				want := uint64(1000 + 100*g + i)
				ctx := t.Context()
				if g%2 == 0 {
					ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_block_size": want}))
				} else {
					want = 65409 // the default
				}
				var got uint64
				if err := conn.QueryRow(ctx, "SELECT toUInt64(getSetting('max_block_size'))").Scan(&got); err != nil {
					t.Error(err)
					return
				}
				if got != want {
					t.Errorf("max_block_size %d, want %d", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestParallel: queries run at the same time, not one after the other.
func TestParallel(t *testing.T) {
	conn := open(t, clickhouse.CompressionNone)
	conn.Ping(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 { // endless queries: if they ran one after the other, only one would run
		wg.Go(func() { _ = conn.Exec(ctx, "SELECT count() FROM system.numbers WHERE NOT ignore('sidebyside')") })
	}
	await.Until(t, func() error {
		got := query(t, localtest.Shared().URL(), "SELECT count() FROM system.processes WHERE query LIKE '%sidebyside%' AND query NOT LIKE '%system.processes%'")
		if got != "4" {
			return fmt.Errorf("%s queries run at the same time, want 4", got)
		}
		return nil
	})
	cancel()
	wg.Wait()
}

// TestCancelledQueryStops: a read whose client has left must stop.
func TestCancelledQueryStops(t *testing.T) {
	conn := open(t, clickhouse.CompressionNone)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- conn.Exec(ctx, "SELECT count() FROM system.numbers WHERE NOT ignore('cancelme')")
	}()
	url := localtest.Shared().URL()
	running(t, url, "cancelme", true)
	cancel()
	if err := <-done; err == nil {
		t.Error("no error for a cancelled query")
	}
	running(t, url, "cancelme", false)
}
