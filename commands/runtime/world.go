package runtime

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/commands/contexts"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// world is what the machine of a tree asks and is answered at once. Only the goroutine
// of the tree uses it.
type world struct {
	t                 *run
	userID, sessionID string // whose contexts are read: those of the caller, until they are switched

	views        map[contexts.Key]*view
	written      []*view // with something that was not taken yet, in the order of the first
	writtenBytes int     // bytes of that, roughly
	config       map[*programs.Scope]programs.Settings
	secrets      map[string]string // of the workspace; nil: not read yet

	endpoints      *value.Object // of the workspace, with their addresses; nil: not asked for yet
	registryObject *value.Object // workspaces that this one may know of; nil: not read in this turn
}

// view is a context as the tree sees it: as it was read, with its own writes.
type view struct {
	key    contexts.Key
	limit  int
	value  *value.Object
	size   int
	writes []contexts.Write // that were not taken yet
	until  time.Time        // it is there until then at least; zero: as its kind says
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
		return w.readConfig(w.t.program(x).Scope, keys[1:])
	case "secret":
		return w.readSecret(w.t.program(x).Scope, keys[1:])
	case "$workspace":
		var content any
		err := w.t.withoutTurnSlot(func() (err error) {
			content, err = w.t.program(x).Scope.Content(w.t.ctx)
			return err
		})
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
	return w.fullContext(x, keys[0], v.value)
}

// fullContext returns a context with its computed keys, which are over what is stored.
func (w *world) fullContext(x *machine.Execution, root string, stored *value.Object) (any, error) {
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

// readConfig reads the config of a place. A secret that has no value, and a value that does not
// fit the schema of its app, are raised where they are read.
func (w *world) readConfig(scope *programs.Scope, keys []string) (any, error) {
	settings, err := w.loadConfig(scope)
	if err != nil {
		return value.Undefined, err
	}
	return settings.Read(scope.Instance, keys...)
}

// loadConfig returns the config of a place. It is read once: a tree sees one config.
func (w *world) loadConfig(scope *programs.Scope) (programs.Settings, error) {
	if have, ok := w.config[scope]; ok {
		return have, nil
	}
	var settings programs.Settings
	err := w.t.withoutTurnSlot(func() (err error) {
		settings, err = scope.Config(w.t.ctx)
		return err
	})
	if err != nil {
		return programs.Settings{}, err
	}
	w.t.redact.Add(settings.Secrets...)
	if w.config == nil {
		w.config = map[*programs.Scope]programs.Settings{}
	}
	w.config[scope] = settings
	w.t.recorder.Config(scope.Instance, settings.Value)
	return settings, nil
}

// applyConfig lets the tree see what it wrote to the stored config: its place stays the
// one that it began in, where that is not to be found.
func (w *world) applyConfig(scope *programs.Scope, op variable.Op) error {
	settings, err := w.loadConfig(scope)
	if err != nil {
		return err
	}
	next, err := variable.Apply(settings.Value, op)
	if err != nil {
		return err
	}
	changed, _ := next.(*value.Object)
	if changed == nil {
		changed = &value.Object{}
	}
	settings = settings.WithValue(changed)
	settings.Faults = slices.DeleteFunc(slices.Clone(settings.Faults), func(f input.ConfigFault) bool { // what was written was checked
		return len(op.Path) == 0 || f.Key == op.Path[0].Key
	})
	w.config[scope] = settings
	w.t.recorder.Configured(scope.Instance, settings.Value)
	return nil
}

// readSecret reads a secret of the workspace: app instances see none. One that has no value
// raises.
func (w *world) readSecret(scope *programs.Scope, keys []string) (any, error) {
	if scope.Parent != nil || len(keys) == 0 {
		return value.Undefined, nil
	}
	if found, ok := w.secrets[keys[0]]; ok {
		return value.Walk(found, keys[1:]...), nil
	}
	name := strings.Join(keys, ".") // names of secrets may have dots in them
	if found, ok := w.secrets[name]; ok {
		return found, nil
	}
	return value.Undefined, automation.MissingSecret(name)
}

// view returns a context, read when it is first asked for.
func (w *world) view(root string) (*view, error) {
	key := w.key(root)
	if have := w.views[key]; have != nil {
		return have, nil
	}
	loaded, err := w.load(key)
	if err != nil {
		return nil, err
	}
	v := &view{key: key, limit: w.t.settings.Sizes[root], value: loaded, size: variable.Size(loaded)}
	w.views[key] = v
	w.t.recorder.View(key.Kind, key.ID, loaded)
	return v, nil
}

// load reads a context.
func (w *world) load(key contexts.Key) (loaded *value.Object, err error) {
	err = w.t.withoutTurnSlot(func() (err error) {
		loaded, err = w.t.rt.Contexts.Load(w.t.ctx, key)
		return err
	})
	return loaded, err
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

// switchTo reads the contexts of somebody else from now on. What the run may do stays as
// it is.
func (w *world) switchTo(root string, id any) error {
	text, ok := id.(string)
	if !ok || text == "" || !domain.IsLine(text, activity.MaxTarget) {
		return automation.Invalid("%s.id must be one line of 1 to %d characters", root, activity.MaxTarget)
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
