package machine

import (
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// variables is what expressions see: the variables of the execution that is being
// executed, the contexts behind them, and the rest of the world.
type variables struct{ m *Machine }

// Read implements expr.World.
func (v variables) Read(keys []string) (any, error) {
	if isContext(keys[0]) {
		found, err := v.m.World.Read(v.m.current.x, keys)
		v.m.env.Spent += costOfRead
		if whole, ok := found.(*value.Object); ok && len(keys) == 1 {
			v.m.env.Spent += costOfKey * whole.Len()
		}
		return found, err
	}
	found, effort := v.m.current.read(keys)
	v.m.env.Spent += effort
	return found, nil
}

// read returns a variable of the iteration or the execution, and what that took.
func (b *branch) read(keys []string) (v any, effort int) {
	if b.iter != nil {
		switch keys[0] {
		case "item":
			return value.WalkCost(b.iter.item, keys[1:]...)
		case "$index":
			return value.WalkCost(b.iter.index, keys[1:]...)
		}
	}
	return b.x.local.read(keys)
}

// Now implements expr.World.
func (v variables) Now() (time.Time, error) {
	now := v.m.World.Now()
	v.m.current.ordinal++
	return now, v.missingError()
}

// Random implements expr.World.
func (v variables) Random(n int) ([]byte, error) {
	drawn := v.m.World.Random(n)
	v.m.current.ordinal++
	return drawn, v.missingError()
}

func (v variables) missingError() error {
	if v.m.Missed == nil {
		return nil
	}
	return v.m.Missed()
}

// locals are the variables of one execution.
//
// Values are shared, so a change makes a new value. What a change has made belongs to its
// variable until the variable is read as a whole: until then, the next change is made in
// place. So building a list or an object key by key takes time in proportion to its size.
type locals struct {
	vars map[string]any
	own  map[string]owned
	size int // of all as JSON
}

func newLocals(input *value.Object) locals {
	l := locals{vars: make(map[string]any, input.Len()+4), size: len("{")}
	for key, v := range input.All() {
		l.vars[key] = v
		l.size += sizeOf(key, v)
	}
	return l
}

// sizeOf is what a variable adds to the size of all.
func sizeOf(key string, v any) int { return variable.Size(key) + variable.Size(v) + len(":,") }

func (l *locals) at(root string) any {
	if v, ok := l.vars[root]; ok {
		return v
	}
	return value.Undefined
}

// read returns what is at a path, and what it took to get there. Who has an object or a
// list may keep it: it is not the variable's alone any more.
func (l *locals) read(keys []string) (v any, effort int) {
	v, effort = value.WalkCost(l.at(keys[0]), keys[1:]...)
	switch v.(type) {
	case []any, *value.Object:
		delete(l.own, keys[0])
	}
	return v, effort
}

// applyOp applies an operation to a variable, and returns how much memory was copied for
// it. One that makes all of them larger than limit is refused.
func (l *locals) applyOp(root string, op variable.Op, limit int) (int, error) {
	old, known := l.vars[root]
	if !known {
		old = value.Undefined
	}
	if done, err := l.changeInPlace(root, old, op, limit); done {
		return 0, err
	}
	next, delta, err := variable.Change(old, op)
	if err != nil {
		return 0, err
	}
	switch stays := !value.IsUndefined(next); {
	case !known && stays:
		delta = sizeOf(root, next)
	case known && !stays:
		delta = -sizeOf(root, old)
	case !stays:
		return 0, nil
	}
	if err := l.checkGrowth(delta, limit); err != nil {
		return 0, err
	}
	l.size += delta
	if value.IsUndefined(next) {
		l.deleteVariable(root)
		return 0, nil
	}
	l.vars[root] = next
	l.markOwned(root, old, next, op)
	return copyCost(old, op.Path), nil
}

func (l *locals) checkGrowth(delta, limit int) error {
	if size := l.size + delta; delta > 0 && size > limit {
		return tooLargeError(size, limit)
	}
	return nil
}

func (l *locals) deleteVariable(root string) {
	delete(l.vars, root)
	delete(l.own, root)
}

// setVariable replaces a variable whatever the size of all.
func (l *locals) setVariable(root string, v any) {
	if old, ok := l.vars[root]; ok {
		l.size -= sizeOf(root, old)
	}
	l.size += sizeOf(root, v)
	delete(l.own, root)
	l.vars[root] = v
}

func (l *locals) setError(name, message string, details any) {
	l.setVariable("$error", errorValue(name, message, details))
}

// leaveLoop is what the outermost loop leaves behind.
func (l *locals) leaveLoop(last float64) {
	if old, ok := l.vars["item"]; ok {
		l.size -= sizeOf("item", old)
		l.deleteVariable("item")
	}
	l.setVariable("$index", last)
}

// change applies an operation to item or $index, which are the iteration's and no
// part of the local variables. They have the same limit. It returns how much memory was
// copied.
func (i *iteration) change(root string, op variable.Op, limit int) (int, error) {
	at := &i.item
	if root == "$index" {
		at = &i.index
	}
	old := *at
	next, delta, err := variable.Change(old, op)
	if err != nil {
		return 0, err
	}
	if delta > 0 && !value.FitsWithin(next, limit) {
		return 0, tooLargeError(variable.Size(next), limit)
	}
	*at = next
	return copyCost(old, op.Path), nil
}

func tooLargeError(size, limit int) error {
	return automation.Raise(automation.ContextTooLarge, "the local variables become too large",
		"context", "local", "size", float64(size), "limit", float64(limit))
}

// owned are the objects and lists that only one variable has: an object by its
// address, a list by that of its first item.
type owned map[any]struct{}

// The bounds of what is changed in place: how many values are known to be owned,
// and how long a path may be.
const (
	maxOwned = 1024
	maxPath  = 8
)

func identity(v any) any {
	switch v := v.(type) {
	case *value.Object:
		return v
	case []any:
		if len(v) > 0 {
			return &v[0]
		}
	}
	return nil
}

func (o owned) has(v any) bool {
	id := identity(v)
	if id == nil {
		return false
	}
	_, ok := o[id]
	return ok
}

// slot is where a value is stored: in an object, in a list, or in the variable itself.
type slot struct {
	object *value.Object
	key    string
	list   []any
	index  int
}

func (l *locals) setSlot(root string, s slot, v any) {
	switch {
	case s.object != nil:
		s.object.Set(s.key, v)
	case s.list != nil:
		s.list[s.index] = v
	default:
		l.vars[root] = v
	}
}

// changeInPlace makes a change in what the variable alone has. It reports false when it
// cannot: then a new value has to be made.
func (l *locals) changeInPlace(root string, old any, op variable.Op, limit int) (bool, error) {
	own := l.own[root]
	if len(own) == 0 || len(op.Path) > maxPath || value.IsUndefined(op.Value) || op.Kind != variable.Replace && op.Kind != variable.Push {
		return false, nil
	}
	if op.Kind == variable.Replace && len(op.Path) == 0 {
		return false, nil
	}
	parents := op.Path
	if op.Kind == variable.Replace {
		parents = op.Path[:len(op.Path)-1]
	}
	at, where, ok := own.find(old, parents)
	if !ok || !own.has(at) {
		return false, nil
	}
	if op.Kind == variable.Push {
		return l.pushInPlace(root, at, where, op.Value, limit)
	}
	return l.setInPlace(root, at, where, op.Path[len(op.Path)-1], op.Value, limit)
}

// find walks down a path through what is owned.
func (o owned) find(v any, path []expr.Step) (any, slot, bool) {
	var where slot
	for _, step := range path {
		if !o.has(v) {
			return nil, slot{}, false
		}
		switch parent := v.(type) {
		case *value.Object:
			where = slot{object: parent, key: step.Key}
			v = parent.At(step.Key)
		case []any:
			i, ok := value.Index(step.Key)
			if !ok || i >= len(parent) {
				return nil, slot{}, false
			}
			where = slot{list: parent, index: i}
			v = parent[i]
		}
	}
	return v, where, true
}

func (l *locals) pushInPlace(root string, at any, where slot, v any, limit int) (bool, error) {
	list, ok := at.([]any)
	if !ok {
		return false, nil
	}
	delta := variable.Size(v) + len(",")
	if err := l.checkGrowth(delta, limit); err != nil {
		return true, err
	}
	l.size += delta
	longer := append(list, v)
	l.setSlot(root, where, longer)
	if &longer[0] != &list[0] {
		delete(l.own[root], identity(list))
		l.own[root][identity(longer)] = struct{}{}
	}
	return true, nil
}

func (l *locals) setInPlace(root string, at any, where slot, last expr.Step, v any, limit int) (bool, error) {
	switch parent := at.(type) {
	case *value.Object:
		old, known := parent.Get(last.Key)
		if !known && parent.Len() == 0 {
			return false, nil
		}
		delta := variable.Size(v)
		if known {
			delta -= variable.Size(old)
		} else {
			delta += variable.Size(last.Key) + len(":,")
		}
		if _, hidden := v.(value.Stream); hidden {
			return false, nil
		}
		if _, hidden := old.(value.Stream); hidden {
			return false, nil
		}
		if err := l.checkGrowth(delta, limit); err != nil {
			return true, err
		}
		l.size += delta
		parent.Set(last.Key, v)
		return true, nil
	case []any:
		i, ok := value.Index(last.Key)
		if ok && i == len(parent) {
			return l.pushInPlace(root, at, where, v, limit)
		}
		if !ok || i > len(parent) {
			return false, nil
		}
		delta := variable.Size(v) - variable.Size(parent[i])
		if err := l.checkGrowth(delta, limit); err != nil {
			return true, err
		}
		l.size += delta
		parent[i] = v
		return true, nil
	}
	return false, nil
}

// markOwned notes what a change has made: the objects and lists on its path that were
// not there before, and a list that was appended to.
func (l *locals) markOwned(root string, old, made any, op variable.Op) {
	if len(op.Path) == 0 && op.Kind != variable.Push {
		delete(l.own, root)
		return
	}
	own := l.own[root]
	if len(own) > maxOwned {
		own = nil
	}
	if own == nil {
		own = owned{}
		if l.own == nil {
			l.own = map[string]owned{}
		}
		l.own[root] = own
	}
	for i := 0; ; i++ {
		if i == len(op.Path) && op.Kind != variable.Push {
			return // the value itself: others have it
		}
		id := identity(made)
		if id != nil && id != identity(old) {
			own[id] = struct{}{}
		}
		if i == len(op.Path) {
			return
		}
		old, made = value.At(old, op.Path[i].Key), value.At(made, op.Path[i].Key)
	}
}

// assignment is a change of a variable.
type assignment struct {
	steps []expr.Step
	kind  variable.Kind
	value any
	ttl   time.Duration
}

func (a assignment) op() variable.Op {
	return variable.Op{Kind: a.kind, Path: a.steps[1:], Value: a.value}
}

func (m *Machine) set(b *branch, in *automation.Instruction) *outcome {
	a, err := m.assignmentOf(in)
	if err != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, err)
	}
	if m.Trace != nil {
		m.traceBegin(b, value.NewObject("name", pathText(a.steps), "value", a.value))
	}
	return m.assign(b, a)
}

