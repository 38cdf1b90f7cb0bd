package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/bench/internal/testbed"
)

// compare measures builds of weir against each other instead of weir against the naive
// pipeline: the builds take turns on one topic, and the figures are the medians of the
// rounds. It checks no floor and keeps no result.
func compare(g *testbed.Bed, topic string, builds []string, counted *users) error {
	costs := make([][]side, len(builds))
	round := 0
	for range *rounds + 1 { // the first one warms up
		for i, build := range builds {
			round++
			s, _, err := readWithWeir(g, build, fmt.Sprint("bench", i), topic, round, false, counted)
			if err != nil {
				return fmt.Errorf("%s: %w", build, err)
			}
			costs[i] = append(costs[i], s)
			fmt.Fprintf(os.Stderr, "%-20s %6.2f CPU s %6.2f engine %6.2f wall %5d MiB\n", filepath.Base(build), s.CPU.Seconds(), s.engine.Seconds(), s.Wall.Seconds(), s.Peak>>20)
		}
	}
	fmt.Printf("%-20s %14s %8s %8s %8s %9s %9s\n", "build", "events/CPU-s", "CPU s", "engine s", "wall s", "peak MiB", "CPU ratio")
	for i, build := range builds {
		of := costs[i][1:]
		var s side
		s.Wall = median(of, func(s side) time.Duration { return s.Wall })
		s.CPU = median(of, func(s side) time.Duration { return s.CPU })
		s.Peak = median(of, func(s side) int64 { return s.Peak })
		// Neighbours in time suffer the same noise, so the ratio is that of each round.
		ratios := make([]float64, len(of))
		for k := range of {
			ratios[k] = of[k].CPU.Seconds() / costs[0][k+1].CPU.Seconds()
		}
		fmt.Printf("%-20s %14.0f %8.2f %8.2f %8.2f %9.0f %9.3f\n", filepath.Base(build), s.perSecond(), s.CPU.Seconds(),
			median(of, func(s side) time.Duration { return s.engine }).Seconds(), s.Wall.Seconds(), float64(s.Peak)/(1<<20), testbed.Median(ratios))
	}
	return nil
}

func median[T cmp.Ordered](sides []side, of func(side) T) T {
	var all []T
	for _, s := range sides {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// list splits the flag of the builds.
func list(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
