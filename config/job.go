package config

import (
	"weir/event"
	"weir/schemas"
)

// A Job says how one topic is counted: which field is the time, which windows,
// groups and sketches. Its meaning (everything but keep, the rollups and lost_schemas) is
// fingerprinted in ClickHouse; a change of meaning needs a higher Version.
type Job struct {
	Name       string   `yaml:"name" required:"true" format:"name" doc:"Name of the job and beginning of its tables' names."`
	Version    int      `yaml:"version" default:"1" min:"1" max:"9999" doc:"Raise it when the meaning of the job changes: the job then gets new tables."`
	Topic      string   `yaml:"topic" required:"true" format:"topic" doc:"Kafka topic to read."`
	Preset     string   `yaml:"preset" enum:"(sources)" doc:"Keys for the records of a well-known source: see [sources](sources.md). A key that the job gives takes the place of the preset's."`
	Format     string   `yaml:"format" default:"json" enum:"(formats)" doc:"Form of the records: see [the formats](inputs.md). avro and protobuf need schema_file or registry.url; cloudevents is another name of json."`
	Columns    []string `yaml:"columns" when:"format=tsv,csv" max:"1000" format:"column" doc:"What the columns of a record are called, from the first. Without it they are called c1, c2 and so on."`
	Each       string   `yaml:"each" format:"each" doc:"Path of the array whose elements are the events, if a record has several; $ if the record's value is the array. All other paths are inside of an event. See [arrays of events](inputs.md#arrays-of-events)."`
	Framing    string   `yaml:"framing" when:"format=avro,json-schema" enum:"confluent,glue" doc:"How records name their schemas: confluent, which is meant when nothing is given, as a registry with Confluent's interface has it, or glue, as AWS Glue's serializers write it."`
	KeyFormat  string   `yaml:"key_format" when:"format=avro,protobuf" enum:"avro,protobuf" doc:"The same as format, if the keys of records name schemas in the registry too: key.id is then a field of the key. Without it a key is a text, or a JSON object."`
	SchemaFile string   `yaml:"schema_file" doc:"File with the schema that all records have. Without it each record names its schema, which weir asks the registry for."`
	Message    string   `yaml:"message" doc:"With schema_file and format protobuf, the full name of the message: shop.Event. It may be left out if the file has one."`
	Lost       []string `yaml:"lost_schemas" max:"100" format:"any" doc:"With a registry, the ids or GUIDs of schemas that cannot be had any more: records that name one are malformed, and hold nothing up. Only for ids of which no record was ever counted; otherwise raise version too. See [lost schemas](inputs.md#a-schema-that-is-lost)."`
	Time       Time     `yaml:"time" doc:"When an event happened."`
	Window     Duration `yaml:"window" required:"true" unless:"preset" min:"1s" max:"7d" doc:"Length of the windows held in memory, in whole seconds. It has to divide every rollup. Windows begin at multiples of their length since 1970 in UTC: those of 7d on Thursdays."`
	Rollups    []Rollup `yaml:"rollups" max:"16" short:"window" doc:"Tables of plain numbers to keep, shortest first; just the window when not given. A bare window keeps its numbers for ever. They begin as windows do; weeks that begin on Mondays are in the view [calendar](sql.md)."`
	Lateness   Duration `yaml:"lateness" default:"1d" min:"0s" max:"366d" doc:"An event older than its record's Kafka time by more is a dead letter: late."`
	Skew       Duration `yaml:"skew" default:"10m" min:"0s" max:"7d" doc:"An event newer than its record's Kafka time by more is a dead letter: future."`
	Chunk      int      `yaml:"chunk" default:"262144" min:"1024" max:"268435456" doc:"Offsets per chunk, a power of two. A state row has one number for each chunk that has events of it. After a crash at most 262144 records of the chunk of each partition are read again, or the chunk [if its state is not in the ledger](exactly-once.md#the-idea). With each it is at most 8192, which is then the default."`
	Keep       Duration `yaml:"keep" default:"7d" min:"1d" max:"3660d" doc:"How long the state rows live. At least the longest rollup + lateness + 1d, so that a rollup can always be made again."`

	Where     []Where   `yaml:"where" max:"16" doc:"Count only events that meet every condition; the others get the outcome filtered. So does a record without a value, all of whose fields are missing, if it does not meet them."`
	By        []Column  `yaml:"by" max:"16" short:"field" doc:"Group columns, in order. A bare path stands for the column of that name, with _ for the dots."`
	MaxGroups int       `yaml:"max_groups" default:"10000" min:"1" max:"10000000" doc:"Distinct groups per chunk that keep their name; the rest go to __other__."`
	Throttle  *Throttle `yaml:"throttle" doc:"Let an event of a key, such as a user, count only up to a limit; the others get the outcome throttled."`
	Dedupe    *Dedupe   `yaml:"dedupe" doc:"Count an event that comes again with the same id only once."`
	Measures  []Measure `yaml:"measures" max:"64" doc:"Sketches per window and group. Hits are always counted."`

	HashKeyFile string `yaml:"hash_key_file" doc:"File with a secret of at least 16 bytes. weir hashes ids with it before it adds them to hll and set measures, so that crafted ids cannot mislead the count; PFCOUNT then no longer equals that of a Redis with the plain ids, and weirSetHas finds no id."`
	HashKey     Secret `yaml:"-"` // content of HashKeyFile

	Schema *schemas.File `yaml:"-"` // content of SchemaFile

	Place string `yaml:"-"` // its path in the configuration, for messages: jobs[0]
}

