package config

import "weir/window"

// GeoKeys are the keys of geo measures.
type GeoKeys struct {
	Member []string `yaml:"member" required:"true" when:"kind=geo" max:"8" format:"path" doc:"Path of the id of the member at the position."`
	Lon    []string `yaml:"lon" required:"true" when:"kind=geo" max:"8" format:"path" doc:"Path of the longitude in degrees."`
	Lat    []string `yaml:"lat" required:"true" when:"kind=geo" max:"8" format:"path" doc:"Path of the latitude in degrees."`
}

var geoMeasure = measureKind{
	Kind:  window.Geo,
	about: "keeps the last position of each member",
	spec: func(m *Measure, w *window.Measure) {
		w.Path, w.Lon, w.Lat = fieldOf(m.Member, m.Apply), fieldOf(m.Lon, nil), fieldOf(m.Lat, nil)
	},
	paths: func(m *Measure) []keyPath { return []keyPath{{"member", m.Member}, {"lon", m.Lon}, {"lat", m.Lat}} },
}
