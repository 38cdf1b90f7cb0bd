package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/event"
)

// response returns the bytes of a response, encoded by franz-go.
func response(r kmsg.Response, version int16) []byte {
	r.SetVersion(version)
	b := be.AppendUint32(nil, correlation)
	if r.IsFlexible() && r.Key() != int16(kmsg.ApiVersions) {
		b = append(b, 0)
	}
	return r.AppendTo(b)
}

// answered returns the call that a response answers.
func answered(r kmsg.Response, version int16) *call {
	return &call{api: protocol.ApiKey(r.Key()), version: version, response: response(r, version)}
}

// versions calls f with each version of a request that weir writes.
func versions(t *testing.T, api protocol.ApiKey, f func(t *testing.T, version int16)) {
	for v := supported[api].least; v <= supported[api].most; v++ {
		t.Run(fmt.Sprint("version ", v), func(t *testing.T) { f(t, v) })
	}
}

func fetchResponseOf(version int16, partitions ...kmsg.FetchResponseTopicPartition) *call {
	r := kmsg.NewPtrFetchResponse()
	r.ThrottleMillis = 7
	t := kmsg.NewFetchResponseTopic()
	t.TopicID = [16]byte{1, 2, 3}
	t.Topic = "clicks"
	t.Partitions = partitions
	r.Topics = append(r.Topics, t)
	return answered(r, version)
}

// franz-go decodes the requests of this package as the intended ones, in each version.
func TestFetchRequests(t *testing.T) { versions(t, protocol.Fetch, fetchRequest) }

func fetchRequest(t *testing.T, version int16) {
	c, err := Config{Brokers: []string{"a:1"}, Topic: "clicks", ClientID: "weir-7", Rack: "eu-1a", MaxWait: 123 * time.Millisecond, MinBytes: 9}.complete()
	if err != nil {
		t.Fatal(err)
	}
	q := &call{writer: writer{b: []byte("something before")}, api: protocol.Fetch, version: version}
	q.fetch(&c, c.Rack, 3<<20, [16]byte{9, 8}, []*partition{{id: 3, next: 1 << 40, epoch: 5}, {id: 1, next: 0, epoch: -1}})
	q.finish()
	b := q.writer.b
	if n := int(be.Uint32(b)); n != len(b)-4 {
		t.Errorf("the length says %d of %d", n, len(b)-4)
	}
	r := kmsg.NewPtrFetchRequest()
	r.SetVersion(version)
	head := 4 + 2 + 2 + 4 + 2 + len(c.ClientID)
	if r.IsFlexible() {
		head++
	}
	if err := r.ReadFrom(b[head:]); err != nil {
		t.Fatal(err)
	}
	if again := r.AppendTo(nil); !bytes.Equal(again, b[head:]) {
		t.Errorf("% x\nfranz-go writes the same request as\n% x", b[head:], again)
	}
	if be.Uint16(b[4:]) != uint16(kmsg.Fetch) || be.Uint16(b[6:]) != uint16(version) || string(b[14:20]) != "weir-7" {
		t.Errorf("header % x", b[:head])
	}
	if version >= 11 && r.Rack != "eu-1a" {
		t.Errorf("rack %q", r.Rack)
	}
	if r.MaxWaitMillis != 123 || r.MinBytes != 9 || r.MaxBytes != 8<<20 || r.IsolationLevel != 1 || r.SessionID != 0 || r.SessionEpoch != -1 || r.ReplicaID != -1 {
		t.Errorf("request %+v", r)
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 2 {
		t.Fatalf("topics %+v", r.Topics)
	}
	if byID := version >= fetchByID; byID != (r.Topics[0].TopicID == [16]byte{9, 8}) || byID == (r.Topics[0].Topic == "clicks") {
		t.Errorf("topic %+v", r.Topics[0])
	}
	epoch := int32(5)
	if version < 9 {
		epoch = -1 // franz-go's default
	}
	if p := r.Topics[0].Partitions[0]; p.Partition != 3 || p.FetchOffset != 1<<40 || p.CurrentLeaderEpoch != epoch || p.PartitionMaxBytes != 3<<20 || p.LastFetchedEpoch != -1 || p.LogStartOffset != -1 {
		t.Errorf("partition %+v", p)
	}
}

func TestParseFetch(t *testing.T) { versions(t, protocol.Fetch, parseFetch) }

func parseFetch(t *testing.T, version int16) {
	one := kmsg.NewFetchResponseTopicPartition()
	one.Partition, one.HighWatermark, one.LastStableOffset, one.LogStartOffset = 4, 100, 90, 10
	one.RecordBatches = []byte("batches")
	one.PreferredReadReplica = 6
	for _, first := range []int64{70, 50, 60} {
		one.AbortedTransactions = append(one.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: first + 1, FirstOffset: first})
	}
	bad := kmsg.NewFetchResponseTopicPartition()
	bad.Partition, bad.ErrorCode, bad.HighWatermark, bad.LastStableOffset, bad.LogStartOffset = 5, 100, -1, -1, -1
	bad.RecordBatches = nil

	var f fetchResponse
	for range 2 { // it is reused
		if err := f.parse(fetchResponseOf(version, one, bad, bad, bad, bad)); err != nil {
			t.Fatal(err)
		}
	}
	if f.throttle != 7 || len(f.partitions) != 5 {
		t.Fatalf("%+v", f)
	}
	p := f.partitions[0]
	start, replica := int64(10), int32(6)
	if version < 5 {
		start = 0
	}
	if version < 11 {
		replica = -1
	}
	if p.partition != 4 || p.code != 0 || p.highWater != 100 || p.lastStable != 90 || p.logStart != start || string(p.records) != "batches" || p.replica != replica ||
		!slices.Equal(p.aborted, []transaction{{51, 50}, {61, 60}, {71, 70}}) {
		t.Errorf("%+v", p)
	}
	if p := f.partitions[4]; p.code != kafka.UnknownTopicID || p.highWater != -1 || p.replica != -1 || len(p.records) != 0 || len(p.aborted) != 0 {
		t.Errorf("%+v", p)
	}
	whole := fetchResponseOf(version, one, bad)
	all := whole.response
	for n := range all {
		if whole.response = all[:n]; n >= 4 && f.parse(whole) == nil {
			t.Errorf("%d of %d bytes parse", n, len(all))
		}
	}
}

