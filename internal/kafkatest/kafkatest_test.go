//go:build prove

package kafkatest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"weir/internal/await"
)

// answers tells whether something listens at addr.
func answers(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// A helper process is killed with kill -9 while its broker runs; the broker
// and its directory must go too. In `make test`, TestBrokerKilled of package ingest kills
// and starts a broker.
func TestNothingOutlivesItsStarter(t *testing.T) {
	Wanted(t)
	if os.Getenv("KAFKATEST_HELPER") != "" {
		k := Start(t, Config{})
		fmt.Println("up", k.Addrs()[0], k.dir)
		time.Sleep(time.Hour)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingOutlivesItsStarter$")
	cmd.Env = append(os.Environ(), "KAFKATEST_HELPER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	var addr, dir string
	if _, scan := fmt.Sscanf(line, "up %s %s", &addr, &dir); scan != nil {
		rest, _ := io.ReadAll(out)
		t.Fatalf("the helper said %q (%v) %s", line, err, rest)
	}
	cmd.Process.Kill()
	cmd.Wait()
	await.Until(t, func() error {
		if _, err := os.Stat(dir); !os.IsNotExist(err) || answers(addr) {
			return errors.Join(fmt.Errorf("its starter was killed: broker answers %v, its directory is there", answers(addr)), err)
		}
		return nil
	})
}
