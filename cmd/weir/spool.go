package main

import (
	"bytes"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

// A spool is a queue between the log of a process and its standard error. Standard error may be
// a stopped terminal, or a pipe without a reader. If spoolLines lines wait, further lines are
// lost and counted, so that no part of the process waits for the reader of its log.
type spool struct {
	to    io.Writer
	lines chan spooled
	lost  atomic.Int64
	say   atomic.Pointer[slog.Logger] // writes directly to to; only the goroutine uses it
}

// spooled is a line, or, with last, the message that ends the goroutine.
type spooled struct {
	line []byte
	last chan struct{}
}

const (
	spoolLines = 1024
	spoolEnd   = time.Second // how long the end of the process waits for a reader
)

func newSpool(to io.Writer) *spool {
	s := &spool{to: to, lines: make(chan spooled, spoolLines)}
	go s.run()
	return s
}

// Write takes one line and never waits.
func (s *spool) Write(line []byte) (int, error) {
	select {
	case s.lines <- spooled{line: bytes.Clone(line)}:
	default:
		s.lost.Add(1)
	}
	return len(line), nil
}

func (s *spool) run() {
	for l := range s.lines {
		if l.last != nil {
			close(l.last)
			return
		}
		_, _ = s.to.Write(l.line) // the reader may be gone: see outliveReaders
		if say := s.say.Load(); say != nil && s.lost.Load() > 0 {
			say.Warn("lines of this log are lost: what reads standard error did not keep up", "lines", s.lost.Swap(0))
		}
	}
}

// Close waits until the lines written before it are read, for spoolEnd at most.
func (s *spool) Close() error {
	end := time.After(spoolEnd)
	last := make(chan struct{})
	select {
	case s.lines <- spooled{last: last}:
	case <-end:
		return nil
	}
	select {
	case <-last:
	case <-end:
	}
	return nil
}
