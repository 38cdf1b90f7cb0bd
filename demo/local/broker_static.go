//go:build static

package local

import "context"

// Broker stands for the embedded broker, which this binary does not have: it
// would make the image a fifth larger, and is of no use without an engine.
type Broker struct{}

// StartBroker returns an error: this binary has no broker.
func StartBroker(context.Context, BrokerConfig) (*Broker, error) { return nil, embedded() }

func (*Broker) Addr() string { return "" }
func (*Broker) Close() error { return nil }
