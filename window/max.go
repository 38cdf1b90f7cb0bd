package window

// Max keeps the greatest value of a numeric field.
var Max Kind = extreme{name: "max"}
