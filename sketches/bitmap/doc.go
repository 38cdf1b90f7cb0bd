// Package bitmap holds bits by number.
package bitmap
