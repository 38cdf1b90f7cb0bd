package set

import (
	"fmt"

	"weir/measures/face"
)

const distinct = "weirSetUniq(%s)"

// Panels says how a dashboard shows a measure.
var Panels = face.Panels{Merged: distinct, All: []face.Panel{
	{Type: "timeseries", About: "Distinct values by window. " + face.Expires, SQL: face.Series("states", fmt.Sprintf(distinct, "%[2]s"))},
}}
