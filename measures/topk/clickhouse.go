package topk

import (
	"fmt"
	"strconv"

	"weir/measures/face"
	"weir/measures/slots"
	"weir/window"
)

// SQL stores a Top by slot. Of two Tops of a slot, that of more events is the
// later one, and tuples compare by their first element first.
func SQL(m *window.Measure) *face.SQL {
	const tuple = "Tuple(UInt64, UInt64, Array(Tuple(String, UInt64, UInt64)))"
	const plain = "Map(UInt64, " + tuple + ")"
	listed := strconv.Itoa(Listed(m))
	fold := func(tops, lists string) string {
		return "map(toUInt64(" + slots.WholeSQL + "), " + topOf("arraySum(tupleElement("+tops+", 1))", "arraySum(tupleElement("+tops+", 2))", lists, listed) + ")"
	}
	const tops = "mapValues(%[1]s)"
	return &face.SQL{
		State: "SimpleAggregateFunction(maxMap, " + plain + ")",
		Merge: "maxMap(%s)",
		Bytes: "arrayStringConcat(arrayMap((slot, top) -> concat(reinterpretAsFixedString(slot), reinterpretAsFixedString(tupleElement(top, 1)), reinterpretAsFixedString(tupleElement(top, 2)), " +
			"reinterpretAsFixedString(length(tupleElement(top, 3))), arrayStringConcat(arrayMap(e -> concat(reinterpretAsFixedString(length(tupleElement(e, 1))), tupleElement(e, 1), " +
			"reinterpretAsFixedString(tupleElement(e, 2)), reinterpretAsFixedString(tupleElement(e, 3))), tupleElement(top, 3)))), mapKeys(%[1]s), mapValues(%[1]s)))",
		Fold: fold(tops, "arrayReduce('sumMap', tupleElement(tupleElement("+tops+", 3), 1), tupleElement(tupleElement("+tops+", 3), 2), "+
			"arrayMap(p -> arrayMap(e -> "+topOver("p")+", tupleElement(p, 3)), "+tops+"))"),
		Folded: "arrayMap(latest -> " + fold("latest", topSums("latest")) + ", [" + slots.Latest + "])[1]",
		Plus:   "map(toUInt64(" + slots.WholeSQL + "), " + topPlus("%[1]s["+slots.WholeSQL+"]", listed) + ")",

		Number:     "%s[" + slots.WholeSQL + "]",
		NumberType: tuple,
		View:       "arraySlice(tupleElement(%s, 3), 1, " + strconv.Itoa(m.K) + ")",
		ViewType:   "Array(Tuple(key String, count UInt64, error UInt64))",
		Expires:    true,
		Rank: slots.CheckedSQL("(tupleElement(%[1]s, 2) + arraySum(e -> xxHash64(tupleElement(e, 1)) * (tupleElement(e, 2) + " +
			"bitShiftLeft(tupleElement(e, 3), 32)), tupleElement(%[1]s, 3)))"),

		Empty: "CAST(map(), '" + plain + "')",
		Plain: plain,
		Runs:  8, // where the entries of each row end, slots, events, floors, where the lists end, keys, counts, errors
		Add: func(runs [][]byte, row window.Row, m int) {
			for slot, t := range Slots(row, m) {
				runs[1] = face.Append64(runs[1], uint64(slot))
				runs[2] = face.Append64(runs[2], t.Events)
				runs[3] = face.Append64(runs[3], t.Floor)
				t.Keys.Each(func(key []byte, count, wrong uint64) bool {
					runs[5] = face.AppendString(runs[5], key)
					runs[6] = face.Append64(runs[6], count)
					runs[7] = face.Append64(runs[7], wrong)
					return true
				})
				runs[4] = face.Append64(runs[4], uint64(len(runs[6])/8))
			}
			runs[0] = face.Append64(runs[0], uint64(len(runs[1])/8))
		},
	}
}

// Functions are the SQL functions of the kind. weirTopK adds up the states of windows and groups in a rollup, and
// returns the k most frequent keys. It is an aggregate.
var Functions = []face.Function{{Name: "weirTopK", Arrow: "(state, k) -> tupleElement(" + topPlus("state["+slots.WholeSQL+"]", "k") + ", 3)"}}

// topPlus returns an aggregate that adds up Tops, with at most so many keys listed.
func topPlus(top, listed string) string {
	return topOf("sum(tupleElement("+top+", 1))", "sum(tupleElement("+top+", 2))",
		"sumMap(tupleElement(tupleElement("+top+", 3), 1), tupleElement(tupleElement("+top+", 3), 2), arrayMap(e -> "+topOver(top)+", tupleElement("+top+", 3)))", listed)
}

// topOver is share.over of entry e of a Top.
func topOver(top string) string {
	return "toInt64(tupleElement(e, 2) + tupleElement(e, 3)) - toInt64(tupleElement(" + top + ", 2))"
}

// topSums returns what sumMap makes of the lists of some slots: their keys, counts, and topOver.
// It gives each key a number and adds up by these, because sumMap keeps a tree of values of any
// type. A list of a slot has no errors.
func topSums(tops string) string {
	keys := "arrayFlatten(tupleElement(tupleElement(" + tops + ", 3), 1))"
	counts := "arrayFlatten(tupleElement(tupleElement(" + tops + ", 3), 2))"
	floors := "arrayFlatten(arrayMap(p -> arrayWithConstant(length(tupleElement(p, 3)), tupleElement(p, 2)), " + tops + "))"
	return "arrayMap((keys, numbers, counts, floors) -> (arrayDistinct(keys), " + slots.AddedUp("numbers", "counts") + ", " +
		"arrayMap((n, floor) -> toInt64(n) - toInt64(floor), " + slots.AddedUp("numbers", "counts") + ", " + slots.AddedUp("numbers", "floors") + ")), " +
		"[" + keys + "], [arrayEnumerateDense(" + keys + ")], [" + counts + "], [" + floors + "])[1]"
}

// topOf returns the Top of a sum (topSum.top), from its events, the sum of the
// floors, and what sumMap makes of the lists: keys, counts, and topOver. all has the keys
// in the order of a list, each with its count below zero.
func topOf(events, floors, lists, listed string) string {
	const most = "toUInt64(toInt64(floors) + tupleElement(e, 3))"
	return "arrayMap((events, floors, all) -> (events, " +
		"arrayMax(arrayPushBack(arrayMap(e -> " + most + ", arraySlice(all, " + listed + " + 1)), floors)), " +
		fmt.Sprintf("arrayMap(e -> (tupleElement(e, 2), toUInt64(-tupleElement(e, 1)), toUInt64(%s - toUInt64(-tupleElement(e, 1)))), arraySlice(all, 1, %s))), ", most, listed) +
		"[" + events + "], [" + floors + "], " +
		"[arrayMap(l -> arraySort(arrayMap((key, n, over) -> (-toInt64(n), key, over), tupleElement(l, 1), tupleElement(l, 2), tupleElement(l, 3))), [" + lists + "])[1]])[1]"
}
