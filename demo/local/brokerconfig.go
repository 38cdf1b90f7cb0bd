package local

import "log/slog"

// BrokerConfig says where and how the embedded Kafka broker runs.
type BrokerConfig struct {
	// Listen is the Kafka address, 127.0.0.1:9092 by default. An address
	// without a host, such as ":9092", means loopback as well. Port 0 is any
	// free port, remembered in Data: the next start takes the same one if it
	// can, so that clients find the broker again. The broker gives this address to
	// clients, so it cannot be 0.0.0.0.
	Listen string

	// Data is the directory of the logs, made if missing; empty keeps them in
	// memory. One broker at a time may have it. Acknowledged records survive a kill
	// of the process, but a power failure may take the last ones, as with Kafka.
	Data string

	// Topics are created if missing. One that exists is left as it is.
	Topics []Topic

	// Log gets the messages for the operator; nil means slog.Default.
	Log *slog.Logger
}

// Topic is a topic to create.
type Topic struct {
	Name       string
	Partitions int               // 1 by default
	Config     map[string]string // such as retention.ms; nil for Kafka's defaults
}
