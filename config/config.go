package config

// Config is the effective configuration: everything merged, every default
// filled in, every value checked. Fields appear in the order in which they
// are documented and printed.
//
// Tags, read by schema.go:
//
//	yaml      the key
//	default its value if none is given, in the form a user would write
//	doc       one or two sentences for the reference; the first is the flag's help
//	min, max  inclusive bounds of a number, duration or size; max entries of a list
//	enum      the accepted words
//	format    the shape of a text, see values.go
//	required  the key has to be given
//	when      "form=funnel": the key belongs to entries whose form is funnel;
//	          "form!=funnel": to all others, the key form being in front of it;
//	          "(measures)": to measures of the kinds that list it
//	like      its form is described under the key of this name
//	short     a bare text (or list of texts) in the list stands for an entry with only this key
//	unless    "preset": a required key that this one may give
//	secret    "token_file": the key that names a file with it; refused in YAML and on the command line
type Config struct {
	Kafka      Kafka      `yaml:"kafka" doc:"Where the events come from."`
	ClickHouse ClickHouse `yaml:"clickhouse" doc:"Where the results go."`
	Registry   Registry   `yaml:"registry" doc:"The schema registry, for jobs whose records name their schemas."`
	HTTP       HTTP       `yaml:"http" doc:"Metrics, health and status."`
	RESP       RESP       `yaml:"resp" doc:"The live windows for any Redis client."`
	Flush      Flush      `yaml:"flush" doc:"How often changes are written."`
	Rollup     Rollups    `yaml:"rollup" doc:"How often touched windows are rolled up."`
	Audit      Audit      `yaml:"audit" doc:"How often the process compares its ledger with its rows."`
	Memory     Size       `yaml:"memory" default:"1GiB" min:"64MiB" max:"16TiB" doc:"Budget for windows and buffers. At 80 % of it weir flushes early, at 100 % it stops fetching; it never drops. Where resp.listen is given, resp.memory is part of it."`
	Workers    int        `yaml:"workers" default:"0" min:"0" max:"1024" doc:"Goroutines that own partitions; 0 means one per CPU."`
	Log        Log        `yaml:"log" doc:"The log on standard error."`
	Jobs       []Job      `yaml:"jobs" max:"64" doc:"What to count. A list of entries with names; see the example."`
}

// Kafka describes the connection to the log.
type Kafka struct {
	Brokers        []string `yaml:"brokers" default:"127.0.0.1:9092" max:"100" format:"address" doc:"Addresses (host:port) to start from; the rest of the cluster is found through them."`
	Group          string   `yaml:"group" default:"weir" format:"topic" doc:"Consumer group. Processes of one group share the partitions."`
	Member         string   `yaml:"member" format:"member" doc:"Divide the partitions without a consumer group: 3/8 is number 3 of 8 processes, 0/8 to 7/8. The restart of one then pauses no other. Each of them must run, with the same group, whose name is needed for nothing else. See docs/brokers.md."`
	Session        Duration `yaml:"session" default:"10s" min:"6s" max:"5m" doc:"A member that is silent for longer loses its partitions. A hand-over of partitions has to fit into it."`
	Rack           string   `yaml:"rack" doc:"The rack of this process, as in broker.rack of the brokers. If the brokers choose replicas by rack (replica.selector.class), each partition is read from an in-sync replica in this rack, or from its leader if there is none."`
	OnDataLoss     string   `yaml:"on_data_loss" default:"fail" enum:"fail,skip" doc:"What to do when Kafka has deleted records that were not read yet: stop with an error, or record a gap and go on."`
	ConnectTimeout Duration `yaml:"connect_timeout" default:"1m" min:"0s" max:"1d" doc:"How long to try again at the start while no broker answers; then exit 69."`
	TLS            KafkaTLS `yaml:"tls" doc:"Encryption to the brokers."`
	SASL           SASL     `yaml:"sasl" doc:"How weir authenticates to the brokers."`
}

// TLS names the files of one encrypted connection. All are optional: without a
// CA file the system's certificates are used, without a certificate weir does
// not authenticate itself by TLS.
type TLS struct {
	CAFile     string `yaml:"ca_file" doc:"PEM file with the certificate authorities to trust; the system's when not given."`
	CertFile   string `yaml:"cert_file" doc:"PEM file with the client certificate."`
	KeyFile    string `yaml:"key_file" doc:"PEM file with the key of the client certificate."`
	ServerName string `yaml:"server_name" doc:"Name to expect in the server's certificate, where it differs from the address."`
}

// KafkaTLS is TLS with a switch, because a broker address has no scheme that
// could say it. Load sets Enabled if any file or the server name is given and
// enabled is not set to false.
type KafkaTLS struct {
	Enabled bool `yaml:"enabled" default:"false" doc:"Use TLS. The default is true if another key of this section is given."`
	TLS
}

