package migrate

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// WriterAccount returns the statements that make the account for weir run.
func WriterAccount(c *wire.DB, a *Account) []Statement {
	return account(c, a, "", writes(c))
}

// writes are the rights of weir run. The lines of the ledger that it has folded are deleted.
func writes(c *wire.DB) string {
	return "SELECT, INSERT ON " + wire.Quote(c.Config.Database) + ".*, ALTER DELETE ON " + c.Name(schema.LedgerTable)
}

// ReaderAccount returns the statements that make the account for dashboards.
func ReaderAccount(c *wire.DB, a *Account) []Statement {
	// readonly = 2 forbids writing but not settings, because Grafana sets
	// max_execution_time. A client may lower these bounds and not raise them. A question that
	// reaches one is an error, also where the server's default profile says otherwise.
	settings := " SETTINGS readonly = 2, max_execution_time = 60 MAX 60, max_memory_usage = 4294967296 MAX 4294967296, max_result_rows = 1000000 MAX 1000000, skip_unavailable_shards = 0"
	for _, mode := range wire.OverflowModes {
		settings += ", " + mode + " = 'throw'"
	}
	return account(c, a, settings, "SELECT ON "+wire.Quote(c.Config.Database)+".*")
}

// account returns the statements that make an account or bring it up to date. They do
// not use CREATE OR REPLACE, which would take the rights away until the grant. The
// server gets a salted digest of the password, never the password.
func account(c *wire.DB, a *Account, settings, rights string) []Statement {
	salt := rand.Text()
	digest := sha256.Sum256([]byte(a.Password + salt))
	user := wire.Quote(a.User)
	step := func(object, verb string) Statement {
		sql := func(digest, salt string) string {
			return verb + " " + user + c.OnCluster() + " IDENTIFIED WITH sha256_hash BY " + wire.Text(digest) + " SALT " + wire.Text(salt) + settings
		}
		return Statement{Object: object + " " + a.User, SQL: sql("…", "…"), Full: sql(hex.EncodeToString(digest[:]), salt)}
	}
	return []Statement{
		step("user", "CREATE USER IF NOT EXISTS"),
		step("password of user", "ALTER USER"),
		{Object: "grant " + a.User, SQL: "GRANT" + c.OnCluster() + " " + rights + " TO " + user},
	}
}
