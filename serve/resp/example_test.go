package resp_test

import (
	"fmt"
	"strings"

	"weir/serve/resp"
)

func Example() {
	r := resp.NewReader(resp.Limits{})
	_ = r.Fill(strings.NewReader("PING\r\n*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n"))
	var w resp.Writer
	commands, _ := r.Batch(64)
	for _, args := range commands {
		w.Bulk(args[len(args)-1])
	}
	fmt.Printf("%q\n", w.Bytes())
	// Output: "$4\r\nPING\r\n$5\r\nhello\r\n"
}
