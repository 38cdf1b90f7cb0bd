package config

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

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
	r := &reader{places: map[string]Origin{}}
	origins := &Origins{places: r.places}

	fromFiles, err := o.documents(r)
	if err != nil {
		return nil, origins, err
	}
	fromEnv, secrets := envTexts(o.Env, origins, &r.problems)
	flags := flagTexts(o.Flags, r.places, &r.problems)

	cfg, err := merge(fromFiles, fromEnv, flags)
	if err != nil {
		if len(r.problems) > 0 {
			return nil, origins, r.problems.err()
		}
		return nil, origins, fmt.Errorf("config: %w", err) // the walk accepted a value that does not decode
	}
	cfg.complete(origins)
	v := &validator{cfg: cfg, origins: origins, problems: r.problems, noJobs: o.NoJobs}
	v.validate()
	v.secrets(secrets, !o.NoSecrets)
	if err := v.problems.err(); err != nil {
		return nil, origins, err
	}
	return cfg, origins, nil
}

// documents reads the file and the presets, and concatenates their lists of
// jobs.
func (o Options) documents(r *reader) (map[string]any, error) {
	values := map[string]any{}
	var jobs []any
	offset := map[string]int{}
	order := 0
	add := func(name string, data []byte) {
		got := r.document(name, order, data, offset)
		order++
		list, _ := got["jobs"].([]any)
		jobs = append(jobs, list...)
		offset["jobs"] = len(jobs)
		for key, value := range got { // only one document has other keys
			values[key] = value
		}
	}
	for _, name := range o.Presets {
		data, err := Preset(name)
		if err != nil {
			return nil, err
		}
		add("preset "+name, data)
	}
	if o.File != "" {
		data := o.Data
		if data == nil {
			var err error
			if data, err = bounded.ReadFile(o.File, maxDocument); err != nil {
				return nil, fmt.Errorf("configuration %s: %w", o.File, err)
			}
		}
		add(o.File, data)
	}
	values["jobs"] = jobs
	return values, nil
}

// merge lets viper decide which source wins. The environment is a layer above
// the file, not viper's own lookup, which reads only the process's environment
// and only the keys that it was given.
func merge(fromFiles, fromEnv map[string]any, flags map[string]*pflag.Flag) (*Config, error) {
	v := viper.New()
	for _, k := range table().leaves() {
		if k.secret == "" {
			v.SetDefault(k.path, k.defaultValue())
		}
	}
	if err := v.MergeConfigMap(fromFiles); err != nil {
		return nil, err
	}
	above := map[string]any{}
	for path, value := range fromEnv {
		nest(above, strings.Split(path, "."), value)
	}
	if err := v.MergeConfigMap(above); err != nil {
		return nil, err
	}
	for path, flag := range flags {
		if err := v.BindPFlag(path, flag); err != nil {
			return nil, err
		}
	}
	cfg := new(Config)
	err := v.UnmarshalExact(cfg, func(d *mapstructure.DecoderConfig) {
		d.TagName = "yaml"
		d.Squash = true
		d.DecodeHook = mapstructure.ComposeDecodeHookFunc(
			commaList,
			mapstructure.TextUnmarshallerHookFunc(),
		)
	})
	return cfg, err
}

// nest puts value into nested maps, making them as needed.
func nest(into map[string]any, path []string, value any) {
	for ; len(path) > 1; path = path[1:] {
		next, ok := into[path[0]].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[path[0]] = next
		}
		into = next
	}
	into[path[0]] = value
}

// commaList splits the text of a list flag.
func commaList(from, to reflect.Type, value any) (any, error) {
	if from.Kind() != reflect.String || to != reflect.TypeFor[[]string]() {
		return value, nil
	}
	var list []string
	for part := range strings.SplitSeq(value.(string), ",") {
		list = append(list, strings.TrimSpace(part))
	}
	return list, nil
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
		for k := range j.Rollups {
			if r := &j.Rollups[k]; r.KeepStates == 0 {
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

// secrets fills the Secret fields from the environment and from files.
func (v *validator) secrets(fromEnv map[string]Secret, read bool) {
	take := func(into *Secret, path, filePath, file string) {
		if *into = fromEnv[path]; into.IsSet() || file == "" || !read {
			return
		}
		const most = 64 << 10
		data, err := bounded.ReadFile(file, most)
		data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
		switch {
		case err != nil:
			v.complain(filePath, "cannot read %s: %v; name a file that weir's user can read", file, err)
		case len(data) == 0:
			v.complain(filePath, "%s is empty; put the secret into it", file)
		default:
			*into = NewSecret(string(data))
		}
	}
	c := v.cfg
	take(&c.Kafka.SASL.Password, "kafka.sasl.password", "kafka.sasl.password_file", c.Kafka.SASL.PasswordFile)
	take(&c.Kafka.SASL.ClientSecret, "kafka.sasl.client_secret", "kafka.sasl.client_secret_file", c.Kafka.SASL.ClientSecretFile)
	take(&c.ClickHouse.Password, "clickhouse.password", "clickhouse.password_file", c.ClickHouse.PasswordFile)
	take(&c.Registry.Password, "registry.password", "registry.password_file", c.Registry.PasswordFile)
	take(&c.HTTP.Token, "http.token", "http.token_file", c.HTTP.TokenFile)
	take(&c.RESP.Password, "resp.password", "resp.password_file", c.RESP.PasswordFile)
	take(&c.Rollup.LockPassword, "rollup.lock_password", "rollup.lock_password_file", c.Rollup.LockPasswordFile)
	for i := range c.Jobs {
		path := fmt.Sprintf("jobs[%d].hash_key_file", i)
		j := &c.Jobs[i]
		take(&j.HashKey, "", path, j.HashKeyFile)
		if key := j.HashKey.Reveal(); key != "" && len(key) < 16 {
			v.complain(path, "%s has %d bytes; a hash key needs at least 16", j.HashKeyFile, len(key))
		}
	}
}

//go:embed presets/*.yaml
var presets embed.FS

// Presets lists the built-in jobs.
func Presets() []string {
	entries, _ := presets.ReadDir("presets")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Preset returns the YAML of a built-in job.
func Preset(name string) ([]byte, error) {
	data, err := presets.ReadFile(path.Join("presets", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("no preset %q; there are %s", name, either(Presets()))
	}
	return data, nil
}

// Find returns the configuration file to use: the one given by a flag, else the
// one that $WEIR_CONFIG names, else the first of the usual places that exists.
// "" means that there is none; searched then lists the places.
func Find(given string, env []string) (file string, searched []string) {
	if given != "" {
		return given, nil
	}
	variables := map[string]string{}
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			variables[name] = value
		}
	}
	if named := variables["WEIR_CONFIG"]; named != "" {
		return named, nil
	}
	searched = []string{"weir.yaml"}
	if home := variables["XDG_CONFIG_HOME"]; home != "" {
		searched = append(searched, filepath.Join(home, "weir", "weir.yaml"))
	} else if home := variables["HOME"]; home != "" {
		searched = append(searched, filepath.Join(home, ".config", "weir", "weir.yaml"))
	}
	searched = append(searched, filepath.FromSlash("/etc/weir/weir.yaml"))
	for _, place := range searched {
		if _, err := os.Stat(place); err == nil {
			return place, nil
		}
	}
	return "", searched
}
