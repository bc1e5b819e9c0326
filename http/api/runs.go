package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"svc/commands/recording"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/feed"
)

// shownRun is a run as it is answered.
type shownRun struct {
	CorrelationID string                `json:"correlationId"`
	StartedAt     string                `json:"startedAt"`
	Duration      int64                 `json:"duration"` // ms; so far, while it goes on
	Status        projections.RunStatus `json:"status"`
	Trigger       activity.Trigger      `json:"trigger"`
	Automation    string                `json:"automation"`
	StartedBy     string                `json:"startedBy,omitempty"`
	Executions    int                   `json:"executions"`
	Recorded      any                   `json:"recorded"`
}

func (d Deps) showRun(run projections.Run) shownRun {
	end := run.EndedAt
	if !run.HasEnded() {
		end = d.Now()
	}
	return shownRun{
		CorrelationID: run.CorrelationID, StartedAt: stampOf(run.StartedAt), Duration: max(0, end.Sub(run.StartedAt).Milliseconds()),
		Status: run.Status, Trigger: run.Trigger, Automation: run.Automation, StartedBy: run.StartedBy, Executions: run.Executions, Recorded: run.Recorded,
	}
}

// runsQuery is what GET …/runs asks for. The first moment counts, the last does not.
type runsQuery struct {
	projections.RunsQuery
	status projections.RunStatus
	page   gateway.Page
	most   int // how many are judged
}

func readRunsQuery(r *http.Request) (asked runsQuery, err error) {
	q := gateway.NewQuery(r)
	var statuses []string
	for _, s := range projections.RunStatuses() {
		statuses = append(statuses, string(s))
	}
	asked = runsQuery{
		RunsQuery: projections.RunsQuery{Automation: q.Text("automation"), From: q.Time("from"), Before: q.Time("to")},
		status:    projections.RunStatus(q.OneOf("status", "", statuses...)), page: q.Page(20, 100), most: maxJudged,
	}
	if err := q.Err(); err != nil {
		return asked, err
	}
	if !asked.From.IsZero() && !asked.Before.IsZero() && !asked.Before.After(asked.From) {
		return asked, badParameter("to", "must be later than from")
	}
	return asked, nil
}

// whenever reports whether the time does not matter.
func (q runsQuery) whenever() bool { return q.From.IsZero() && q.Before.IsZero() }

// listRuns handles GET …/runs.
func listRuns(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q, err := readRunsQuery(r)
		if err != nil {
			return nil, err
		}
		var list foundRuns
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			list, err = q.find(r.Context(), rd, workspaceID(r), gateway.GrantFrom(r.Context()).Rights)
			return err
		})
		if err != nil {
			return nil, err
		}
		return d.showRuns(r, list, q.page), nil
	}
}

// showRuns is the answer to r with a page. One of runs that were not all looked at does not
// say how many there are; behind the last of those that were, the next begins with others.
func (d Deps) showRuns(r *http.Request, list foundRuns, p gateway.Page) *gateway.Answer {
	shown := make([]shownRun, len(list.runs))
	for i, run := range list.runs {
		shown[i] = d.showRun(run)
	}
	switch {
	case list.cut.IsZero():
		return gateway.List(r, shown, list.total, p)
	case len(shown) == p.Limit:
		return gateway.OK(shown).With("Link", gateway.Next(r, "page", strconv.Itoa(p.Number+1)))
	}
	return gateway.OK(shown).With("Link", gateway.Next(withoutPage(r), "to", stampOf(list.cut)))
}

// foundRuns is one page of runs.
type foundRuns struct {
	runs  []projections.Run
	total int       // how many there are on all pages
	cut   time.Time // those that began earlier were not looked at, nor counted; zero: all were
}

// find returns the runs of the page, and how many there are on all pages.
func (q runsQuery) find(ctx context.Context, rd projections.Reader, workspaceID string, rights *access.Rights) (foundRuns, error) {
	if rights == nil {
		return foundRuns{}, nil
	}
	s := &runSearch{runsQuery: q, ctx: ctx, rd: rd, workspaceID: workspaceID, total: -1}
	allowed, sure := rights.DecideForAll(mayReadEvents.Action, mayReadEvents.Subject, knownOfRuns(workspaceID))
	switch {
	case !sure:
		s.may = readable(rights)
	case !allowed:
		return foundRuns{}, nil
	case q.whenever():
		var err error
		if s.total, err = (projections.Runs{}).Count(rd, workspaceID, q.Automation, q.status); err != nil {
			return foundRuns{}, err
		}
	}
	if s.full() {
		return foundRuns{total: s.total}, nil
	}
	err := projections.Runs{}.List(rd, workspaceID, q.RunsQuery, s.visit)
	if err == nil {
		err = s.failed
	}
	if s.total < 0 {
		s.total = s.seen
	}
	return foundRuns{s.found, s.total, s.cut}, err
}

// knownOfRuns is what the events say by which all runs of a workspace are judged: most
// people may read all of them or none, which takes no look at any.
func knownOfRuns(workspaceID string) access.PartialObject {
	executed := activity.Executed{}.EventType()
	return access.PartialObject{
		"type": executed, "source": access.PartialObject{"workspaceId": workspaceID, "serviceTopic": executed}, "target": access.Absent,
	}
}

