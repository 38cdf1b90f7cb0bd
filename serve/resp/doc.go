// Package resp reads commands and writes replies in the protocol of Redis:
// RESP2 and RESP3, and inline commands as one types them into telnet.
//
//	r, room := resp.NewReader(resp.Limits{}), resp.NewRoom(64<<10)
//	var w resp.Writer
//	for {
//		err := r.Fill(room, conn)
//		…
//		for {
//			commands, err := r.Batch(room, 64)
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
// A Reader hands out what has arrived, up to a number of whole commands at a
// time: so a pipeline is answered with one write, and nobody waits for an
// answer that lies in a buffer. Reading is a step of its own, which waits or
// does not wait as its source does. Arguments point into the [Room] and are
// valid until it is used again; between two turns a Reader holds nothing but
// half a command. It takes no more memory than what has arrived asks for,
// whatever lengths the peer announces; its Limits bound the rest. No type is
// safe for concurrent use, and none knows of time: the deadlines belong to
// whoever owns the connection.
package resp
