package ingest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Why a Generation or a Source can no longer be used.
var (
	ErrClosed  = errors.New("ingest: source is closed")
	ErrEnded   = errors.New("ingest: the generation has ended")
	ErrNoGroup = errors.New("ingest: no group: Config.Group is empty, or the partitions came from Assign")
)

// Changes of a log that a reader must decide about. The errors *RangeError,
// *RecreatedError and *BatchError wrap these and carry the numbers.
var (
	ErrRetention  = errors.New("the log begins after the wanted offset")       // records expired unread
	ErrTruncated  = errors.New("the log ends before the wanted offset")        // records that were read are gone
	ErrRecreated  = errors.New("the topic was deleted and created again")      // the same offsets hold other records
	ErrCorrupt    = errors.New("a record batch is damaged")                    // also after a second fetch
	ErrOldBroker  = errors.New("the broker is too old: weir needs Kafka 0.11") // see supported
	errNoLeader   = errors.New("it has no leader")                             // temporary
	errNoTopic    = errors.New("the topic does not exist")                     // temporary
	errOtherTopic = errors.New("the topic has got another id")                 // the dispatcher will see it too
	errSpeaksTLS  = errors.New("the listener speaks TLS, and TLS is not configured")
	errNotKafka   = errors.New("the listener does not speak Kafka's protocol")
	errResponse   = errors.New("the response is larger than ResponseLimit") // see Config
)

// A RangeError is an offset that the log does not have. It wraps ErrRetention or
// ErrTruncated.
type RangeError struct {
	Partition        int32
	Offset           int64 // requested
	LogStart, LogEnd int64 // the log has [LogStart, LogEnd)
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("ingest: partition %d: %v: want offset %d, have %d to %d", e.Partition, e.Unwrap(), e.Offset, e.LogStart, e.LogEnd)
}

// Unwrap returns ErrRetention before the log's start, and ErrTruncated after its
// end.
func (e *RangeError) Unwrap() error {
	if e.Offset < e.LogStart {
		return ErrRetention
	}
	return ErrTruncated
}

// OutOfRange gives the numbers to callers that do not import this package.
func (e *RangeError) OutOfRange() (partition int32, offset, logStart, logEnd int64) {
	return e.Partition, e.Offset, e.LogStart, e.LogEnd
}

// A RecreatedError wraps ErrRecreated.
type RecreatedError struct {
	Topic   string
	Was, Is [16]byte // topic ids
}

func (e *RecreatedError) Error() string {
	return fmt.Sprintf("ingest: topic %s: %v: its id was %x and is %x", e.Topic, ErrRecreated, e.Was, e.Is)
}

func (e *RecreatedError) Unwrap() error { return ErrRecreated }

// A BatchError is a record batch whose bytes are not those that were written,
// also after a second fetch. Reason is or wraps ErrCorrupt.
type BatchError struct {
	Partition int32
	Offset    int64 // the batch holds this offset, or should
	Reason    error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("ingest: partition %d, offset %d: %v", e.Partition, e.Offset, e.Reason)
}

func (e *BatchError) Unwrap() error { return e.Reason }

// A MissingError names partitions that cannot be read now: they have no leader, or it does not
// answer. It comes beside what the other partitions have.
type MissingError struct {
	topic   string
	why     map[int32]error // by partition
	settled bool            // it is not worth while to wait for them before the others are read
}

func (e *MissingError) Error() string {
	var parts []string
	for _, p := range e.Missing() {
		if len(parts) == 5 && len(e.why) > 6 {
			parts = append(parts, fmt.Sprintf("and %d others", len(e.why)-5))
			break
		}
		parts = append(parts, fmt.Sprintf("partition %d: %s", p, stableText(e.why[p])))
	}
	return fmt.Sprintf("partitions of topic %s cannot be read now: %s", e.topic, strings.Join(parts, "; "))
}

