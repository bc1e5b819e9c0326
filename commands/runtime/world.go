package runtime

import (
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"svc/commands/contexts"
	"svc/commands/programs"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// world is what the machine of a tree asks and is answered at once. Only the goroutine
// of the tree uses it.
type world struct {
	t                 *tree
	userID, sessionID string // whose contexts are read: those of the caller, until they are switched

	views   map[contexts.Key]*view
	written []*view // with writes that were not taken yet, in the order of the first
	config  map[*programs.Place]programs.Settings
	secrets map[string]string // of the workspace; nil: not read yet
}

// view is a context as the tree sees it: as it was read, with its own writes.
type view struct {
	key    contexts.Key
	limit  int
	value  *value.Object
	size   int
	writes []contexts.Write // that were not taken yet
}

// Now implements machine.World.
func (w *world) Now() time.Time { return w.t.rt.Now() }

// Random implements machine.World.
func (w *world) Random(n int) []byte {
	drawn := make([]byte, n)
	_, _ = rand.Read(drawn) // never fails: crypto/rand ends the process instead
	return drawn
}

// Read implements machine.World.
func (w *world) Read(x *machine.Execution, keys []string) (any, error) {
	switch keys[0] {
	case "config":
		settings, err := w.settings(w.t.program(x).Place)
		return value.Walk(settings.Value, keys[1:]...), err
	case "secret":
		return w.secret(w.t.program(x).Place, keys[1:])
	case "$workspace":
		content, err := w.t.program(x).Place.Content(w.t.ctx)
		return value.Walk(content, keys[1:]...), err
	}
	if len(keys) > 1 {
		if v, ok, err := w.computed(x, keys[0], keys[1]); ok || err != nil {
			return value.Walk(v, keys[2:]...), err
		}
	}
	v, err := w.view(keys[0])
	if err != nil {
		return value.Undefined, err
	}
	if len(keys) > 1 {
		return value.Walk(v.value, keys[1:]...), nil
	}
	return w.whole(x, keys[0], v.value)
}

// whole returns a context with its computed keys, which are over what is stored.
func (w *world) whole(x *machine.Execution, root string, stored *value.Object) (any, error) {
	all := stored.Copy()
	for _, key := range computedKeys[root] {
		v, ok, err := w.computed(x, root, key)
		if err != nil {
			return value.Undefined, err
		}
		if ok {
			all.Set(key, v)
		}
	}
	if root == "global" {
		for _, name := range slices.Sorted(maps.Keys(w.t.settings.GlobalVars)) {
			all.Set(name, w.t.settings.GlobalVars[name])
		}
	}
	return all, nil
}

// settings returns the config of a place. It is read once: a tree sees one config.
func (w *world) settings(place *programs.Place) (programs.Settings, error) {
	if have, ok := w.config[place]; ok {
		return have, nil
	}
	settings, err := place.Config(w.t.ctx)
	if err != nil {
		return programs.Settings{}, err
	}
	w.t.redact.Add(settings.Secrets...)
	if w.config == nil {
		w.config = map[*programs.Place]programs.Settings{}
	}
	w.config[place] = settings
	w.t.recorder.Config(place.Instance, settings.Value)
	return settings, nil
}

// configured lets the tree see what it wrote to the stored config: its place stays the
// one that it began in, where that is not to be found.
func (w *world) configured(place *programs.Place, op variable.Op) error {
	settings, err := w.settings(place)
	if err != nil {
		return err
	}
	next, err := variable.Apply(settings.Value, op)
	if err != nil {
		return err
	}
	if settings.Value, _ = next.(*value.Object); settings.Value == nil {
		settings.Value = &value.Object{}
	}
	w.config[place] = settings
	w.t.recorder.Configured(place.Instance, settings.Value)
	return nil
}

// secret reads a secret of the workspace: app instances see none.
func (w *world) secret(place *programs.Place, keys []string) (any, error) {
	if place.Parent != nil || len(keys) == 0 {
		return value.Undefined, nil
	}
	if found, ok := w.secrets[keys[0]]; ok {
		return value.Walk(found, keys[1:]...), nil
	}
	return value.Undefined, nil
}

// view returns a context, read when it is first asked for.
func (w *world) view(root string) (*view, error) {
	key := w.key(root)
	if have := w.views[key]; have != nil {
		return have, nil
	}
	loaded, err := w.t.rt.Contexts.Load(w.t.ctx, key)
	if err != nil {
		return nil, err
	}
	v := &view{key: key, limit: w.t.settings.Sizes[root], value: loaded, size: variable.Size(loaded)}
	w.views[key] = v
	w.t.recorder.View(key.Kind, key.ID, loaded)
	return v, nil
}

// key names the context that a root stands for now.
func (w *world) key(root string) contexts.Key {
	key := contexts.Key{WorkspaceID: w.t.workspaceID(), Kind: root}
	session := firstOf(w.sessionID, w.userID, w.t.start.CorrelationID)
	switch root {
	case "run":
		key.ID = w.t.start.CorrelationID
	case "session":
		key.ID = session
	case "user":
		key.ID = firstOf(w.userID, session)
	case "socket":
		key.ID = firstOf(w.t.start.Meta.SocketID, session)
	}
	return key
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// Write implements machine.World.
func (w *world) Write(_ *machine.Execution, wr machine.Write) error {
	switch {
	case wr.Context == "$http":
		return w.t.start.HTTP.write(wr.Op, w.t.settings.KeepAlive)
	case wr.Switch:
		return w.become(wr.Context, wr.Op.Value)
	}
	v, err := w.view(wr.Context)
	if err != nil {
		return err
	}
	next, grown, err := variable.Change(v.value, wr.Op)
	if err != nil {
		return err
	}
	changed, ok := next.(*value.Object)
	if !ok {
		if changed = (&value.Object{}); !value.IsUndefined(next) {
			return automation.Invalid("%s is an object", wr.Context)
		}
	}
	if size := v.size + grown; grown > 0 && size > v.limit {
		return automation.Raise(automation.ContextTooLarge, "the context is larger than it may be",
			"context", wr.Context, "size", float64(size), "limit", float64(v.limit))
	}
	v.value, v.size = changed, v.size+grown
	if len(v.writes) == 0 {
		w.written = append(w.written, v)
	}
	write := contexts.Write{Op: wr.Op}
	if wr.TTL > 0 {
		write.Until = w.Now().Add(wr.TTL)
	}
	v.writes = append(v.writes, write)
	w.t.soon()
	return nil
}

// become reads the contexts of somebody else from now on. What the run may do stays as
// it is.
func (w *world) become(root string, id any) error {
	text, ok := id.(string)
	if !ok || text == "" {
		return automation.Invalid("%s.id is a text that is not empty", root)
	}
	if root == "user" {
		w.userID, w.sessionID = text, text
		if text == w.t.start.Caller.UserID {
			w.sessionID = w.t.start.Caller.SessionID
		}
		return nil
	}
	w.sessionID, w.userID = text, text
	if text == w.t.start.Caller.SessionID {
		w.userID = w.t.start.Caller.UserID
	}
	return nil
}

// take returns what was written since it was last taken, to be kept.
func (w *world) take() (changes []contexts.Change) {
	now := w.Now()
	for _, v := range w.written {
		changes = append(changes, contexts.Change{Key: v.key, Writes: v.writes, Expires: w.expires(v.key.Kind, now)})
		v.writes = nil
	}
	w.written = nil
	return changes
}

// expires is when a context that is written now goes unless it is written again.
func (w *world) expires(kind string, now time.Time) time.Time {
	s := w.t.settings
	switch {
	case kind == "run":
		return now.Add(s.RunExpires)
	case kind == "socket":
		return now.Add(s.SocketExpires)
	case kind == "session" && w.t.start.Caller.Visitor:
		return now.Add(s.VisitorExpires)
	}
	return time.Time{}
}

// refresh lets contexts be read again, so that what others wrote is seen. Those with
// writes of the tree itself that are not kept yet stay as they are.
func (w *world) refresh() {
	for key, v := range w.views {
		if len(v.writes) == 0 {
			delete(w.views, key)
		}
	}
}
