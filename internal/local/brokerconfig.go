package local

import "log/slog"

// BrokerConfig says where and how the embedded Kafka broker runs.
type BrokerConfig struct {
	// Listen is the Kafka address, 127.0.0.1:9092 by default. An address
	// without a host, such as ":9092", means loopback as well. Port 0 is any
	// free port, remembered in Data: the next start takes the same one if it
	// can, so that clients find the broker again.
	Listen string

	// Advertise is the address clients are told to come back to, host:port.
	// By default it is the address listened on, so it is needed where that is
	// no address for others, such as 0.0.0.0.
	Advertise string

	// Data is the directory of the logs, made if missing; empty keeps them in
	// memory. One broker at a time may have it.
	Data string

	// Topics are created if missing. One that exists is left as it is.
	Topics []Topic

	// Sync makes the broker flush every batch to the disk before it
	// acknowledges it. By default it does as Kafka does and leaves that to the
	// operating system: what was acknowledged survives a kill of the process,
	// and may be lost with the machine's power.
	Sync bool

	// Log gets what an operator should know; nil means slog.Default.
	Log *slog.Logger
}

// Topic is a topic to create.
type Topic struct {
	Name       string
	Partitions int               // 1 by default
	Config     map[string]string // such as retention.ms; nil for Kafka's defaults
}
