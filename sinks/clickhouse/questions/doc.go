// Package questions answers what is asked of a job: by people, in SQL that they may see, and by live answers.
// It has the views with parameters that such questions read.
//
// Files:
//
//	read.go      reads windows back for live answers, and dead letters
//	ask.go       asks about ids over several windows
//	long.go      asks about long ranges, from the rollups
//	statement.go a question as a statement for people, or why it has none
//	views.go     the views that such questions read
//	sessions.go retention.go funnel.go
//	             the views of questions about ids over several windows
//	ids.go       what these views share
//	asked.go     the views of windows that a query asks for
package questions
