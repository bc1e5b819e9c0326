package recording

import (
	"slices"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// loaded is a context or a config as the tree sees it.
type loaded struct {
	value *value.Object
	from  int // of the recorded ones, the one that it was read as
	grown int // bytes, since it was read
}

// load returns a context or a config: as it was last read until this turn, with what
// the tree has written since. False when it was never read.
func (p *player) load(kind entryKind, name string) (*loaded, bool) {
	key := string(kind) + "\x00" + name
	known, have := p.record.loads[key], p.loaded[key]
	next := p.cursor[key]
	for next < len(known) && known[next].turn <= p.turn {
		next++
	}
	switch {
	case next > p.cursor[key]:
	case have != nil:
		return have, true
	case next == 0 && len(known) > 0: // it is read earlier than it was
		next = 1
	case next == 0:
		have = &loaded{value: &value.Object{}}
		p.loaded[key] = have
		return have, false
	}
	if have != nil {
		p.notes -= have.grown
	}
	p.cursor[key] = next
	read, _ := known[next-1].value.(*value.Object)
	have = &loaded{value: object(read), from: next}
	p.loaded[key] = have
	return have, true
}

// Read implements machine.World.
func (p *player) Read(x *machine.Execution, keys []string) (any, error) {
	if err := p.refused(x, Reading(keys)); err != nil {
		return value.Undefined, err
	}
	switch keys[0] {
	case "config":
		config, known := p.load(entryConfig, x.Program.Instance)
		if !known {
			return p.miss(x, keys)
		}
		return value.Walk(config.value, keys[1:]...), nil
	case "secret":
		if x.Program.Instance != "" || len(keys) == 1 {
			return value.Undefined, nil
		}
		return p.first(x, "", keys)
	case "$workspace":
		return p.first(x, x.Program.Instance, keys)
	}
	if len(keys) > 1 && p.says(keys[0], keys[1]) {
		v, err := p.said(x, keys)
		return v, err
	}
	view, known := p.load(entryView, p.view(keys[0]))
	if !known {
		return p.miss(x, keys)
	}
	if len(keys) > 1 {
		return value.Walk(view.value, keys[1:]...), nil
	}
	return p.whole(x, keys[0], view.value)
}

// miss reports that something was never read, and raises it.
func (p *player) miss(x *machine.Execution, keys []string) (any, error) {
	return value.Undefined, p.lacks(x, "read", value.From(keys))
}

// lacks reports something that was not recorded where the machine is, and returns what
// is raised for it.
func (p *player) lacks(x *machine.Execution, kind string, asked any) error {
	_, at := p.machine.CurrentPlace()
	p.differ(x, at, effectMissing, value.Undefined, told(kind, "", asked))
	return missing(kind)
}

// misses tells the machine, once, that there was no time or no chance to give.
func (p *player) misses() error {
	err := p.missed
	p.missed = nil
	return err
}

// first returns a value that stays the same: itself, or a part of one that was read.
func (p *player) first(x *machine.Execution, instance string, keys []string) (any, error) {
	for n := len(keys); n > 0; n-- {
		if v, ok := p.record.firsts[firstKey(instance, keys[:n])]; ok {
			return value.Walk(v, keys[n:]...), nil
		}
	}
	return p.miss(x, keys)
}

// says reports whether the platform says what is at a key of a context.
func (p *player) says(root, key string) bool {
	names, _ := p.record.Keys.At(root).([]any)
	return slices.Contains(names, any(key))
}

// said returns what the platform says.
func (p *player) said(x *machine.Execution, keys []string) (any, error) {
	switch keys[0] {
	case "run":
		v, err := p.ofRun(x, keys[1])
		return value.Walk(v, keys[2:]...), err
	case "session":
		return value.Walk(p.sessionID(), keys[2:]...), nil
	case "user":
		return value.Walk(p.ofUser(keys[1]), keys[2:]...), nil
	}
	return p.first(x, "", keys)
}

func (p *player) ofRun(x *machine.Execution, key string) (any, error) {
	switch key {
	case "depth":
		return float64(x.Depth), nil
	case "executionId":
		return x.ID, nil
	case "automationSlug":
		return p.localName(x, x.Program.Slug), nil
	case "date":
		return p.date(x)
	case "trigger":
		if x.Parent != nil {
			return value.NewObject("type", "automation", "value", p.localName(x, x.Parent.Program.Slug)), nil
		}
	case "appSlug", "appInstanceSlug", "appInstanceFullSlug", "parentAppSlug":
		return p.record.places[x.Program.Instance].At(key), nil
	}
	return p.record.Run.At(key), nil
}

// LocalNames is the key of a place that says that its automations were told local names.
// Records that are older do not have it.
const LocalNames = "localNames"

// localName is the name of an automation as an execution was told it.
func (p *player) localName(x *machine.Execution, name string) string {
	if p.record.places[x.Program.Instance].At(LocalNames) != true {
		return name
	}
	return automation.LocalName(x.Program.Instance, name)
}

func (p *player) ofUser(key string) any {
	switch {
	case key == "id":
		return textOf(p.user)
	case p.user != p.record.UserID:
		return value.Undefined
	}
	return p.record.User.At(key)
}

// whole returns a context with what the platform says in it.
func (p *player) whole(x *machine.Execution, root string, stored *value.Object) (any, error) {
	all := stored.Copy()
	names, _ := p.record.Keys.At(root).([]any)
	for _, name := range names {
		key, _ := name.(string)
		v, err := p.said(x, []string{root, key})
		if err != nil {
			return value.Undefined, err
		}
		all.Set(key, v)
	}
	return all, nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func (p *player) sessionID() string { return firstOf(p.session, p.user, p.record.CorrelationID) }

// view names the context that a root stands for now.
func (p *player) view(root string) string {
	id := ""
	switch root {
	case "run":
		id = p.record.CorrelationID
	case "session":
		id = p.sessionID()
	case "user":
		id = firstOf(p.user, p.sessionID())
	case "socket":
		id = firstOf(p.record.SocketID, p.sessionID())
	}
	return viewKey(root, id)
}

// Write implements machine.World.
func (p *player) Write(x *machine.Execution, w machine.Write) error {
	if p.excess != nil {
		return p.excess
	}
	p.wrote(x, w)
	if err := p.refused(x, Writing(w)); err != nil {
		return err
	}
	switch {
	case w.Context == "$http":
		return nil
	case w.Switch:
		p.become(w.Context, value.Text(w.Op.Value))
		return nil
	}
	view, _ := p.load(entryView, p.view(w.Context))
	next, grown, err := variable.Change(view.value, w.Op)
	if err != nil {
		return err
	}
	changed, ok := next.(*value.Object)
	if !ok {
		if changed = (&value.Object{}); !value.IsUndefined(next) {
			return automation.Invalid("%s is an object", w.Context)
		}
	}
	view.value = changed
	view.grown += grown
	p.keep(grown)
	return nil
}

// become reads the contexts of somebody else from now on.
func (p *player) become(root, id string) {
	was := p.record
	p.user, p.session = id, id
	if root == "user" && id == was.UserID {
		p.session = was.SessionID
	}
	if root == "session" && id == was.SessionID {
		p.user = was.UserID
	}
}

// refused returns the error that reading or writing a context met here.
func (p *player) refused(x *machine.Execution, what string) error {
	if !p.record.refuses {
		return nil
	}
	if e := p.moment(x, entryRefused, what); e != nil {
		return e.failure
	}
	return nil
}
