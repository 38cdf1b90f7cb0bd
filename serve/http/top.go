package http

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"weir/measures/face"
	"weir/serve/key"
	"weir/serve/live"
)

// A TopReply has the groups with the greatest numbers of a measure.
type TopReply struct {
	about
	Columns  []string `json:"columns"`
	Groups   []group  `json:"groups"`
	Of       int      `json:"of"`       // how many groups there are, those withheld included
	Withheld int      `json:"withheld"` // how many have fewer than http.k people
	made
}

type group struct {
	Group []string `json:"group"` // a value for each of Columns
	number
}

// topMost is how many groups an answer may have.
const topMost = 1000

// askedTop reads a question of the path top: by what columns, and how many groups.
func (s *Server) askedTop(q call) (a asking, err error) {
	if a, err = s.asked(q, face.Events, face.People, face.Quantity); err != nil {
		return a, err
	}
	if a.own.Limit, err = whole(q, "n", 10, topMost); err != nil {
		return a, err
	}
	if a.columns, err = columnsOf(q, a.job); err != nil {
		return a, err
	}
	for _, c := range a.columns {
		a.own.Columns = append(a.own.Columns, a.job.By[c])
	}
	if rollups := s.long(&a, live.GroupsMost); rollups != nil {
		err = s.gatherGroups(&a, rollups)
	}
	return a, err
}

func (s *Server) top(ctx context.Context, a asking) (any, error) {
	if a.own.Long {
		return s.longTop(ctx, a)
	}
	reply, err := s.shortTop(ctx, a)
	if rollups := s.kept(&a); errors.Is(err, live.ErrGroups) && len(rollups) > 0 { // which take no memory here
		if err := s.gatherGroups(&a, rollups); err != nil {
			return nil, err
		}
		return s.longTop(ctx, a)
	}
	return reply, err
}

// shortTop answers a question of the path top from the windows of the job.
func (s *Server) shortTop(ctx context.Context, a asking) (any, error) {
	found, err := s.Windows.Groups(ctx, a.query(a.measure.Name), a.columns)
	if err != nil {
		return nil, err
	}
	reply := TopReply{about: a.of(), Columns: a.own.Columns, Groups: []group{}, Of: len(found.Groups)}
	reply.add(found.Answer, len(found.Groups) > 0)
	shown, err := s.enough(ctx, &a, found.Groups)
	if err != nil {
		return nil, err
	}
	reply.Withheld = len(found.Groups) - len(shown)
	for _, g := range shown {
		reply.Groups = append(reply.Groups, group{g.Group, a.number(g.Value)})
	}
	slices.SortFunc(reply.Groups, greater)
	reply.Groups = reply.Groups[:min(a.own.Limit, len(reply.Groups))]
	return reply, nil
}

// greater puts the group with the greater number first, and groups without one last.
func greater(a, b group) int {
	if none := a.Value == nil; none != (b.Value == nil) {
		if none {
			return 1
		}
		return -1
	}
	if order := cmp.Compare(size(b.Value), size(a.Value)); order != 0 {
		return order
	}
	return cmp.Or(exact(b.Value).Cmp(exact(a.Value)), slices.Compare(a.Group, b.Group))
}

// exact returns a value in all digits: sums that differ in the seventeenth have one size.
func exact(value any) *big.Rat {
	text, err := json.Marshal(value)
	if err != nil {
		return new(big.Rat)
	}
	if r, ok := new(big.Rat).SetString(string(text)); ok {
		return r
	}
	return new(big.Rat)
}

// size returns a value as a number that sorts.
func size(value any) float64 {
	text, err := json.Marshal(value)
	if err != nil {
		return 0
	}
	var f float64
	if json.Unmarshal(text, &f) != nil {
		return 0
	}
	return f
}

// columnsOf returns the group columns that the parameter column names, separated by
// commas, or the first one.
func columnsOf(q call, job live.Description) (columns []int, err error) {
	if len(job.By) == 0 {
		return nil, fmt.Errorf("%w: job %s counts by no column", errQuestion, job.Job)
	}
	if q.Get("column") == "" {
		return []int{0}, nil
	}
	for name := range strings.SplitSeq(q.Get("column"), ",") {
		i := slices.Index(job.By, name)
		if i < 0 {
			return nil, key.Unknown("job "+job.Job+" has no group column", name, job.By)
		}
		if slices.Contains(columns, i) {
			return nil, fmt.Errorf("%w: column %s twice", errQuestion, name)
		}
		columns = append(columns, i)
	}
	return columns, nil
}

// enough returns the groups that have enough people to be told of.
func (s *Server) enough(ctx context.Context, a *asking, all []live.Grouped) ([]live.Grouped, error) {
	if s.K == 0 {
		return all, nil
	}
	m, ok := peopleMeasure(a.job)
	if !ok {
		return nil, nil
	}
	counted, err := s.Windows.Groups(ctx, a.query(m.Name), a.columns)
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for _, g := range counted.Groups {
		told[groupID(g.Group)] = !s.few(people(m.Kind, g.Value))
	}
	return slices.DeleteFunc(slices.Clone(all), func(g live.Grouped) bool { return !told[groupID(g.Group)] }), nil
}

// groupID is the same for equal groups only: a text may have any byte, so its length is in front.
func groupID(group []string) string {
	var id []byte
	for _, text := range group {
		id = append(binary.AppendUvarint(id, uint64(len(text))), text...)
	}
	return string(id)
}

// A listReply has the most frequent keys of a measure that keeps a list of them.
type listReply struct {
	about
	Keys []face.Counted `json:"keys"` // the most frequent first
	made
}

// askedList reads a question of the path list.
func (s *Server) askedList(q call) (asking, error) {
	if err := s.private("keys of top lists"); err != nil {
		return asking{}, err
	}
	return s.askedRows(q, face.List)
}

func (s *Server) list(ctx context.Context, a asking) (any, error) {
	answer, err := s.Windows.Ask(ctx, a.query(a.measure.Name))
	if err != nil {
		return nil, err
	}
	reply := listReply{about: a.of(), Keys: []face.Counted{}}
	if keys, ok := a.measure.Kind.Number(answer.Value).([]face.Counted); ok {
		reply.Keys = append(reply.Keys, keys...)
	}
	reply.add(answer, len(reply.Keys) > 0)
	return reply, nil
}
