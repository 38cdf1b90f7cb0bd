// Package bounded reads files that a user has named, whatever they are.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// pipeWait is how long the writer of a pipe may take until it closes it.
const pipeWait = 10 * time.Second

// ReadFile reads a file that a user has named, at most most bytes of it. A
// device without an end, or a pipe without a writer, gives an error instead of
// waiting for ever. Pipes work, as in `weir check -c <(template)`.
//
// The error says what is wrong, and leaves the file's name to the caller.
func ReadFile(name string, most int) ([]byte, error) { return readFile(name, most, pipeWait) }

func readFile(name string, most int, wait time.Duration) ([]byte, error) {
	// Without O_NONBLOCK, even opening a pipe without a writer would wait.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, plain(err)
	case info.IsDir():
		return nil, errors.New("it is a directory")
	}
	_ = f.SetReadDeadline(time.Now().Add(wait)) // plain files have no deadline and need none
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("the writer of this pipe has not closed it within %s", wait)
	case err != nil:
		return nil, plain(err)
	case len(data) > most:
		return nil, fmt.Errorf("it is larger than %s", size(most))
	case len(data) == 0 && info.Mode()&fs.ModeNamedPipe != 0:
		return nil, errors.New("nothing writes into this pipe")
	}
	return data, nil
}

// plain returns an error of the file system without the name of the file.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// size formats a bound.
func size(n int) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}
