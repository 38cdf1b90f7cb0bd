package ingest

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
)

// The versions of each request that this package writes, and whose responses it
// reads. The greatest version of each is the first that has all that the package uses;
// least is the first of which it can do without the rest:
//
//	Fetch 13          names topics by their ids (KIP-516); below it see loop.recheck
//	Fetch 11          names the rack (KIP-392); below it partitions are read from their leaders
//	Fetch 9           names the leader's epoch (KIP-320); below it a broker that has lost the
//	                  leadership and does not know it yet answers from its own log
//	Metadata 10       tells the topic's id; below it a recreated topic is not noticed as such
//	JoinGroup 4       gives a member its id before it joins (KIP-394)
//	LeaveGroup 3      takes several members; below it there is one request for each
//	OffsetFetch, OffsetCommit, ListOffsets, …: fields that are read or left out
//
// All versions of the group's requests are written without tagged fields, so
// none of them is flexible (KIP-482).
var supported = map[protocol.ApiKey]struct{ least, most int16 }{
	protocol.Fetch:           {4, fetchByID},
	protocol.Metadata:        {4, 10},
	protocol.ListOffsets:     {2, 5},
	protocol.FindCoordinator: {0, 2},
	protocol.JoinGroup:       {1, 5},
	protocol.SyncGroup:       {0, 3},
	protocol.Heartbeat:       {0, 3},
	protocol.LeaveGroup:      {0, 3},
	protocol.DescribeGroups:  {0, 4},
	protocol.OffsetFetch:     {1, 5},
	protocol.OffsetCommit:    {2, 7},
	protocol.DescribeConfigs: {0, 3},
	describeProducers:        {0, 0},
}

// fetchByID is the first version of Fetch that names topics by their ids: the broker
// itself then refuses a recreated topic, without a time between a check of the id and
// the fetch.
const fetchByID = 13

// flexible reports whether a version is written with compact lengths and tagged
// fields (KIP-482).
func flexible(api protocol.ApiKey, version int16) bool {
	switch api {
	case protocol.Fetch:
		return version >= 12
	case protocol.Metadata:
		return version >= 9
	}
	return api == describeProducers
}

// A dialect is the version of each request to use with one broker: the greatest that
// both sides support. A request that the broker does not support is missing.
type dialect map[protocol.ApiKey]int16

// ceiling holds the versions down, by api; tests set it to meet a real broker as if it
// were an older one.
var ceiling dialect

// of returns the version to use of a request. It wraps ErrOldBroker if there is none.
func (d dialect) of(api protocol.ApiKey) (int16, error) {
	v, ok := d[api]
	if !ok {
		return 0, fmt.Errorf("%w: it does not support %v from version %d", ErrOldBroker, api, supported[api].least)
	}
	return v, nil
}

// common returns the versions that the brokers of both dialects support.
func (d dialect) common(o dialect) dialect {
	both := make(dialect, len(d))
	for api, v := range d {
		if other, ok := o[api]; ok {
			both[api] = min(v, other)
		}
	}
	return both
}

// dialectOf chooses the versions for a broker that tells its own. It wraps ErrOldBroker if
// one of the requests is missing without which nothing can be read.
func dialectOf(r *apiversions.Response) (dialect, error) {
	d := make(dialect, len(supported))
	for _, theirs := range r.ApiKeys {
		api, most := protocol.ApiKey(theirs.ApiKey), theirs.MaxVersion
		if top, ok := ceiling[api]; ok {
			most = min(most, top)
		}
		if ours, ok := supported[api]; ok && theirs.MinVersion <= ours.most && ours.least <= most {
			d[api] = min(most, ours.most)
		}
	}
	for _, api := range []protocol.ApiKey{protocol.Fetch, protocol.Metadata, protocol.ListOffsets} {
		if _, err := d.of(api); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// newCall begins a request to a broker, in the version that both support.
func (s *Source) newCall(ctx context.Context, api protocol.ApiKey, broker int32) (*call, error) {
	d, err := s.conns.dialect(ctx, broker)
	if err != nil {
		return nil, err
	}
	c := &call{api: api, broker: broker, limit: smallResponse}
	if c.version, err = d.of(api); err != nil {
		return nil, err
	}
	c.begin(s.config.ClientID)
	return c, nil
}
