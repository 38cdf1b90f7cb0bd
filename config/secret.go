package config

import (
	"crypto/sha256"
	"fmt"
)

// A Secret is a text that no format verb, logger or encoder prints. The zero
// Secret is unset.
//
// The value hides behind a pointer because fmt does not call methods on
// unexported fields: a struct that keeps a Secret in one would otherwise
// print it.
type Secret struct{ text *string }

// NewSecret wraps text. An empty text is an unset Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the value, "" when unset. Call it where the value is used, and
// do not keep it in a variable that could be printed.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.text != nil }

// Key128 makes a key of 16 bytes of the value, whatever its length: the first
// half of its SHA-256.
func (s Secret) Key128() [16]byte {
	sum := sha256.Sum256([]byte(s.Reveal()))
	return [16]byte(sum[:16])
}

const masked = "***"

// String returns *** or, when unset, nothing.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return masked
}

// Format implements fmt.Formatter, so that %d, %x and %#v print no more than
// %s.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText serves log/slog, encoding/json and YAML encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is NewSecret.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