// assignmentOf evaluates the parameters of a set. Those of most are written out but
// for the value: nothing is made of them, and they were checked when the document
// was saved.
func (m *Machine) assignmentOf(in *automation.Instruction) (a assignment, err error) {
	options, written := in.Params.Source().(*value.Object)
	push := false
	if written && in.Target != nil {
		push = in.Target.Push
		if a.steps, err = in.Target.Resolve(&m.env); err != nil {
			return a, err
		}
	}
	if written && isPlain(in.Params, options) {
		a.value, err = in.Params.Member("value").Eval(&m.env)
	} else {
		if options, _, err = m.parameters(in); err != nil {
			return a, err
		}
		a.value = options.At("value")
		if in.Target == nil {
			a.steps, push, err = readName(options)
		}
	}
	if options.Len() > 1 {
		a.kind, a.ttl = joinOptions(options)
	}
	if push {
		a.kind = variable.Push
	}
	return a, err
}

// isPlain reports whether all but the value is written out.
func isPlain(params *expr.Tree, written *value.Object) bool {
	for _, key := range written.Keys() {
		if key != "value" && !params.Member(key).Static() {
			return false
		}
	}
	return params.Member("value") != nil
}

// joinOptions says how a value joins the one before, and for how long.
func joinOptions(options *value.Object) (kind variable.Kind, ttl time.Duration) {
	switch options.At("type") {
	case "push":
		kind = variable.Push
	case "merge":
		kind = variable.Merge
	}
	for _, alias := range []string{"lifespan", "ttl"} {
		if n, ok := options.At(alias).(float64); ok {
			ttl = seconds(n)
		}
	}
	return kind, ttl
}

