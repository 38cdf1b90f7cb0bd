package local

import "log/slog"

// BrokerConfig says where and how the embedded Kafka broker runs.
type BrokerConfig struct {
	// Listen is the Kafka address, 127.0.0.1:9092 by default. An address
	// without a host, such as ":9092", means loopback as well. Port 0 is any
	// free port, remembered in Data: the next start takes the same one if it
	// can, so that clients find the broker again.
	Listen string

	// Advertise is the address that the broker gives to clients, host:port. The
	// default is the address that it listens on, so it must be set where clients
	// cannot use that one, such as 0.0.0.0.
	Advertise string

	// Data is the directory of the logs, made if missing; empty keeps them in
	// memory. One broker at a time may have it.
	Data string

	// Topics are created if missing. One that exists is left as it is.
	Topics []Topic

	// Sync makes the broker flush every batch to the disk before it acknowledges
	// it. By default it leaves that to the operating system, as Kafka does:
	// acknowledged records survive a kill of the process, but may be lost in a
	// power failure.
	Sync bool

	// Log gets the messages for the operator; nil means slog.Default.
	Log *slog.Logger
}

// Topic is a topic to create.
type Topic struct {
	Name       string
	Partitions int               // 1 by default
	Config     map[string]string // such as retention.ms; nil for Kafka's defaults
}
