package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An instance identifies one run of weir: it makes the client id under which
// Kafka lists the process. A killed process stays a member of its groups until
// its session expires. Its successor on the same host recognises it by this id,
// and removes it from the groups (ingest.Config.Gone).
type instance struct {
	host  string
	pid   int
	start int64 // ms since 1970; in a container that starts again the pid is the same
}

var self = thisInstance()

func thisInstance() instance {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return instance{host, os.Getpid(), time.Now().UnixMilli()}
}

// String is weir-<host>-<pid>-<start>.
func (i instance) String() string {
	return fmt.Sprintf("weir-%s-%d-%s", i.host, i.pid, strconv.FormatInt(i.start, 36))
}

// parseInstance reads what String wrote. A host may have dashes.
func parseInstance(id string) (i instance, ok bool) {
	id, ok = strings.CutPrefix(id, "weir-")
	last := strings.LastIndexByte(id, '-')
	if !ok || last < 0 {
		return i, false
	}
	middle := strings.LastIndexByte(id[:last], '-')
	if middle < 0 {
		return i, false
	}
	var err1, err2 error
	i.host = id[:middle]
	i.pid, err1 = strconv.Atoi(id[middle+1 : last])
	i.start, err2 = strconv.ParseInt(id[last+1:], 36, 64)
	return i, err1 == nil && err2 == nil && i.pid > 0
}

// succeeds reports whether the client id belongs to a dead process of this host: no process has
// its pid, or this one has. If hosts share a name, it may take a living process for dead, which
// costs that process a rebalance.
func (i instance) succeeds(clientID string) bool {
	other, ok := parseInstance(clientID)
	if !ok || other.host != i.host || other == i {
		return false
	}
	return other.pid == i.pid || !alive(other.pid)
}

// alive reports whether a process runs. A zombie is dead, though it accepts signals until its
// parent collects it.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// pid (name) state …, and a name may hold blanks and brackets.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if len(state) > 0 && (state[0] == 'Z' || state[0] == 'X') {
			return false
		}
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
