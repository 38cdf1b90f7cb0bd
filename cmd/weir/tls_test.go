package main

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/config"
	"weir/internal/kafkatest"
)

// TestRenewedCertificate: the next handshake uses a client certificate that was
// replaced on disk. Files without a certificate are refused at the start.
func TestRenewedCertificate(t *testing.T) {
	dir := t.TempDir()
	c := config.TLS{CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	renew := func() []byte {
		t.Helper()
		cert, err := kafkatest.Certify(time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string][]byte{c.CAFile: cert.CertPEM, c.CertFile: cert.CertPEM, c.KeyFile: cert.KeyPEM} {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		block, _ := pem.Decode(cert.CertPEM)
		return block.Bytes
	}
	want := renew()
	conf, err := tlsConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		got, err := conf.GetClientCertificate(nil)
		if err != nil || !bytes.Equal(got.Certificate[0], want) {
			t.Errorf("round %d: another certificate than that of the file, %v", round, err)
		}
		want = renew()
	}
	for name, bad := range map[string]config.TLS{
		"no such authority":  {CAFile: filepath.Join(dir, "none.pem")},
		"a key as authority": {CAFile: c.KeyFile},
		"no such key":        {CertFile: c.CertFile, KeyFile: filepath.Join(dir, "none.pem")},
		"no key in the file": {CertFile: c.CertFile, KeyFile: c.CertFile},
	} {
		if _, err := tlsConfig(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
