// Package suites has the handlers that run test suites of automations, make cases of recorded runs, and compare a draft
// with recorded runs.
package suites

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/commands/suites"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/suite"
	"svc/domain/value"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Handlers answer requests about tests.
type Handlers struct {
	ReadModel handler.ReadModel
	Programs  handler.Programs
	Library   suites.Library
	Runner    *suites.Runner
	Recorded  *suites.Recorded
}

// runRequest is the body of POST …/tests/run.
type runRequest struct {
	Suites      []string                   `json:"suites"`
	Automations []string                   `json:"automations"`
	Cases       string                     `json:"cases"`
	Documents   map[string]json.RawMessage `json:"documents"`
}

// maxCases is how many cases a request runs at most.
const maxCases = 2000

// Run handles POST …/tests/run: it runs suites, with drafts in the place of what is saved. Nothing is stored.
func (h *Handlers) Run(r *http.Request) (any, error) {
	var in runRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	set, err := h.programSet(r)
	if err != nil {
		return nil, err
	}
	docs, err := suites.Load(r.Context(), h.Library, set.Workspace.ID, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	draft, err := readDrafts(in.Documents, docs)
	if err != nil {
		return nil, err
	}
	for _, slug := range in.Suites {
		if docs[slug] == nil {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such test").With("resource", "test").With("id", slug)
		}
	}
	rights := gateway.GrantFrom(r.Context()).Rights
	wanted, cases := suites.Wanted{Draft: draft}, 0
	for _, s := range suites.Read(docs) {
		named := slices.Contains(in.Suites, s.Slug) || slices.Contains(in.Automations, s.Automation)
		if !named && len(in.Suites)+len(in.Automations) > 0 {
			continue
		}
		if err := checkTest(set, rights, s.Automation); err != nil {
			if named {
				return nil, err
			}
			continue
		}
		wanted.Suites, cases = append(wanted.Suites, s), cases+len(s.Cases)
	}
	if in.Cases != "" {
		pattern := strings.ToLower(in.Cases)
		wanted.Case = func(suite, name string) bool { return strings.Contains(strings.ToLower(suite+": "+name), pattern) }
	}
	if cases > maxCases {
		return nil, domain.Refuse(domain.CodeValidation, "there are more than %d cases: run some of the suites", maxCases).Reason("limit_exceeded").With("limit", maxCases).With("value", cases)
	}
	return h.Runner.Run(r.Context(), set, wanted)
}

// programSet returns what can run in the workspace of a request.
func (h *Handlers) programSet(r *http.Request) (*programs.ProgramSet, error) {
	set, err := h.Programs.ProgramSet(r.Context(), handler.WorkspaceID(r))
	if err == nil && set == nil {
		err = handler.NoWorkspace(handler.WorkspaceID(r))
	}
	return set, err
}

// checkTest asks for the right to test an automation and to read it, and its tests with it. Of one that is not there nobody
// knows what rules say: all must be theirs.
func checkTest(set *programs.ProgramSet, rights *access.Rights, slug string) error {
	for _, action := range []string{"test", "read"} {
		if program := set.Program(slug); program != nil {
			if err := rights.Check(action, "automations", runtime.Subject(program)); err != nil {
				return err
			}
		} else if !rights.Always(action, "automations") {
			return rights.Refusal(action, "automations")
		}
	}
	return nil
}

// readDrafts reads documents that replace what is saved; null deletes one. It returns the automations, and puts the test
// suites to the saved ones.
func readDrafts(given map[string]json.RawMessage, docs map[string]*document.Map) (suites.Draft, error) {
	draft := suites.Draft{}
	for path, body := range given {
		field := "documents." + path
		folder, slug := workspace.Folder(path)
		if folder != document.Automation.Folder && folder != document.Test.Folder || slug == "" {
			return nil, domain.Invalid(domain.FieldError{Field: field, Message: "must be automations/{slug} or tests/{slug}"})
		}
		read, err := readDraft(field, body)
		if err != nil {
			return nil, err
		}
		switch {
		case folder == document.Automation.Folder:
			draft[slug] = read.Doc
		case read.Doc == nil:
			delete(docs, slug)
		default:
			if docs[slug], err = checkSuite(field, read); err != nil {
				return nil, err
			}
		}
	}
	return draft, nil
}

// readDraft reads a document of a request: an object, the text of its file, or null for none.
func readDraft(field string, body json.RawMessage) (handler.RequestDocument, error) {
	if v, err := value.ParseJSON(string(body)); err == nil { // its keys keep their order
		switch v := v.(type) {
		case *document.Map:
			return handler.RequestDocument{Doc: v}, nil
		case string:
			return handler.ReadYAML(field, []byte(v))
		case nil:
			return handler.RequestDocument{}, nil
		}
	}
	return handler.RequestDocument{}, domain.Invalid(domain.FieldError{Field: field, Message: "must be an object, the text of its file, or null"})
}

// checkSuite returns a test suite as it would be saved, or why it could not be.
func checkSuite(field string, read handler.RequestDocument) (*document.Map, error) {
	doc := document.Test.Canonical(read.Doc)
	faults := shape.Check(document.Test, doc)
	if read.Source != nil {
		return doc, read.WithLines(shape.Refusal(faults))
	}
	for i := range faults {
		faults[i].Field = field + "." + faults[i].Field
	}
	return doc, shape.Refusal(faults)
}

// The limits of how many recorded runs are looked at.
const (
	usualRuns = 20
	maxRuns   = 200
	maxListed = 5000 // runs that are looked at to find recorded ones
)

// recordedRuns returns the last recorded runs of an automation, the newest first.
func (h *Handlers) recordedRuns(ctx context.Context, workspaceID, automation string, n int) (runs []projections.Run, err error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	seen := 0
	failed := error(nil)
	err = projections.Runs{}.List(rd, workspaceID, projections.RunsQuery{Automation: automation}, func(l projections.ListedRun) bool {
		run, ok, err := projections.Runs{}.Get(rd, workspaceID, l.CorrelationID)
		if seen++; err != nil || ctx.Err() != nil {
			failed = err
			return false
		}
		if ok && run.HasEnded() && run.Recorded == true {
			runs = append(runs, run)
		}
		return len(runs) < n && seen < maxListed
	})
	if err == nil {
		err = failed
	}
	return runs, err
}

// recordedRequest is the body of POST …/tests/check and …/tests/fromRuns.
type recordedRequest struct {
	Automation string          `json:"automation"`
	Document   json.RawMessage `json:"document"`
	Runs       *int            `json:"runs"`
}

// readRecorded reads a request about recorded runs, and checks that the caller may ask for them.
func (h *Handlers) readRecorded(r *http.Request) (in recordedRequest, set *programs.ProgramSet, runs []projections.Run, err error) {
	if err = gateway.Decode(r, &in); err != nil {
		return in, nil, nil, err
	}
	n := usualRuns
	if in.Runs != nil {
		n = *in.Runs
	}
	if n < 1 || n > maxRuns {
		return in, nil, nil, domain.Invalid(domain.FieldError{Field: "runs", Message: fmt.Sprintf("must be a whole number from 1 to %d", maxRuns)})
	}
	if set, err = h.programSet(r); err != nil {
		return in, nil, nil, err
	}
	rights := gateway.GrantFrom(r.Context()).Rights
	if err = checkTest(set, rights, in.Automation); err != nil {
		return in, nil, nil, err
	}
	if set.Program(in.Automation) == nil {
		refusal := domain.Refuse(domain.CodeNotFound, "Automation %q not found", in.Automation).With("resource", "automation").With("id", in.Automation)
		if near := set.NearestProgram(in.Automation); near != nil {
			refusal.Message += fmt.Sprintf("; did you mean %q?", near.Slug)
		}
		return in, nil, nil, refusal
	}
	runs, err = h.recordedRuns(r.Context(), set.Workspace.ID, in.Automation, n)
	return in, set, runs, err
}

// checkResponse is how a draft behaves in recorded runs.
type checkResponse struct {
	Automation string             `json:"automation"`
	Same       int                `json:"same"`
	Different  int                `json:"different"`
	Skipped    int                `json:"skipped"`
	Runs       []suites.RunReport `json:"runs"`
}

// Check handles POST …/tests/check: it compares a draft of an automation with what is saved, in the last recorded runs.
func (h *Handlers) Check(r *http.Request) (any, error) {
	in, set, runs, err := h.readRecorded(r)
	if err != nil {
		return nil, err
	}
	draft, err := readDraft("document", in.Document)
	if err != nil {
		return nil, err
	}
	if draft.Doc == nil {
		return nil, domain.Invalid(domain.FieldError{Field: "document", Message: "must be the draft of the automation"})
	}
	out := checkResponse{Automation: in.Automation, Runs: []suites.RunReport{}}
	for _, run := range runs {
		report, err := h.Recorded.Check(r.Context(), set, in.Automation, run.CorrelationID, suites.Draft{in.Automation: draft.Doc})
		if err != nil {
			return nil, err
		}
		report.StartedAt = handler.FormatTime(run.StartedAt)
		switch report.Status {
		case suites.Same:
			out.Same++
		case suites.Different:
			out.Different++
		default:
			out.Skipped++
		}
		out.Runs = append(out.Runs, report)
	}
	return out, nil
}

// skippedRun is a run that no case was made of.
type skippedRun struct {
	CorrelationID string `json:"correlationId"`
	Reason        string `json:"reason"`
}

// fromRunsResponse is a suite that was made of recorded runs.
type fromRunsResponse struct {
	Test    *document.Map `json:"test"`
	Cases   int           `json:"cases"`
	Skipped []skippedRun  `json:"skipped"`
}

// FromRuns handles POST …/tests/fromRuns: it makes a test suite of the last recorded runs of an automation. It is not saved.
func (h *Handlers) FromRuns(r *http.Request) (any, error) {
	in, set, runs, err := h.readRecorded(r)
	if err != nil {
		return nil, err
	}
	if len(in.Document) > 0 {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "document: unknown field; cases are made for the automation as it is saved").
			With("errors", []domain.FieldError{{Field: "document", Message: "unknown field"}})
	}
	out := fromRunsResponse{Skipped: []skippedRun{}}
	cases := []any{}
	for _, run := range runs {
		c, reason, err := h.Recorded.Case(r.Context(), set, in.Automation, run.CorrelationID)
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			out.Skipped = append(out.Skipped, skippedRun{run.CorrelationID, reason})
		case slices.ContainsFunc(cases, func(other any) bool { return suite.SameCase(other, c) }):
			out.Skipped = append(out.Skipped, skippedRun{run.CorrelationID, "it is like another run"})
		default:
			cases = append(cases, c)
		}
	}
	out.Cases = len(cases)
	out.Test = document.MapOf(document.Pair{Key: "slug", Value: in.Automation + "-runs"}, document.Pair{Key: "automation", Value: in.Automation}, document.Pair{Key: "cases", Value: cases})
	return out, nil
}
