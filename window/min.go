package window

// Min keeps the least value of a numeric field.
var Min Kind = extreme{name: "min", flip: ^uint64(0)}
