package content

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/nearest"
	"svc/domain/review"
	"svc/domain/workspace"
)

// Codes of warnings: a name that does not exist, and a variable that is never set. The document
// is stored: the missing one may be created later.
const (
	warnMissing = "missing_name"
	warnUnset   = "unset_variable"
)

// maxMissing is how many names are listed. The problems of the workspace have all.
const maxMissing = 200

// reviewOf returns the names that a document of an import uses. parsed is that of an
// automation.
func reviewOf(kind *document.Kind, doc *document.Map, parsed *automation.Automation) automation.Review {
	switch kind {
	case document.Automation:
		return automation.NewReview(parsed, nil)
	case document.Page:
		return review.Page(doc)
	case document.Test:
		return review.Test(doc)
	case document.Agent:
		return review.Agent(doc)
	}
	config, _ := doc.Get("config")
	return automation.Review{Secrets: review.Secrets(config, "config")}
}

// nameChecker knows which names exist in a workspace.
type nameChecker struct {
	exists     func(path string) bool  // whether there is a document
	paths      func() iter.Seq[string] // of all documents
	builtIn    []string                // names of instructions
	callable   []string                // see allCallable; nil: not listed yet
	instances  map[string][]string     // what can be called of an app instance, where it is known
	declared   *document.Map           // types of events
	emitted    []string
	emitsLike  []string
	isComplete bool            // all documents that emit are known
	secrets    map[string]bool // nil: it is not known which have values
	// warn reports a name that does not exist, or a variable that is never set (warnUnset).
	warn func(kind, path string, ref automation.Reference, message string)
}

// warnOfNames warns of names that documents of an import use and that do not exist, of each
// once. It comes last: what is deleted is known by then.
func (c *Content) warnOfNames(p *plan, list []*importedDoc, r *archive.Reading) {
	settings := p.of.Settings
	if p.to.Settings != nil {
		settings = *p.to.Settings
	}
	n := c.newNameChecker(p, settings, list, r)
	reported := map[string]bool{}
	n.warn = func(kind, path string, ref automation.Reference, message string) {
		key := kind + " " + ref.Name
		if reported[key] {
			return
		}
		reported[key] = true
		if len(reported) > maxMissing {
			return
		}
		code := warnMissing
		if kind == warnUnset {
			code = warnUnset
		}
		p.warnAt(code, path, ref.Field, ref.Field+": "+message)
	}
	if p.to.Settings != nil {
		config, _ := settings.Config.Get("value")
		n.check("index", automation.Review{Secrets: append(review.Secrets(config, "config.value"), declaredSecrets(settings)...)})
	}
	for _, b := range list {
		n.check(b.path, b.review)
	}
	if more := len(reported) - maxMissing; more > 0 {
		p.warn(warnMissing, "index", fmt.Sprintf("there are %d more warnings of this kind: GET {w}/problems lists them all", more))
	}
}

// declaredSecrets are the secrets that settings say a workspace has.
func declaredSecrets(s workspace.Settings) (refs []automation.Reference) {
	schema, _ := s.Secrets.Get("schema")
	fields, _ := schema.(*document.Map)
	for name := range fields.All() {
		refs = append(refs, automation.Reference{Name: name, Field: "secrets.schema." + name})
	}
	return refs
}

