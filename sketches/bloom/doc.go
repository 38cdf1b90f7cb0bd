// Package bloom answers "seen before?" in a few bits per item.
package bloom
