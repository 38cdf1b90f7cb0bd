package config

import (
	"embed"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A source is a preset of a job: the keys that read the records of a well-known producer.
// What a preset says never changes, because the jobs that name it would then mean something
// else than before; a better one gets another name.

//go:embed sources/*.yaml
var sources embed.FS

// Sources lists the presets of jobs.
func Sources() []string { return baseNames(sources, "sources") }

// baseNames lists the YAML files of a folder without their ending.
func baseNames(files embed.FS, folder string) (names []string) {
	entries, _ := files.ReadDir(folder)
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// expand adds to a job the keys of its preset that it does not give itself.
func (r *reader) expand(n *yaml.Node) *yaml.Node {
	given := map[string]*yaml.Node{}
	if n.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(n.Content, 2) {
			given[pair[0].Value] = pair[1]
		}
	}
	if given["preset"] == nil {
		return n
	}
	source, preset := follow(given["preset"]).Value, new(yaml.Node)
	data, err := sources.ReadFile(path.Join("sources", source+".yaml"))
	if err != nil || yaml.Unmarshal(data, preset) != nil {
		return n // there is none, which the key's own check reports
	}
	all := *n
	for pair := range slices.Chunk(preset.Content[0].Content, 2) {
		if given[pair[0].Value] == nil {
			r.note(pair[0], source)
			r.note(pair[1], source)
			all.Content = append(slices.Clip(all.Content), pair...)
		}
	}
	return &all
}

// note notes that a node, and what is in it, come from a preset.
func (r *reader) note(n *yaml.Node, source string) {
	r.sources[n] = source
	for _, child := range n.Content {
		r.note(child, source)
	}
}
