package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// halves divides the CPUs that this process may use into two halves: for the
// measured processes, and for the rest. With a single CPU both halves are that
// one.
func halves() (ours, others unix.CPUSet, err error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return ours, others, os.NewSyscallError("sched_getaffinity", err)
	}
	if all.Count() == 1 {
		return all, all, nil
	}
	for cpu, n := 0, 0; n < all.Count(); cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		if n++; n <= all.Count()/2 {
			ours.Set(cpu)
		} else {
			others.Set(cpu)
		}
	}
	return ours, others, nil
}

// settle moves this process to some CPUs. Processes that it starts from then on
// run there too.
func settle(cpus *unix.CPUSet) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, cpus); err != nil && err != unix.ESRCH {
			return os.NewSyscallError("sched_setaffinity", err)
		}
	}
	return nil
}

// startOn starts a process on some CPUs, while this process stays on others.
func startOn(cpus, others *unix.CPUSet, cmd *exec.Cmd) error {
	runtime.LockOSThread() // a process inherits from the thread that starts it
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, cpus); err != nil {
		return os.NewSyscallError("sched_setaffinity", err)
	}
	return errors.Join(cmd.Start(), os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, others)))
}
