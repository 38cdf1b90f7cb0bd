package config

import (
	"embed"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A preset is a built-in job, which a command adds. A source is a preset of a job: the keys that read the
// records of a well-known producer. What a source says never changes, because the jobs that name it would
// then mean something else than before; a better one gets another name.

//go:embed presets/*.yaml sources/*.yaml
var builtIns embed.FS

// Presets lists the built-in jobs.
func Presets() []string { return baseNames("presets") }

// Sources lists the presets of jobs.
func Sources() []string { return baseNames("sources") }

// baseNames lists the YAML files of a folder without their ending.
func baseNames(folder string) (names []string) {
	entries, _ := builtIns.ReadDir(folder)
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// builtIn returns the mapping in a built-in file, whose nodes then have their place in the preset of a
// name; nil if there is none.
func (r *reader) builtIn(folder, name string) *yaml.Node {
	data, err := builtIns.ReadFile(folder + "/" + name + ".yaml")
	root := new(yaml.Node)
	if err != nil || yaml.Unmarshal(data, root) != nil {
		return nil
	}
	var note func(n *yaml.Node)
	note = func(n *yaml.Node) {
		r.presets[n] = "preset " + name
		for _, child := range n.Content {
			note(child)
		}
	}
	note(root)
	return root.Content[0]
}

// expand adds to a job the keys of its source that it does not give itself.
func (r *reader) expand(n *yaml.Node) *yaml.Node {
	given := entries(n)
	if given["preset"] == nil {
		return n
	}
	source := r.builtIn("sources", follow(given["preset"]).Value)
	if source == nil { // which the key's own check reports
		return n
	}
	all := *n
	for pair := range slices.Chunk(source.Content, 2) {
		if given[pair[0].Value] == nil {
			all.Content = append(slices.Clip(all.Content), pair...)
		}
	}
	return &all
}

// entries returns what a mapping has, by key; nothing of any other node.
func entries(n *yaml.Node) map[string]*yaml.Node {
	all := map[string]*yaml.Node{}
	if n.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(n.Content, 2) {
			all[pair[0].Value] = pair[1]
		}
	}
	return all
}
