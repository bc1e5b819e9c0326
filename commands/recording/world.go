package recording

import (
	"slices"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// loaded is a context or a config as the tree sees it.
type loaded struct {
	value      *value.Object
	addedBytes int // bytes, since it was read
}

// load returns a context or a config as it was last read until this turn, with what the tree
// has written since; false if it was never read.
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
	case next == 0 && len(known) > 0: // it is read earlier than in the recording
		next = 1
	case next == 0:
		have = &loaded{value: &value.Object{}}
		p.loaded[key] = have
		return have, false
	}
	if have != nil {
		p.usedBytes -= have.addedBytes
	}
	p.cursor[key] = next
	read, _ := known[next-1].value.(*value.Object)
	have = &loaded{value: object(read)}
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
			return p.missedRead(x, keys)
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
	if len(keys) > 1 && p.isComputed(keys[0], keys[1]) {
		v, err := p.computedValue(x, keys)
		return v, err
	}
	view, known := p.load(entryView, p.view(keys[0]))
	if !known {
		return p.missedRead(x, keys)
	}
	if len(keys) > 1 {
		return value.Walk(view.value, keys[1:]...), nil
	}
	return p.fullContext(x, keys[0], view.value)
}

// missedRead reports a read that was not recorded, and returns its error.
func (p *player) missedRead(x *machine.Execution, keys []string) (any, error) {
	return value.Undefined, p.reportMissing(x, "read", value.From(keys))
}

// reportMissing reports something that was not recorded at the place of the machine, and
// returns the error that it raises.
func (p *player) reportMissing(x *machine.Execution, kind string, asked any) error {
	_, at := p.machine.CurrentLocation()
	p.reportDifference(x, at, effectMissing, value.Undefined, requestValue(kind, "", asked))
	return missing(kind)
}

// nextMissedError returns once why the last time or random bytes were not recorded.
func (p *player) nextMissedError() error {
	err := p.missed
	p.missed = nil
	return err
}

// first returns a value that does not change, or a part of one.
func (p *player) first(x *machine.Execution, instance string, keys []string) (any, error) {
	for n := len(keys); n > 0; n-- {
		if v, ok := p.record.firsts[firstKey(instance, keys[:n])]; ok {
			return value.Walk(v, keys[n:]...), nil
		}
	}
	return p.missedRead(x, keys)
}

// isComputed reports whether a key of a context is computed.
func (p *player) isComputed(root, key string) bool {
	names, _ := p.record.Keys.At(root).([]any)
	return slices.Contains(names, any(key))
}

// computedValue returns the value of a computed key, or a part of it.
func (p *player) computedValue(x *machine.Execution, keys []string) (any, error) {
	switch keys[0] {
	case "run":
		v, err := p.runValue(x, keys[1])
		return value.Walk(v, keys[2:]...), err
	case "session":
		return value.Walk(p.sessionID(), keys[2:]...), nil
	case "user":
		return value.Walk(p.userValue(keys[1]), keys[2:]...), nil
	}
	return p.first(x, "", keys)
}

func (p *player) runValue(x *machine.Execution, key string) (any, error) {
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
		return p.record.scopes[x.Program.Instance].At(key), nil
	}
	return p.record.Run.At(key), nil
}

// LocalNames is the key of a scope that says that its automations saw local names. Older
// recordings do not have it.
const LocalNames = "localNames"

// localName returns the name of an automation as an execution saw it.
func (p *player) localName(x *machine.Execution, name string) string {
	if p.record.scopes[x.Program.Instance].At(LocalNames) != true {
		return name
	}
	return automation.LocalName(x.Program.Instance, name)
}

func (p *player) userValue(key string) any {
	switch {
	case key == "id":
		return textOf(p.user)
	case p.user != p.record.UserID:
		return value.Undefined
	}
	return p.record.User.At(key)
}

// fullContext returns a context with its computed keys.
func (p *player) fullContext(x *machine.Execution, root string, stored *value.Object) (any, error) {
	all := stored.Copy()
	names, _ := p.record.Keys.At(root).([]any)
	for _, name := range names {
		key, _ := name.(string)
		v, err := p.computedValue(x, []string{root, key})
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

// view returns the key of the context that a root means now.
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
	if p.tooMuch != nil {
		return p.tooMuch
	}
	p.observeWrite(x, w)
	if err := p.refused(x, Writing(w)); err != nil {
		return err
	}
	switch {
	case w.Context == "$http":
		return nil
	case w.Switch:
		p.switchTo(w.Context, value.Text(w.Op.Value))
		return nil
	}
	view, _ := p.load(entryView, p.view(w.Context))
	next, added, err := variable.Change(view.value, w.Op)
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
	view.addedBytes += added
	p.countBytes(added)
	return nil
}

// switchTo uses the contexts of another user or session from now on.
func (p *player) switchTo(root, id string) {
	was := p.record
	p.user, p.session = id, id
	if root == "user" && id == was.UserID {
		p.session = was.SessionID
	}
	if root == "session" && id == was.SessionID {
		p.user = was.UserID
	}
}

// refused returns the recorded error of reading or writing a context here.
func (p *player) refused(x *machine.Execution, what string) error {
	if !p.record.refuses {
		return nil
	}
	if e := p.moment(x, entryRefused, what); e != nil {
		return e.failure
	}
	return nil
}