// Lacks reports whether an error is a *MissingError: what came beside it is good.
func Lacks(err error) bool { return errors.As(err, new(*MissingError)) }

// Missing returns the partitions in ascending order.
func (e *MissingError) Missing() []int32 { return slices.Sorted(maps.Keys(e.why)) }

// corrupt makes an ErrCorrupt with a reason.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// A sizeError is a response that is too large to read.
type sizeError struct {
	api         protocol.ApiKey
	size, limit int
}

func (e *sizeError) Error() string {
	return fmt.Sprintf("a %v response announces %d bytes, the limit is %d", e.api, e.size, e.limit)
}

// Unwrap returns errResponse for a plausible size, which the configuration can
// allow. Otherwise the peer speaks another protocol, such as TLS.
func (e *sizeError) Unwrap() error {
	if e.size > e.limit && e.api == protocol.Fetch {
		return errResponse
	}
	return nil
}

// A verdict is what to do about an error.
type verdict int

const (
	retry verdict = iota // temporary, in the cluster or on the connection: try again later
	fatal                // another try will not help: a person must change something
	ours                 // this process caused it: the caller's context ended, or Close
)

// judge decides, in this order:
//
//   - A context that this process cancelled is ours. A deadline is not: each
//     request has its own, so it means a silent broker. Code with a context of
//     the caller checks that first.
//   - A bad certificate, or a wrong protocol, is fatal. (Only TLS to a plaintext
//     listener gives an EOF, like a broker that stops: it is retried, and the
//     log says so.)
//   - Kafka's codes: see judgeCode.
//   - The caller decides about errors in the data (range, recreation, damage).
//   - All other errors come from a connection: refused, reset, timed out, no
//     such host, a response that does not parse. Brokers restart, and a new
//     connection may work: these are retried after a backoff, and logged.
func judge(err error) verdict {
	var (
		code   kafka.Error
		verify *tls.CertificateVerificationError
		op     *net.OpError
		record tls.RecordHeaderError
		signer x509.UnknownAuthorityError
	)
	switch {
	case errors.Is(err, context.Canceled),
		errors.Is(err, ErrClosed), errors.Is(err, ErrEnded):
		return ours
	case errors.Is(err, errNoTopic), errors.Is(err, errNoLeader):
		return retry
	case errors.Is(err, ErrRetention), errors.Is(err, ErrTruncated), errors.Is(err, ErrRecreated),
		errors.Is(err, ErrCorrupt), errors.Is(err, ErrOldBroker), errors.Is(err, errResponse),
		errors.Is(err, errSpeaksTLS), errors.Is(err, errNotKafka):
		return fatal
	case errors.As(err, &verify), errors.As(err, &record), errors.As(err, &signer),
		errors.As(err, &op) && op.Op == "remote error": // crypto/tls: the broker's alert
		return fatal
	case errors.As(err, &code):
		return judgeCode(code)
	}
	return retry
}

// judgeCode names the codes that are fatal. All other codes are normal in a
// cluster (leadership, coordination, load, membership, a topic that does not
// exist yet), or are never sent to a reader, or are newer than this list: each of
// these is retried and logged.
func judgeCode(code kafka.Error) verdict {
	switch code {
	case
		// Permissions. A Source with AwaitRights waits for them: see [Source.judge].
		kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.BrokerAuthorizationFailed, kafka.TransactionalIDAuthorizationFailed,
		// Credentials. The process reads them at its start, so a restart may help.
		kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.IllegalSASLState, kafka.SecurityDisabled,
		kafka.DelegationTokenAuthDisabled, kafka.DelegationTokenNotFound, kafka.DelegationTokenOwnerMismatch,
		kafka.DelegationTokenRequestNotAllowed, kafka.DelegationTokenAuthorizationFailed, kafka.DelegationTokenExpired,
		kafka.InvalidPrincipalType, kafka.UnacceptableCredential, kafka.PrincipalDeserializationFailure,
		// Settings of the group, the topic or the cluster.
		kafka.InconsistentGroupProtocol, kafka.InvalidGroupId, kafka.InvalidSessionTimeout, kafka.FencedInstanceID,
		kafka.OffsetMetadataTooLarge, kafka.InvalidCommitOffsetSize, kafka.InvalidTopic, kafka.InvalidConfiguration,
		kafka.PolicyViolation, kafka.InconsistentClusterID,
		// A request that this broker can never answer. Elections and replicas that lag
		// have other codes, so these are mistakes of this package.
		kafka.InvalidRequest, kafka.UnsupportedVersion, kafka.UnsupportedForMessageFormat, kafka.UnsupportedCompressionType,
		kafka.InvalidMessageSize, kafka.MessageSizeTooLarge, kafka.RecordListTooLarge:
		return fatal
	}
	return retry
}

