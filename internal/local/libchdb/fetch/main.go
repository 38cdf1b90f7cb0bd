// Command fetch gets the pinned ClickHouse engine into the checkout, once.
// It is what `make engine` runs; it prints the library's path on stdout and
// everything else on stderr.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"weir/internal/local/libchdb"
)

func main() {
	dir := flag.String("dir", "", "engine directory (default: "+libchdb.Dir+" of the checkout)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) (err error) {
	if dir == "" {
		if dir, err = libchdb.Checkout(); err != nil {
			return err
		}
	}
	path, err := libchdb.Fetch(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}
