package event_test

import (
	"fmt"

	"weir/event"
)

func Example() {
	s, err := event.NewScanner([]string{"ts", "user_id", "geo.country"})
	if err != nil {
		fmt.Println(err)
		return
	}
	vals := make([]event.Value, 3)
	for _, doc := range []string{
		`{"ts":1763600000123,"user_id":81234,"geo":{"country":"DE"}}`,
		`{"ts":1763600000456,"user_id":"u-7","geo":null}`,
		`{"ts":1763600000789,"user_id":1,"user_id":2}`,
	} {
		if err := s.Scan([]byte(doc), vals); err != nil {
			fmt.Println(err, "at", s.ErrOffset())
			continue
		}
		at, _ := vals[0].Time(event.Millis)
		user, _ := vals[1].ID()
		fmt.Printf("%d %s %s %q\n", at, user, vals[2].Type, vals[2].Bytes)
	}
	// Output:
	// 1763600000123 81234 string "DE"
	// 1763600000456 u-7 missing ""
	// event: key occurs twice in an object at 32
}
