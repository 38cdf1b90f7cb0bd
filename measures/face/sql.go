package face

import (
	"encoding/binary"

	"weir/window"
)

// A SQL says how ClickHouse stores a measure: types, and SQL expressions with
// %[1]s in place of their operand.
//
// A measure has a column of states in the state table and in every rollup, and one
// of finished numbers in the rollups and views. A finished number of a window is only
// replaced by one that NumberMerge prefers.
//
// Of kinds that are window.Kind.Additive, a rollup has no finished numbers: they can fall
// as well as grow. Its states hold one total of the window, under window.Whole. Merge takes
// the later of two totals of one window; Fold makes the total of the states of one
// window; Plus adds the totals of several.
type SQL struct {
	State string // type of the column of states
	Merge string // the aggregate function that merges states
	Bytes string // of a state: its bytes, as window.Measure.Merge reads them
	Fold  string // of a state: the total; only if additive
	Plus  string // the aggregate function that adds totals; only if additive

	// The same as Fold of Merge, or as Merge, in less time, for rollups: where an aggregate
	// function makes a node of a tree or of a table for each entry, and values of any type,
	// functions of arrays work on columns. Empty: nothing takes less.
	Folded string

	Number      string // of a state, or of a total if additive: its number. If not additive, it is the state, or that of window.Row.Number
	NumberType  string // type of that number
	NumberMerge string // the aggregate function that merges numbers of one window, such as max
	View        string // of a number: as a view has it
	ViewType    string // type of that, if it is not NumberType
	Expires     bool   // the number, if the rollup has one, holds values of events too, and expires with the states

	// The suffixes of the columns that a view has of the measure, if it has several: then
	// View returns an array with the value of each, and ViewType is the type of one.
	Parts  []string
	Levels []float64 // what part of the numbers is below each of them

	Rank string // of a number: a UInt64 that grows with it, as window.Row.Number has it

	Common string // of two states, %[1]s and %[2]s: how many ids are in both; empty: not known

	Estimate string // of the number of different values in a state of ids: how many ids; empty: it has none
	Margin   string // by how much a number may be wrong: %[1]s is by how much pairs of ids with one value are expected to change it, %[2]s that of squares, %[3]s how much a pair can

	IDs string // of a state of ids: an array of them; empty: it has none

	Empty string // the state of no events

	// A kind whose states are not what SQL reads best has them in a column whose name ends in
	// stored. What would be their column else is computed of it: alias, of type aliasType.
	Stored, Alias, AliasType string

	// How a rollup packs a state, if it does not keep it as the state table does: the type of the column, a
	// merged state packed, and the state of what is packed.
	PackedType, Packed, Unpacked string

	Codec string // of the columns of states; empty: ZSTD(1)

	// How a state is written into a Native block. Without Add, it is the bytes of
	// Column.AppendState, as those of an AggregateFunction are. Plain is the type, if it is not
	// State: a SimpleAggregateFunction is written as the type in it. Runs says how many runs of
	// bytes the column has, if more than one. Those of an Array are where the entries of each row
	// end, counted from the beginning of the block, and the entries. Add appends the state of a row
	// to the runs. If there is Last, it does that for the last run, which is long.
	Plain string
	Runs  int
	Add   func(runs [][]byte, row window.Row, m int)
	Last  func(run []byte, row window.Row, m int) []byte

	Bits uint64 // the third argument of weirBloomHas; 0: it does not apply
}

// A Function is an SQL function of a kind: CREATE FUNCTION name AS arrow. It is a macro: ClickHouse replaces the
// parameters by the text of the arguments. Therefore an argument that is used twice, or is costly, is bound by an
// arrayMap over an array of one element.
type Function struct{ Name, Arrow string }

// Suffixes returns what follows the name of the measure in the names of further columns.
func (s *SQL) Suffixes() []string {
	switch {
	case s == nil:
		return nil
	case s.Stored != "":
		return []string{s.Stored}
	}
	return s.Parts
}

// Append64 appends a number of 64 bits to a run of a Native block.
func Append64(run []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(run, v) }

// AppendString appends a text to a run of a Native block.
func AppendString(run, text []byte) []byte {
	return append(binary.AppendUvarint(run, uint64(len(text))), text...)
}
