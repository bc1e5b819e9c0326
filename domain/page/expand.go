package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain/value"
)

// Limits of one expansion. What is beyond them is left out, and reported.
const (
	maxCopies        = 1000    // of a repeat
	maxDepth         = 20      // of blocks in blocks
	maxBlocks        = 20_000  // copies included
	maxExpandedBytes = 8 << 20 // of texts with values in them, and of values gone through
)

// View is a page as one visitor sees it.
type View struct {
	Document    *Document
	Definitions Definitions
	Language    Language
	SignedIn    bool
	Query       *value.Object
	Now         time.Time
	// Folded has the configuration of the page (at "") and of blocks (at their path) that data was folded into.
	Folded map[string]*value.Object
}

// Tree is a view with its templates evaluated.
type Tree struct {
	Config   *value.Object // of the page, without its blocks
	Call     *Call         // of the automation of the page
	Blocks   []*Block
	ByPath   map[string]*Block
	Problems []Problem
	raw      *value.Object // configuration of the page before it was evaluated
}

// Problem is something that could not be shown.
type Problem struct {
	Code    string // such as DisplayBlockError
	Message string
	Path    string // of the block; "" for the page
	Kind    string // of the block
}

// Block is a block of a view with its configuration evaluated. Blocks inside of it stand in Config, as *Block.
type Block struct {
	Path     string // positions joined by dots; a copy ends in :n
	Name     string // the kind as written in the document
	Kind     string // the built-in kind that shows it
	Instance string // path of the app instance whose events and automations it names; "" for the workspace
	Config   *value.Object
	CSS      []string // of the stored block, then of its definitions
	Call     *Call    // of its automation
	Hidden   bool     // its condition does not hold: nothing of it is shown
	Repeats  bool     // it has Copies instead of a configuration
	Copies   []*Block
	LeftOut  int   // entries without a copy
	Err      error // it cannot be shown

	raw     *value.Object // configuration before it is evaluated
	payload any           // of Call, before it is evaluated
}

// Call is the call of an automation by a page or a block.
type Call struct {
	Instance, Slug string
	Payload        *value.Object // may be nil
}

// Expand evaluates the templates of a view.
func (v *View) Expand() *Tree {
	e := &expansion{view: v, tree: &Tree{ByPath: map[string]*Block{}}, reported: map[string]bool{}}
	raw := v.Document.Config
	if folded := v.Folded[""]; folded != nil {
		raw = folded
	}
	e.tree.raw = raw
	e.system = value.NewObject(
		"userIsSignedIn", v.SignedIn, "language", v.Language.Tag, "query", v.Query,
		"page", value.NewObject("slug", v.Document.Slug, "name", v.Document.Name),
	)
	root := &scope{raw: raw}
	e.tree.Config = e.evalConfig(root, nil)
	if call := callOf(unwrap(v.Document.Config.At("automation"))); call != nil {
		payload, _ := e.evalContent("payload", call.At("payload"), root, nil).(*value.Object)
		e.tree.Call = &Call{Slug: call.At("slug").(string), Payload: payload}
	}
	blocks, _ := unwrap(raw.At("blocks")).([]any)
	for i, node := range blocks {
		if n, ok := node.(*Node); ok {
			e.tree.Blocks = append(e.tree.Blocks, e.expandNode(n, root, strconv.Itoa(i), 1, nil))
		}
	}
	return e.tree
}

// expansion is the evaluation of one view.
type expansion struct {
	view     *View
	tree     *Tree
	system   *value.Object
	blocks   int
	spent    int
	reported map[string]bool
	// inPayload says that the payload of an event is being evaluated, which is never shown: its texts are texts.
	inPayload bool
}

// spend takes n from the budget, and reports whether it is enough.
func (e *expansion) spend(n int) bool {
	if e.spent += n; e.spent <= maxExpandedBytes {
		return true
	}
	e.reportOnce("PageTooLarge", "the page has too much text or too many values; the rest is left out")
	return false
}

// reportOnce reports a problem of the page, once per message.
func (e *expansion) reportOnce(code, message string) {
	if !e.reported[message] {
		e.reported[message] = true
		e.tree.Problems = append(e.tree.Problems, Problem{Code: code, Message: message})
	}
}

// scope is where the templates of a page or a block read values.
type scope struct {
	parent *scope
	raw    *value.Object
	vars   *value.Object // of a repeat
	busy   []string      // keys that are being evaluated
}

