package window

import "testing"

// TestValidate: what would make the core read a field it has no path of is
// refused before it reads a record.
func TestValidate(t *testing.T) {
	if err := clicks().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Spec){
		"measure without a field":       func(s *Spec) { s.Measures[0].Path = "" },
		"positions without a latitude":  func(s *Spec) { s.Measures = []Measure{{Name: "p", Kind: Geo, Path: "user", Lon: "lon"}} },
		"cell without a longitude":      func(s *Spec) { s.By = []Column{{Name: "cell", Lat: "lat", Precision: 5}} },
		"condition without a field":     func(s *Spec) { s.Where = []Condition{{In: []string{"x"}}} },
		"deduplication without a field": func(s *Spec) { s.Dedupe = &Dedupe{Error: 0.01} },
		"a kind that there is not":      func(s *Spec) { s.Measures[0].Kind = Geo + 1 },
		"a chunk that is no power of 2": func(s *Spec) { s.Chunk = 3 },
	} {
		s := clicks()
		spoil(s)
		if err := s.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