func TestParseMetadata(t *testing.T) { versions(t, protocol.Metadata, metadataResponse) }

func metadataResponse(t *testing.T, version int16) {
	r := kmsg.NewPtrMetadataResponse()
	for i := range int32(3) {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = i, "broker", 9092
		if rack := fmt.Sprint("r", i/2); i != 1 {
			b.Rack = &rack
		}
		r.Brokers = append(r.Brokers, b)
	}
	name := "clicks"
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.TopicID = &name, [16]byte{5}
	for i := int32(2); i >= 0; i-- {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = i, i-1, 10+i, []int32{0, 1, 2}, []int32{1}
		topic.Partitions = append(topic.Partitions, p)
	}
	r.Topics = append(r.Topics, topic)
	whole := answered(r, version)
	got, err := parseMetadata(whole, name)
	if err != nil {
		t.Fatal(err)
	}
	want := []leadership{{0, -1, 10}, {1, 0, 11}, {2, 1, 12}}
	if version < 7 {
		want = []leadership{{0, -1, -1}, {1, 0, -1}, {2, 1, -1}}
	}
	if version < 10 {
		topic.TopicID = [16]byte{}
	}
	if got.id != topic.TopicID || !slices.Equal(got.partitions, want) || !slices.Equal(got.racks, []string{"r0", "r1"}) {
		t.Errorf("%+v", got)
	}
	if _, ok := got.of(3); ok {
		t.Error("found partition 3 of 3")
	}
	if _, err := parseMetadata(whole, "views"); !errors.Is(err, errNoTopic) {
		t.Errorf("another topic: %v", err)
	}
	all := whole.response
	for n := range all {
		whole.response = all[:n]
		if _, err := parseMetadata(whole, name); n >= 4 && err == nil {
			t.Errorf("%d of %d bytes parse", n, len(all))
		}
	}
	r.Topics[0].ErrorCode, r.Topics[0].Partitions = 3, nil
	if _, err := parseMetadata(answered(r, version), name); !errors.Is(err, errNoTopic) {
		t.Errorf("a missing topic: %v", err)
	}
	r.Topics[0].ErrorCode = 29
	if _, err := parseMetadata(answered(r, version), name); !errors.Is(err, kafka.TopicAuthorizationFailed) {
		t.Errorf("a forbidden topic: %v", err)
	}
}

