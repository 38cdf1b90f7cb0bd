package ingest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-msk-iam-sasl-signer-go/signer"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"golang.org/x/oauth2/clientcredentials"

	"weir/internal/bounded"
)

// A Token is what a client shows to authenticate as a user for a time.
type Token struct {
	Value   string
	Expires time.Time // zero: not known
}

// Tokens makes Tokens. It is asked for each new connection, in any goroutine, unless the
// last Token is good for some time.
type Tokens func(ctx context.Context) (Token, error)

// maxToken is the size of the largest file of a Token.
const maxToken = 64 << 10

// TokenFile reads a Token from a file, anew for each connection: another program keeps the
// file fresh. If the Token is a JSON Web Token, it expires at its claim exp.
func TokenFile(path string) Tokens {
	return func(context.Context) (Token, error) {
		text, err := bounded.ReadFile(path, maxToken)
		value := strings.TrimSpace(string(text))
		if err == nil && value == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			return Token{}, fmt.Errorf("the token file %s: %w", path, err)
		}
		return Token{value, expiry(value)}, nil
	}
}

// ClientCredentials gets Tokens from an authorization server (RFC 6749, section 4.4).
func ClientCredentials(url, client, secret string, scopes ...string) Tokens {
	config := clientcredentials.Config{TokenURL: url, ClientID: client, ClientSecret: secret, Scopes: scopes}
	return func(ctx context.Context) (Token, error) {
		t, err := config.Token(ctx)
		if err != nil {
			return Token{}, fmt.Errorf("getting a token from %s: %w", url, err)
		}
		return Token{t.AccessToken, t.Expiry}, nil
	}
}

// MSK signs Tokens for Amazon MSK with the credentials that the AWS SDK finds: environment,
// profile, web identity, container or instance.
func MSK(region string) Tokens {
	return func(ctx context.Context) (Token, error) {
		value, ms, err := signer.GenerateAuthToken(ctx, region)
		if err != nil {
			return Token{}, fmt.Errorf("signing a token for region %s: %w", region, err)
		}
		return Token{value, time.UnixMilli(ms)}, nil
	}
}

// expiry returns the claim exp of a JSON Web Token (RFC 7519); zero if it has none.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1<<40 {
		return time.Time{}
	}
	return time.UnixMilli(int64(claims.Exp * 1000))
}

// A bearer is SASL's mechanism OAUTHBEARER (RFC 7628, KIP-255). It keeps a Token for most
// of its life.
type bearer struct {
	tokens     Tokens
	extensions []string // name=value

	mu    sync.Mutex
	token Token
	until time.Time // when to get the next
}

// current returns the Token to use for a new connection, and when that connection must not
// be used any more: brokers close it when its Token has expired (KIP-368).
func (b *bearer) current(ctx context.Context) (Token, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Before(b.until) {
		return b.token, b.until, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	t, err := b.tokens(ctx)
	if err != nil {
		return Token{}, time.Time{}, &tokenError{err}
	}
	b.token, b.until = t, time.Time{}
	if life := t.Expires.Sub(now); !t.Expires.IsZero() {
		b.until = now.Add(life - min(life/5, time.Minute))
	}
	return b.token, b.until, nil
}

func (b *bearer) Name() string { return "OAUTHBEARER" }

// Start implements sasl.Mechanism.
func (b *bearer) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	t, _, err := b.current(ctx)
	if err != nil {
		return nil, nil, err
	}
	const separator = "\x01"
	first := "n,," + separator + "auth=Bearer " + t.Value + separator
	for _, e := range b.extensions {
		first += e + separator
	}
	return bearing{}, []byte(first + separator), nil
}

// bearing is an exchange after its first message.
type bearing struct{}

// Next implements sasl.StateMachine: an empty challenge is consent, another one says in JSON
// what is wrong.
func (bearing) Next(_ context.Context, challenge []byte) (bool, []byte, error) {
	if len(challenge) > 0 {
		return false, nil, &tokenError{fmt.Errorf("the broker refuses the token: %.200q (%w)", challenge, kafka.SASLAuthenticationFailed)}
	}
	return true, nil, nil
}

// A tokenError says that there is no Token, or none that the broker takes. It may be over
// with the next one.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return "SASL: oauthbearer: " + e.err.Error() }
func (e *tokenError) Unwrap() error { return e.err }
