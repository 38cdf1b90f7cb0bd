// Package resp reads commands and writes replies in the protocol of Redis:
// RESP2 and RESP3, and inline commands as one types them into telnet.
//
//	r := resp.NewReader(conn, resp.Limits{})
//	var w resp.Writer
//	for {
//		commands, err := r.Batch(64) // waits for the first one
//		…
//		for _, args := range commands {
//			w.Status("OK")
//		}
//		conn.Write(w.Bytes())
//		w.Reset()
//	}
//
// # Contract
//
// A Reader hands out what has arrived, up to a number of whole commands, and
// waits only when there is none: so a pipeline is answered with one write, and
// nobody waits for an answer that lies in a buffer. Arguments point into the
// Reader's buffer until the next call. A Reader takes no more memory than
// what has arrived asks for, whatever lengths the peer announces; its Limits
// bound the rest. Neither type is safe for concurrent use, and neither knows
// of time: the deadlines belong to whoever owns the connection.
package resp