// readName reads the name of a set whose parameters a template yielded.
func readName(params *value.Object) ([]expr.Step, bool, error) {
	name, ok := params.At("name").(string)
	if !ok {
		return nil, false, automation.Invalid("the name is the path of a variable, not %s", value.TypeName(params.At("name")))
	}
	name, push := strings.CutSuffix(name, "[]")
	steps, err := plainPath(name)
	return steps, push, err
}

func (m *Machine) delete(b *branch, in *automation.Instruction) *outcome {
	a := assignment{kind: variable.Delete}
	var err error
	if in.Target != nil {
		a.steps, err = in.Target.Resolve(&m.env)
	} else {
		var params *value.Object
		if params, _, err = m.parameters(in); err == nil {
			push := false
			if a.steps, push, err = readName(params); push {
				err = automation.Invalid("the name of delete must not end in []")
			}
		}
	}
	if err != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, err)
	}
	if m.Trace != nil {
		m.traceBegin(b, value.NewObject("name", pathText(a.steps)))
	}
	return m.assign(b, a)
}

// assign changes a variable: of the execution, of a context, or the answer of the
// endpoint.
func (m *Machine) assign(b *branch, a assignment) *outcome {
	root := a.steps[0].Key
	err := m.checkSize(a.value)
	more := 0
	switch {
	case err != nil:
	case root == "$http":
		return m.setResponse(b, a)
	case isContext(root):
		return m.assignContext(b, a)
	case (root == "item" || root == "$index") && b.iter != nil:
		more, err = b.iter.change(root, a.op(), m.LocalLimit)
		m.env.Spent += value.CountParts(b.iter.item, m.LocalLimit) // all of it is measured
	default:
		more, err = b.x.local.applyOp(root, a.op(), m.LocalLimit)
	}
	m.added += more
	m.env.Spent += more
	if err != nil {
		return m.raise(b, err)
	}
	return nil
}

