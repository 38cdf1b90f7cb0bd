package schema

import (
	"fmt"
	"strings"

	"weir/measures"
	"weir/measures/face"
	"weir/sinks/clickhouse/wire"
)

// Functions returns the SQL functions of all kinds. They belong to the server, not to the database.
func Functions() (all []face.Function) {
	for _, k := range measures.All {
		all = append(all, k.Functions...)
	}
	return all
}

// CreateFunction returns the statement that makes a function.
func CreateFunction(c *wire.DB, f face.Function) string {
	return "CREATE OR REPLACE FUNCTION " + f.Name + c.OnCluster() + " AS " + f.Arrow
}

// Foreign is a condition that a row of system.functions has the name of one of functions, and another text. The
// record of a database cannot say that, because a migration of another database may have replaced it. The server
// writes both texts in its way, so its version does not matter.
func Foreign() string {
	var names, texts []string
	for _, f := range Functions() {
		names, texts = append(names, wire.Text(f.Name)), append(texts, wire.Text("CREATE FUNCTION "+f.Name+" AS "+f.Arrow))
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf("name IN (%s) AND ifNull(formatQuerySingleLineOrNull(create_query) != formatQuerySingleLineOrNull(transform(name, [%s], [%s], '')), 1)", list, list, strings.Join(texts, ", "))
}
