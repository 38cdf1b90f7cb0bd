// Package idset keeps sets of ids of any form by hashes of 32 bits.
//
//	pool := new(idset.Pool)
//	pool.Grow(1)
//	pool.Add(0, hash)           // one of an id
//	n := idset.Count(pool.Len(0))
//
// Two ids may share a hash. [Count] corrects for that; of a set of n ids, an id that is not in
// it has the hash of one that is with a chance of n in 2^32.
//
// A set is stored as the array of its hashes ([Pool.AppendState]). As a bitmap of containers
// (Roaring), nearly each hash of a set of less than 65,536 would be in a container of its own,
// of ten bytes and an allocation for each reader.
//
// Nothing here is safe for concurrent use.
package idset
