// Package config reads weir.yaml, the environment and the command line into one
// struct, and reports each mistake with its place.
//
//	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
//	config.AddFlags(fs)
//	… fs.Parse(args) …
//	cfg, origins, err := config.Load(config.Options{File: "weir.yaml", Flags: fs, Env: os.Environ()})
//
// One table, derived from the struct tags of [Config], defines which keys exist,
// their types, defaults, ranges, flags, environment variables, the JSON Schema, the reference page and
// the printed form. A new key is a new struct field with a doc tag; nothing else is needed.
//
// The problems of a step are returned as one [*Error]; each is one line
//
//	weir.yaml:14:13: jobs[0].window: 45s does not divide 1m; try 30s or 1m
//
// Passwords, tokens and hash keys come from files (keys ending in _file) or from the environment. In YAML or
// on the command line they are refused. A [Secret] never prints its value.
//
// This is the only package that imports viper. No package below it knows keys,
// flags or environment variables: commands translate a [Config] into the plain
// structs of the packages they start.
//
// Files:
//
//	load.go      the steps: read, merge (by viper: a flag over a variable over the file over the default), check
//	validate_job.go validate_format.go
//	             rules between the values of a job
//	config.go    the keys of everything but jobs
//	flags.go     their flags and environment variables, read as if they stood in the file
//	jsonschema.go print.go
//	             the JSON Schema for editors, and the effective configuration with the origin of each value
//	document.go  the walk of the YAML tree, which knows line and column of every value
//	source.go    the built-in jobs, and the presets of jobs
//	job.go       the keys of a job
//	spec.go      a job in the form of package window, which judges the rest, and of the sink
//	measure.go   the keys of a measure
//	condition.go the keys of a condition
//	validate.go  rules between values, and how their problems are told
//	secret.go    values that are never printed
//	values.go    texts as typed values
//	problem.go   mistakes with their places
//	origin.go    where a value comes from
//	units.go     durations and sizes
//	schema.go    the table of keys
package config