// Time names the field that holds the event time.
type Time struct {
	Unit  string   `yaml:"unit" default:"ms" enum:"(units)" doc:"What the number counts; rfc3339 or iso8601 for a text; record for the timestamp of the Kafka record. See [times](inputs.md#times)."`
	Field []string `yaml:"field" required:"true" when:"unit!=record" max:"8" format:"path" doc:"Path of the time, or several: the first that is there and neither null nor an empty text. At the end of a list record is the timestamp of the Kafka record."`
	Date  []string `yaml:"date" when:"unit=iso8601" max:"1" format:"path" doc:"Path of the date, if field has only the time of day."`
	Zone  string   `yaml:"zone" when:"unit=iso8601" format:"zone" doc:"Time zone of texts without an offset, such as Europe/Berlin; UTC when not given."`
}

// paths returns the paths of the time, and whether the time of the record is behind them.
func (t *Time) paths() (paths []string, orRecord bool) {
	if n := len(t.Field) - 1; n > 0 && t.Field[n] == event.RecordTime.String() {
		return t.Field[:n], true
	}
	return t.Field, false
}

// A Rollup is one table of finished numbers.
type Rollup struct {
	Window Duration `yaml:"window" required:"true" min:"1s" max:"366d" doc:"Length of its windows: a multiple of the one before."`
	Keep   Duration `yaml:"keep" min:"0s" max:"36600d" doc:"How long its rows live after they were last made, at least as long as the state rows; for ever when not given, or when more than 50 years."`

	// KeepStates defaults to the job's Keep; complete fills it in. The first rollup has none.
	KeepStates Duration `yaml:"keep_states" min:"1d" max:"36600d" doc:"How long the states of set, bitmap, bloom, first, last and topk measures, which hold or recognise values of events, live in its rows; the job's keep when not given, as long as the row when more than 50 years. Not for the shortest rollup: keep holds there."`
}

// A Column is one group column: either the text of a field or the geohash of
// a position.
type Column struct {
	Name    string   `yaml:"name" format:"name" doc:"Name of the column; the path with _ for . when not given."`
	Field   []string `yaml:"field" max:"8" format:"path" doc:"Path of the value, or several: the first that is there and neither null nor an empty text. Then the column needs a name."`
	Apply   []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the text, in this order: see [functions](#functions). A column of a function's results needs a name."`
	Geohash *Geohash `yaml:"geohash" doc:"Group by the geohash cell of a position instead of by a field."`
	Default *string  `yaml:"default" format:"any" doc:"Value for events in which the field, or both lon and lat of a geohash, are missing or null. Without it such an event is malformed."`
}

// Geohash names a position and the size of its cells.
type Geohash struct {
	Lon       []string `yaml:"lon" required:"true" max:"8" format:"path" doc:"Path of the longitude in degrees, or several."`
	Lat       []string `yaml:"lat" required:"true" max:"8" format:"path" doc:"Path of the latitude in degrees, or several."`
	Precision int      `yaml:"precision" default:"5" min:"1" max:"12" doc:"Number of letters: with 5 a cell is about 5 km wide, with 6 1.2 km by 0.6 km, with 7 150 m."`
}

// Dedupe says how to recognise a repeated event.
type Dedupe struct {
	Field []string `yaml:"field" required:"true" max:"8" format:"path" doc:"Path of the event's id, or several: the first that is there and neither null nor an empty text. All events of an id must be in one partition: each partition remembers ids of its own. An event without an id is malformed."`
	Apply []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the id, in this order: see [functions](#functions)."`
	Exact bool     `yaml:"exact" default:"false" doc:"Keep 128 bits of each id instead of Bloom filters: no good event is taken for a repeat. It takes 64 bytes of memory for each offset of a chunk in each partition; the filters take 8."`

	// Error defaults to 0.0001 if not Exact; complete fills it in.
	Error float64 `yaml:"error" min:"0.000001" max:"0.1" doc:"Share of good events that may be taken for repeats; 0.0001 when not given. With exact there are none."`
}

// Throttle limits the events of a key that count.
type Throttle struct {
	Field []string `yaml:"field" required:"true" max:"8" format:"path" doc:"Path of the key, or several: the first that is there and neither null nor an empty text. All events of a key must be in one partition: each partition has a limit of its own. An event without a key is malformed."`
	Apply []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the key, in this order: see [functions](#functions)."`
	Limit int      `yaml:"limit" required:"true" min:"1" max:"1048576" doc:"How many events of a key count per period."`
	Per   Duration `yaml:"per" required:"true" min:"1ms" max:"366d" doc:"The period, in event time. The clock of a key does not step back, and is at most the time of the record."`
	Form  string   `yaml:"form" default:"window" enum:"window,funnel" doc:"window: at most limit events within any period. funnel: limit events per period at a steady rate."`
	Burst int      `yaml:"burst" default:"0" when:"form=funnel" min:"0" max:"1048576" doc:"How many events more may count at once."`
}
