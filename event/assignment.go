package event

// An Assignment is one partition as it is handed to an owner: what the group
// says of it and what the log says of itself.
type Assignment struct {
	Partition int32
	Committed int64    // next offset according to the group; -1: none
	LogStart  int64    // first offset still in the log
	LogEnd    int64    // next offset to be written (high watermark)
	TopicID   [16]byte // tells a recreated topic from its predecessor (KIP-516)
}