// lookup reads a path: in the scope, then in those around it. A key that is being evaluated is read from around its
// scope.
func (e *expansion) lookup(path []string, s *scope) any {
	if path[0] == "SYSTEM" {
		return value.Walk(e.system, path[1:]...)
	}
	for ; s != nil; s = s.parent {
		if v, ok := s.vars.Get(path[0]); ok {
			return e.walk(v, path[1:], s)
		}
		if values, ok := unwrap(s.raw.At("values")).(*value.Object); ok && !slices.Contains(s.busy, "values") {
			if v, ok := values.Get(path[0]); ok {
				return e.guarded(s, "values", func() any { return e.walk(v, path[1:], s) })
			}
		}
		if v, ok := s.raw.Get(path[0]); ok && !slices.Contains(s.busy, path[0]) {
			return e.guarded(s, path[0], func() any { return e.walk(v, path[1:], s) })
		}
	}
	return value.Undefined
}

// guarded evaluates something of a key of a scope, which does not read itself meanwhile.
func (e *expansion) guarded(s *scope, key string, evaluate func() any) any {
	s.busy = append(s.busy, key)
	defer func() { s.busy = s.busy[:len(s.busy)-1] }()
	return evaluate()
}

// walk reads the rest of a path from a value, and evaluates only what is there.
func (e *expansion) walk(v any, path []string, s *scope) any {
	for len(path) > 0 {
		if t, ok := v.(*Template); ok {
			v = e.evalTemplate(t, s)
		}
		v = value.At(unwrap(v), path[0])
		path = path[1:]
	}
	return e.evalValue(v, s)
}

// evalValue evaluates a value that a template reads. Blocks cannot be read.
func (e *expansion) evalValue(v any, s *scope) any { return e.eval(v, s, nil) }

// nested expands the blocks inside of a block, with consecutive positions.
type nested struct {
	path  string
	depth int
	kinds []string
	next  int
}

// eval evaluates a value. Blocks in it are expanded when in is given, and left out else.
func (e *expansion) eval(v any, s *scope, in *nested) any {
	switch v := v.(type) {
	case *Template:
		if e.spent > maxExpandedBytes {
			return value.Undefined
		}
		return e.evalTemplate(v, s)
	case unsecureSource:
		return e.evalUnsecure(v, s)
	case *Node:
		if in == nil {
			return value.Undefined
		}
		path := in.path + "." + strconv.Itoa(in.next)
		in.next++
		return e.expandNode(v, s, path, in.depth+1, in.kinds)
	case *dynamic:
		if !e.spend(16) {
			return value.Undefined
		}
		switch inside := v.value.(type) {
		case []any:
			list := make([]any, 0, len(inside))
			for _, item := range inside {
				if evaluated := e.eval(item, s, in); !value.IsUndefined(evaluated) {
					list = append(list, evaluated)
				} else if _, isNode := item.(*Node); !isNode {
					list = append(list, nil)
				}
			}
			return list
		case *value.Object:
			o := value.NewObjectSize(inside.Len())
			for key, item := range inside.All() {
				o.Set(key, e.evalContent(key, item, s, in))
			}
			return o
		}
	}
	return v
}

// evalContent is eval for a key. Mixed text under the key content keeps its values apart: where it is HTML or Markdown
// they are escaped.
func (e *expansion) evalContent(key string, v any, s *scope, in *nested) any {
	if key == "payload" && !e.inPayload {
		e.inPayload = true
		defer func() { e.inPayload = false }()
	}
	if t, ok := v.(*Template); ok && key == "content" && !e.inPayload && len(t.parts) > 1 {
		return e.evalMixed(t, s)
	}
	return e.eval(v, s, in)
}

func (e *expansion) evalMixed(t *Template, s *scope) *MixedText {
	m := &MixedText{Literals: []string{""}}
	for _, p := range t.parts {
		if p.path == nil {
			m.Literals[len(m.Literals)-1] += p.text
			continue
		}
		text := e.textOf(e.evalPart(p, s))
		if !e.spend(len(text)) {
			break
		}
		m.Values = append(m.Values, text)
		m.Literals = append(m.Literals, "")
	}
	return m
}

func (e *expansion) evalUnsecure(u unsecureSource, s *scope) any {
	switch text := u.text.(type) {
	case string:
		return Unsecure{&MixedText{Literals: []string{text}}}
	case *Template:
		if len(text.parts) > 1 {
			return Unsecure{e.evalMixed(text, s)}
		}
		return e.evalTemplate(text, s) // it is wholly data
	}
	return value.Undefined
}

