// Package spelling guesses what a misspelt name was meant to be, and gives a noun the ending
// that its number asks for.
package spelling

import "strings"

// Nearest returns the candidate that word was most likely meant to be, or "".
// The distance is Damerau's (insert, delete, replace, swap neighbours), and a
// third of the letters may differ.
func Nearest(word string, candidates []string) string {
	const longest = 64 // a key is short; a pasted megabyte is no misspelling
	if len(word) > longest {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if c == "" {
			continue
		}
		if d := Distance(strings.ToLower(word), c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Distance returns the optimal string alignment distance of two short words.
func Distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
