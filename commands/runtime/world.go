package runtime

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/commands/contexts"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/input"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// world answers the machine at once: contexts, config, secrets, clock and random bytes. Only
// the goroutine of the run uses it.
type world struct {
	*runCore
	executions *executions
	runSecrets *runSecrets
	recording  *runRecording
	lifetime   *lifetime
	turnSlot   *turnSlot
	flush      func() error // stores what was written

	userID, sessionID string // whose contexts are read: those of the caller, until they are switched

	views        map[contexts.Key]*view
	written      []*view // with writes that are not stored yet, in the order of the first
	writtenBytes int     // of these writes, roughly
	config       map[*programs.Scope]programs.Settings
	secretValues map[string]string // of the workspace
	flushDue     time.Time         // when what was written must be stored; zero: nothing was written

	endpoints      *value.Object // of the workspace, with their addresses; nil: not asked for yet
	registryObject *value.Object // workspaces that this one may know of; nil: not read in this turn
}

// view is a context as the run sees it: as it was read, with the writes of the run.
type view struct {
	key    contexts.Key
	limit  int
	value  *value.Object
	size   int
	writes []contexts.Write // that are not stored yet
	until  time.Time        // it must not expire before; zero: as its kind says
}

// Now implements machine.World.
func (w *world) Now() time.Time { return w.rt.clock() }

// Random implements machine.World.
func (w *world) Random(n int) []byte {
	if w.rt.Simulation != nil {
		return w.rt.Simulation.Random(n)
	}
	drawn := make([]byte, n)
	_, _ = rand.Read(drawn) // never fails: crypto/rand ends the process instead
	return drawn
}

