package geo

// partialSort puts the n least elements of a into their sorted places, where n
// ≤ len(a), by the quicksort of Bentley and McIlroy ("Engineering a sort
// function", 1993) which does not sort the parts that lie at n and above.
//
// The algorithm decides the order of equal elements. Redis sorts hits with it
// when there are more than COUNT, so members at equal distance come in the same
// order here, and the same ones are among the first n. Any change of a pivot or
// a swap would break that.
func partialSort[E any](a []E, n int, compare func(a, b *E) int) {
	for n > 0 {
		if len(a) < 7 {
			for i := 1; i < len(a); i++ {
				for j := i; j > 0 && compare(&a[j-1], &a[j]) > 0; j-- {
					a[j-1], a[j] = a[j], a[j-1]
				}
			}
			return
		}
		pivot := choosePivot(a, compare)
		a[0], a[pivot] = a[pivot], a[0]

		// Invariant: [0,p) equal, [p,i) less, [i,j] unknown, (j,q] greater,
		// (q,len) equal.
		p, i, j, q := 1, 1, len(a)-1, len(a)-1
		for {
			for ; i <= j; i++ {
				c := compare(&a[i], &a[0])
				if c > 0 {
					break
				}
				if c == 0 {
					a[p], a[i] = a[i], a[p]
					p++
				}
			}
			for ; i <= j; j-- {
				c := compare(&a[j], &a[0])
				if c < 0 {
					break
				}
				if c == 0 {
					a[j], a[q] = a[q], a[j]
					q--
				}
			}
			if i > j {
				break
			}
			a[i], a[j] = a[j], a[i]
			i, j = i+1, j-1
		}
		// The equal ones move from both ends to the middle.
		swapRanges(a, 0, i, min(p, i-p))
		swapRanges(a, i, len(a), min(q-j, len(a)-1-q))

		less, greater := i-p, q-j
		if less > 1 {
			partialSort(a[:less], min(n, less), compare)
		}
		if greater <= 1 {
			return
		}
		first := len(a) - greater
		a, n = a[first:], n-first
	}
}

// swapRanges exchanges the n elements at from with the n that end at end.
func swapRanges[E any](a []E, from, end, n int) {
	for i := range n {
		a[from+i], a[end-n+i] = a[end-n+i], a[from+i]
	}
}

// choosePivot returns the middle element of a small slice, the median of three of
// a larger one, and the median of three medians of a large one.
func choosePivot[E any](a []E, compare func(a, b *E) int) int {
	median := func(i, j, k int) int {
		if compare(&a[i], &a[j]) < 0 {
			switch {
			case compare(&a[j], &a[k]) < 0:
				return j
			case compare(&a[i], &a[k]) < 0:
				return k
			}
			return i
		}
		switch {
		case compare(&a[j], &a[k]) > 0:
			return j
		case compare(&a[i], &a[k]) < 0:
			return i
		}
		return k
	}
	low, middle, high := 0, len(a)/2, len(a)-1
	if len(a) > 40 {
		d := len(a) / 8
		low = median(low, low+d, low+2*d)
		middle = median(middle-d, middle, middle+d)
		high = median(high-2*d, high-d, high)
	}
	if len(a) > 7 {
		middle = median(low, middle, high)
	}
	return middle
}