// newNameChecker knows the names that exist after an import.
func (c *Content) newNameChecker(p *plan, settings workspace.Settings, list []*importedDoc, r *archive.Reading) *nameChecker {
	n := &nameChecker{builtIn: automation.Instructions(), instances: map[string][]string{}, secrets: map[string]bool{}, declared: settings.Events.Object("types")}
	imported, deleted := map[string]bool{}, map[string]bool{}
	for _, path := range p.deleted {
		deleted[path] = true
	}
	// An app is started by events of those who install it, and what is here already may
	// emit anything.
	n.isComplete = p.of.Revision == 0 && (r.Import == nil || r.Import.AppSlug == "")
	for _, b := range list {
		imported[b.path] = true
		n.emitted, n.emitsLike = append(n.emitted, b.review.Emits...), append(n.emitsLike, b.review.EmitsLike...)
		if _, slug := workspace.Folder(b.path); b.app != nil && b.app.Calls != nil {
			config, _ := b.doc.Get("config")
			n.instances[slug] = b.app.Calls(config)
		}
	}
	n.exists = func(path string) bool { return imported[path] || p.of.Items.Has(path) && !deleted[path] }
	n.paths = func() iter.Seq[string] {
		return func(yield func(string) bool) {
			for path := range imported {
				if !yield(path) {
					return
				}
			}
			for path := range p.of.Items.Paths() {
				if !imported[path] && !deleted[path] && !yield(path) {
					return
				}
			}
		}
	}
	for name := range p.of.Secrets {
		n.secrets[name] = true
	}
	if c.SecretDefaults != nil {
		maps.Copy(n.secrets, c.SecretDefaults(settings.Slug))
	}
	return n
}

// check warns of the names that a document uses and that do not exist.
func (n *nameChecker) check(path string, r automation.Review) {
	for _, f := range r.Findings {
		if folder, _ := workspace.Folder(path); folder == "automations" {
			n.warn(warnUnset, path, automation.Reference{Name: path + " " + f.Field, Field: f.Field}, f.Message)
		}
	}
	for _, ref := range r.Calls {
		instance, name, ofInstance := strings.Cut(ref.Name, ".")
		offered, known := n.instances[instance]
		switch {
		case !ofInstance && !n.isCallable(ref.Name), ofInstance && !n.isCallable(instance+"."):
			n.warn("call", path, ref, review.NoAutomation(ref.Name)+nearest.DidYouMean(ref.Name, n.allCallable()))
		case ofInstance && known && !slices.Contains(offered, name):
			n.warn("call", path, ref, review.NotOffered(instance, name)+nearest.DidYouMean(name, slices.Values(offered)))
		}
	}
	for _, ref := range r.Bases {
		if !n.exists("knowledge/" + ref.Name) {
			n.warn("knowledgeBase", path, ref, review.NoBase(ref.Name))
		}
	}
	for _, ref := range r.Secrets {
		if n.secrets != nil && !n.secrets[ref.Name] {
			n.warn("secret", path, ref, review.NoSecret(ref.Name))
		}
	}
	for _, ref := range r.Listens {
		if n.isComplete && !n.isEmitted(ref.Name) {
			n.warn("event", path, ref, review.NobodyEmits(ref.Name))
		}
	}
}

// isCallable reports whether a name is that of an instruction or an automation, or that of an app
// instance with a dot behind it.
func (n *nameChecker) isCallable(name string) bool {
	if instance, ok := strings.CutSuffix(name, "."); ok {
		return n.exists("imports/" + instance)
	}
	return n.exists("automations/"+name) || slices.Contains(n.builtIn, name)
}

// allCallable returns all names that can be called, in order. They are listed once something calls
// a name that does not exist.
func (n *nameChecker) allCallable() iter.Seq[string] {
	if n.callable != nil {
		return slices.Values(n.callable)
	}
	names := slices.Clone(n.builtIn)
	for path := range n.paths() {
		switch folder, slug := workspace.Folder(path); folder {
		case "automations":
			names = append(names, slug)
		case "imports":
			names = append(names, slug+".")
		}
	}
	slices.Sort(names)
	n.callable = names
	return slices.Values(names)
}

func (n *nameChecker) isEmitted(name string) bool {
	for event := range n.declared.All() {
		if automation.MatchEvent(name, event) {
			return true
		}
	}
	if instance, _, ok := strings.Cut(name, "."); ok && n.isCallable(instance+".") {
		return true
	}
	base := strings.TrimSuffix(name, "*")
	return slices.ContainsFunc(n.emitted, func(e string) bool { return automation.MatchEvent(name, e) }) ||
		slices.ContainsFunc(n.emitsLike, func(prefix string) bool {
			return strings.HasPrefix(base, prefix) || base != name && strings.HasPrefix(prefix, base)
		})
}
