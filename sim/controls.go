package sim

import "fmt"

// Within is in how many seeds each mistake has to be found: as many as make test simulates.
const Within = 1000

// Plant puts a mistake that is in the core there, for the Runs that follow;
// None takes it out. It fails in builds without the tag "mistakes". Mistakes
// outside the core need no planting.
func Plant(m Mistake) error {
	if !m.InCore() {
		m = None
	}
	if m != None && !plantable {
		return fmt.Errorf("sim: %s is a mistake in the core, and takes a build with -tags mistakes", m)
	}
	plant(m)
	return nil
}

// Control plants a mistake and returns the first of the seeds' runs that
// finds it.
func Control(m Mistake) (found Result, ok bool, err error) {
	if err := Plant(m); err != nil {
		return Result{}, false, err
	}
	defer plant(None)
	for seed := range uint64(Within) {
		if r := Run(seed, Options{Mistake: m}); r.Failed() {
			return r, true, nil
		}
	}
	return Result{}, false, nil
}
