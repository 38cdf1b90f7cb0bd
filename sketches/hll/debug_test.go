package hll

// Encoding is PFDEBUG ENCODING: "sparse" or "dense".
func (v String) Encoding() (string, error) {
	if err := v.Check(); err != nil {
		return "", err
	}
	if v.isDense() {
		return "dense", nil
	}
	return "sparse", nil
}

// Registers returns every register, 0 to [MaxRank].
func (s *Sketch) Registers() (list [Registers]uint8) {
	d := (*registers)(&list)
	d.merge(s.view())
	return list
}
