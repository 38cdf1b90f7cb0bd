package sim

import "fmt"

// Within is in how many seeds each mistake has to be found: as many as make test simulates.
const Within = 1000

// Plantable reports whether this build can Plant mistakes of the core: whether it was built with an [Overlay].
func Plantable() bool { return plant != nil }

// Plant puts a mistake that is in the core there, for the Runs that follow, and takes out the one
// before. Mistakes outside the core need no planting.
func Plant(m Mistake) error {
	switch {
	case Plantable():
		plant(m)
	case m.InCore():
		return fmt.Errorf("sim: %s is a mistake in the core, and this build has none", m)
	}
	return nil
}

// Control plants a mistake and returns the first of the seeds' runs that
// finds it.
func Control(m Mistake) (found Result, ok bool, err error) {
	if err := Plant(m); err != nil {
		return Result{}, false, err
	}
	for seed := range uint64(Within) {
		if r := Run(seed, Options{Mistake: m}); r.Failed() {
			return r, true, nil
		}
	}
	return Result{}, false, nil
}
