// Package config reads weir.yaml, the environment and the command line into one
// struct, and reports each mistake with its place.
//
//	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
//	config.AddFlags(fs)
//	… fs.Parse(args) …
//	cfg, origins, err := config.Load(config.Options{File: "weir.yaml", Flags: fs, Env: os.Environ()})
//
// One table, derived from the struct tags of [Config] (see schema.go), defines which keys exist,
// their types, defaults, ranges, flags, environment variables, the JSON Schema, the reference page and
// the printed form. A new key is a new struct field with a doc tag; nothing else is needed.
//
// Loading takes two passes, because no library does both halves well. The first
// walks the YAML tree against the table and knows line and column of every
// value, so it can say where a mistake is and what was probably meant. The
// second gives the checked values to viper, which applies the order of
// precedence: a flag over an environment variable over the file over the
// default. Values travel through viper as text and become typed at the very end; then rules
// between them are checked.
//
// The problems of a pass are returned as one [*Error]; each is one line
//
//	weir.yaml:14:13: jobs[0].window: 45s does not divide 1m; try 30s or 1m
//
// # Secrets
//
// Passwords, tokens and hash keys come from files (keys ending in _file) or
// from the environment. In YAML or on the command line they are refused. A
// [Secret] never prints its value.
//
// This is the only package that imports viper. No package below it knows keys,
// flags or environment variables: commands translate a [Config] into the plain
// structs of the packages they start.
package config
