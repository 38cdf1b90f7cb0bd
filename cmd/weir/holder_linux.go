package main

import (
	"bufio"
	endian "encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holder names the program that listens on an address, with its process number,
// if the kernel shows it to this user.
func holder(addr string) string {
	const unknown = "another process"
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return unknown
	}
	sockets := map[string]bool{} // in the form of the links in /proc
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listening(table, a, sockets)
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // those of other users cannot be read
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || !sockets[target] {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
		if pid == os.Getpid() {
			return "this process itself, for another key"
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			return unknown
		}
		return fmt.Sprintf("%s (process %d)", strings.TrimSpace(string(name)), pid)
	}
	return unknown
}

// listening collects the sockets of a table that listen on the address, or on
// one that conflicts with it.
func listening(table string, a *net.TCPAddr, into map[string]bool) {
	f, err := os.Open(table)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
		field := strings.Fields(lines.Text())
		if len(field) < 10 || field[3] != "0A" {
			continue
		}
		host, port, _ := strings.Cut(field[1], ":")
		if n, err := strconv.ParseUint(port, 16, 16); err != nil || int(n) != a.Port {
			continue
		}
		ip, err := hex.DecodeString(host)
		if err != nil {
			continue
		}
		for i := 0; i+4 <= len(ip); i += 4 { // words in the machine's order
			endian.NativeEndian.PutUint32(ip[i:], endian.BigEndian.Uint32(ip[i:]))
		}
		if at := net.IP(ip); at.Equal(a.IP) || at.IsUnspecified() || a.IP == nil || a.IP.IsUnspecified() {
			into["socket:["+field[9]+"]"] = true
		}
	}
}
