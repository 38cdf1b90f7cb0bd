package kafkatest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
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

func TestKillAndRunAgain(t *testing.T) {
	k := Start(t, Config{
		Listeners: []Listener{{Name: "SECURE", Security: "SASL_SSL"}},
		Users:     map[string]string{"ada": "lovelace"},
	})
	addr := k.Addrs()[0]
	if !answers(addr) {
		t.Fatalf("nothing answers at %s", addr)
	}
	c, err := tls.Dial("tcp", k.Listener("SECURE")[0], &tls.Config{RootCAs: k.TLS.Pool})
	if err != nil {
		t.Fatalf("the TLS listener: %v", err)
	}
	c.Close()
	k.Kill(1)
	if answers(addr) {
		t.Fatalf("something still answers at %s", addr)
	}
	if err := k.Run(1); err != nil {
		t.Fatal(err)
	}
	if !answers(addr) {
		t.Fatalf("nothing answers at %s after the restart", addr)
	}
	k.Close()
	if _, err := os.Stat(k.dir); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", k.dir, err)
	}
}

func TestBadPropertySaysWhy(t *testing.T) {
	Wanted(t)
	_, err := Launch(Config{Properties: map[string]string{"num.io.threads": "0"}})
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") {
		t.Errorf("a broker with an impossible setting: %v; want an error that names num.io.threads", err)
	}
}

// A helper process is killed with kill -9 while its broker runs; the broker
// and its directory must go too.
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

func TestMissingJavaSaysWhatToInstall(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir() // a PATH with everything the script needs but Java
	for _, tool := range []string{"bash", "env", "dirname", "cat", "cksum", "mkdir", "flock"} {
		at, err := exec.LookPath(tool)
		if err != nil {
			continue
		}
		if err := os.Symlink(at, bin+"/"+tool); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("KAFKA_CACHE", t.TempDir())
	err = fetch(root + "/internal/kafkatest/kafka.sh")
	if err == nil || !strings.Contains(err.Error(), "install Java") {
		t.Errorf("without Java: %v; want what to install", err)
	}
}
