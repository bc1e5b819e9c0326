package content

import (
	"fmt"
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
	}
	config, _ := doc.Get("config")
	return automation.Review{Secrets: review.Secrets(config, "config")}
}

// nameChecker knows which names exist after an import.
type nameChecker struct {
	p          *plan
	callable   []string // instructions, automations, and app instances with a dot behind them
	instances  map[string][]string
	emitted    []string // nil: not all documents that emit are known
	emitsLike  []string
	isComplete bool
	secrets    map[string]bool
	settings   workspace.Settings
	reported   map[string]bool
}

// warnOfNames warns of names that documents of an import use and that do not exist, of each
// once. It comes last: what is deleted is known by then.
func (c *Content) warnOfNames(p *plan, list []*importedDoc, r *archive.Reading) {
	n := c.newNameChecker(p, list, r)
	if p.to.Settings != nil {
		config, _ := n.settings.Config.Get("value")
		n.check("index", automation.Review{Secrets: append(review.Secrets(config, "config.value"), declaredSecrets(n.settings)...)})
	}
	for _, b := range list {
		n.check(b.path, b.review)
	}
	if more := len(n.reported) - maxMissing; more > 0 {
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

func (c *Content) newNameChecker(p *plan, list []*importedDoc, r *archive.Reading) *nameChecker {
	n := &nameChecker{p: p, settings: p.of.Settings, callable: automation.Instructions(), instances: map[string][]string{}, secrets: map[string]bool{}, reported: map[string]bool{}}
	if p.to.Settings != nil {
		n.settings = *p.to.Settings
	}
	paths := maps.Clone(p.of.Items)
	if paths == nil {
		paths = map[string]workspace.Item{}
	}
	for _, path := range p.deleted {
		delete(paths, path)
	}
	// An app is started by events of those who install it, and what is here already may
	// emit anything.
	n.isComplete = p.of.Revision == 0 && (r.Import == nil || r.Import.AppSlug == "")
	for _, b := range list {
		paths[b.path] = workspace.Item{}
		n.emitted, n.emitsLike = append(n.emitted, b.review.Emits...), append(n.emitsLike, b.review.EmitsLike...)
		if _, slug := workspace.Folder(b.path); b.app != nil && b.app.Calls != nil {
			config, _ := b.doc.Get("config")
			n.instances[slug] = b.app.Calls(config)
		}
	}
	for path := range paths {
		switch folder, slug := workspace.Folder(path); folder {
		case "automations":
			n.callable = append(n.callable, slug)
		case "imports":
			n.callable = append(n.callable, slug+".")
		}
	}
	slices.Sort(n.callable)
	for name := range p.of.Secrets {
		n.secrets[name] = true
	}
	if c.SecretDefaults != nil {
		maps.Copy(n.secrets, c.SecretDefaults(n.settings.Slug))
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
			n.warn("call", path, ref, review.NoAutomation(ref.Name)+nearest.DidYouMean(ref.Name, slices.Values(n.callable)))
		case ofInstance && known && !slices.Contains(offered, name):
			n.warn("call", path, ref, review.NotOffered(instance, name)+nearest.DidYouMean(name, slices.Values(offered)))
		}
	}
	for _, ref := range r.Secrets {
		if !n.secrets[ref.Name] {
			n.warn("secret", path, ref, review.NoSecret(ref.Name))
		}
	}
	for _, ref := range r.Listens {
		if n.isComplete && !n.isEmitted(ref.Name) {
			n.warn("event", path, ref, review.NobodyEmits(ref.Name))
		}
	}
}

func (n *nameChecker) isCallable(name string) bool {
	_, found := slices.BinarySearch(n.callable, name)
	return found
}

func (n *nameChecker) isEmitted(name string) bool {
	types, _ := n.settings.Events.Get("types")
	declared, _ := types.(*document.Map)
	for event := range declared.All() {
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

func (n *nameChecker) warn(kind, path string, ref automation.Reference, message string) {
	key := kind + " " + ref.Name
	if n.reported[key] {
		return
	}
	n.reported[key] = true
	if len(n.reported) > maxMissing {
		return
	}
	code := warnMissing
	if kind == warnUnset {
		code = warnUnset
	}
	n.p.warnAt(code, path, ref.Field, ref.Field+": "+message)
}
