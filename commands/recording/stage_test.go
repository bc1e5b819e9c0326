package recording_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"svc/commands/recording"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

var noon = time.Date(2024, 3, 31, 12, 0, 0, 0, time.UTC)

// said are the names of what the platform says, as the stage tells them.
var said = value.NewObject(
	"run", []any{"depth", "correlationId", "executionId", "automationSlug", "date", "trigger"},
	"session", []any{"id"}, "user", []any{"id", "email"}, "global", []any{"workspaceId", "endpoints"},
)

// simulatedWorld is the outside of a tree, recorded as the runtime does it: contexts are read
// once and again after waits, others write to them meanwhile, and chance decides in
// which order answers come.
type simulatedWorld struct {
	*recording.Recorder
	dice    *rand.Rand
	chances bool // writes may be refused
	machine *machine.Machine
	now     time.Time

	user, session string
	stored        map[string]*value.Object
	views         map[string]*value.Object
	written       map[string]bool
	config        *value.Object // nil: not read
}

func newSimulatedWorld(seed uint64) *simulatedWorld {
	return &simulatedWorld{
		Recorder: recording.NewRecorder(10_000_000), dice: rand.New(rand.NewPCG(seed, 7)), now: noon, user: "u1", session: "s1", //nolint:gosec // a test repeats itself
		stored: map[string]*value.Object{"run\x00c1": value.NewObject("n", 1.0)}, views: map[string]*value.Object{}, written: map[string]bool{},
	}
}

func (s *simulatedWorld) start(root *machine.Program, input *value.Object) recording.Start {
	return recording.Start{
		WorkspaceID: "w1", CorrelationID: "c1", ExecutionID: "x0", Ref: root.Ref, Slug: root.Slug, Depth: 1, Input: input, At: noon,
		Trigger: value.NewObject("type", "test", "value", "t"), UserID: "u1", SessionID: "s1", Keys: said, MaxDepth: 20,
		Run:  value.NewObject("correlationId", "c1", "trigger", value.NewObject("type", "test", "value", "t")),
		User: value.NewObject("id", "u1", "email", "a@b.c"), Zone: "UTC", LocalLimit: 50_000_000, MaxWait: 30 * 24 * time.Hour, Wait: 20 * time.Second,
	}
}

func (s *simulatedWorld) key(root string) string {
	switch root {
	case "run":
		return "run\x00c1"
	case "session", "socket":
		return root + "\x00" + s.session
	case "user":
		return "user\x00" + s.user
	}
	return root + "\x00"
}

// view returns a context, read when it is first asked for.
func (s *simulatedWorld) view(root string) *value.Object {
	key := s.key(root)
	if s.views[key] == nil {
		read := s.stored[key]
		if read == nil {
			read = &value.Object{}
		}
		s.views[key] = read
		s.View(root, key[len(root)+1:], read)
	}
	return s.views[key]
}

// refresh lets contexts be read again, with what somebody else wrote to them.
func (s *simulatedWorld) refresh() {
	for key, v := range s.views {
		if s.written[key] && s.dice.IntN(2) == 0 {
			continue // its writes are not kept yet
		}
		delete(s.views, key)
		delete(s.written, key)
		others := v.Copy()
		others.Set("others", float64(s.dice.IntN(100)))
		s.stored[key] = others
	}
}

func (s *simulatedWorld) settings() *value.Object {
	if s.config == nil {
		s.config = value.NewObject("c", float64(1))
		s.Config("", s.config)
	}
	return s.config
}

// Read implements machine.World, and notes what has to be noted.
func (s *simulatedWorld) Read(x *machine.Execution, keys []string) (any, error) {
	_, at := s.machine.CurrentLocation()
	switch keys[0] {
	case "config":
		return value.Walk(s.settings(), keys[1:]...), nil
	case "secret":
		if len(keys) == 1 {
			return value.Undefined, nil
		}
		v := value.NewObject("k", "hidden").At(keys[1])
		s.First("", keys[:2], v)
		return value.Walk(v, keys[2:]...), nil
	case "$workspace":
		v := value.Walk(value.NewObject("name", "W"), keys[1:]...)
		s.First("", keys, v)
		return v, nil
	}
	if names, _ := said.At(keys[0]).([]any); len(keys) > 1 && slices.Contains(names, any(keys[1])) {
		v := s.platformValue(x, at, keys[0], keys[1])
		return value.Walk(v, keys[2:]...), nil
	}
	if len(keys) > 1 {
		return value.Walk(s.view(keys[0]), keys[1:]...), nil
	}
	all := s.view(keys[0]).Copy()
	names, _ := said.At(keys[0]).([]any)
	for _, name := range names {
		all.Set(value.Text(name), s.platformValue(x, at, keys[0], value.Text(name)))
	}
	return all, nil
}

// platformValue is what the platform says.
func (s *simulatedWorld) platformValue(x *machine.Execution, at machine.Location, root, key string) any {
	switch root + "." + key {
	case "run.depth":
		return float64(x.Depth)
	case "run.correlationId":
		return "c1"
	case "run.executionId":
		return x.ID
	case "run.automationSlug":
		return x.Program.Slug
	case "run.date":
		date := s.now.Format("2006-01-02T15:04:05.000Z07:00")
		s.Date(x, at, date)
		return date
	case "run.trigger":
		if x.Parent != nil {
			return value.NewObject("type", "automation", "value", x.Parent.Program.Slug)
		}
		return value.NewObject("type", "test", "value", "t")
	case "user.id":
		return s.user
	case "session.id":
		return s.session
	case "user.email":
		if s.user == "u1" {
			return "a@b.c"
		}
		return value.Undefined
	}
	s.First("", []string{root, key}, "of "+key)
	return "of " + key
}

// Write implements machine.World.
func (s *simulatedWorld) Write(x *machine.Execution, w machine.Write) error {
	err := s.write(w)
	if err != nil {
		_, at := s.machine.CurrentLocation()
		s.Refused(x, at, recording.Writing(w), err)
	}
	return err
}

func (s *simulatedWorld) write(w machine.Write) error {
	switch {
	case w.Context == "$http" && s.chances && s.dice.IntN(4) == 0:
		return errTooLate
	case w.Context == "$http":
		return nil
	case w.Switch:
		s.user, s.session = value.Text(w.Op.Value), value.Text(w.Op.Value)
		if w.Context == "user" && s.user == "u1" {
			s.session = "s1"
		} else if w.Context == "session" && s.session == "s1" {
			s.user = "u1"
		}
		return nil
	}
	next, err := variable.Apply(s.view(w.Context), w.Op)
	if err != nil {
		return err
	}
	changed, ok := next.(*value.Object)
	if !ok && !value.IsUndefined(next) {
		return errNoObject
	}
	if changed == nil {
		changed = &value.Object{}
	}
	if s.chances && s.dice.IntN(20) == 0 {
		return errTooLarge
	}
	s.views[s.key(w.Context)], s.written[s.key(w.Context)] = changed, true
	return nil
}

// Now implements machine.World.
func (s *simulatedWorld) Now() time.Time {
	s.now = s.now.Add(time.Duration(s.dice.IntN(1000)) * time.Millisecond)
	x, at := s.machine.CurrentLocation()
	s.Clock(x, at, s.now)
	return s.now
}

// Random implements machine.World.
func (s *simulatedWorld) Random(n int) []byte {
	drawn := binary.LittleEndian.AppendUint64(make([]byte, n), s.dice.Uint64())[8:]
	x, at := s.machine.CurrentLocation()
	s.Recorder.Random(x, at, drawn)
	return drawn
}
