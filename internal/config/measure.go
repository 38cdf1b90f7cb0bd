package config

import (
	"slices"
	"strings"

	"weir/window"
)

// A Measure is one value per window and group, such as a sketch.
type Measure struct {
	Name     string   `yaml:"name" required:"true" format:"name" doc:"Name of the column."`
	Kind     string   `yaml:"kind" required:"true" enum:"(measures)" doc:"(measures)"`
	Field    []string `yaml:"field" required:"true" when:"kind!=geo" max:"8" format:"path" doc:"Path of the id, or of the number or value that is kept; or several: the first that is there and not null."`
	Apply    []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the id (with geo, to the member), in this order: see [functions](#functions)."`
	Where    []Where  `yaml:"where" max:"16" like:"where" doc:"Count only events that meet every condition. Others count in hits and in the other measures, just not here, and need not have the field."`
	Capacity int      `yaml:"capacity" required:"true" when:"kind=bloom" min:"1" max:"100000000" doc:"Distinct ids per window and group for which the error holds."`
	Error    float64  `yaml:"error" default:"0.01" when:"kind=bloom,quantile" min:"0.000001" max:"0.5" doc:"With bloom, the share of unseen ids that are taken for seen ones. With quantile, how far a quantile may be from the true one, as a share of it: 0.001 to 0.3."`
	Member   []string `yaml:"member" required:"true" when:"kind=geo" max:"8" format:"path" doc:"Path of the id of the member at the position."`
	Lon      []string `yaml:"lon" required:"true" when:"kind=geo" max:"8" format:"path" doc:"Path of the longitude in degrees."`
	Lat      []string `yaml:"lat" required:"true" when:"kind=geo" max:"8" format:"path" doc:"Path of the latitude in degrees."`
	Scale    int      `yaml:"scale" default:"0" when:"kind=sum,avg" min:"0" max:"9" doc:"Digits after the point that a number may have; the sum is exact. An event whose number has more digits is malformed, and so is one of more than 18 digits, those after the point included."`
	K        int      `yaml:"k" default:"10" when:"kind=topk" min:"1" max:"1000" doc:"How many values are shown. weir keeps four times as many per window and group, at least 64, and of the chunk that it reads all of them."`
	Default  *string  `yaml:"default" when:"kind!=geo" format:"any" doc:"Value for events in which the field is missing or null, as zeros are that a producer leaves out; functions are not applied to it. Instead of optional."`
	Optional bool     `yaml:"optional" default:"false" doc:"An event without the field (missing or null) counts in hits and in the other measures, just not here. Otherwise it is malformed. With geo that also holds for an event that has no member, or neither lon nor lat; an event with only one of the two is malformed."`
}

// A measureKind is a kind of measure as a configuration knows it.
type measureKind struct {
	window.Kind
	number bool     // its field is a number
	people bool     // its ids come back: there are views of retention, sessions and funnels
	about  string   // what it does, for the reference: "counts distinct ids"
	parts  []string // the suffixes of its columns in views, if there is not one without

	least, most float64 // the bounds of its error, if they are narrower than those of the key
}

// measureKinds has every kind, in the order of the reference.
var measureKinds = []measureKind{
	{Kind: window.HLL, about: "counts distinct ids (0.81 % error, 12 KiB at most)"},
	{Kind: window.Set, people: true, parts: []string{"_ids"}, // the column of the hashes
		about: "keeps ids, texts or numbers, by hashes of 32 bits: counts them within 0.02 % of a million, and tells who came back"},
	{Kind: window.Bitmap, people: true, about: "keeps the ids themselves, unsigned integers below 2^32"},
	{Kind: window.Bloom, about: "answers whether an id was seen"},
	{Kind: window.Min, number: true, about: "keeps the least value of a number"},
	{Kind: window.Max, number: true, about: "keeps the greatest value of a number"},
	{Kind: window.First, about: "keeps the value of a field of the earliest event, a text, number or bool of at most 1 KiB"},
	{Kind: window.Last, about: "keeps the value of a field of the latest event, a text, number or bool of at most 1 KiB"},
	{Kind: window.Sum, number: true, about: "adds up a number, exactly"},
	{Kind: window.Avg, number: true, about: "keeps the mean of a number"},
	{Kind: window.Quantile, number: true, parts: quantileParts(), least: window.LeastError, most: window.MostError,
		about: "keeps a histogram of a number, of which every quantile is known within the error"},
	{Kind: window.TopK, about: "keeps the most frequent values of a field, texts, numbers or bools of at most 1 KiB, with bounds of their counts"},
	{Kind: window.Geo, about: "keeps the last position of each member"},
}

func quantileParts() (all []string) {
	for _, q := range window.QuantilesShown() {
		all = append(all, q.Suffix)
	}
	return all
}

func measureNames() (names []string) {
	for _, k := range measureKinds {
		names = append(names, k.String())
	}
	return names
}

// measureDoc returns the description of all kinds for the reference.
func measureDoc() string {
	var abouts []string
	for _, k := range measureKinds {
		abouts = append(abouts, k.String()+" "+k.about)
	}
	return either(measureNames()) + ". " + strings.Join(abouts, "; ") + "."
}

// kind returns the measure's kind. Load has checked that there is one.
func (m *Measure) kind() measureKind {
	return measureKinds[slices.IndexFunc(measureKinds, func(k measureKind) bool { return k.String() == m.Kind })]
}

// WindowKind returns the measure's kind in package window. Load has checked the measure.
func (m *Measure) WindowKind() window.Kind { return m.kind().Kind }

// spec returns the measure in the form of package window. Keys of other kinds are zero.
func (m *Measure) spec() window.Measure {
	w := window.Measure{
		Name: m.Name, Kind: m.WindowKind(), Path: fieldOf(slices.Concat(m.Field, m.Member), m.Apply), Where: conditions(m.Where), Optional: m.Optional,
		Capacity: m.Capacity, Error: m.Error, Lon: fieldOf(m.Lon, nil), Lat: fieldOf(m.Lat, nil), Scale: m.Scale, K: m.K,
	}
	if m.Default != nil {
		w.Default, w.HasDefault = *m.Default, true
	}
	return w
}

// measure checks what the keys of a measure say together.
func (v *validator) measure(at string, j *Job, m *Measure) {
	k, w := m.kind(), m.spec()
	v.must(!k.number || m.Apply == nil, at+".apply", "functions make texts of texts, and %s measures a number; leave apply out", m.Kind)
	if k.number {
		v.number(at+".field", j, m.Field)
	}
	v.position(at, j, m.Lon, m.Lat)
	if m.Capacity > 0 {
		v.filter(at+".capacity", m.Capacity, m.Error, "window and group")
	}
	v.must(k.most == 0 || m.Error >= k.least && m.Error <= k.most, at+".error", "%v is out of range; give it %v to %v", m.Error, k.least, k.most)
	if m.Default == nil || !v.must(!m.Optional, at+".default", "an event without the field counts with the default, so optional has no use; keep one of the two") {
		return
	}
	wrong := w.CheckDefault()
	v.must(wrong == "", at+".default", "%q %s; write one that the measure can take, a number like 10, -0.5 or 1e6", *m.Default, wrong)
}
