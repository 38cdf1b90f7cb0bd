package config

import (
	"embed"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A source is a preset of a job: the keys that read the records of a well-known producer.
// What a preset says never changes, because the jobs that name it would then mean something
// else than before; a better one gets another name.

//go:embed sources/*.yaml
var sources embed.FS

// Sources lists the presets of jobs.
func Sources() []string {
	entries, _ := sources.ReadDir("sources")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// expand adds to a job the keys of its preset that it does not give itself.
func (r *reader) expand(k *key, n *yaml.Node) *yaml.Node {
	given := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if child := k.child(n.Content[i].Value); child != nil {
			given[child.name] = n.Content[i+1]
		}
	}
	name := given["preset"]
	if n.Kind != yaml.MappingNode || name == nil {
		return n
	}
	source := follow(name).Value
	data, err := sources.ReadFile(path.Join("sources", source+".yaml"))
	if err != nil {
		return n // which the key's own check reports
	}
	var preset yaml.Node
	if err := yaml.Unmarshal(data, &preset); err != nil {
		panic("config: preset " + source + ": " + err.Error())
	}
	all := *n
	for pairs := preset.Content[0].Content; len(pairs) > 0; pairs = pairs[2:] {
		if given[pairs[0].Value] == nil {
			r.note(pairs[0], source)
			r.note(pairs[1], source)
			all.Content = append(all.Content[:len(all.Content):len(all.Content)], pairs[:2]...)
		}
	}
	return &all
}

// note notes that a node, and what is in it, come from a preset.
func (r *reader) note(n *yaml.Node, source string) {
	if r.sources == nil {
		r.sources = map[*yaml.Node]string{}
	}
	r.sources[n] = source
	for _, child := range n.Content {
		r.note(child, source)
	}
}