// SASL is the user, and how weir authenticates as it.
type SASL struct {
	Mechanism    string `yaml:"mechanism" enum:"plain,scram-sha-256,scram-sha-512,oauthbearer,aws-msk-iam" doc:"How to authenticate; without it weir does not. Use plain, oauthbearer and aws-msk-iam only with TLS."`
	User         string `yaml:"user" required:"true" when:"mechanism=plain,scram-sha-256,scram-sha-512" doc:"User name."`
	PasswordFile string `yaml:"password_file" required:"true" when:"mechanism=plain,scram-sha-256,scram-sha-512" doc:"File whose content is the password."`
	Password     Secret `yaml:"password" secret:"password_file" doc:"The password itself. Wins over the file."`

	TokenFile        string `yaml:"token_file" when:"mechanism=oauthbearer" doc:"File whose content is the token. It is read again for each connection, so that another program can keep it fresh."`
	TokenURL         string `yaml:"token_url" when:"mechanism=oauthbearer" format:"http" doc:"Where the authorization server gives tokens for client credentials; instead of token_file."`
	ClientID         string `yaml:"client_id" when:"mechanism=oauthbearer" doc:"The client's name at token_url."`
	ClientSecretFile string `yaml:"client_secret_file" when:"mechanism=oauthbearer" doc:"File whose content is the client's secret."`
	ClientSecret     Secret `yaml:"client_secret" secret:"client_secret_file" doc:"The secret itself. Wins over the file."`
	Scope            string `yaml:"scope" when:"mechanism=oauthbearer" doc:"The scopes to ask token_url for, with spaces between them."`
	Extensions       string `yaml:"extensions" when:"mechanism=oauthbearer" doc:"More for the broker, as name=value with commas between them, such as logicalCluster=lkc-1,identityPoolId=pool-1."`
	Region           string `yaml:"region" required:"true" when:"mechanism=aws-msk-iam" doc:"The region of the cluster, such as eu-central-1. The credentials are those that the AWS SDK finds: environment, profile, web identity, container or instance."`
}

// ClickHouse describes the connection to the sink.
type ClickHouse struct {
	URLs           []string `yaml:"urls" default:"http://127.0.0.1:8123" max:"20" format:"url" doc:"HTTP interface of the server; http or https. Several if the database has replicas: weir asks one, and the next if that one fails. See docs/clickhouse.md."`
	Shards         []Shard  `yaml:"shards" max:"100" short:"urls" doc:"Instead of urls, where the database is spread over shards: for each shard the urls of its replicas, such as [[http://a1:8123, http://a2:8123], [http://b1:8123, http://b2:8123]]. Their number and order stay as they are when the database is made. See docs/clickhouse.md."`
	Database       string   `yaml:"database" default:"weir" format:"database" doc:"Database for all tables. weir migrate creates it."`
	User           string   `yaml:"user" default:"default" doc:"User name."`
	PasswordFile   string   `yaml:"password_file" doc:"File whose content is the password."`
	Password       Secret   `yaml:"password" secret:"password_file" doc:"The password itself. Wins over the file."`
	Cluster        string   `yaml:"cluster" format:"cluster" doc:"Name of a ClickHouse cluster: tables are created ON CLUSTER with Replicated engines. A single server when not given."`
	ConnectTimeout Duration `yaml:"connect_timeout" default:"1m" min:"0s" max:"1d" doc:"How long to try again at the start while the server does not answer; then exit 69."`
	InsertTimeout  Duration `yaml:"insert_timeout" default:"20s" min:"1s" max:"10m" doc:"Deadline of one insert. After it the same changes, merged with newer ones, are sent again."`
	Fsync          bool     `yaml:"fsync" default:"false" doc:"Make tables that acknowledge an insert when it is on the disk, so a power loss of a single server takes nothing. After a change, run weir migrate. See docs/clickhouse.md."`
	TLS            TLS      `yaml:"tls" doc:"Encryption to the server, when the URL says https."`
}

// Shard is one part of a database that is spread over servers.
type Shard struct {
	URLs []string `yaml:"urls" required:"true" max:"20" format:"url" doc:"HTTP interfaces of the shard's replicas."`
}

