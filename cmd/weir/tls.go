package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"weir/config"
	"weir/internal/bounded"
)

// tlsConfig reads the files of one encrypted connection.
func tlsConfig(c config.TLS) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CAFile != "" {
		pem, err := readPEM(c.CAFile)
		if err != nil {
			return nil, err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form", c.CAFile)
		}
	}
	if c.CertFile != "" {
		if _, err := keyPair(c); err != nil {
			return nil, err
		}
		// The files are read for each handshake, because certificates are renewed
		// while the process runs.
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := keyPair(c)
			return &cert, err
		}
	}
	return t, nil
}

func keyPair(c config.TLS) (tls.Certificate, error) {
	cert, err := readPEM(c.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM(c.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// readPEM reads a file of certificates. (A system's authorities have some 250
// KB.)
func readPEM(file string) ([]byte, error) {
	pem, err := bounded.ReadFile(file, 4<<20)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pem, nil
}
