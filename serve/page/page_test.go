package page

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func get(path string, header ...string) *http.Response {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Serve(w, r)
	return w.Result()
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	var from io.Reader = res.Body
	if res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		from = z
	}
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// loaded returns the files that a browser loads when the page opens: those that the page
// names, and those that its scripts and the map ask for.
func loaded(t *testing.T) []string {
	t.Helper()
	_, hash := load()
	found := []string{"/", "/page/" + hash + "/vendor/land-110m.json"}
	for _, m := range regexp.MustCompile(`(?:href|src)="(page/[^"]+)"`).FindAllStringSubmatch(body(t, get("/")), -1) {
		found = append(found, "/"+m[1])
	}
	for i := 0; i < len(found); i++ {
		if !strings.HasSuffix(found[i], ".js") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^import .* from "\./([^"]+)";$`).FindAllStringSubmatch(body(t, get(found[i])), -1) {
			found = append(found, "/page/"+hash+"/"+m[1])
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestBudget: everything that the page loads is there, is at most 80 kB compressed, and is
// the same uncompressed.
func TestBudget(t *testing.T) {
	total := 0
	all := loaded(t)
	for _, path := range all {
		zipped := get(path, "Accept-Encoding", "gzip")
		if zipped.StatusCode != 200 || zipped.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %s, %v", path, zipped.Status, zipped.Header)
		}
		total += int(zipped.ContentLength)
		if plain := body(t, get(path)); plain == "" || body(t, zipped) != plain {
			t.Errorf("%s differs when compressed", path)
		}
	}
	if total > 80_000 || len(all) < 10 {
		t.Errorf("%d files have %d bytes, want at most 80,000", len(all), total)
	}
	t.Logf("%d files, %d bytes", len(all), total)
}

// TestEncodings: a file is compressed only for a client that takes it so.
func TestEncodings(t *testing.T) {
	for accept, want := range map[string]string{
		"gzip": "gzip", "gzip, deflate, br": "gzip", "": "", "identity": "", "br": "",
	} {
		res := get("/", "Accept-Encoding", accept)
		if got := res.Header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: the answer is encoded as %q, want %q", accept, got, want)
		}
		if text := body(t, res); !strings.HasPrefix(text, "<!doctype html>") {
			t.Errorf("Accept-Encoding %q: the page begins with %.20q", accept, text)
		}
	}
}

// TestHeaders: the policy is on every file; the page is asked for again each time, and a
// file of this version never; another version's files, listings and paths upwards do not
// exist.
func TestHeaders(t *testing.T) {
	_, hash := load()
	for path, cache := range map[string]string{"/": "no-cache", "/page/" + hash + "/app.js": "public, max-age=31536000, immutable"} {
		for _, encoding := range []string{"gzip", "identity"} {
			res := get(path, "Accept-Encoding", encoding)
			h := res.Header
			if h.Get("Content-Security-Policy") != policy || h.Get("Cache-Control") != cache || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", path, h)
			}
			again := get(path, "Accept-Encoding", encoding, "If-None-Match", h.Get("ETag"))
			if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
				t.Errorf("%s again: %s", path, again.Status)
			}
			if other := get(path, "Accept-Encoding", encoding, "If-None-Match", `"another"`); other.StatusCode != 200 {
				t.Errorf("%s with another tag: %s", path, other.Status)
			}
		}
	}
	if !strings.HasPrefix(policy, "default-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Error(policy)
	}
	for _, path := range []string{"/page/", "/page/" + hash + "/", "/page/0123/app.js", "/page/" + hash + "/index.html", "/page/" + hash + "/../page.go", "/page/" + hash + "/vendor"} {
		if res := get(path); res.StatusCode != 404 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// TestNothingInline: the page has no script, style or handler of its own, and no script
// writes HTML, so that no value from data becomes a part of the page.
func TestNothingInline(t *testing.T) {
	files, _ := load()
	for name, f := range files {
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		for what, pattern := range map[string]string{
			"an inline script":  `<script[^>]*>[^<]`,
			"an inline style":   `<style|\sstyle="|h\("[a-z]+", \{[^}]*\bstyle:`,
			"a handler":         `\son[a-z]+="`,
			"markup from texts": `innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc`,
			"another host":      `https?://[^w"]`, // the names of XML namespaces begin with www
		} {
			if found := regexp.MustCompile(pattern).FindString(strings.ReplaceAll(string(f.plain), "no innerHTML anywhere", "")); found != "" {
				t.Errorf("%s has %s: %s", name, what, found)
			}
		}
	}
}

// TestManifest: each vendored file is as the manifest says, with its licence.
func TestManifest(t *testing.T) {
	files, _ := load()
	var manifest []struct {
		Package, Version, License string
		LicenseFile               string `json:"license_file"`
		Files                     map[string]string
	}
	if err := json.Unmarshal(files["vendor/manifest.json"].plain, &manifest); err != nil {
		t.Fatal(err)
	}
	listed := []string{"vendor/manifest.json"}
	for _, m := range manifest {
		if m.Package == "" || m.Version == "" || m.License == "" || m.Files[m.LicenseFile] == "" {
			t.Errorf("%+v is incomplete", m)
		}
		for _, name := range slices.Sorted(maps.Keys(m.Files)) {
			listed = append(listed, "vendor/"+name)
			f := files["vendor/"+name]
			if f == nil {
				t.Errorf("%s is not there", name)
				continue
			}
			if sum := sha256.Sum256(f.plain); hex.EncodeToString(sum[:]) != m.Files[name] {
				t.Errorf("%s has the checksum %x, the manifest %s", name, sum, m.Files[name])
			}
		}
	}
	for name := range files {
		if strings.HasPrefix(name, "vendor/") && !slices.Contains(listed, name) {
			t.Errorf("%s is not in the manifest", name)
		}
	}
}
