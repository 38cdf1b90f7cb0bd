package http

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"weir/measures/face"
	"weir/serve/live"
)

// A heatReply is how many people were last in which cell of the map.
type heatReply struct {
	about
	Precision int    `json:"precision"` // characters of a cell
	Within    string `json:"within"`
	Cells     []cell `json:"cells"`
	People    int    `json:"people"`   // in all of the range, wherever; see heat
	Withheld  int    `json:"withheld"` // how many cells have fewer than http.k people
	made
}

type cell struct {
	Geohash string `json:"geohash"`
	People  int    `json:"people"`
}

// askedHeat reads a question of the path heat.
func (s *Server) askedHeat(q call) (a asking, err error) {
	precision, err := whole(q, "precision", min(len(q.Get("within"))+2, 9), 9)
	if err != nil {
		return a, err
	}
	a, err = s.askedRows(q, face.Positions)
	a.own.Precision, a.own.Within = precision, strings.ToLower(q.Get("within"))
	return a, err
}

func (s *Server) heat(ctx context.Context, a asking) (any, error) {
	answer, err := s.Windows.Ask(ctx, a.query(a.measure.Name))
	if err != nil {
		return nil, err
	}
	cells, err := live.Heat(answer.Value, a.own.Precision, a.Get("within"))
	if err != nil {
		return nil, err
	}
	reply := heatReply{about: a.of(), Precision: a.own.Precision, Within: a.own.Within, Cells: []cell{}}
	reply.add(answer, len(cells) > 0)
	n, withheld := a.measure.Kind.Number(answer.Value).(int), 0
	for _, c := range cells {
		if s.few(uint64(c.Members)) {
			reply.Withheld++
			withheld += c.Members
			continue
		}
		reply.Cells = append(reply.Cells, cell{c.Hash, c.Members})
	}
	if s.few(uint64(withheld)) {
		n -= withheld // else the difference to the cells would tell of them
	}
	if !s.few(uint64(n)) {
		reply.People = n
	}
	return reply, nil
}

// A positionsReply has the members in a circle or a box.
type positionsReply struct {
	about
	Positions []position `json:"positions"`
	made
}

type position struct {
	Member string   `json:"member"`
	Lon    float64  `json:"lon"`
	Lat    float64  `json:"lat"`
	Metres *float64 `json:"metres,omitempty"` // from the point, with near
}

// askedPositions reads a question of the path positions.
func (s *Server) askedPositions(q call) (a asking, err error) {
	if err := s.private("positions of members"); err != nil {
		return a, err
	}
	most, err := whole(q, "n", 100, live.PlacesMost)
	if err != nil {
		return a, err
	}
	find, err := area(q, most)
	if err != nil {
		return a, err
	}
	a, err = s.askedRows(q, face.Positions)
	a.find = find
	return a, err
}

func (s *Server) positions(ctx context.Context, a asking) (any, error) {
	answer, err := s.Windows.Ask(ctx, a.query(a.measure.Name))
	if err != nil {
		return nil, err
	}
	places, err := a.find(answer.Value)
	if err != nil {
		return nil, err
	}
	reply := positionsReply{about: a.of(), Positions: []position{}}
	reply.add(answer, len(places) > 0)
	for _, p := range places {
		one := position{Member: p.Member, Lon: p.Lon, Lat: p.Lat}
		if a.Get("near") != "" {
			one.Metres = &p.Metres
		}
		reply.Positions = append(reply.Positions, one)
	}
	return reply, nil
}

// area returns the search that near and radius, or box, ask for.
func area(q call, most int) (func(value any) ([]live.Place, error), error) {
	near, box := q.Get("near"), q.Get("box")
	if (near == "") == (box == "") {
		return nil, fmt.Errorf("%w: give near=LON,LAT with radius=METRES, or box=WEST,SOUTH,EAST,NORTH", errQuestion)
	}
	if box != "" {
		b, err := decimals("box", box, 4)
		if err != nil {
			return nil, err
		}
		if b[0] > b[2] || b[1] > b[3] {
			return nil, fmt.Errorf("%w: box=WEST,SOUTH,EAST,NORTH with WEST below EAST and SOUTH below NORTH; a box across 180° is two questions", errQuestion)
		}
		return func(value any) ([]live.Place, error) { return live.Within(value, b[0], b[1], b[2], b[3], most) }, nil
	}
	if q.Get("radius") == "" {
		return nil, fmt.Errorf("%w: near needs radius=METRES too", errQuestion)
	}
	p, err := decimals("near", near, 2)
	if err != nil {
		return nil, err
	}
	r, err := decimals("radius", q.Get("radius"), 1)
	if err != nil {
		return nil, err
	}
	return func(value any) ([]live.Place, error) { return live.Near(value, p[0], p[1], r[0], most) }, nil
}

// decimals reads n numbers, separated by commas.
func decimals(name, text string, n int) ([]float64, error) {
	var all []float64
	for part := range strings.SplitSeq(text, ",") {
		f, err := strconv.ParseFloat(part, 64)
		if err != nil || f != f {
			break
		}
		all = append(all, f)
	}
	if len(all) != n || strings.Count(text, ",") != n-1 {
		want := "a number"
		if n > 1 {
			want = fmt.Sprintf("%d numbers, separated by commas", n)
		}
		return nil, fmt.Errorf("%w: %s=%.64s; want %s", errQuestion, name, text, want)
	}
	return all, nil
}
