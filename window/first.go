package window

// First keeps the value of a field of the earliest event.
var First Kind = ordered{name: "first", first: true}
