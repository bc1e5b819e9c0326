package page

import (
	"slices"
	"strings"

	"svc/domain/value"
)

// Document is a stored page, compiled.
type Document struct {
	ID, Slug  string
	Name      any           // a text
	Config    *value.Object // with its blocks
	Languages []string
	// UsesVisitor says that a template asks whether the visitor is signed in: the page differs by visitor.
	UsesVisitor bool
}

// Node is a block as it stands in a document, compiled.
type Node struct {
	Kind     string        // as written
	Instance string        // path of the app instance whose document it stands in; "" for the workspace
	Config   *value.Object // without its kind
	fromData bool          // an automation or an event added it
}

// Definition is a block of a workspace or an app, which pages use by its name.
type Definition struct {
	Instance   string        // it belongs to; "" for the workspace
	Config     *value.Object // under what is given where it is used
	Blocks     []any         // *Node
	Parent     string        // kind that shows it; "" when it consists of Blocks
	CSS        string
	Automation *value.Object // {slug, payload}
}

// Definitions finds blocks by the path of their instance ("" for the workspace) and their name. It returns nil when
// there is none.
type Definitions interface {
	Find(instance, name string) *Definition
}

// dynamic is a list or an object with templates or blocks in it. Lists and objects without are evaluated to themselves.
type dynamic struct{ value any }

// scriptType is the type of an action that runs a script, when it stands in a stored document.
type scriptType struct{}

// Unsecure is content of a stored block with allowUnsecure: true. Values in it are escaped.
type Unsecure struct{ Text *MixedText }

// unsecureSource is such content before it is evaluated.
type unsecureSource struct{ text any } // string or *Template

// MixedText is text of an author with values in it, which must be escaped where the text is HTML or Markdown.
type MixedText struct {
	Literals []string // one more than Values
	Values   []string
}

// String returns the text with its values.
func (m *MixedText) String() string {
	var b strings.Builder
	for i, literal := range m.Literals {
		b.WriteString(literal)
		if i < len(m.Values) {
			b.WriteString(m.Values[i])
		}
	}
	return b.String()
}

// Compile compiles a stored page.
func Compile(id, slug string, doc *value.Object) *Document {
	c := &compiler{}
	d := &Document{ID: id, Slug: slug}
	d.Config = c.config(doc, false)
	d.Name, _ = doc.Get("name")
	d.Languages, d.UsesVisitor = c.languages, c.usesVisitor
	return d
}

// CompileDefinition compiles the definition of a block. It is nil when there is none.
func CompileDefinition(instance string, def *value.Object) *Definition {
	if def == nil {
		return nil
	}
	c := &compiler{instance: instance}
	d := &Definition{Instance: instance}
	d.Parent, _ = def.At("block").(string)
	d.CSS, _ = def.At("css").(string)
	d.Automation = callOf(unwrap(c.compile(def.At("automation"), "automation")))
	if defaults, ok := def.At("config").(*value.Object); ok {
		d.Config = c.config(defaults, false)
	}
	if list, ok := def.At("blocks").([]any); ok {
		d.Blocks, _ = unwrap(c.compile(list, "blocks")).([]any)
	}
	return d
}

// callOf returns a call of an automation as {slug, payload}; nil when there is none.
func callOf(v any) *value.Object {
	switch v := v.(type) {
	case string:
		if v != "" {
			return value.NewObject("slug", v)
		}
	case *value.Object:
		if slug, ok := v.At("slug").(string); ok && slug != "" {
			return v
		}
	}
	return nil
}

// unwrap returns what is inside of a dynamic value.
func unwrap(v any) any {
	if d, ok := v.(*dynamic); ok {
		return d.value
	}
	return v
}

// compiler compiles a document, or data when data is set: data has blocks, but no templates.
type compiler struct {
	instance    string
	data        bool
	inPayload   bool // of an event or an automation: what looks like a block in it is data
	languages   []string
	usesVisitor bool
}

// nestedKeys are the keys that blocks stand under.
var nestedKeys = []string{"blocks", "content", "block"}

// config compiles the configuration of a page or a block.
func (c *compiler) config(o *value.Object, unsecure bool) *value.Object {
	next := value.NewObjectSize(o.Len())
	for key, v := range o.All() {
		if key == "css" || key == "styles" {
			next.Set(key, v)
			continue
		}
		if unsecure && key == "content" {
			if text, ok := v.(string); ok {
				var source any = text
				if t := c.template(text); t != nil {
					source = t
				}
				next.Set(key, unsecureSource{source})
				continue
			}
		}
		next.Set(key, c.compile(v, key))
	}
	return next
}

// compile returns a value with its templates and blocks compiled. Lists and objects that have some are dynamic.
func (c *compiler) compile(v any, key string) any {
	if key == "payload" && !c.inPayload {
		c.inPayload = true
		defer func() { c.inPayload = false }()
	}
	switch v := v.(type) {
	case string:
		if c.data {
			return v
		}
		if key == "type" && v == "script" && !c.inPayload {
			return scriptType{}
		}
		if t := c.template(v); t != nil {
			return t
		}
	case []any:
		list, changed := make([]any, len(v)), false
		for i, item := range v {
			list[i] = c.compile(item, key)
			changed = changed || isDynamic(list[i])
		}
		if changed {
			return &dynamic{list}
		}
	case *value.Object:
		if kind, ok := v.At("slug").(string); ok && !c.inPayload && slices.Contains(nestedKeys, key) {
			return c.node(kind, v)
		}
		if !c.data && isLocalized(v) {
			c.addLanguages(v.Keys())
		}
		o, changed := value.NewObjectSize(v.Len()), false
		for k, item := range v.All() {
			compiled := c.compile(item, k)
			o.Set(k, compiled)
			changed = changed || isDynamic(compiled)
		}
		if changed {
			return &dynamic{o}
		}
	}
	return v
}

func isDynamic(v any) bool {
	switch v.(type) {
	case *dynamic, *Template, *Node, scriptType, unsecureSource:
		return true
	}
	return false
}

// node compiles a block.
func (c *compiler) node(kind string, o *value.Object) *Node {
	given := o.Copy()
	given.Delete("slug")
	unsecure := !c.data && (o.At("allowUnsecure") == true || o.At("allowScripts") == true)
	given.Delete("allowUnsecure")
	given.Delete("allowScripts")
	return &Node{Kind: kind, Instance: c.instance, Config: c.config(given, unsecure), fromData: c.data}
}

// template returns the template of a string, nil when it is none.
func (c *compiler) template(s string) *Template {
	t := parseTemplate(s)
	if t != nil {
		t.paths(func(path []string) {
			if path[0] == "SYSTEM" && (len(path) == 1 || path[1] == "userIsSignedIn") {
				c.usesVisitor = true
			}
		})
	}
	return t
}

func (c *compiler) addLanguages(tags []string) {
	for _, tag := range tags {
		if !slices.Contains(c.languages, tag) {
			c.languages = append(c.languages, tag)
		}
	}
}
