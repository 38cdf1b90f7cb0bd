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

// An instance is one run of weir, told from all others: the client id under
// which Kafka lists it. A process that was killed is still a member of its
// groups until its session expires; its successor on the same host recognises
// it by this, and takes it out of them (ingest.Config.Gone).
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

// succeeds reports whether the client id is that of a process of this host
// which is dead: there is none with its pid, or this one has it now. Where
// hosts share a name it may be wrong about a process it cannot see, which
// costs that one a rebalance.
func (i instance) succeeds(clientID string) bool {
	other, ok := parseInstance(clientID)
	if !ok || other.host != i.host || other == i {
		return false
	}
	return other.pid == i.pid || !alive(other.pid)
}

// alive reports whether a process runs. One that was killed and that its parent
// has not asked after yet answers signals, and is dead all the same.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// pid (name) state …, and a name may hold blanks and brackets.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if len(state) > 0 && (state[0] == 'Z' || state[0] == 'X') {
			return false
		}
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }() // only forgets the handle
	err = p.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}
