package questions

import (
	"embed"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

//go:embed *.sql
var files embed.FS

// render returns a statement, from the template with its name.
var render = schema.Templates(files)

// Views returns the views of the questions about a job.
func Views(l *schema.Layout, c *wire.DB) (all []schema.View) {
	for _, f := range forms(l) {
		all = append(all, askedFor(l, c, f, l.By).view(""))
		if len(l.By) > 0 {
			all = append(all, askedFor(l, c, f, nil).view("_total"))
		}
	}
	for _, d := range questionsOf(l, c) {
		all = append(all, d.create())
	}
	return all
}

// Names returns the names of these views.
func Names(l *schema.Layout) (all []string) {
	for _, f := range forms(l) {
		all = append(all, l.Spec.Job+"_"+f.name)
		if len(l.By) > 0 {
			all = append(all, l.Spec.Job+"_"+f.name+"_total")
		}
	}
	for _, d := range questionsOf(l, new(wire.DB)) {
		all = append(all, l.Spec.Job+"_"+d.name)
	}
	return all
}

// questionsOf returns the questions about ids, each as the data of its view.
func questionsOf(l *schema.Layout, c *wire.DB) (all []idsData) {
	if len(identified(l)) == 0 {
		return nil
	}
	for _, t := range triangles(l) {
		all = append(all, retentionOf(l, c, t)...)
	}
	all = append(all, sessionsOf(l, c)...)
	return append(all, funnelOf(l, c))
}
