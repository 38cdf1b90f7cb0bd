package live

import (
	"fmt"

	"weir/event"
	"weir/serve/key"
	"weir/sketches/bitmap"
	"weir/window"
)

// bitmapKind answers with a *bitmap.Activity.
var bitmapKind = Kind{
	Name:   window.Bitmap.String(),
	Number: numberOf((*bitmap.Activity).Count),
	Shows:  People,
	Common: func(a, b any) uint64 {
		x, ok := a.(*bitmap.Activity)
		y, both := b.(*bitmap.Activity)
		if !ok || !both {
			return 0
		}
		return x.CountAnd(y)
	},
	Command: "BITCOUNT",
	Member: func(text string) (func(any) bool, error) {
		id, ok := event.Value{Kind: event.String, Bytes: []byte(text)}.Uint32() // as events and GETBIT have it
		if !ok {
			return nil, fmt.Errorf("%w: member=%s: the members of a bitmap are numbers below 4294967296, in plain digits without sign, blanks or zeros in front", key.ErrQuestion, text)
		}
		return func(value any) bool {
			a, ok := value.(*bitmap.Activity)
			return ok && a.Has(id)
		}, nil
	},
	begin: func(*window.Spec, *window.Measure) merging { return &bitmapValue{set: new(bitmap.Activity)} },
}

type bitmapValue struct {
	set  *bitmap.Activity
	rows *bitmap.Pool // of mergeRow, where bits are cheap to merge; nil: none
}

func (v *bitmapValue) mergeState(state []byte) error {
	a, err := bitmap.FromClickHouse(state)
	if err == nil {
		v.set.Merge(a)
	}
	return err
}

func (v *bitmapValue) mergeRow(row window.Row, m int) {
	if v.rows == nil {
		v.rows = new(bitmap.Pool)
		v.rows.Grow(1)
	}
	pool, i := row.Bitmap(m)
	v.rows.Merge(0, pool, i)
}

func (v *bitmapValue) settle() {
	if v.rows != nil {
		must(v.mergeState(v.rows.AppendClickHouse(nil, 0)))
		v.rows = nil
	}
}

func (v *bitmapValue) mergeAll(others []merging) {
	for _, o := range others {
		v.set.Merge(o.(*bitmapValue).set)
	}
}

func (v *bitmapValue) measured() any { return v.set }

func (v *bitmapValue) bytes() int64 { return int64(v.set.Bytes()) }