// Registry describes the connection to the schema registry.
type Registry struct {
	URL          string `yaml:"url" format:"http" doc:"Where the schema registry answers HTTP; http or https. It speaks Confluent's interface, as Karapace, Redpanda and Apicurio (with /apis/ccompat/v7 at the end) do too."`
	User         string `yaml:"user" doc:"User name; no authentication when not given."`
	PasswordFile string `yaml:"password_file" doc:"File whose content is the password."`
	Password     Secret `yaml:"password" secret:"password_file" doc:"The password itself. Wins over the file."`
	TLS          TLS    `yaml:"tls" doc:"Encryption to the registry, when the URL says https."`

	Schemas []LocalSchema `yaml:"schemas" max:"1000" doc:"Schemas that are in files. They are not asked for at url, which is not needed if all are here, such as [{id: 17, file: click.avsc}]; each has an id or a GUID, and a file .avsc or .proto without imports."`
}

// LocalSchema is a schema that weir reads from a file instead of a registry.
type LocalSchema struct {
	ID   string `yaml:"id" required:"true" format:"any" doc:"What records call it: its id, such as 17, or its GUID."`
	File string `yaml:"file" required:"true" doc:"File with its text, in the language of the jobs that read it: .avsc or .proto, without imports."`

	Text string `yaml:"-"` // content of File
}

// HTTP describes the listener for /metrics, /livez, /readyz and /api/v1.
type HTTP struct {
	Listen    string `yaml:"listen" default:"127.0.0.1:8686" format:"listen" doc:"Address to listen on. Beyond loopback it needs a token, or public."`
	TokenFile string `yaml:"token_file" doc:"File whose content is the bearer token that requests must carry; /livez and /readyz need none."`
	Token     Secret `yaml:"token" secret:"token_file" doc:"The token itself. Wins over the file."`
	K         int    `yaml:"k" default:"0" min:"0" max:"1000000" doc:"Withhold groups and cells of the map with fewer people than this (k-anonymity), with single members, texts of single events and dead letters' payloads; 0: withhold nothing. It holds for HTTP; resp.listen has no such bound. See docs/http.md."`
	Public    bool   `yaml:"public" default:"false" doc:"Answer without a token even beyond loopback. For networks that are closed by other means, such as the inside of a container stack."`
}

// RESP describes the listener for Redis clients.
type RESP struct {
	Listen       string `yaml:"listen" format:"listen" doc:"Address to listen on; off when not given. Beyond loopback a password is required."`
	PasswordFile string `yaml:"password_file" doc:"File whose content is the password for AUTH."`
	Password     Secret `yaml:"password" secret:"password_file" doc:"The password itself. Wins over the file."`
	Memory       Size   `yaml:"memory" default:"0B" min:"0B" max:"8TiB" doc:"The part of memory that scratch keys may take; beyond it writes get the OOM error. Memory held for clients (requests, transactions, replies) takes up to a quarter as much in addition, at least 4MiB. Both reduce the memory of the jobs. Half of memory at most; 0B: a quarter."`
	ReadOnly     bool   `yaml:"read_only" default:"false" doc:"Refuse every command that writes, also to scratch keys."`
}

// Flush describes how often the sink is written to.
type Flush struct {
	Interval    Duration `yaml:"interval" default:"1s" min:"100ms" max:"1m" doc:"Time between two flushes, and so about how old the newest row in ClickHouse may be. While the process is behind the log by that time or more, five times as long, at most 5 s: see docs/sizing.md. As soon as there are 131,072 rows of windows and groups, they are flushed."`
	StopTimeout Duration `yaml:"stop_timeout" default:"15s" min:"1s" max:"10m" doc:"How long the last flush may take when weir is asked to stop; after it exit 75, and what was not flushed is read again."`
}

// Rollups describes how often the rollups run. Each job says which rollups it
// has.
type Rollups struct {
	Interval Duration `yaml:"interval" default:"2s" min:"1s" max:"10m" doc:"Time between two looks whether windows have become complete, which are then rolled up. Longer means that views merge more rows at each query, and say later that a window is complete."`

	Lock             string `yaml:"lock" format:"redis" doc:"Server (host:port) that speaks the Redis protocol and holds the lock that lets one process at a time roll a job up. It saves work where many processes share the jobs; without it, or when the server is away, each rolls up, to the same numbers."`
	LockPasswordFile string `yaml:"lock_password_file" doc:"File whose content is that server's password."`
	LockPassword     Secret `yaml:"lock_password" secret:"lock_password_file" doc:"The password itself. Wins over the file."`
}

// Audit describes how often the audit beside the jobs runs.
type Audit struct {
	Interval Duration `yaml:"interval" default:"1h" min:"0s" max:"30d" doc:"Time between two audits of the ledger against the rows, as weir verify makes them; the first begins a twentieth of it after the start. The outcome is in the log and in weir_audit_mismatches. 0s: never."`
}

// Log describes the log.
type Log struct {
	Level  string `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"The least important messages to print."`
	Format string `yaml:"format" default:"auto" enum:"auto,text,json" doc:"Form of a message. auto is text on a terminal and json elsewhere."`
}
