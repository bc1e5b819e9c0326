package documents

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/yamltext"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/nearest"
	"svc/domain/review"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// problemResponse is a problem as it is answered.
type problemResponse struct {
	Object   string `json:"object"`
	Field    string `json:"field"`
	Message  string `json:"message"`
	Line     int    `json:"line,omitempty"`   // in the file of the document
	Secret   string `json:"secret,omitempty"` // that has no value
	Severity string `json:"severity"`
}

// The severities of problems.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// ListProblems handles GET /v2/workspaces/{workspaceId}/problems.
func (h *Handlers) ListProblems(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	severity, object, page := q.OneOf("severity", "", severityError, severityWarning), q.Text("object"), q.Page(20, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	problems, total := []problemResponse{}, 0
	var items []projections.Item
	rd := h.ReadModel.Reader()
	defer rd.Close()
	hints := h.newHints(r.Context(), rd, id)
	may := canReadObject(rd, rights, id)
	var failed error
	err := projections.Problems{}.List(rd, id, func(p projections.Problem) bool {
		s := problemResponse{Object: p.Object, Field: p.Field, Severity: severityError}
		if p.Warning {
			s.Severity = severityWarning
		}
		under := object == "" || p.Object == object || strings.HasPrefix(p.Object, object+"/")
		if !under || severity != "" && severity != s.Severity {
			return true
		}
		item, ok, err := may(p.Object)
		if failed = err; err != nil || !ok {
			return err == nil
		}
		none, err := hints.isNoProblem(p)
		if failed = err; err != nil || none {
			return err == nil
		}
		if total++; total > page.Offset() && len(problems) < page.Limit {
			s.Message = hints.message(p)
			if p.Kind == projections.MissingSecret {
				s.Secret = p.Name
			}
			problems, items = append(problems, s), append(items, item)
		}
		return true
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	if err := h.addLines(r.Context(), id, problems, items); err != nil {
		return nil, err
	}
	return gateway.List(r, problems, total, page), nil
}

// canReadObject tells of objects of a workspace whether the caller may read them, and where
// the document is that one is. Problems of one object follow each other.
func canReadObject(rd projections.Reader, rights *access.Rights, id string) func(object string) (projections.Item, bool, error) {
	var last string
	var item projections.Item
	allowed := false
	return func(object string) (_ projections.Item, _ bool, err error) {
		if object == last {
			return item, allowed, nil
		}
		folder, _ := workspace.Folder(object)
		last, item, allowed = object, projections.Item{}, true
		if _, single := folders[folder]; !single && folder != "imports" {
			return item, allowed, nil
		}
		item, allowed, err = projections.Content{}.Get(rd, id, object)
		if allowed && folder != "imports" {
			allowed = rights.Allows("read", subjectOf(folder), documentObject(rd, id, folder, item))
		}
		return item, allowed, err
	}
}

// addLines says of problems in which line of the file of their document they are.
func (h *Handlers) addLines(ctx context.Context, id string, problems []problemResponse, items []projections.Item) error {
	var source *yamltext.Source
	for i := range problems {
		if items[i].Hash == "" {
			continue
		}
		if i == 0 || items[i].Path != items[i-1].Path {
			doc, err := h.Library.Document(ctx, id, content.Ref{Hash: items[i].Hash, Apart: items[i].Apart})
			if err != nil {
				return err
			}
			folder, slug := workspace.Folder(items[i].Path)
			kind := folders[folder].kind
			if folder == "imports" {
				kind = document.Import
			}
			text, err := archive.Text(archive.Location{Kind: kind, Slug: slug}, doc)
			if err == nil {
				source, err = yamltext.Locate(text, handler.BodyLimits)
			}
			if err != nil {
				return err
			}
		}
		problems[i].Line = source.Position(problems[i].Field).Line
	}
	return nil
}

// problemHints complete the problems of a workspace: the nearest name of one that does not exist,
// the secrets that the operator gives, and what app instances can be called for.
type problemHints struct {
	rd        projections.Reader
	id        string
	defaults  func() (map[string]bool, error) // names of secrets that have a value by the settings
	names     []string                        // that can be called; nil: not read yet
	read      func(instance string) (calls, error)
	instances map[string]calls // that were read
}

// calls is what can be called of an app instance.
type calls struct {
	known    bool // false: the app is not there, so that nothing can be said
	disabled bool
	names    []string
}

func (h *Handlers) newHints(ctx context.Context, rd projections.Reader, id string) *problemHints {
	return &problemHints{
		rd: rd, id: id, instances: map[string]calls{},
		read: func(instance string) (calls, error) { return h.callsOf(ctx, rd, id, instance) },
		defaults: sync.OnceValues(func() (map[string]bool, error) {
			rec, _, err := projections.Workspaces{}.Record(rd, id)
			return h.SecretDefaults(rec.Meta.Slug), err
		}),
	}
}

// isNoProblem reports whether a problem is none: a missing secret that the settings give a
// value, an automation that an app instance has, or one of an agent that is not disabled.
func (h *problemHints) isNoProblem(p projections.Problem) (bool, error) {
	switch p.Kind {
	case projections.MissingSecret:
		defaults, err := h.defaults()
		return defaults[p.Name], err
	case projections.PerhapsMissing:
		slug, name, _ := strings.Cut(p.Name, ".")
		of, err := h.callsOf(slug)
		return !of.known || !of.disabled && slices.Contains(of.names, name), err
	case projections.PerhapsDisabled:
		disabled, err := h.isDisabled(p.Name)
		return !disabled, err
	}
	return false, nil
}

// message returns the message of a problem, with the nearest name of a missing automation.
func (h *problemHints) message(p projections.Problem) string {
	switch p.Kind {
	case projections.PerhapsMissing:
		slug, name, _ := strings.Cut(p.Name, ".")
		of := h.instances[slug]
		if of.disabled {
			return review.Disabled(slug)
		}
		return p.Message + nearest.DidYouMean(name, slices.Values(of.names))
	case projections.MissingCall:
		if h.names == nil {
			h.names = h.callable()
		}
		return p.Message + nearest.DidYouMean(p.Name, slices.Values(h.names))
	}
	return p.Message
}

// isDisabled reports whether there is an automation, and it is disabled.
func (h *problemHints) isDisabled(automation string) (bool, error) {
	item, ok, err := projections.Content{}.Get(h.rd, h.id, "automations/"+automation)
	if err != nil || !ok {
		return false, err
	}
	meta, err := projections.Content{}.Meta(h.rd, h.id, item.Hash)
	if err != nil {
		return false, err
	}
	disabled, _ := meta.About.Get("disabled")
	return disabled == true, nil
}

// callsOf returns what can be called of an app instance, and remembers it.
func (h *problemHints) callsOf(instance string) (of calls, err error) {
	of, known := h.instances[instance]
	if !known {
		if of, err = h.read(instance); err == nil {
			h.instances[instance] = of
		}
	}
	return of, err
}

// callsOf returns what can be called of an app instance.
func (h *Handlers) callsOf(ctx context.Context, rd projections.Reader, id, instance string) (of calls, err error) {
	item, ok, err := projections.Content{}.Get(rd, id, InstanceFolder+instance)
	if err != nil || !ok {
		return of, err
	}
	_, app, err := h.describeInstance(ctx, rd, id, item)
	if err != nil || app == nil {
		return of, err
	}
	doc, err := h.Library.Document(ctx, id, content.Ref{Hash: item.Hash, Apart: item.Apart})
	if err != nil {
		return of, err
	}
	config, _ := doc.Get("config")
	disabled, _ := doc.Get("disabled")
	return calls{known: true, disabled: disabled == true, names: app.Calls(config)}, nil
}

// maxCallable is how many names are looked at for the nearest one.
const maxCallable = 2000

// callable lists what an automation of the workspace can call: instructions, automations
// and, with a dot behind them, app instances.
func (h *problemHints) callable() []string {
	names := automation.Instructions()
	for folder, suffix := range map[string]string{"automations/": "", "imports/": "."} {
		_ = projections.Content{}.List(h.rd, h.id, folder, func(item projections.Item) (bool, error) {
			names = append(names, item.Slug()+suffix)
			return len(names) < maxCallable, nil
		}) // a hint is not worth an error
	}
	slices.Sort(names)
	return names
}

// warningsOf returns the problems of a saved automation, or of one that is tried.
func (h *Handlers) warningsOf(ctx context.Context, rd projections.Reader, id string, found []projections.Problem, locate func(field, message string) handler.LocatedFault) ([]handler.LocatedFault, error) {
	hints := h.newHints(ctx, rd, id)
	var all []handler.LocatedFault
	for _, p := range found {
		none, err := hints.isNoProblem(p)
		if err != nil {
			return nil, err
		}
		if !none {
			all = append(all, locate(p.Field, hints.message(p)))
		}
	}
	return all, nil
}

// savedWarnings returns what is likely wrong with an automation or an agent that was saved.
func (h *Handlers) savedWarnings(ctx context.Context, rd projections.Reader, id, path string, in handler.RequestDocument) ([]handler.LocatedFault, error) {
	found, err := projections.Problems{}.Of(rd, id, path)
	if err != nil {
		return nil, err
	}
	return h.warningsOf(ctx, rd, id, found, in.Locate)
}

// triedWarnings returns the names that an automation or an agent uses and that do not exist, and the variables that
// nothing sets.
func (h *Handlers) triedWarnings(ctx context.Context, id, path string, needs automation.Review, in handler.RequestDocument) ([]handler.LocatedFault, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, err := projections.Problems{}.Try(rd, id, path, needs)
	if err != nil {
		return nil, err
	}
	return h.warningsOf(ctx, rd, id, found, in.Locate)
}
