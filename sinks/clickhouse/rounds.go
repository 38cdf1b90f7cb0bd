package clickhouse

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Rounds order the rows that are written against rollups, so that a rollup
// knows which rows it may lack. They use no clock: a round is a logical time in
// Lamport's sense, a number that only grows.
//
// Each job has a current round, kept in weir_rollups (opened) and merged by
// maximum. A round that is noted as done was opened, and counts as such even if
// the row that said so was lost since: else all that is written would be of a
// round that is done. Every row that a rollup is made from says in which round it is
// written: flushed_in of a state row, rolled_in of a row of a rollup. A rollup
// notes the round up to which it holds everything (done). The rows of round
// done and later may be missing in it: they are the live tail of the view, and
// what the next rollup looks at.
//
//	a writer                             a rollup
//	1 stamp rows with round r            1 read opened = t-1, done = d
//	2 insert them; they are there        2 open round t; it is there
//	3 read opened = p                    3 read the rows of round d and later
//	4 p ≤ r: acknowledged                4 roll their windows up, but leave open ones
//	  p > r: overtaken, from 1 again     5 note done = t, or the first round of what is left
//
// No row is missed. Let a row of round r be acknowledged, and let a rollup of round t
// note done > r, so t > r. The writer read p ≤ r at its step 3, so round t was not open
// then. The rollup reads rows at its step 3, with round t open: later than the
// writer read, so the row is there. The rollup sees it if it looks back as far
// as r; and of all rollups that note more than r, the first to note has read
// d ≤ r. It did not leave the row, because it would have noted r at most. Hence a reader
// that finds done > r finds the window rolled up with the row, if it looks at the rollup
// afterwards, and one that finds done ≤ r finds the row in the live tail.
//
// For the same reason a process may leave out windows that it has rolled up itself in
// round m if all their rows are of earlier rounds.
//
// This is Dekker's pattern: each side writes first and reads second, so at
// least one of the two sees the other. Neither side has to be quick:
//
//   - A writer that stalls anywhere, through any number of rollups, is
//     overtaken, and sends the same rows again.
//   - A rollup that stalls, dies, fails or runs beside others has noted
//     nothing, or only what holds. The next one looks back as far.
//   - Rows of a writer that died before step 4 are in no ledger line: the next
//     owner of the partition counts the same events again, under a round of
//     its own. The rows of a zombie are below these.
//
// The levels of rollups are a chain of this: a rollup is a writer to the rollup
// that is made from it, and notes its own progress when its rows are
// acknowledged in that sense.
//
// Liveness: a writer that is overtaken twice in a row stamps its next rows ahead by twice
// the number of rounds that went by meanwhile, and so is not overtaken again at
// the same pace. A row that is stamped ahead stays in the live tail for longer,
// and its window is rolled up more often.
//
// On replicas, "is there" holds for the replicas that acknowledged, and both
// reads may ask another one that lags. Against that a rollup looks further
// back once a minute: see Sink.sweep. Beyond it the audit finds the window, and
// repairs it.
type rounds struct {
	mu     sync.Mutex
	opened uint64
	asked  time.Time
	fell   int // how often it was less than before
}

const (
	// freshRound is how old the last reading of the current round may be for a
	// writer to stamp rows with it. An older one is read anew first, because
	// the rows would likely be overtaken: it decides nothing but the cost.
	freshRound = 2 * time.Second

	// farAhead is how far a row's round may be ahead of the current one for
	// the rollup to let the rounds pass one by one. Beyond, what was noted was
	// lost (rows of weir_rollups were deleted), and the rounds go on from the
	// rows. It decides nothing but the cost.
	farAhead = 1024
)

// store keeps the current round, which was just read. It may be less than
// before: on a replica that lags, or after weir_rollups was truncated.
func (r *rounds) store(opened uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if opened < r.opened {
		r.fell++
	}
	r.opened, r.asked = opened, time.Now()
}

// falls returns how often the current round was less than before. What is remembered of
// rounds before that means nothing any more.
func (r *rounds) falls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fell
}

// known returns the stored round if it was read less than freshRound ago.
func (r *rounds) known() (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened, time.Since(r.asked) < freshRound
}

// round reads the job's current round.
func (s *Sink) round(ctx context.Context) (opened uint64, err error) {
	err = s.client.query(ctx, "read the current round", s.currentRound(), func(scan func(...any) error) error { return scan(&opened) })
	if err == nil {
		s.rounds.store(opened)
	}
	return opened, err
}

// currentRound returns the query for the current round.
func (s *Sink) currentRound() string {
	return fmt.Sprintf("SELECT greatest(max(opened), max(done)) FROM %s WHERE %s%s", s.client.name("weir_rollups"), s.layout.where(), byKey)
}

// inRound calls insert with the round to stamp rows with. It repeats that until
// the rows were there before a later round was opened. ahead belongs to the
// caller and is kept from call to call.
func (s *Sink) inRound(ctx context.Context, ahead *uint64, insert func(round uint64) error) error {
	opened, fresh := s.rounds.known()
	if !fresh {
		var err error
		if opened, err = s.round(ctx); err != nil {
			return err
		}
	}
	for first := *ahead == 0; ; first = false {
		stamp := opened + *ahead
		if err := insert(stamp); err != nil {
			return err
		}
		now, err := s.round(ctx)
		if err != nil {
			return err
		}
		*ahead = 2 * (max(now, opened) - opened)
		if now <= stamp {
			return nil
		}
		if first { // a round that was opened by chance just then
			*ahead = 0
		}
		opened = now
	}
}
