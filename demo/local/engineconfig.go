package local

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
)

// EngineConfig says where and how the embedded ClickHouse runs.
type EngineConfig struct {
	// Listen is the HTTP address, 127.0.0.1:8123 by default. An address without a
	// host, such as ":8123", means loopback as well; to let other machines reach
	// the engine, name an address of this machine. The engine has no accounts:
	// every client that reaches the port can read and write every table, and files
	// with the rights of the process. Port 0 is any free port.
	Listen string

	// Data is the directory of the tables, made if missing. One engine at a
	// time may have it.
	Data string

	// Library is the path of libchdb.so; empty means libchdb.Find.
	Library string

	// Memory is how many bytes the engine may use in all, half the machine's
	// by default and at least 512 MiB. One query may use three quarters of it.
	Memory int64

	// Settings are ClickHouse settings for every session, by name, in addition to
	// engineSettings. A request may set others.
	Settings map[string]string

	// Log gets the messages for the operator; nil means slog.Default.
	Log *slog.Logger
}

// engineSettings are the settings of every session of an engine.
var engineSettings = map[string]string{
	// Machine code for expressions pays for itself in statements over many rows. The
	// many small ones of weir cost a seventh less processor time without it.
	"compile_expressions":           "0",
	"compile_aggregate_expressions": "0",
	"compile_sort_description":      "0",
}

// withDefaults fills in what is left out and checks the rest.
func (c EngineConfig) withDefaults() (EngineConfig, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Data == "" {
		return c, errors.New("a data directory is needed")
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return c, fmt.Errorf("data: %w", err)
	}
	c.Data = data
	if c.Listen, err = loopback(c.Listen, "8123"); err != nil {
		return c, fmt.Errorf("listen: %w", err)
	}
	if c.Library == "" {
		if c.Library, err = FindEngine(); err != nil {
			return c, err
		}
	}
	if c.Memory == 0 {
		total, err := machineMemory()
		if err != nil {
			return c, err
		}
		c.Memory = max(total/2, 512<<20)
	}
	if c.Memory < 512<<20 {
		return c, fmt.Errorf("memory %d is too little; 512 MiB is the least the engine starts and merges in", c.Memory)
	}
	settings := maps.Clone(engineSettings)
	settings["max_memory_usage"] = fmt.Sprint(c.Memory / 4 * 3)
	maps.Copy(settings, c.Settings)
	c.Settings = settings
	return c, nil
}

// loopback completes an address: without a host it gets 127.0.0.1, and an empty
// one also gets the default port.
func loopback(addr, port string) (string, error) {
	if addr == "" {
		return net.JoinHostPort("127.0.0.1", port), nil
	}
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, p), nil
}
