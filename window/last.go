package window

// Last keeps the value of a field of the latest event.
var Last Kind = ordered{name: "last"}
