// Package deploy has the tests of the folder deploy: the chart and the unit.
package deploy