// maxJudged is how many runs are read for a page of those that somebody may read.
const maxJudged = 10_000

// runSearch is a search for runs under way.
type runSearch struct {
	runsQuery
	ctx         context.Context // lives as long as the search
	rd          projections.Reader
	workspaceID string
	may         func(*feed.Event) bool // nil: the caller may read everything

	found  []projections.Run
	seen   int // how many fit so far
	total  int // how many do; below 0: not known
	judged int
	last   time.Time // when the last that was judged began
	cut    time.Time // when the search was given up: last
	failed error
}

// full reports whether nothing more is needed.
func (s *runSearch) full() bool {
	return s.total >= 0 && (len(s.found) == s.page.Limit || s.seen == s.total)
}

// visit looks at one run. It is read only when it has to be.
func (s *runSearch) visit(l projections.ListedRun) (more bool) {
	if s.status != "" && s.status != l.Status {
		return true
	}
	if s.failed = s.ctx.Err(); s.failed != nil {
		return false
	}
	wanted := s.seen >= s.page.Offset() && len(s.found) < s.page.Limit
	if wanted || s.may != nil {
		var run projections.Run
		var ok bool
		run, ok, s.failed = projections.Runs{}.Get(s.rd, s.workspaceID, l.CorrelationID)
		if s.failed != nil || ok && s.tired(run) {
			return false
		}
		if !ok || s.may != nil && !s.may(run.Event()) {
			return true
		}
		if wanted {
			s.found = append(s.found, run)
		}
	}
	s.seen++
	return !s.full()
}

// tired reports whether enough runs were judged before this one, and notes from where on
// there are more: between two moments, so that nothing is left out or shown twice.
func (s *runSearch) tired(run projections.Run) bool {
	if s.may == nil {
		return false
	}
	if s.judged >= s.most && !run.StartedAt.Equal(s.last) {
		s.cut = s.last
		return true
	}
	s.judged, s.last = s.judged+1, run.StartedAt
	return false
}

// getRun handles GET …/runs/{correlationId}.
func getRun(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, workspace := gateway.Var(r, "correlationId"), workspaceID(r)
		rights := gateway.GrantFrom(r.Context()).Rights
		var run projections.Run
		var open []projections.UnfinishedTree
		known := false
		err := d.ReadModel.View(func(rd projections.Reader) (err error) {
			if run, known, err = (projections.Runs{}).Get(rd, workspace, id); err == nil && known {
				open, err = projections.Runs{}.Open(rd, workspace, id, maxRunEvents)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if !known || rights == nil {
			return nil, noRun(id)
		}
		tree, err := d.runTree(r.Context(), rights, run, open)
		if err != nil {
			return nil, err
		}
		if len(tree.all) == 0 && !readable(rights)(run.Event()) {
			return nil, noRun(id)
		}
		chunks, err := d.addRecorded(r, run, tree)
		if err != nil {
			return nil, err
		}
		return wholeRun{d.showRun(run), tree.grown(), chunks, tree.cut}, nil
	}
}

func noRun(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such run, or it was erased").With("resource", "run").With("id", id)
}

// wholeRun is a run with what it consists of.
type wholeRun struct {
	shownRun
	Tree      []*shownExecution `json:"tree"`
	Chunks    []json.RawMessage `json:"chunks,omitempty"`    // that a recorded tree sent piece by piece
	Truncated bool              `json:"truncated,omitempty"` // it has more than is shown
}

// awaitedEvent is an event that an execution waits for.
type awaitedEvent struct {
	Event   string          `json:"event"`
	Filters json.RawMessage `json:"filters,omitempty"`
}

// shownExecution is an execution as it is answered, with what it caused.
type shownExecution struct {
	ExecutionID string            `json:"executionId"`
	Slug        string            `json:"slug"`
	Trigger     activity.Trigger  `json:"trigger"`
	StartedAt   string            `json:"startedAt"`
	Duration    *int64            `json:"duration,omitempty"` // ms; absent while it goes on
	Throttled   int64             `json:"throttled,omitempty"`
	Break       bool              `json:"break,omitempty"`
	Error       *activity.Failure `json:"error,omitempty"`
	Logs        []string          `json:"logs"` // of the console of its custom code, and errors that ended nothing
	Children    []*shownExecution `json:"children"`
	// WaitsFor are the events that it waits for, and Until the time when that is over, while
	// it waits.
	WaitsFor []awaitedEvent `json:"waitsFor,omitempty"`
	Until    string         `json:"until,omitempty"`
	// Effects are what left it, in the order of completion, when it was recorded.
	Effects []recording.Effect `json:"effects,omitempty"`
	// Input is what the tree that it begins started with, and Output what it returned, when it
	// was recorded.
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	// Steps are its instructions, in the order in which they began, when it was recorded.
	Steps []*recording.Step `json:"steps,omitempty"`

	logged bool   // what it logged is kept with this event
	event  string // that says how it ended
	parent string
	began  time.Time
}
