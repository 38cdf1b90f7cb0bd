package wire

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// An Error is a failure to reach ClickHouse, or an error that it answered.
// After an error of Write, all, some or none of the changes may be stored. The
// same or a later state must be sent again, which is always allowed.
type Error struct {
	What   string // what was attempted
	Code   int32  // ClickHouse's error code; 0: the server gave none
	Action string // what to do about it, in words; empty if another attempt may succeed

	err error
}

func (e *Error) Error() string {
	s := "clickhouse: " + e.What + ": " + e.err.Error()
	if e.Action != "" {
		s += ": " + e.Action
	}
	return s
}

func (e *Error) Unwrap() error { return e.err }

// Message returns the server's words; empty if it said nothing.
func (e *Error) Message() string {
	var ex *ch.Exception
	if !errors.As(e.err, &ex) {
		return ""
	}
	return ex.Message
}

// Fatal reports whether the error stays until a person does something. All
// other errors are worth another attempt, without end.
func (e *Error) Fatal() bool { return e.Action != "" }

// fatal has the error codes that another attempt would get too, because the schema, the
// account or the statement is at fault, each with the remedy. All other errors count as temporary:
// too many parts, memory, quotas, time-outs, lost replicas, full disks, a lost answer. Another
// attempt loses nothing, while giving up stops the stream. Two codes look fatal and are not: a
// replica that has lost Keeper for a while sends 242 TABLE_IS_READ_ONLY, and 33
// CANNOT_READ_ALL_DATA follows a connection that broke in the middle of a block.
var fatal = map[int32]string{
	16:              SchemaAction,  // NO_SUCH_COLUMN_IN_TABLE
	20:              SchemaAction,  // NUMBER_OF_COLUMNS_DOESNT_MATCH
	47:              SchemaAction,  // UNKNOWN_IDENTIFIER
	50:              SchemaAction,  // UNKNOWN_TYPE
	53:              SchemaAction,  // TYPE_MISMATCH
	44:              SchemaAction,  // ILLEGAL_COLUMN
	unknownTable:    MissingAction, // see also Explain
	unknownDatabase: MissingAction, // of one of several shards: see Replicas.explain
	46:              MissingAction, // UNKNOWN_FUNCTION
	48:              "the table's engine cannot do this: recreate the table with `weir migrate`",
	49:              "this looks like a bug in weir: please report it",
	62:              "this server does not understand weir's SQL: use ClickHouse 26.3 or later",
	115:             "this server does not know a setting weir needs: use ClickHouse 26.3 or later",
	452:             "the account may not use a setting weir needs (async_insert, optimize_on_insert, insert_deduplicate, deduplicate_insert, max_partitions_per_insert_block): allow it in the account's profile",
	164:             "the account is read-only: give weir one that may INSERT and SELECT",
	192:             accountAction, // UNKNOWN_USER
	193:             accountAction, // WRONG_PASSWORD
	194:             accountAction, // REQUIRED_PASSWORD
	195:             "this client's address is not allowed for the account",
	497:             RightsAction,                            // ACCESS_DENIED
	516:             accountAction,                           // AUTHENTICATION_FAILED
	291:             "the account may not use this database", // DATABASE_ACCESS_DENIED
}

// mistaken reports whether an error is about the statement, or about what a person has asked
// with it, and not about the server: another server would answer the same.
func mistaken(err error) bool {
	var e *ch.Exception
	return errors.As(err, &e) && (e.Code == 36 || e.Code == 62 || e.Code == 395) // BAD_ARGUMENTS, SYNTAX_ERROR, FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
}

// broken reports whether a connection was closed before the answer was whole.
func broken(err error) bool {
	for _, of := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// The codes of UNKNOWN_TABLE and UNKNOWN_DATABASE.
const (
	unknownTable    = 60
	unknownDatabase = 81
)

const (
	SchemaAction  = "the table is not as `weir migrate` made it; weir_schema has the statements that made it: change it back, or raise the job's version"
	RightsAction  = "the account lacks a right: grant SELECT and INSERT on the database, ALTER DELETE on weir_ledger, and CREATE, ALTER, DROP, CREATE FUNCTION for `weir migrate`"
	MissingAction = "run `weir migrate`"
	accountAction = "check user and password"
)

// errNoConnection says why a statement could not be sent.
var errNoConnection = fmt.Errorf("no connection within %s: the server does not answer, or others wait for it", dialTimeout)

// Explain wraps an error of the client library. The result never has a
// password: the library redacts URLs, and the server does not repeat passwords.
func Explain(what string, err error) error {
	if err == nil {
		return nil
	}
	var ours *Error
	if errors.As(err, &ours) {
		return err
	}
	var partly answered
	if errors.As(err, &partly) {
		err = partly.error
	}
	// Show only the system's error, without the library's prefixes and the query
	// string.
	cause := err
	var transport *url.Error
	if errors.As(err, &transport) {
		cause = transport.Err
	}
	if errors.Is(err, ch.ErrAcquireConnTimeout) {
		cause = errNoConnection // the library's words are about its own settings
	}
	e := &Error{What: what, err: shorten(cause)}
	var ex *ch.Exception
	var reply *ch.HTTPError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var op *net.OpError
	switch {
	case errors.As(err, &ex) && ex.Code == unknownTable && strings.Contains(ex.Message, "of view"):
		e.Code = ex.Code
		e.err = fmt.Errorf("a materialized view reads a table of weir's and writes into one that is gone, so ClickHouse refuses the rows: drop the view, or make that table again: %w", e.err)
	case errors.As(err, &ex):
		e.Code = ex.Code
		e.Action = fatal[ex.Code]
	case errors.As(err, &reply):
		switch reply.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			e.Action = accountAction
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMovedPermanently, http.StatusFound:
			e.Action = "the url is not that of ClickHouse's HTTP interface"
		case http.StatusBadRequest:
			// Proxies and Go servers answer plain HTTP with such a text. They reset the connection when they
			// have not read the whole request, and then the text is lost. ClickHouse's own answers have a
			// code in their header, which is the first case.
			if strings.Contains(reply.Error(), "HTTPS") || errors.Is(err, syscall.ECONNRESET) {
				e.Action = "the server wants TLS: write https:// in the url"
			}
		}
	case errors.As(err, &unknown):
		e.Action = "the server's certificate is signed by an authority that is not trusted: set clickhouse.tls.ca_file"
	case errors.As(err, &name):
		e.Action = "the server's certificate is for another name: correct the url, or set clickhouse.tls.server_name"
	case errors.As(err, &invalid):
		e.Action = "the server's certificate is not valid: renew it"
	case errors.As(err, &op) && op.Op == "remote error": // crypto/tls: the server's alert
		e.Action = "the server refuses the TLS connection: check clickhouse.tls"
	case errors.Is(err, context.DeadlineExceeded):
		e.err = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	}
	return e
}

// shortened is an error with a shorter text.
type shortened struct {
	error
	text string
}

func (s shortened) Error() string { return s.text }
func (s shortened) Unwrap() error { return s.error }

// shorten cuts a long text. The server repeats the statement in it.
func shorten(err error) error {
	const limit = 600
	s := strings.TrimSpace(err.Error())
	if len(s) <= limit {
		return err
	}
	return shortened{err, strings.ToValidUTF8(s[:limit], "") + " …"}
}

// Refuse returns a fatal error of this package.
func Refuse(what, problem, action string) error {
	return &Error{What: what, Action: action, err: errors.New(problem)}
}