// denied reports whether a permission is missing, which may be granted at any
// time.
func denied(err error) bool {
	return errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.GroupAuthorizationFailed)
}

// judge returns the verdict on an error of this Source: with AwaitRights, a missing
// permission is retried until it is granted, and so is a token that the broker refuses,
// because the next one may be good.
func (s *Source) judge(err error) verdict {
	if s.config.AwaitRights && (denied(err) || errors.As(err, new(*tokenError))) {
		return retry
	}
	return judge(err)
}

// explain adds a remedy to an error, where its own text has none.
func (c *Config) explain(err error) error {
	if hint := c.hint(err); hint != "" {
		return fmt.Errorf("ingest: %s (%w)", hint, err)
	}
	return fmt.Errorf("ingest: %w", err)
}

// hint returns the remedy for an error; empty if its own text has one.
func (c *Config) hint(err error) string {
	var code kafka.Error
	switch {
	case errors.Is(err, errResponse):
		return fmt.Sprintf("a record batch of topic %s is larger than the %d MiB that weir accepts in one response: lower the topic's max.message.bytes, and delete the records up to and with that batch (kafka-delete-records)", c.Topic, c.ResponseLimit>>20)
	case errors.Is(err, io.EOF):
		return closedByBroker
	case !errors.As(err, &code):
		return ""
	}
	switch code {
	case kafka.InconsistentGroupProtocol:
		return fmt.Sprintf("group %q is in use by consumers of another protocol (KIP-848) or assignor: choose another group", c.Group)
	case kafka.GroupAuthorizationFailed:
		return fmt.Sprintf("%s needs READ on group %q", c.principal(), c.Group)
	case kafka.TopicAuthorizationFailed:
		return fmt.Sprintf("%s needs READ and DESCRIBE on topic %q", c.principal(), c.Topic)
	case kafka.SASLAuthenticationFailed:
		return fmt.Sprintf("SASL: %v: wrong user or password, or the user has no credentials for this mechanism", c.SASL)
	case kafka.UnsupportedSASLMechanism:
		return fmt.Sprintf("SASL: %v: the broker does not offer this mechanism", c.SASL)
	case kafka.IllegalSASLState:
		if c.SASL.Mechanism != "" {
			return fmt.Sprintf("SASL: %v: the listener does not use SASL: remove it from the configuration, or name a listener that uses it", c.SASL)
		}
	case kafka.InvalidSessionTimeout:
		return fmt.Sprintf("Session %v is outside the broker's group.min.session.timeout.ms and group.max.session.timeout.ms", c.Session)
	}
	return ""
}

// principal returns the user that needs the permission, as far as the client knows.
func (c *Config) principal() string {
	switch {
	case c.SASL.User != "":
		return fmt.Sprintf("user %q", c.SASL.User)
	case c.TLS != nil && (len(c.TLS.Certificates) > 0 || c.TLS.GetClientCertificate != nil):
		return "the client certificate's principal"
	}
	return "User:ANONYMOUS"
}
