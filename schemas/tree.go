package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"weir/event"
)

// tree turns a value of Go into one of those that encoding/json makes: a map, a slice, a text, a number, a bool
// or nil.
func tree(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for key, inside := range x {
			x[key] = tree(inside)
		}
	case []any:
		for i, element := range x {
			x[i] = tree(element)
		}
	case []byte:
		return string(x)
	case [16]byte: // a UUID
		return fmt.Sprintf("%x-%x-%x-%x-%x", x[:4], x[4:6], x[6:8], x[8:10], x[10:])
	case *big.Rat:
		digits, _ := x.FloatPrec()
		return json.Number(x.FloatString(digits))
	case float32:
		return json.Number(strconv.FormatFloat(float64(x), 'f', -1, 32))
	case float64:
		return json.Number(strconv.FormatFloat(x, 'f', -1, 64))
	case int32, int64, uint32, uint64:
		return json.Number(fmt.Sprint(x))
	}
	return v
}

func protoSchema(m protoreflect.MessageDescriptor) *event.Schema {
	return &event.Schema{Message: protoTypes{}.of(m), Tree: func(value []byte) (any, error) {
		d := dynamicpb.NewMessage(m)
		if err := proto.Unmarshal(value, d); err != nil {
			return nil, err
		}
		return messageTree(d), nil
	}}
}

// messageTree returns a message with all that is in it. Messages of Google's that are one value are that.
func messageTree(m protoreflect.Message) any {
	of := m.Descriptor()
	number := func(n protoreflect.FieldNumber) protoreflect.Value { return m.Get(of.Fields().ByNumber(n)) }
	switch {
	case of.FullName() == "google.protobuf.Timestamp":
		return time.Unix(number(1).Int(), number(2).Int()).UTC().Format(time.RFC3339Nano)
	case slices.Contains(wrappers, of.FullName()):
		return tree(number(1).Interface())
	}
	all := map[string]any{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch x := v.Interface().(type) {
		case protoreflect.List:
			var list []any
			for i := range x.Len() {
				list = append(list, fieldTree(f, x.Get(i)))
			}
			all[string(f.Name())] = list
		case protoreflect.Map:
			entries := map[string]any{}
			x.Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
				entries[key.String()] = fieldTree(f.MapValue(), v)
				return true
			})
			all[string(f.Name())] = entries
		default:
			all[string(f.Name())] = fieldTree(f, v)
		}
		return true
	})
	return all
}

// fieldTree returns one value of a field.
func fieldTree(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch x := v.Interface().(type) {
	case protoreflect.Message:
		return messageTree(x)
	case protoreflect.EnumNumber:
		if symbol := f.Enum().Values().ByNumber(x); symbol != nil {
			return string(symbol.Name())
		}
		return tree(int32(x))
	default:
		return tree(x)
	}
}
