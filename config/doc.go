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
// The files, each in front of those that it calls:
//
//	load.go             the steps: read, merge (by viper: a flag over a variable over the file over the default), check
//	flags.go            the texts of variables and flags, read as if they stood in the file
//	document.go         a walk over the YAML tree, which knows line and column of every value
//	source.go           the built-in jobs, and the presets of jobs
//	validate.go         rules between merged values, which hold wherever a value was written…
//	validate_job.go     …of a job: windows, names, fields, tables
//	validate_format.go  …of its format, schemas and columns
//	spec.go             the job in the form of package window, which judges the rest
//	print.go            the effective configuration with the origin of each value
//	jsonschema.go       the JSON Schema for editors
//	values.go, units.go the form of a single value
//	schema.go           the table of keys
//	config.go, job.go, condition.go, measure.go, secret.go  what the keys are read into
//	origin.go, problem.go  where a value was written, and what is wrong with it
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
//	load.go      the two passes
//	validate_job.go validate_format.go
//	             rules between the values of a job
//	config.go    the keys of everything but jobs
//	flags.go     their flags and environment variables
//	jsonschema.go print.go
//	             the JSON Schema, and the printed form
//	document.go  the walk of the YAML tree
//	source.go    presets of jobs
//	job.go       the keys of a job
//	spec.go      a job as a window.Spec
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