// controlKeys are the keys of a block that are not shown.
var controlKeys = []string{"if", "repeat", "template", "hidden", "automation", "css", "appInstance", "styles"}

// evalConfig evaluates the configuration of a scope.
func (e *expansion) evalConfig(s *scope, in *nested) *value.Object {
	config := value.NewObjectSize(s.raw.Len())
	for key, v := range s.raw.All() {
		if in != nil && slices.Contains(controlKeys, key) || in == nil && (key == "automation" || key == "styles" || key == "blocks") {
			continue
		}
		evaluated := e.guarded(s, key, func() any { return e.evalContent(key, v, s, in) })
		if !value.IsUndefined(evaluated) {
			config.Set(key, evaluated)
		}
	}
	return config
}

// expandNode expands a block: which kind shows it, whether it is shown, its copies, its configuration.
func (e *expansion) expandNode(n *Node, parent *scope, path string, depth int, kinds []string) *Block {
	b := &Block{Path: path, Name: n.Kind, Instance: n.Instance}
	e.tree.ByPath[path] = b
	raw, kinds := e.resolveKind(b, n, kinds)
	e.blocks++
	switch {
	case b.Err != nil:
	case depth > maxDepth:
		b.Err = fmt.Errorf("more than %d blocks inside of each other", maxDepth)
	case e.blocks > maxBlocks:
		b.Err = fmt.Errorf("the page has more than %d blocks", maxBlocks)
	}
	if b.Err != nil {
		if e.blocks <= maxBlocks+1 { // the first one tells of all
			e.tree.Problems = append(e.tree.Problems, Problem{"DisplayBlockError", b.Err.Error(), path, n.Kind})
		}
		return b
	}
	if folded := e.view.Folded[path]; folded != nil {
		raw = folded
	}
	b.raw = raw
	s := &scope{parent: parent, raw: raw}
	if repeat := repeatOf(raw); repeat != nil {
		e.expandCopies(b, repeat, s, depth, kinds)
		return b
	}
	e.fill(b, s, depth, kinds)
	return b
}

// fill evaluates the configuration of a block, unless it is hidden.
func (e *expansion) fill(b *Block, s *scope, depth int, kinds []string) {
	b.Hidden = e.isHidden(s)
	if b.Hidden {
		b.Config = value.NewObjectSize(1)
		if on, ok := s.raw.Get("updateOn"); ok { // an event may make it appear
			b.Config.Set("updateOn", e.evalValue(on, s))
		}
		return
	}
	if b.Call != nil && b.payload != nil {
		payload, _ := e.evalContent("payload", b.payload, s, nil).(*value.Object)
		b.Call = &Call{b.Call.Instance, b.Call.Slug, payload}
	}
	b.Config = e.evalConfig(s, &nested{path: b.Path, depth: depth, kinds: kinds})
}

func (e *expansion) isHidden(s *scope) bool {
	if v, ok := s.raw.Get("hidden"); ok && value.IsTruthy(e.evalValue(v, s)) {
		return true
	}
	cond, ok := s.raw.Get("if")
	if !ok {
		if template, isObject := unwrap(s.raw.At("template")).(*value.Object); isObject {
			cond, ok = template.Get("if")
		}
	}
	return ok && !value.IsTruthy(e.evalValue(cond, s))
}

// repeatOf returns the repeat of a block; nil when it has none.
func repeatOf(raw *value.Object) *value.Object {
	repeat, ok := raw.Get("repeat")
	if !ok {
		if template, isObject := unwrap(raw.At("template")).(*value.Object); isObject {
			repeat = template.At("repeat")
		}
	}
	o, _ := unwrap(repeat).(*value.Object)
	return o
}

