//go:build !static

package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

// topicName is the form of a topic name in Kafka; kfake accepts any name.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Broker is a Kafka broker in this process: franz-go's kfake, one node, on
// disk. It speaks the protocol up to Kafka 4's versions, with groups,
// transactions and compaction; it does not replicate and does not throttle.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	lock    *os.File
}

// StartBroker starts a broker. With the Data of an earlier one it has that
// one's topics, records, offsets and groups.
func StartBroker(ctx context.Context, cfg BrokerConfig) (*Broker, error) {
	b, err := startBroker(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("local: broker: %w", err)
	}
	return b, nil
}

func startBroker(ctx context.Context, cfg BrokerConfig) (_ *Broker, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	listen, err := loopback(cfg.Listen, "9092")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("listen %s: clients cannot connect to this address; name an address of this machine", listen)
	}
	for _, t := range cfg.Topics {
		if !topicName.MatchString(t.Name) || t.Name == "." || t.Name == ".." {
			return nil, fmt.Errorf("topic %q: a name is 1 to 249 letters, digits, dots, dashes and underscores", t.Name)
		}
	}
	b := &Broker{}
	defer func() {
		if err != nil && b.lock != nil {
			b.lock.Close()
		}
	}()
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.DefaultNumPartitions(1), kfake.WithLogger(brokerLog{cfg.Log})}
	remembered := ""
	if cfg.Data != "" {
		if b.lock, err = lockDir(cfg.Data, "broker"); err != nil {
			return nil, err
		}
		opts = append(opts, kfake.DataDir(filepath.Join(cfg.Data, "log")))
		if text, err := os.ReadFile(filepath.Join(cfg.Data, "port")); err == nil {
			remembered = strings.TrimSpace(string(text))
		}
	}
	var l net.Listener
	if port == "0" && remembered != "" {
		if l, err = net.Listen("tcp", net.JoinHostPort(host, remembered)); err != nil {
			cfg.Log.Warn("broker: the port of the last run is taken; using another", "port", remembered, "error", err)
		}
	}
	if l == nil {
		if l, err = net.Listen("tcp", listen); err != nil {
			return nil, err
		}
	}
	b.addr = l.Addr().String()
	if cfg.Data != "" {
		_, port, _ := net.SplitHostPort(b.addr)
		if err := os.WriteFile(filepath.Join(cfg.Data, "port"), []byte(port+"\n"), 0o644); err != nil {
			l.Close()
			return nil, err
		}
	}
	opts = append(opts, kfake.ListenFn(func(string, string) (net.Listener, error) {
		return l, nil
	}))
	if b.cluster, err = kfake.NewCluster(opts...); err != nil {
		l.Close()
		return nil, err
	}
	for _, t := range cfg.Topics {
		if b.cluster.TopicInfo(t.Name) != nil {
			continue
		}
		if err := b.cluster.CreateTopic(t.Name, int32(max(t.Partitions, 1)), t.Config); err != nil {
			b.cluster.Close()
			return nil, fmt.Errorf("create topic %s: %w", t.Name, err)
		}
	}
	cfg.Log.Info("broker: ready", "address", b.addr, "data", cfg.Data)
	return b, nil
}

// Addr returns the address that clients bootstrap from, host:port.
func (b *Broker) Addr() string { return b.addr }

// Close flushes the logs and the state of groups and producers to disk, and
// stops the broker. It can be called again.
func (b *Broker) Close() error {
	b.cluster.Close()
	if b.lock == nil {
		return nil
	}
	err := b.lock.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// brokerLog passes kfake's errors and warnings on to the log, and its lines
// about single requests at level debug.
type brokerLog struct{ log *slog.Logger }

func (l brokerLog) Logf(level kfake.LogLevel, format string, args ...any) {
	to := slog.LevelDebug
	switch level {
	case kfake.LogLevelError:
		to = slog.LevelError
	case kfake.LogLevelWarn:
		to = slog.LevelWarn
	}
	if !l.log.Enabled(context.Background(), to) {
		return
	}
	l.log.Log(context.Background(), to, "broker: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
}
