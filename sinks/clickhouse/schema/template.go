package schema

import (
	"embed"
	"io/fs"
	"strings"
	"text/template"

	"weir/sinks/clickhouse/wire"
)

//go:embed *.sql
var files embed.FS

var own = parse(template.New("").Funcs(template.FuncMap{"text": wire.Text}), files)

// Render returns a statement, from the template with its name.
var Render = renderer(own)

// Templates returns a function that renders the statements of another room. Their templates may use the templates of this
// room.
func Templates(files embed.FS) func(name string, data any) string {
	return renderer(parse(template.Must(own.Clone()), files))
}

func parse(all *template.Template, files embed.FS) *template.Template {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		// Trimmed, so that a template can be inside a line of another one.
		template.Must(all.New(name).Parse(strings.TrimSpace(string(b))))
	}
	return all
}

func renderer(all *template.Template) func(name string, data any) string {
	return func(name string, data any) string {
		var b strings.Builder
		if err := all.ExecuteTemplate(&b, name+".sql", data); err != nil {
			panic(err) // the templates are ours and rendered by tests
		}
		return strings.TrimSpace(b.String())
	}
}
