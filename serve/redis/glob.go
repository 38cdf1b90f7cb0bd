package redis

// match reports whether a key matches a pattern of KEYS: * stands for any
// bytes, ? for any byte, [abc], [a-z] and [^a] for one byte of a set, and \x
// for x itself. As in Redis, a set without ] ends with the pattern.
//
// On a mismatch, match goes back to the last star only. That suffices, and
// keeps the time within the product of the lengths.
//
// An empty key matches * and the empty pattern only: Redis looks at no star of another
// pattern before it has a byte of the key.
func match(pattern, key string) bool {
	if key == "" {
		return pattern == "" || pattern == "*"
	}
	p, k := 0, 0
	star, from := -1, 0 // the position after the last star, and the position in key where its bytes end
	for k < len(key) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, from = p, k
			continue
		}
		if next, ok := matchOne(pattern, p, key[k]); ok {
			p = next
			k++
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, k = star, from
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte with the pattern element at p, and returns the
// position after it.
func matchOne(pattern string, p int, c byte) (next int, ok bool) {
	if p == len(pattern) {
		return p, false
	}
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return matchSet(pattern, p+1, c)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return p + 1, pattern[p] == c
}

func matchSet(pattern string, p int, c byte) (next int, ok bool) {
	not := p < len(pattern) && pattern[p] == '^'
	if not {
		p++
	}
	found := false
	for ; p < len(pattern) && pattern[p] != ']'; p++ {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			found = found || pattern[p] == c
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := pattern[p], pattern[p+2]
			found = found || min(low, high) <= c && c <= max(low, high)
			p += 2
		default:
			found = found || pattern[p] == c
		}
	}
	return min(p+1, len(pattern)), found != not
}
