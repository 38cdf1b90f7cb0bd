// Package key has the grammar of window keys, with which Redis and HTTP clients
// ask for what a job has counted:
//
//	w:<job>:<measure>:<window>[:<group>…]
//
//	k, err := key.Parse("w:clicks:users:-60..now:/p/1")
//
// A window is given by its start, in UTC and the basic form of ISO 8601, to the
// minute or to the second (20261120T1005Z, 20261120T100530Z); or as now, the window
// that the current time is in; or as -3, the one three windows before that; or as a
// range from..to of any of these, both ends included. A group is the value of a
// group column, in the order of the columns; * stands for all values, and so does a
// group that is left out at the end. In jobs, measures and groups, any byte can be
// written as % and two hex digits: %3A is a colon, %2A a star alone, %25 a percent
// sign.
//
// Two measures exist in every job: hits is the number of events, and partial is the
// reason why answers about the job are incomplete.
//
// The errors of this package are all errors of the client that asks: a text that is
// no key (SyntaxError), a job or measure that does not exist (UnknownError), and a
// key that does not fit its job (ErrQuestion).
package key
