//go:build static

package local

import "context"

// Broker is the embedded broker, which this binary does not have: it would make
// the image a fifth larger, and without an engine there is no use for it.
type Broker struct{}

// StartBroker says that there is none.
func StartBroker(context.Context, BrokerConfig) (*Broker, error) { return nil, embedded() }

func (*Broker) Addr() string { return "" }
func (*Broker) Close() error { return nil }