// Read implements machine.World.
func (w *world) Read(x *machine.Execution, keys []string) (any, error) {
	switch keys[0] {
	case "config":
		return w.readConfig(w.executions.program(x).Scope, keys[1:])
	case "secret":
		return w.readSecret(w.executions.program(x).Scope, keys[1:])
	case "$workspace":
		var content any
		err := w.turnSlot.without(func() (err error) {
			content, err = w.executions.program(x).Scope.Content(w.ctx)
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

// fullContext returns a context with its computed keys, which hide stored ones.
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
		for _, name := range slices.Sorted(maps.Keys(w.settings.GlobalVars)) {
			all.Set(name, w.settings.GlobalVars[name])
		}
	}
	return all, nil
}

// readConfig reads the config of a scope. A secret that has no value, and a value that does not
// match the schema of its app, raise an error where they are read.
func (w *world) readConfig(scope *programs.Scope, keys []string) (any, error) {
	settings, err := w.loadConfig(scope)
	if err != nil {
		return value.Undefined, err
	}
	return settings.Read(scope.Instance, keys...)
}

// loadConfig returns the config of a scope. It is read once: a run sees one config.
func (w *world) loadConfig(scope *programs.Scope) (programs.Settings, error) {
	if have, ok := w.config[scope]; ok {
		return have, nil
	}
	var settings programs.Settings
	err := w.turnSlot.without(func() (err error) {
		settings, err = scope.Config(w.ctx)
		return err
	})
	if err != nil {
		return programs.Settings{}, err
	}
	w.runSecrets.set.Add(settings.Secrets...)
	if w.config == nil {
		w.config = map[*programs.Scope]programs.Settings{}
	}
	w.config[scope] = settings
	w.recording.Config(scope.Instance, settings.Value)
	return settings, nil
}

// applyConfig applies a write to the config as the run sees it: it keeps the scope that it
// began in, which does not contain the write.
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
	settings.Faults = slices.DeleteFunc(slices.Clone(settings.Faults), func(f input.ConfigFault) bool { // the write was checked
		return len(op.Path) == 0 || f.Key == op.Path[0].Key
	})
	w.config[scope] = settings
	w.recording.Configured(scope.Instance, settings.Value)
	return nil
}

// readSecret reads a secret of the workspace; app instances have none. One without a value
// raises an error.
func (w *world) readSecret(scope *programs.Scope, keys []string) (any, error) {
	if scope.Parent != nil || len(keys) == 0 {
		return value.Undefined, nil
	}
	if found, ok := w.secretValues[keys[0]]; ok {
		return value.Walk(found, keys[1:]...), nil
	}
	name := strings.Join(keys, ".") // names of secrets may have dots in them
	if found, ok := w.secretValues[name]; ok {
		return found, nil
	}
	return value.Undefined, automation.MissingSecret(name)
}

// view returns a context. It is read at its first use.
func (w *world) view(root string) (*view, error) {
	key := w.key(root)
	if have := w.views[key]; have != nil {
		return have, nil
	}
	loaded, err := w.load(key)
	if err != nil {
		return nil, err
	}
	v := &view{key: key, limit: w.settings.Sizes[root], value: loaded, size: variable.Size(loaded)}
	w.views[key] = v
	w.recording.View(key.Kind, key.ID, loaded)
	return v, nil
}

// load reads a context.
func (w *world) load(key contexts.Key) (loaded *value.Object, err error) {
	err = w.turnSlot.without(func() (err error) {
		loaded, err = w.rt.Contexts.Load(w.ctx, key)
		return err
	})
	return loaded, err
}

// key returns the key of the context that a root means now.
func (w *world) key(root string) contexts.Key {
	key := contexts.Key{WorkspaceID: w.workspaceID(), Kind: root}
	session := cmp.Or(w.sessionID, w.userID, w.start.CorrelationID)
	switch root {
	case "run":
		key.ID = w.start.CorrelationID
	case "session":
		key.ID = session
	case "user":
		key.ID = cmp.Or(w.userID, session)
	case "socket":
		key.ID = cmp.Or(w.start.Meta.SocketID, session)
	}
	return key
}

// switchTo uses the contexts of another user or session from now on. The rights of the run do
// not change.
func (w *world) switchTo(root string, id any) error {
	text, ok := id.(string)
	if !ok || text == "" || !domain.IsLine(text, activity.MaxTarget) {
		return automation.Invalid("%s.id must be one line of 1 to %d characters", root, activity.MaxTarget)
	}
	if root == "user" {
		w.userID, w.sessionID = text, text
		if text == w.start.Caller.UserID {
			w.sessionID = w.start.Caller.SessionID
		}
		return nil
	}
	w.sessionID, w.userID = text, text
	if text == w.start.Caller.SessionID {
		w.userID = w.start.Caller.UserID
	}
	return nil
}

// computedKeys are the keys of contexts that the platform computes, in the order in which they
// are shown.
var computedKeys = map[string][]string{
	"run": {
		"depth", "correlationId", "executionId", "attempt", "socketId", "automationSlug", "date", "trigger", "ip", "sourceWorkspaceId",
		"authenticatedWorkspaceId", "permissions", "scopes", "appSlug", "appInstanceSlug", "appInstanceFullSlug", "parentAppSlug",
	},
	"session": {"id"},
	"user":    {"id", "email", "authData", "role"},
	"global":  {"workspaceId", "workspaceName", "apiUrl", "studioUrl", "pagesUrl", "pagesHost", "endpoints", "workspacesRegistry"},
}

// computed returns the value of a computed key; ok is false for all other keys.
func (w *world) computed(x *machine.Execution, root, key string) (v any, ok bool, err error) {
	switch root {
	case "run":
		v, ok = w.runValue(x, key)
	case "session":
		return w.key("session").ID, key == "id", nil
	case "user":
		v, ok = w.userValue(key)
	case "global":
		return w.globalValue(key)
	}
	return v, ok, nil
}

// optional returns a text, Undefined if it is empty.
func optional(s string) any {
	if s == "" {
		return value.Undefined
	}
	return s
}

func texts(list []string) any {
	if list == nil {
		return value.Undefined
	}
	return value.From(list)
}

// formatTime returns a time in the form that automations read.
func formatTime(t time.Time) string { return t.UTC().Format(domain.Timestamp) }

func (w *world) runValue(x *machine.Execution, key string) (any, bool) {
	s, scope := &w.start, w.executions.program(x).Scope
	switch key {
	case "depth":
		return float64(x.Depth), true
	case "correlationId":
		return s.CorrelationID, true
	case "executionId":
		return x.ID, true
	case "attempt":
		return float64(s.Attempt), true
	case "socketId":
		return optional(s.Meta.SocketID), true
	case "automationSlug":
		return w.executions.program(x).Slug, true
	case "date":
		return formatTime(w.Now()), true
	case "trigger":
		t := w.executions.open[x.ID].trigger
		return value.NewObject("type", t.Type, "value", automation.LocalName(scope.Instance, t.Value), "id", optional(t.ID)), true
	case "ip":
		return optional(cmp.Or(s.Caller.Address, s.Meta.IP)), true
	case "sourceWorkspaceId":
		return optional(s.SourceWorkspaceID), true
	case "authenticatedWorkspaceId":
		return optional(s.Caller.WorkspaceID), true
	case "permissions":
		if s.Caller.Rights == nil {
			return value.Undefined, true
		}
		return texts(s.Caller.Rights.Can("workspaces")), true
	case "scopes":
		return texts(s.Caller.Scopes), true
	case "appSlug":
		return optional(scope.App), true
	case "appInstanceSlug":
		return optional(scope.Slug), true
	case "appInstanceFullSlug":
		return optional(scope.Instance), true
	case "parentAppSlug":
		return optional(scope.ParentApp()), true
	}
	return value.Undefined, false
}

// userValue returns a computed key of user. Only the id is known of a user whom an automation
// switched to.
func (w *world) userValue(key string) (any, bool) {
	c, own := &w.start.Caller, w.userID == w.start.Caller.UserID
	switch key {
	case "id":
		return optional(w.userID), true
	case "email":
		return known(own, optional(c.Email)), true
	case "role":
		return known(own, optional(c.Role)), true
	case "authData":
		if c.AuthData == nil {
			return value.Undefined, true
		}
		return known(own, c.AuthData), true
	}
	return value.Undefined, false
}

func known(own bool, v any) any {
	if own {
		return v
	}
	return value.Undefined
}

func (w *world) globalValue(key string) (any, bool, error) {
	programSet, s := w.start.ProgramSet, w.settings
	switch key {
	case "workspaceId":
		return programSet.Workspace.ID, true, nil
	case "workspaceName":
		return programSet.Workspace.Name, true, nil
	case "apiUrl":
		return optional(s.APIURL), true, nil
	case "studioUrl":
		return optional(s.StudioURL), true, nil
	case "pagesUrl":
		return optional(s.PagesURL), true, nil
	case "pagesHost":
		return optional(s.PagesHost), true, nil
	case "endpoints":
		if w.endpoints == nil {
			w.endpoints = &value.Object{}
			for path, p := range programSet.Endpoints() {
				w.endpoints.Set(p.Name, s.APIURL+"/workspaces/"+programSet.Workspace.ID+"/webhooks/"+path)
			}
		}
		return w.endpoints, true, nil
	case "workspacesRegistry":
		v, err := w.workspaceRegistry()
		return v, true, err
	}
	if v, ok := s.GlobalVars[key]; ok {
		return v, true, nil
	}
	return value.Undefined, false, nil
}

// workspaceRegistry returns the workspaces that this one may know of. It is read once per turn,
// because all workspaces are checked for it.
func (w *world) workspaceRegistry() (any, error) {
	if w.registryObject != nil {
		return w.registryObject, nil
	}
	var found []programs.Workspace
	err := w.turnSlot.without(func() (err error) {
		found, err = w.rt.Registry.Known(w.ctx, w.workspaceID())
		return err
	})
	if err != nil {
		return value.Undefined, err
	}
	w.registryObject = &value.Object{}
	for _, other := range found {
		w.registryObject.Set(other.Slug, value.NewObject("id", other.ID, "name", other.Name))
	}
	return w.registryObject, nil
}

// Limits of what a run holds in memory: bytes written before they are stored, contexts before
// they are read again, and writes that are searched for one that can be replaced.
const (
	maxWriteBytes = 1 << 20
	maxViews      = 64
	maxLookBack   = 32
)

// Write implements machine.World.
func (w *world) Write(_ *machine.Execution, wr machine.Write) error {
	switch {
	case wr.Context == "$http":
		return w.start.HTTP.write(wr.Op, w.settings.KeepAlive)
	case wr.Switch:
		return w.switchTo(wr.Context, wr.Op.Value)
	case w.isOperatorVariable(wr):
		return automation.Invalid("%s cannot be written", expr.Member(wr.Context, wr.Op.Path[0].Key))
	}
	v, err := w.view(wr.Context)
	if err != nil {
		return err
	}
	next, added, err := variable.Change(v.value, wr.Op)
	if err != nil {
		return err
	}
	changed, ok := next.(*value.Object)
	if !ok {
		if changed = (&value.Object{}); !value.IsUndefined(next) {
			return automation.Invalid("%s is an object", wr.Context)
		}
	}
	if size := v.size + added; added > 0 && size > v.limit {
		return automation.Raise(automation.ContextTooLarge, fmt.Sprintf("the context %s would have %d bytes; it may have %d", wr.Context, size, v.limit),
			"context", wr.Context, "size", float64(size), "limit", float64(v.limit))
	}
	v.value, v.size = changed, v.size+added
	write := contexts.Write{Op: wr.Op}
	if wr.TTL > 0 {
		write.Until = w.Now().Add(wr.TTL)
	}
	w.addWrite(v, write)
	if w.writtenBytes > maxWriteBytes {
		w.lifetime.breakOff(w.flush()) // the run cannot continue without what it has written
		return nil
	}
	if w.flushDue.IsZero() {
		w.flushDue = w.rt.Now().Add(flushDelay)
	}
	return nil
}

// isOperatorVariable reports whether a write is to a variable of the operator, or into one.
func (w *world) isOperatorVariable(wr machine.Write) bool {
	if wr.Context != "global" || len(wr.Op.Path) == 0 {
		return false
	}
	_, given := w.settings.GlobalVars[wr.Op.Path[0].Key]
	return given
}

// addWrite adds a write that is to be stored.
func (w *world) addWrite(v *view, write contexts.Write) {
	if len(v.writes) == 0 && v.until.IsZero() {
		w.written = append(w.written, v)
	}
	w.writtenBytes += opBytes(write.Op)
	if before := findReplaceable(v.writes, write.Op); before != nil {
		w.writtenBytes -= opBytes(before.Op)
		*before = write
		return
	}
	v.writes = append(v.writes, write)
}

// opBytes returns the size of an operation, roughly.
func opBytes(op variable.Op) int {
	if text, ok := op.Value.(string); ok {
		return len(text)
	}
	return variable.Size(op.Value)
}

// findReplaceable returns a write that the next one can replace: it sets the same variable, and
// no write in between depends on that. Nil: there is none.
func findReplaceable(writes []contexts.Write, op variable.Op) *contexts.Write {
	for i := len(writes) - 1; i >= 0 && i >= len(writes)-maxLookBack && setsValue(op); i-- {
		before := &writes[i]
		switch {
		case !setsValue(before.Op):
			return nil // a deletion may move other items
		case slices.Equal(before.Op.Path, op.Path) && before.Op.Kind == variable.Replace:
			return before
		case isWithinPath(before.Op.Path, op.Path), isWithinPath(op.Path, before.Op.Path):
			return nil
		}
	}
	return nil
}

// setsValue reports whether an operation sets a value, and deletes none.
func setsValue(op variable.Op) bool {
	return op.Kind == variable.Replace && !value.IsUndefined(op.Value)
}

// isWithinPath reports whether a path is root, or leads into it.
func isWithinPath(path, root []expr.Step) bool {
	return len(path) >= len(root) && slices.EqualFunc(path[:len(root)], root, func(a, b expr.Step) bool { return a.Key == b.Key })
}

// extendRun extends the context of the run beyond a wait, with what others write to it
// meanwhile. An empty context lasts long enough for a short wait.
func (w *world) extendRun(d time.Duration) error {
	v := w.views[w.key("run")]
	if v == nil {
		loaded, err := w.load(w.key("run"))
		if err != nil {
			return err
		}
		v = &view{key: w.key("run"), limit: w.settings.Sizes["run"], value: loaded}
	}
	if v.value.Len() == 0 && d <= w.settings.RunExpires {
		return nil
	}
	if len(v.writes) == 0 && v.until.IsZero() {
		w.written = append(w.written, v)
	}
	v.until = w.Now().Add(d + w.settings.RunExpires)
	return nil
}

// takeChanges returns what was written since the last call, to be stored.
func (w *world) takeChanges() (changes []contexts.Change) {
	now := w.Now()
	for _, v := range w.written {
		c := contexts.Change{Key: v.key, Writes: v.writes, Limit: v.limit}
		if c.Expires, c.Lifetime = w.expiry(v.key, now); v.until.After(c.Expires) {
			c.Expires = v.until
		}
		changes = append(changes, c)
		v.writes, v.until = nil, time.Time{}
	}
	w.written, w.writtenBytes = nil, 0
	return changes
}

// expiry returns when a context that is written now expires unless it is written again. A run
// that writes to the session of another user does not change when that expires.
func (w *world) expiry(key contexts.Key, now time.Time) (time.Time, contexts.Lifetime) {
	s := w.settings
	switch key.Kind {
	case "run":
		return now.Add(s.RunExpires), contexts.Extends
	case "socket":
		return now.Add(s.SocketExpires), contexts.Moves
	case "session":
		if w.isCallerSession(key.ID) {
			return now.Add(s.SessionExpires), contexts.Extends // the session has ended by then
		}
		return now.Add(s.VisitorExpires), contexts.Extends
	}
	return time.Time{}, contexts.Moves
}

// isCallerSession reports whether a session is that of a caller who signed in. A visitor has
// the same id as user and as session.
func (w *world) isCallerSession(sessionID string) bool {
	c := &w.start.Caller
	return !c.Visitor && c.UserID != "" && c.UserID != c.SessionID && sessionID == cmp.Or(c.SessionID, c.UserID)
}

// refresh has contexts read again, so that the run sees what others wrote. Contexts with writes
// that are not stored yet stay.
func (w *world) refresh() {
	for key, v := range w.views {
		if len(v.writes) == 0 {
			delete(w.views, key)
		}
	}
}

// limitViews has contexts read again when there are many: a run may switch to any number of
// users.
func (w *world) limitViews() {
	if len(w.views) > maxViews {
		w.refresh()
	}
}
