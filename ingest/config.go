package ingest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"weir/internal/outage"
)

// A Config says which topic to read and how. Brokers and Topic are required; a
// zero field means its default.
type Config struct {
	Brokers []string // host:port of some brokers of the cluster; these name the others
	Topic   string
	// Envelopes says that records are handed out with their keys and headers.
	Envelopes bool
	Group     string // consumer group; may be empty where only Assign and Ends are used

	// Member, if not zero, divides the partitions without the group, whose name then only
	// moves the assignments.
	Member Member

	ClientID string      // the name of this client in the brokers' logs and quotas and in the group's list of members; default "weir"
	TLS      *tls.Config // nil: plaintext
	SASL     SASL        // zero: no authentication

	// Database is where the records are counted. Members of a group share its
	// partitions only if they have the same one: see member.go.
	Database Database

	// Session is how long the group waits for a silent member before its
	// partitions go to others; default 10 s. It also bounds the time between
	// Done and Release, because heartbeats stop the moment a generation ends.
	Session   time.Duration
	Rebalance time.Duration // how long the group waits for its members to join again; default 60 s
	Heartbeat time.Duration // time between heartbeats, and so how soon a rebalance is noticed; default 1 s, at most a third of Session
	Watch     time.Duration // how often to look for added partitions; default 5 s

	// Rack is where this process runs, in terms of the brokers' broker.rack. If the
	// brokers choose replicas by rack (replica.selector.class), partitions are read
	// from a replica in the same rack (KIP-392). Empty: from their leaders.
	Rack string
	// Lease is how long such a replica is read before the leader is asked again, and
	// how long the leader is read after such a replica has failed; default 5 min, as
	// in Java's client (metadata.max.age.ms).
	Lease time.Duration

	// Gone reports whether the process of another member, given its ClientID, is
	// certainly dead. This member removes such members from the group while it
	// joins; otherwise the group would wait for the end of their session. A
	// mistake costs one rebalance. Nil: no member is known to be dead.
	Gone func(clientID string) bool

	MaxWait        time.Duration // a fetch's wait for data; default 250 ms
	MinBytes       int           // a fetch is answered before MaxWait once this much data is there; default 1
	PartitionBytes int           // of one partition in one response; default 384 KiB. Larger if the workers wait for responses, see resize in loop.go
	RequestBytes   int           // of all partitions in one response; default 8 MiB. A broker's first batch may exceed both
	ResponseLimit  int           // no response may be larger; default 128 MiB

	// AwaitRights makes the Source wait for a missing permission, as for a topic
	// that does not exist, with a message in Log and in Trouble. Without it, a
	// missing permission is an error.
	AwaitRights bool

	Log *slog.Logger // nil: silent
	// Outages reports temporary failures; nil means a Reporter of its own, which
	// writes to Log. Sources that share a Reporter report one outage together.
	Outages *outage.Reporter
}

// A Database is where counts are stored. ID is unique; Name is for people and
// must contain no secrets.
type Database struct{ ID, Name string }

// String returns the name with the beginning of the id, which differs for two
// databases of the same name behind one address.
func (d Database) String() string { return fmt.Sprintf("%s (id %.8s)", d.Name, d.ID) }

// SASL names a user. It prints without its password.
type SASL struct {
	Mechanism string // "plain", "scram-sha-256", "scram-sha-512" or "oauthbearer"; empty: no authentication
	User      string
	Password  string

	// Of oauthbearer only. Extensions are name=value, such as logicalCluster=lkc-1.
	Tokens     Tokens
	Extensions []string
}

// String leaves the password out, for logs and errors.
func (s SASL) String() string {
	if s.Mechanism == "" {
		return "none"
	}
	if s.Tokens != nil {
		return s.Mechanism
	}
	return s.Mechanism + " as " + s.User
}

// GoString is String, so that %#v keeps the secret too.
func (s SASL) GoString() string { return s.String() }

// LogValue is String for slog.
func (s SASL) LogValue() slog.Value { return slog.StringValue(s.String()) }

const (
	dialTimeout     = 5 * time.Second
	requestTimeout  = 10 * time.Second // of small requests
	fetchTimeout    = 30 * time.Second // in addition to MaxWait: enough for a full response over a slow connection
	leaveTimeout    = 2 * time.Second  // how long Close waits for the group protocol
	smallResponse   = 16 << 20         // metadata and offsets
	minPartition    = 1 << 10
	backoffFirst    = 50 * time.Millisecond
	backoffLast     = 2 * time.Second
	recordsPerBatch = 1024 // records handed out at a time: 40 KB, which stay in a core's cache
)

