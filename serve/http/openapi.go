package http

import (
	_ "embed"
	"net/http"
)

// openapi describes every path for programs. A test asks each and compares the answers.
//
//go:embed openapi.json
var openapi []byte

func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openapi) // an error means that the client has disconnected
}
