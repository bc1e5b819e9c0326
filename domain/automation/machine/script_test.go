package machine_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

var noon = time.Date(2024, 3, 31, 12, 0, 0, 0, time.UTC)

// script is the outside of a case: contexts are plain objects, time is what the
// requests that were answered took, and effects are answered as the case says.
type script struct {
	programs map[string]*machine.Program
	answers  *value.Object // by kind of request, in order
	given    map[string]int
	now      time.Time
	contexts map[string]any
	user     string
	limit    int // bytes of a context
	drawn    uint64
	names    int

	expires map[string]time.Time // by context and path
	written []string             // $http
	emitted []string
}

func newScript(programs map[string]*machine.Program, answers *value.Object) *script {
	return &script{
		programs: programs, answers: answers, given: map[string]int{}, now: noon, user: "u1", limit: 100_000, expires: map[string]time.Time{},
		contexts: map[string]any{
			"secret": value.NewObject("k", "hidden"), "$workspace": value.NewObject("name", "W"), "config": value.NewObject("c", 1.0),
		},
	}
}

// context returns where a context is kept: that of users and sessions by identity.
func (s *script) context(root string) string {
	if root == "user" || root == "session" {
		return root + ":" + s.user
	}
	return root
}

func (s *script) Read(x *machine.Execution, keys []string) (any, error) {
	if keys[0] == "user" && len(keys) == 2 && keys[1] == "id" {
		return s.user, nil
	}
	if keys[0] == "run" && len(keys) == 2 {
		switch keys[1] {
		case "depth":
			return float64(x.Depth), nil
		case "executionId":
			return x.ID, nil
		case "date":
			return value.From(s.now), nil
		}
	}
	if keys[0] == "global" && len(keys) > 1 && keys[1] == "broken" {
		return nil, errors.New("the disk is on fire")
	}
	v, ok := s.contexts[s.context(keys[0])]
	if at, dies := s.expires[strings.Join(keys, " ")]; !ok || dies && !s.now.Before(at) {
		return value.Undefined, nil
	}
	return value.Walk(v, keys[1:]...), nil
}

func (s *script) Write(_ *machine.Execution, w machine.Write) error {
	if w.Switch {
		s.user, _ = w.Op.Value.(string)
		return nil
	}
	if w.Context == "$http" {
		s.written = append(s.written, w.Op.Path[0].Key+"="+value.JSON(w.Op.Value, ""))
		return nil
	}
	name := w.Context
	for _, step := range w.Op.Path {
		name += " " + step.Key
	}
	delete(s.expires, name)
	if w.TTL > 0 {
		s.expires[name] = s.now.Add(w.TTL)
	}
	at := s.context(w.Context)
	old, ok := s.contexts[at]
	if !ok {
		old = value.Undefined
	}
	made, err := variable.Apply(old, w.Op)
	if err == nil && !value.Within(made, s.limit) {
		return automation.Raise(automation.ContextTooLarge, "too large", "context", w.Context)
	}
	s.contexts[at] = made
	return err
}

func (s *script) Now() time.Time { return s.now }

func (s *script) Random(n int) []byte {
	s.drawn++
	return binary.BigEndian.AppendUint64(make([]byte, n), s.drawn)[8:]
}

// chunks is a stream of items.
type chunks struct{ items []any }

func (*chunks) LiveStream() {}

func (c *chunks) next() any {
	if len(c.items) == 0 {
		return value.Undefined
	}
	item := c.items[0]
	c.items = c.items[1:]
	return item
}

// answer is what the outside says to a request.
func (s *script) answer(r machine.Request) machine.Answer {
	scripted := s.scripted(r)
	switch r.Kind {
	case machine.Call:
		p, ok := s.programs[r.Slug]
		if !ok {
			return machine.Answer{Err: automation.NotFound(r.Slug, nil)}
		}
		s.names++
		return machine.Answer{Program: p, ExecutionID: "x" + value.Text(float64(s.names))}
	case machine.Emit:
		s.emitted = append(s.emitted, value.Text(r.Params.At("event")))
		if value.IsUndefined(scripted) {
			scripted = value.NewObject("id", "e"+value.Text(float64(len(s.emitted))), "type", r.Params.At("event"), "payload", r.Params.At("payload"))
		}
	case machine.Next:
		if stream, ok := r.Stream.(*chunks); ok {
			return machine.Answer{Value: stream.next()}
		}
	case machine.Config:
		return machine.Answer{Value: value.Undefined, Err: s.Write(r.Execution, *r.Write)}
	case machine.Chunk:
		s.written = append(s.written, "chunk="+value.JSON(r.Value, ""))
	}
	if name, ok := value.At(scripted, "$raise").(string); ok {
		details, _ := value.At(scripted, "details").(*value.Object)
		return machine.Answer{Err: &automation.Error{Name: name, Message: "as scripted", Details: details}}
	}
	return machine.Answer{Value: scripted}
}

// scripted takes the next answer that the case has for a kind of request.
func (s *script) scripted(r machine.Request) any {
	list, _ := s.answers.At(string(r.Kind)).([]any)
	n := s.given[string(r.Kind)]
	s.given[string(r.Kind)]++
	if n >= len(list) {
		return value.Undefined
	}
	return live(list[n])
}

// live makes streams of {$stream: items}.
func live(v any) any {
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	if items, ok := o.At("$stream").([]any); ok {
		return &chunks{items}
	}
	made := &value.Object{}
	for _, key := range o.Keys() {
		made.Set(key, live(o.At(key)))
	}
	return made
}

// told is an answer on its way.
type told struct {
	at time.Time
	id uint64
	r  machine.Request
}

// agenda holds what was asked, by the time at which it is answered.
type agenda []told

func (a *agenda) add(now time.Time, requests []machine.Request) {
	for _, r := range requests {
		*a = append(*a, told{now.Add(r.Duration), r.ID, r})
	}
	slices.SortFunc(*a, func(x, y told) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.id, y.id))
	})
}

func (a *agenda) take() told {
	first := (*a)[0]
	*a = (*a)[1:]
	return first
}