func TestVerdicts(t *testing.T) {
	for code := kafka.Error(-1); code < 130; code++ {
		if got := judge(code); got == ours {
			t.Errorf("%v counts as caused by this process", code)
		}
	}
	for _, code := range []kafka.Error{kafka.SASLAuthenticationFailed, kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed,
		kafka.InconsistentGroupProtocol, kafka.InvalidSessionTimeout, kafka.UnsupportedVersion, kafka.InvalidTopic, kafka.InvalidGroupId} {
		if judge(code) != fatal {
			t.Errorf("%v is retried", code)
		}
	}
	for _, code := range []kafka.Error{kafka.GroupCoordinatorNotAvailable, kafka.NotCoordinatorForGroup, kafka.GroupLoadInProgress,
		kafka.UnknownMemberId, kafka.IllegalGeneration, kafka.RebalanceInProgress, kafka.UnknownTopicID, kafka.BrokerNotAvailable,
		kafka.GroupMaxSizeReached, // a killed member still counts, for its session
		kafka.GroupIdNotFound, kafka.StaleControllerEpoch, kafka.StaleBrokerEpoch,
		129, // of a later Kafka: the client's metadata is stale
	} {
		if judge(code) != retry {
			t.Errorf("%v is not retried", code)
		}
	}
	c := Config{Group: "weir", Topic: "clicks", Session: time.Second, SASL: SASL{Mechanism: "plain", User: "ada", Password: "hush"}}
	for code, words := range map[error]string{
		io.EOF:                          "kafka.tls and kafka.sasl",
		kafka.IllegalSASLState:          "SASL: plain as ada: the listener does not use SASL",
		kafka.InconsistentGroupProtocol: `group "weir" is in use`,
		kafka.TopicAuthorizationFailed:  `READ and DESCRIBE on topic "clicks"`,
		kafka.InvalidSessionTimeout:     "Session 1s",
	} {
		if err := c.explain(code); !strings.Contains(err.Error(), words) || !errors.Is(err, code) {
			t.Errorf("%v is explained as %v", code, err)
		}
	}
}

// unpackAll verifies and unpacks a record set.
func unpackAll(u *unpacker, set []byte, from int64, aborted []transaction, yield func(*event.Batch) error) (to int64, err error) {
	whole, to, damage := verify(set, from)
	if err := u.unpack(&packed{from: from, to: to, set: set[:whole], aborted: aborted}, yield); err != nil {
		return to, err
	}
	return to, damage
}

// Hundreds of thousands of records, in pieces, without an allocation, in every
// codec.
func TestNoAllocationPerRecord(t *testing.T) {
	const n = 20000
	plain := batchSpec{count: n, lastDelta: n - 1, producer: -1}
	for i := range n {
		plain.payload = append(plain.payload, record(int64(i), int64(i), []byte("key"), []byte(click(i)))...)
	}
	for codec := uint16(codecNone); codec <= codecZstd; codec++ {
		set := compressed(t, codec, plain).bytes()
		u := newUnpacker(64<<20, false)
		records, pieces := 0, 0
		run := func() {
			records, pieces = 0, 0
			_, err := unpackAll(u, set, 0, nil, func(b *event.Batch) error {
				records += len(b.Records)
				pieces++
				if len(b.Records) > recordsPerBatch {
					t.Errorf("%d records at once", len(b.Records))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		run()
		if allocs := testing.AllocsPerRun(5, run); allocs > 8 { // gzip and zstd have a few of their own
			t.Errorf("codec %d: %v allocations for %d records", codec, allocs, n)
		}
		if records != n || pieces != (n+recordsPerBatch-1)/recordsPerBatch {
			t.Errorf("codec %d: %d records in %d pieces", codec, records, pieces)
		}
	}
}

// TestEnvelopes: the key and the headers of each record, as the producer gave them, in pieces
// and without an allocation per record.
func TestEnvelopes(t *testing.T) {
	const n = 5000
	keys := [][]byte{nil, {}, []byte("short"), []byte(strings.Repeat("long", 100))}
	values := [][]byte{nil, {}, []byte(click(1))}
	headers := "\x02\x02a\x02b" // one, a: b
	s := batchSpec{count: n, lastDelta: n - 1, producer: -1}
	for i := range n {
		r := record(int64(i), int64(i), keys[i%4], values[i%3])
		if i%5 == 0 {
			length, w := binary.Varint(r)
			r = append(binary.AppendVarint(nil, length-1+int64(len(headers))), append(r[w:len(r)-1:len(r)-1], headers...)...)
		}
		s.payload = append(s.payload, r...)
	}
	set, u := s.bytes(), newUnpacker(1<<20, true)
	seen := 0
	run := func() {
		seen = 0
		_, err := unpackAll(u, set, 0, nil, func(b *event.Batch) error {
			for i := range b.Records {
				r, want := &b.Records[i], "\x00"
				if r.Offset%5 == 0 {
					want = headers
				}
				key := keys[r.Offset%4]
				if e := r.Envelope; string(e.Key) != string(key) || (e.Key == nil) != (key == nil) || string(e.Headers) != want {
					t.Errorf("record %d has the key %q and the headers %q, want %q and %q", r.Offset, e.Key, e.Headers, key, want)
				}
				seen++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	run()
	if allocs := testing.AllocsPerRun(5, run); allocs > 8 || seen != n {
		t.Errorf("%d records with %v allocations", seen, allocs)
	}
}