// isContext reports whether a name is the root of a context. It hides a local
// variable of that name.
func isContext(root string) bool {
	switch root {
	case "run", "session", "user", "global", "socket", "config", "secret", "$workspace":
		return true
	}
	return false
}

func (m *Machine) assignContext(b *branch, a assignment) *outcome {
	root := a.steps[0].Key
	switch {
	case automation.ReadOnly(a.steps):
		return m.raise(b, automation.Invalid("%s cannot be written", pathText(a.steps)))
	case (root == "user" || root == "session") && len(a.steps) > 1 && a.steps[1].Key == "id":
		return m.switchIdentity(b, a)
	case value.IsUndefined(a.value) && (a.kind == variable.Push || a.kind == variable.Merge):
		return nil
	}
	w := Write{Context: root, Op: a.op(), TTL: a.ttl}
	if root == "config" {
		m.requestAndWait(b, Request{Kind: Config, Write: &w}, result{})
		return nil
	}
	return m.write(b, w)
}

// switchIdentity switches the identity of the run.
func (m *Machine) switchIdentity(b *branch, a assignment) *outcome {
	id, ok := a.value.(string)
	if !ok || id == "" || len(a.steps) > 2 || a.kind == variable.Push || a.kind == variable.Delete {
		return m.raise(b, automation.Invalid("%s can only be set, to a text that is not empty", pathText(a.steps[:2])))
	}
	return m.write(b, Write{Context: a.steps[0].Key, Op: variable.Op{Path: a.steps[1:2], Value: id}, Switch: true})
}

func (m *Machine) write(b *branch, w Write) *outcome {
	m.env.Spent += costOfWrite
	if err := m.World.Write(b.x, w); err != nil {
		return m.raise(b, err)
	}
	return nil
}

func pathText(steps []expr.Step) string {
	path := ""
	for _, step := range steps {
		path = expr.Member(path, step.Key)
	}
	return path
}