// complete fills in the defaults and checks the other values.
func (c Config) complete() (Config, error) {
	setDefault(&c.ClientID, "weir")
	setDefault(&c.Session, 10*time.Second)
	setDefault(&c.Rebalance, 60*time.Second)
	setDefault(&c.Heartbeat, min(time.Second, c.Session/3))
	setDefault(&c.Watch, 5*time.Second)
	setDefault(&c.Lease, 5*time.Minute)
	setDefault(&c.MaxWait, 250*time.Millisecond)
	setDefault(&c.MinBytes, 1)
	setDefault(&c.PartitionBytes, 384<<10)
	setDefault(&c.RequestBytes, max(8<<20, c.PartitionBytes))
	setDefault(&c.ResponseLimit, max(128<<20, 2*c.RequestBytes))
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Outages == nil {
		c.Outages = outage.New(c.Log)
	}
	c.SASL.Mechanism = strings.ToLower(c.SASL.Mechanism)
	return c, c.validate()
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c *Config) validate() error {
	if len(c.Brokers) == 0 {
		return errors.New("ingest: Brokers is empty; want at least one host:port")
	}
	for _, b := range c.Brokers {
		if _, port, err := net.SplitHostPort(b); err != nil || port == "" {
			return fmt.Errorf("ingest: Brokers: %q is not host:port", b)
		}
	}
	if c.Topic == "" || len(c.Topic) > 249 { // Kafka's own limit
		return fmt.Errorf("ingest: Topic: %q has %d characters; want 1 to 249", c.Topic, len(c.Topic))
	}
	if m := c.Member; m != (Member{}) && (m.Of < 1 || m.Of > MaxMembers || m.Index < 0 || m.Index >= m.Of) {
		return fmt.Errorf("ingest: Member: %v; want 0 to %d of 1 to %d", m, m.Of-1, MaxMembers)
	}
	if len(c.ClientID) > 1<<10 {
		return fmt.Errorf("ingest: ClientID has %d bytes; want at most 1024", len(c.ClientID))
	}
	if len(c.Rack) > 1<<10 {
		return fmt.Errorf("ingest: Rack has %d bytes; want at most 1024", len(c.Rack))
	}
	if len(c.Database.ID) > 64 || len(c.Database.Name) > 1<<10 {
		return fmt.Errorf("ingest: Database: an ID of %d bytes and a Name of %d; want at most 64 and 1024", len(c.Database.ID), len(c.Database.Name))
	}
	const month = 31 * 24 * time.Hour // a little more than an int32 of milliseconds holds
	for _, d := range []struct {
		name     string
		value    time.Duration
		min, max time.Duration
	}{
		{"Session", c.Session, 100 * time.Millisecond, month / 2},
		{"Rebalance", c.Rebalance, 100 * time.Millisecond, month / 2},
		{"Heartbeat", c.Heartbeat, time.Millisecond, c.Session / 3},
		{"Watch", c.Watch, time.Millisecond, month / 2},
		{"Lease", c.Lease, time.Millisecond, month},
		{"MaxWait", c.MaxWait, time.Millisecond, time.Minute},
	} {
		if d.value < d.min || d.value > d.max {
			return fmt.Errorf("ingest: %s: %v; want %v to %v", d.name, d.value, d.min, d.max)
		}
	}
	for _, n := range []struct {
		name     string
		value    int
		min, max int
	}{
		{"MinBytes", c.MinBytes, 1, c.RequestBytes},
		{"PartitionBytes", c.PartitionBytes, minPartition, 1 << 30},
		{"RequestBytes", c.RequestBytes, minPartition, 1 << 30},
		{"ResponseLimit", c.ResponseLimit, c.RequestBytes, 1<<31 - 1},
	} {
		if n.value < n.min || n.value > n.max {
			return fmt.Errorf("ingest: %s: %d bytes; want %d to %d", n.name, n.value, n.min, n.max)
		}
	}
	if want := []string{"", "plain", "scram-sha-256", "scram-sha-512", oauthbearer}; !slices.Contains(want, c.SASL.Mechanism) {
		return fmt.Errorf("ingest: SASL.Mechanism: %q; want plain, scram-sha-256, scram-sha-512 or oauthbearer", c.SASL.Mechanism)
	}
	if (c.SASL.Mechanism == oauthbearer) != (c.SASL.Tokens != nil) {
		return errors.New("ingest: SASL.Tokens is for oauthbearer, which needs it")
	}
	return nil
}

const oauthbearer = "oauthbearer"

// mechanism returns the SASL exchange that kafka-go runs on each new connection.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "plain":
		return plain.Mechanism{Username: s.User, Password: s.Password}, nil
	case "scram-sha-256":
		return scram.Mechanism(scram.SHA256, s.User, s.Password)
	case "scram-sha-512":
		return scram.Mechanism(scram.SHA512, s.User, s.Password)
	case oauthbearer:
		return &bearer{tokens: s.Tokens, extensions: s.Extensions}, nil
	}
	return nil, nil
}
