package hll

// Registers appends the value of every register to dst, what PFDEBUG GETREG
// replies. (GETREG also makes the string dense: see [String.ToDense].)
func (v String) Registers(dst []uint8) ([]uint8, error) {
	var d registers
	if _, err := d.raiseAll([]String{v}); err != nil {
		return dst, err
	}
	return append(dst, d[:]...), nil
}
