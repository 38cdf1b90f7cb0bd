package config

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"weir/internal/bounded"
	"weir/window"
)

// Options say where the configuration comes from.
type Options struct {
	File    string         // the YAML file; "" for none
	Data    []byte         // its content, if it has been read already; File then only names it
	Presets []string       // names of built-in jobs to add, see Presets
	Flags   *pflag.FlagSet // parsed flags, defined by AddFlags; nil for none
	Env     []string       // the environment as os.Environ gives it; nil for none

	// NoJobs accepts a configuration without jobs, for commands that read
	// nothing from Kafka.
	NoJobs bool
	// NoSecrets leaves the files of secrets unread, for checks on a machine
	// that does not have them.
	NoSecrets bool
}

// Load reads, merges and checks a configuration. A returned *Error lists what
// the user has to change; any other error means that a file could not be
// read. The origins are valid, as far as known, in either case.
func Load(o Options) (*Config, *Origins, error) {
	r := &reader{places: map[string]Origin{}, presets: map[*yaml.Node]string{}}
	origins := &Origins{places: r.places}

	fromFiles, err := r.read(o)
	if err != nil {
		return nil, origins, err
	}
	given := r.outside(o)
	if err := r.problems.err(); err != nil { // rules between values are checked when each value is right
		return nil, origins, err
	}
	cfg, err := merge(fromFiles, given)
	if err != nil {
		return nil, origins, fmt.Errorf("config: %w", err) // the walk accepted a value that does not decode
	}
	v := &validator{cfg: cfg, origins: origins}
	if v.keys(); len(v.problems) == 0 {
		cfg.complete(origins)
		v.validate(o.NoJobs)
		if !o.NoSecrets {
			v.secrets()
		}
	}
	if err := v.problems.err(); err != nil {
		return nil, origins, err
	}
	return cfg, origins, nil
}

// read reads the presets and the file.
func (r *reader) read(o Options) (map[string]any, error) {
	for _, name := range o.Presets {
		preset := r.builtIn("presets", name)
		if preset == nil {
			return nil, fmt.Errorf("no preset %q; there are %s", name, either(Presets()))
		}
		r.jobs = append(r.jobs, entries(preset)["jobs"].Content...)
	}
	r.from = Origin{Source: FromFile, Name: o.File}
	if o.File != "" && o.Data == nil {
		var err error
		if o.Data, err = bounded.ReadFile(o.File, maxDocument); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", o.File, err)
		}
	}
	return r.document(o.Data), nil
}

// merge lets viper decide which source wins. What the environment and the flags give is a layer above
// the file, not viper's own lookup, which reads only the process's environment and only the keys that
// it was given.
func merge(fromFiles, given map[string]any) (*Config, error) {
	v := viper.New()
	for _, k := range table().leaves() {
		if k.secret == "" {
			v.SetDefault(k.path, k.defaultValue())
		}
	}
	if err := v.MergeConfigMap(fromFiles); err != nil {
		return nil, err
	}
	for path, value := range given {
		v.Set(path, value)
	}
	cfg := new(Config)
	err := v.UnmarshalExact(cfg, func(d *mapstructure.DecoderConfig) {
		d.TagName = "yaml"
		d.Squash = true
		d.DecodeHook = mapstructure.TextUnmarshallerHookFunc()
	})
	return cfg, err
}

// complete fills in the values that are derived from others.
func (c *Config) complete(origins *Origins) {
	t := &c.Kafka.TLS
	if t.TLS != (TLS{}) && origins.Of("kafka.tls.enabled").Source == FromDefault {
		t.Enabled = true
	}
	if len(c.ClickHouse.Shards) > 0 && origins.Of("clickhouse.urls").Source == FromDefault {
		c.ClickHouse.URLs = nil
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		j.Place = fmt.Sprintf("jobs[%d]", i)
		if j.Each != "" && origins.Of(j.Place+".chunk").Source == FromDefault {
			j.Chunk = window.MaxEachChunk
		}
		if len(j.Rollups) == 0 {
			j.Rollups = []Rollup{{Window: j.Window}}
		}
		for k := range j.Rollups[1:] {
			if r := &j.Rollups[k+1]; r.KeepStates == 0 {
				r.KeepStates = j.Keep
			}
		}
		if d := j.Dedupe; d != nil && !d.Exact && d.Error == 0 {
			d.Error = 0.0001
		}
		for k := range j.By {
			if column := &j.By[k]; column.Name == "" && len(column.Field) == 1 && column.Apply == nil {
				column.Name = strings.ReplaceAll(column.Field[0], ".", "_")
			}
		}
	}
}

// secrets fills the Secret fields that the environment has not set from files.
func (v *validator) secrets() {
	take := func(into *Secret, path, file string) {
		if into.IsSet() || file == "" {
			return
		}
		const most = 64 << 10
		data, err := bounded.ReadFile(file, most)
		data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
		if v.must(err == nil, path, "cannot read %s: %v; name a file that weir's user can read", file, err) &&
			v.must(len(data) > 0, path, "%s is empty; put the secret into it", file) {
			*into = NewSecret(string(data))
		}
	}
	table().walk(reflect.ValueOf(v.cfg).Elem(), "", func(k *key, section reflect.Value, at string) {
		for _, c := range k.keys {
			if c.secret != "" {
				file := section.FieldByIndex(k.child(c.secret).index).String()
				take(section.FieldByIndex(c.index).Addr().Interface().(*Secret), join(at, c.secret), file)
			}
		}
	})
	for i := range v.cfg.Jobs {
		j := &v.cfg.Jobs[i]
		path := j.Place + ".hash_key_file"
		take(&j.HashKey, path, j.HashKeyFile)
		key := j.HashKey.Reveal()
		v.must(key == "" || len(key) >= 16, path, "%s has %d bytes; a hash key needs at least 16", j.HashKeyFile, len(key))
	}
}

// Find returns the configuration file to use: the one given by a flag, else the
// one that $WEIR_CONFIG names, else the first of the usual places that exists.
// "" means that there is none; searched then lists the places.
func Find(given string, env []string) (file string, searched []string) {
	if given != "" {
		return given, nil
	}
	variables := variables(env)
	if named := variables["WEIR_CONFIG"]; named != "" {
		return named, nil
	}
	home := cmp.Or(variables["XDG_CONFIG_HOME"], filepath.Join(variables["HOME"], ".config"))
	searched = []string{"weir.yaml", filepath.Join(home, "weir", "weir.yaml"), filepath.FromSlash("/etc/weir/weir.yaml")}
	for _, place := range searched {
		if _, err := os.Stat(place); err == nil {
			return place, nil
		}
	}
	return "", searched
}
