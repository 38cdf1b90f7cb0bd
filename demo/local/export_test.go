package local

// ClickHouse returns the address of the engine's ClickHouse, which only its proxy uses.
func (e *Engine) ClickHouse() string { return e.child().URL() }
