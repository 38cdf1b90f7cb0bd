// Package deploy has the tests of the folder deploy: the chart, the unit and the compose file.
package deploy