// expandCopies expands a block once per entry of a list.
func (e *expansion) expandCopies(b *Block, repeat *value.Object, s *scope, depth int, kinds []string) {
	b.Repeats = true
	b.Config = value.NewObjectSize(1)
	if on, ok := s.raw.Get("updateOn"); ok {
		b.Config.Set("updateOn", e.evalValue(on, s))
	}
	list, _ := e.evalValue(repeat.At("on"), s).([]any)
	as, _ := repeat.At("as").(string)
	if as == "" {
		as = "item"
	}
	for i, entry := range list {
		if i == maxCopies || e.blocks > maxBlocks {
			b.LeftOut = len(list) - i
			break
		}
		e.blocks++
		copied := &Block{Path: b.Path + ":" + strconv.Itoa(i), Name: b.Name, Kind: b.Kind, Instance: b.Instance, CSS: b.CSS, Call: b.Call, payload: b.payload}
		raw := s.raw
		if folded := e.view.Folded[copied.Path]; folded != nil {
			raw = folded
		}
		copied.raw = raw
		vars := value.NewObject(as, entry, "$index", float64(i))
		e.fill(copied, &scope{parent: s.parent, raw: raw, vars: vars}, depth, kinds)
		if !copied.Hidden {
			e.tree.ByPath[copied.Path] = copied
			b.Copies = append(b.Copies, copied)
		}
	}
}

// resolveKind finds the built-in kind that shows a block, and its configuration over the defaults of its definitions.
func (e *expansion) resolveKind(b *Block, n *Node, kinds []string) (*value.Object, []string) {
	kind, instance := n.Kind, n.Instance
	if given, ok := n.Config.At("appInstance").(string); ok && given != "" && !n.fromData {
		instance = joinInstance(instance, given)
		b.Instance = instance
	}
	raw := n.Config
	call := callOf(unwrap(n.Config.At("automation")))
	if n.fromData {
		call = nil
	}
	if css, ok := n.Config.At("css").(string); ok && !n.fromData {
		b.CSS = append(b.CSS, css)
	}
	owner := instance
	for range maxDepth {
		def := e.find(instance, kind)
		if def == nil {
			if i := strings.LastIndexByte(kind, '.'); i > 0 {
				instance, kind = joinInstance(instance, kind[:i]), kind[i+1:]
				if def = e.find(instance, kind); def != nil && b.Kind == "" {
					b.Instance, owner = instance, instance
				}
			}
		}
		if def == nil {
			if !slices.Contains(BuiltIn, kind) {
				b.Err = fmt.Errorf("there is no block %q", n.Kind)
			} else if b.Kind = kind; call != nil {
				b.Call = &Call{Instance: owner, Slug: call.At("slug").(string)}
				b.payload, _ = call.Get("payload")
			}
			return raw, kinds
		}
		id := instance + "/" + kind
		if slices.Contains(kinds, id) {
			b.Err = fmt.Errorf("the block %q contains itself", n.Kind)
			return raw, kinds
		}
		kinds = append(slices.Clip(kinds), id)
		raw = withDefaults(raw, def)
		if def.CSS != "" {
			b.CSS = append(b.CSS, def.CSS)
		}
		if call == nil && def.Automation != nil {
			call, owner = def.Automation, def.Instance
		}
		instance = def.Instance
		if kind = def.Parent; kind == "" {
			kind = "BlocksList"
		}
	}
	b.Err = fmt.Errorf("the block %q is made of too many others", n.Kind)
	return raw, kinds
}

func (e *expansion) find(instance, name string) *Definition {
	if e.view.Definitions == nil {
		return nil
	}
	return e.view.Definitions.Find(instance, name)
}

// withDefaults returns a configuration with the defaults of a definition where it has nothing.
func withDefaults(given *value.Object, def *Definition) *value.Object {
	raw := given.Copy()
	for key, v := range def.Config.All() {
		if _, ok := raw.Get(key); !ok {
			raw.Set(key, v)
		}
	}
	if _, ok := raw.Get("blocks"); !ok && def.Blocks != nil {
		raw.Set("blocks", &dynamic{def.Blocks})
	}
	return raw
}

func joinInstance(outer, inner string) string {
	if outer == "" {
		return inner
	}
	return outer + "." + inner
}

// EventName is the full name of an event that a block of an instance emits or listens to.
func EventName(instance, name string) string { return joinInstance(instance, name) }

// BuiltIn are the kinds of blocks that the platform shows.
var BuiltIn = []string{
	"RichText", "Header", "Footer", "Hero", "Image", "Action", "Button", "Buttons", "Form", "DataTable", "Cards", "TabsView", "BlocksList",
	"BlocksGrid", "Charts", "KPI", "Modal", "Collapse", "Toast", "Signin", "Breadcrumbs", "Loading",
}

// IsScript reports whether an action runs a script: only one that stands in a stored document does.
func IsScript(action *value.Object) bool {
	_, ok := action.At("type").(scriptType)
	return ok
}
