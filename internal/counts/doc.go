// Package counts counts keys of 32 bits in many small bags: the buckets of a histogram, or the
// keys of a list, of each of a hundred thousand groups.
//
//	pool := new(counts.Pool)
//	pool.Grow(2)
//	pool.Add(1, 7)
//	for _, w := range pool.Append(nil, 1) {
//		fmt.Println(counts.Key(w), counts.Count(w))
//	}
//
// Nothing here is safe for concurrent use.
package counts
