package slots

// WholeSQL is window.Whole in SQL.
const WholeSQL = "18446744073709551615"

// Latest is an aggregate of states that are maps from slots: the later value of each slot, in
// an array, as mapValues of their maxMap.
const Latest = "arrayMap(entries -> arrayMap(e -> tupleElement(e, 2), arrayFilter((e, next) -> tupleElement(e, 1) != next, entries, arrayShiftLeft(arrayMap(e -> tupleElement(e, 1), entries), 1, toUInt64(" + WholeSQL + ")))), " +
	"[arraySort(groupArrayArray(arrayMap((slot, value) -> (slot, value), mapKeys(%[1]s), mapValues(%[1]s))))])[1]"

// CheckedSQL returns the number, as Checked makes it, of a tuple whose first element is a count of events,
// with a check of what is behind it.
func CheckedSQL(check string) string {
	return "bitOr(bitShiftLeft(tupleElement(%[1]s, 1), 24), bitShiftRight(" + check + " * 11400714819323198485, 40))"
}

// AddedUp returns the sums of values of equal numbers, in the order of these. Numbers and values
// are less than 2^32. Of the words that have a number in the upper half and a value in the lower
// one, those of a number are beside each other once they are sorted.
func AddedUp(numbers, values string) string {
	sorted := "arraySort(arrayMap((i, n) -> bitOr(bitShiftLeft(toUInt64(i), 32), n), " + numbers + ", " + values + "))"
	return "arrayMap((words, next) -> " + Sums("words") +
		", [" + sorted + "], [arrayShiftLeft(" + sorted + ", 1, " + NoWord + ")])[1]"
}

// Upper returns the upper half of a word.
func Upper(word string) string { return "bitShiftRight(" + word + ", 32)" }

// Lower returns the lower half of a word.
func Lower(word string) string { return "bitAnd(" + word + ", 4294967295)" }

// LastWord tells of a word w and the next one whether w is the last one of its upper half. Behind
// the last word is NoWord.
var LastWord = Upper("w") + " != " + Upper("next")

// NoWord has an upper half that no other word has.
const NoWord = "toUInt64(18446744073709551615)"

// Sums returns for each upper half of the words, ascending, the sum of their lower halves: what they
// add to the sum of all words before. next has for each word the one behind it.
func Sums(words string) string {
	return differences("arrayFilter((sum, w, next) -> " + LastWord + ", arrayCumSum(w -> " + Lower("w") + ", " + words + "), " + words + ", next)")
}

// differences returns what each sum adds to the one before.
func differences(sums string) string {
	return "arrayMap(sums -> arrayMap((sum, before) -> toUInt64(sum - before), sums, arrayShiftRight(sums, 1)), [" + sums + "])[1]"
}
