// Package page is the web page of a running process: files in the binary, which ask the
// paths below /api/v1/ of the same host and nothing else. The page is plain ES modules,
// without a framework and without a build step. Other people's files are in
// assets/vendor, with a manifest of where they come from.
//
//	mux.HandleFunc("GET /{$}", page.Serve)
//	mux.HandleFunc("GET /page/", page.Serve)
//
// The files hold no data and no secrets, so that they may be served to any client.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

// policy is the Content-Security-Policy of the page: everything comes from its own host,
// and no other page may frame it.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A file is one asset as it is served.
type file struct {
	kind          string // Content-Type
	plain, zipped []byte
	etag          string
}

// load reads and compresses the assets once. They are served below /page/ and a hash of
// all of them, so that browsers may keep them for ever; index.html has the hash in it.
var load = sync.OnceValues(func() (files map[string]*file, hash string) {
	files = map[string]*file{}
	all := sha256.New()
	err := fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "assets/")
		all.Write([]byte(name))
		all.Write(text)
		files[name] = &file{kind: kindOf(name), plain: text}
		return nil
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
	hash = hex.EncodeToString(all.Sum(nil)[:8])
	index := files["index.html"]
	index.plain = bytes.ReplaceAll(index.plain, []byte("HASH"), []byte(hash))
	for _, f := range files {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, err = z.Write(f.plain)
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
		sum := sha256.Sum256(f.plain)
		f.zipped, f.etag = b.Bytes(), hex.EncodeToString(sum[:8])
	}
	return files, hash
})

func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	case ".html", ".css":
		return mime.TypeByExtension(path.Ext(name))
	}
	return "text/plain; charset=utf-8"
}

// Serve answers with the page at / and with its files below /page/.
func Serve(w http.ResponseWriter, r *http.Request) {
	files, hash := load()
	name, cache := "index.html", "no-cache"
	if r.URL.Path != "/" {
		rest, ok := strings.CutPrefix(r.URL.Path, "/page/"+hash+"/")
		if !ok || rest == "index.html" || files[rest] == nil { // the hash may be that of another version
			w.Header().Set("Cache-Control", "no-store")
			http.NotFound(w, r)
			return
		}
		name, cache = rest, "public, max-age=31536000, immutable"
	}
	files[name].serve(w, r, cache)
}

func (f *file) serve(w http.ResponseWriter, r *http.Request, cache string) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", cache)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Vary", "Accept-Encoding")
	text, etag := f.plain, `"`+f.etag+`"`
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		text, etag = f.zipped, `"`+f.etag+`-gz"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", etag)
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // an error means that the client has disconnected
}
