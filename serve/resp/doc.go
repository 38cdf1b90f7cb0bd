// Package resp reads commands and writes replies in the protocol of Redis:
// RESP2 and RESP3, and inline commands, as typed into telnet.
//
//	r := resp.NewReader(resp.Limits{})
//	var w resp.Writer
//	for {
//		err := r.Fill(conn)
//		…
//		for {
//			commands, err := r.Batch(64)
//			…
//			for _, args := range commands {
//				w.Status("OK")
//			}
//		} // until there are none
//		conn.Write(w.Bytes())
//		w.Reset()
//	}
//
// # Contract
//
// A Reader returns the whole commands that have arrived, up to a number at a
// time. So the server can answer a pipeline with one write, and no reply stays
// in a buffer while the client waits for it. Fill is a separate step, which
// blocks if its source blocks. Arguments point into the Reader's buffer, which Fill
// changes. Its memory is in proportion to the bytes that have arrived, not to the
// lengths that the peer announces; its Limits bound the rest. No type is safe for
// concurrent use, and none uses time: the owner of the connection sets deadlines.
package resp
