package live

import "weir/window"

// extremeKind makes a kind that answers with a Number.
func extremeKind(k window.Kind) Kind {
	return Kind{
		Name:    k.String(),
		Shows:   Quantity,
		Command: "GET",
		Number: func(value any) any {
			if n, ok := value.(Number); ok {
				return float64(n)
			}
			return nil
		},
		value: func(row window.Row, m int) any {
			if f, ok := row.Extreme(m); ok {
				return Number(f)
			}
			return nil
		},
	}
}
