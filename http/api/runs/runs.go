package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"svc/commands/programs"
	"svc/commands/recording"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/http/api/events"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/feed"
)

// runResponse is a run as it is answered.
type runResponse struct {
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

func (h *Handlers) toRunResponse(run projections.Run) runResponse {
	end := run.EndedAt
	if !run.HasEnded() {
		end = h.Now()
	}
	return runResponse{
		CorrelationID: run.CorrelationID, StartedAt: handler.FormatTime(run.StartedAt), Duration: max(0, end.Sub(run.StartedAt).Milliseconds()),
		Status: run.Status, Trigger: run.Trigger, Automation: run.Automation, StartedBy: run.StartedBy, Executions: run.Executions, Recorded: run.Recorded,
	}
}

// runsQuery is what GET …/runs asks for. The first moment counts, the last does not.
type runsQuery struct {
	projections.RunsQuery
	status projections.RunStatus
	page   gateway.Page
	most   int // how many are checked
}

func readRunsQuery(r *http.Request) (asked runsQuery, err error) {
	q := gateway.NewQuery(r)
	var statuses []string
	for _, s := range projections.RunStatuses() {
		statuses = append(statuses, string(s))
	}
	asked = runsQuery{
		RunsQuery: projections.RunsQuery{Automation: q.Text("automation"), From: q.Time("from"), Before: q.Time("to")},
		status:    projections.RunStatus(q.OneOf("status", "", statuses...)), page: q.Page(20, 100), most: maxCheckedRuns,
	}
	if err := q.Err(); err != nil {
		return asked, err
	}
	if !asked.From.IsZero() && !asked.Before.IsZero() && !asked.Before.After(asked.From) {
		return asked, handler.RefuseParameter("to", "must be later than from")
	}
	return asked, nil
}

// isForAllTimes reports whether the time does not matter.
func (q runsQuery) isForAllTimes() bool { return q.From.IsZero() && q.Before.IsZero() }

// ListRuns handles GET …/runs.
func (h *Handlers) ListRuns(r *http.Request) (any, error) {
	q, err := readRunsQuery(r)
	if err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	list, err := q.find(r.Context(), rd, handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights)
	if err != nil {
		return nil, err
	}
	return h.runsResponse(r, list, q.page), nil
}

// runsResponse is the answer to r with a page. One of runs that were not all looked at does not
// say how many there are; behind the last of those that were, the next begins with others.
func (h *Handlers) runsResponse(r *http.Request, list foundRuns, p gateway.Page) *gateway.Answer {
	items := make([]runResponse, len(list.runs))
	for i, run := range list.runs {
		items[i] = h.toRunResponse(run)
	}
	switch {
	case list.cut.IsZero():
		return gateway.List(r, items, list.total, p)
	case len(items) == p.Limit:
		return gateway.OK(items).With("Link", gateway.Next(r, "page", strconv.Itoa(p.Number+1)))
	}
	return gateway.OK(items).With("Link", gateway.Next(events.WithoutPage(r), "to", handler.FormatTime(list.cut)))
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
	allowed, sure := rights.DecideForAll("read", "events", knownRunFields(workspaceID))
	switch {
	case !sure:
		s.may = events.NewEventFilter(rights)
	case !allowed:
		return foundRuns{}, nil
	case q.isForAllTimes():
		var err error
		if s.total, err = (projections.Runs{}).Count(rd, workspaceID, q.Automation, q.status); err != nil {
			return foundRuns{}, err
		}
	}
	if s.isFull() {
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

// knownRunFields is the part of their events that is the same for all runs of a workspace: most
// people may read all of them or none, which takes no look at any.
func knownRunFields(workspaceID string) access.PartialObject {
	executed := activity.Executed{}.EventType()
	return access.PartialObject{
		"type": executed, "source": access.PartialObject{"workspaceId": workspaceID, "serviceTopic": executed}, "target": access.Absent,
	}
}

// maxCheckedRuns is how many runs are read for a page of those that somebody may read.
const maxCheckedRuns = 10_000

// runSearch is a search for runs under way.
type runSearch struct {
	runsQuery
	ctx         context.Context // lives as long as the search
	rd          projections.Reader
	workspaceID string
	may         func(*feed.Event) bool // nil: the caller may read everything

	found   []projections.Run
	seen    int // how many fit so far
	total   int // how many do; below 0: not known
	checked int
	last    time.Time // when the last checked run began
	cut     time.Time // when the search was given up: last
	failed  error
}

// isFull reports whether nothing more is needed.
func (s *runSearch) isFull() bool {
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
		if s.failed != nil || ok && s.isOverLimit(run) {
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
	return !s.isFull()
}

// isOverLimit reports whether enough runs were checked before this one, and notes from where on
// there are more: between two moments, so that nothing is left out or shown twice.
func (s *runSearch) isOverLimit(run projections.Run) bool {
	if s.may == nil {
		return false
	}
	if s.checked >= s.most && !run.StartedAt.Equal(s.last) {
		s.cut = s.last
		return true
	}
	s.checked, s.last = s.checked+1, run.StartedAt
	return false
}

// GetRun handles GET …/runs/{correlationId}.
func (h *Handlers) GetRun(r *http.Request) (any, error) {
	id, workspace := gateway.Var(r, "correlationId"), handler.WorkspaceID(r)
	rights := gateway.GrantFrom(r.Context()).Rights
	run, open, err := h.findRunAndTrees(workspace, id)
	if err != nil {
		return nil, err
	}
	if rights == nil {
		return nil, noRun(id)
	}
	tree, err := h.readRunTree(r.Context(), rights, run, open)
	if err != nil {
		return nil, err
	}
	if len(tree.all) == 0 && !events.NewEventFilter(rights)(run.Event()) {
		return nil, noRun(id)
	}
	chunks, err := h.addRecorded(r, run, tree)
	if err != nil {
		return nil, err
	}
	return runDetailResponse{h.toRunResponse(run), tree.roots(), chunks, tree.cut}, nil
}

// findRunAndTrees returns a run, and its trees that have not ended.
func (h *Handlers) findRunAndTrees(workspaceID, id string) (projections.Run, []projections.UnfinishedTree, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	run, known, err := projections.Runs{}.Get(rd, workspaceID, id)
	if err != nil || !known {
		return run, nil, cmp.Or(err, noRun(id))
	}
	open, err := projections.Runs{}.Open(rd, workspaceID, id, maxRunEvents)
	return run, open, err
}

func noRun(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such run, or it was erased").With("resource", "run").With("id", id)
}

// runDetailResponse is a run with what it consists of.
type runDetailResponse struct {
	runResponse
	Tree      []*executionResponse `json:"tree"`
	Chunks    []json.RawMessage    `json:"chunks,omitempty"`    // that a recorded tree sent piece by piece
	Truncated bool                 `json:"truncated,omitempty"` // it has more than is shown
}

// executionResponse is an execution as it is answered, with what it caused.
type executionResponse struct {
	ExecutionID string               `json:"executionId"`
	Slug        string               `json:"slug"`
	Trigger     activity.Trigger     `json:"trigger"`
	StartedAt   string               `json:"startedAt"`
	Duration    *int64               `json:"duration,omitempty"` // ms; absent while it goes on
	Throttled   int64                `json:"throttled,omitempty"`
	Break       bool                 `json:"break,omitempty"`
	Error       *activity.Failure    `json:"error,omitempty"`
	Logs        []string             `json:"logs"` // of the console of its custom code, and errors that ended nothing
	Children    []*executionResponse `json:"children"`
	// WaitsFor are the events that it waits for, and Until the time when that is over, while
	// it waits.
	WaitsFor []waitedEvent `json:"waitsFor,omitempty"`
	Until    string        `json:"until,omitempty"`
	// Effects are what left it, in the order of completion, when it was recorded.
	Effects []recording.Effect `json:"effects,omitempty"`
	// Input is what the tree that it begins started with, and Output what it returned, when it
	// was recorded.
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	// Steps are its instructions, in the order in which they began, when it was recorded.
	Steps []*recording.Step `json:"steps,omitempty"`

	logged bool      // what it logged is kept with this event
	event  string    // that says how it ended
	seq    uint64    // of that event,
	ended  time.Time // and when it was stored
	parent string
	began  time.Time
}

// maxRunEvents is how many events of a run are looked at.
const maxRunEvents = 20_000

// runTree is the executions of a run that somebody may read.
type runTree struct {
	all     []*executionResponse
	byID    map[string]*executionResponse
	emitter map[string]string // by event, the execution that caused it
	waits   map[string]*openWait
	ended   map[string]bool // waits that came to their end
	cut     bool            // the run has more events
}

// readRunTree puts together what a run consists of: what its events tell that the caller may
// read, and what has not ended.
func (h *Handlers) readRunTree(ctx context.Context, rights *access.Rights, run projections.Run, open []projections.UnfinishedTree) (*runTree, error) {
	t := &runTree{byID: map[string]*executionResponse{}, emitter: map[string]string{}, waits: map[string]*openWait{}, ended: map[string]bool{}}
	may, seen := events.NewEventFilter(rights), 0
	rng := feed.Range{
		WorkspaceID: run.WorkspaceID,
		Filter:      &feed.Filter{Paths: []feed.PathFilter{{Path: "source.correlationId", Any: []string{run.CorrelationID}}}},
	}
	if rights.Always("read", "events") { // otherwise rules look at the rest, too
		rng.Need = feed.Logged
	}
	err := h.Feed.Walk(ctx, rng, func(e *feed.Event) (bool, error) {
		if seen++; seen > maxRunEvents {
			t.cut = true
			return false, nil
		}
		if !may(e) {
			return true, nil
		}
		return true, t.apply(e)
	})
	for _, tree := range open {
		if t.byID[tree.ExecutionID] == nil && may(tree.Event()) {
			t.add(&executionResponse{
				ExecutionID: tree.ExecutionID, Slug: tree.Automation, Trigger: tree.Trigger, StartedAt: handler.FormatTime(tree.StartedAt), began: tree.StartedAt,
			})
		}
	}
	if err != nil {
		return t, err
	}
	t.addWaits()
	return t, h.addLogs(ctx, run.WorkspaceID, t)
}

// openWait is a wait that began.
type openWait struct {
	activity.WaitPending
	slug string // of the automation that waits
	at   string // when that began
}

// noteWait notes that a wait began or ended.
func (t *runTree) noteWait(e *feed.Event) error {
	var wait openWait
	if err := json.Unmarshal(e.Payload, &wait.WaitPending); err != nil {
		return err
	}
	if e.Type != wait.EventType() {
		t.ended[wait.ID] = true
		return nil
	}
	wait.slug, wait.at = e.Source.AutomationSlug, e.CreatedAt()
	t.waits[wait.ID] = &wait
	return nil
}

// addWaits adds to the executions what they wait for. Of one that another called, and that has
// not ended, nothing is known yet but that: it stands at the top, since its wait began.
func (t *runTree) addWaits() {
	ids := slices.Sorted(maps.Keys(t.waits))
	for _, id := range ids {
		wait := t.waits[id]
		x := t.byID[wait.ExecutionID]
		if t.ended[id] || x != nil && x.Duration != nil { // or else its execution was stopped
			continue
		}
		if x == nil {
			x = &executionResponse{ExecutionID: wait.ExecutionID, Slug: wait.slug, Trigger: activity.Trigger{Type: activity.ByAutomation}, StartedAt: wait.at}
			t.add(x)
		}
		x.WaitsFor = append(x.WaitsFor, waitedEvents(wait.Wait)...)
		if x.Until == "" || wait.ExpiresAt < x.Until {
			x.Until = wait.ExpiresAt
		}
	}
}

// maxLogged is how many executions of a run are shown with what they logged.
const maxLogged = 1000

// addLogs adds to the executions what they logged.
func (h *Handlers) addLogs(ctx context.Context, workspaceID string, t *runTree) error {
	read := 0
	for _, x := range t.all {
		if !x.logged {
			continue
		}
		if read++; read > maxLogged {
			t.cut = true
			return nil
		}
		lines, err := h.Feed.Logs(ctx, workspaceID, x.event, x.seq, x.ended)
		if err != nil {
			return err
		}
		x.Logs = append(x.Logs, lines...)
	}
	return nil
}

// apply notes what an event says of the run.
func (t *runTree) apply(e *feed.Event) error {
	if e.Source.ExecutionID != "" {
		t.emitter[e.ID] = e.Source.ExecutionID
	}
	switch e.Type {
	case activity.WaitPending{}.EventType(), activity.WaitFulfilled{}.EventType(), activity.WaitExpired{}.EventType():
		return t.noteWait(e)
	case activity.Executed{}.EventType():
	default:
		return nil
	}
	var ended activity.Executed
	if err := json.Unmarshal(e.Payload, &ended); err != nil {
		return err
	}
	x := &executionResponse{
		ExecutionID: ended.ExecutionID, Slug: ended.Slug, StartedAt: ended.StartedAt, Duration: &ended.Duration, Throttled: ended.Throttled,
		Break: ended.Break, Error: ended.Error, parent: ended.ParentExecutionID, logged: ended.Logged, event: e.ID, seq: e.Number(), ended: e.At,
	}
	_ = json.Unmarshal(ended.Trigger, &x.Trigger)          // none is one of no type
	x.began, _ = time.Parse(time.RFC3339, ended.StartedAt) // no time is the first
	t.add(x)
	if !x.logged { // the whole event has what it logged
		var whole struct {
			Logs []string `json:"logs"`
		}
		_ = json.Unmarshal(e.Payload, &whole) // as above
		x.Logs = append(x.Logs, whole.Logs...)
	}
	return nil
}

func (t *runTree) add(x *executionResponse) {
	x.Children, x.Logs = []*executionResponse{}, []string{}
	t.all = append(t.all, x)
	t.byID[x.ExecutionID] = x
}

// roots returns the executions that nothing else in the tree caused, each with what it
// caused.
func (t *runTree) roots() []*executionResponse {
	slices.SortStableFunc(t.all, func(a, b *executionResponse) int { return a.began.Compare(b.began) })
	top := []*executionResponse{}
	for _, x := range t.all {
		if cause := t.cause(x); cause != nil {
			cause.Children = append(cause.Children, x)
		} else {
			top = append(top, x)
		}
	}
	return top
}

// maxRunDepth is how deep executions are shown within each other.
const maxRunDepth = 1000

// cause returns the execution under which another is shown; nil when there is none.
func (t *runTree) cause(x *executionResponse) *executionResponse {
	cause := t.caller(x)
	for up, steps := cause, 0; up != nil; steps++ { // what is damaged must not become a circle
		if up == x || steps > maxRunDepth {
			return nil
		}
		up = t.caller(up)
	}
	return cause
}

// caller returns the execution that called another, or emitted the event that started
// it; nil when it is not known.
func (t *runTree) caller(x *executionResponse) *executionResponse {
	if x.parent == "" && x.Trigger.Type == activity.ByEvent {
		return t.byID[t.emitter[x.Trigger.ID]]
	}
	return t.byID[x.parent]
}

// CancelRun handles POST …/runs/{correlationId}/cancel: what is under way of a run is
// stopped at its next effect, on whichever node it is.
func (h *Handlers) CancelRun(r *http.Request) (any, error) {
	workspace, id := handler.WorkspaceID(r), gateway.Var(r, "correlationId")
	programSet, err := h.programSet(r)
	if err != nil {
		return nil, err
	}
	run, open, err := h.findRunAndTrees(workspace, id)
	if err != nil {
		return nil, err
	}
	rights := gateway.GrantFrom(r.Context()).Rights
	if err := checkTestRun(programSet, run.Automation, rights); err != nil {
		return nil, err
	}
	for _, t := range open { // what it triggered ends with it
		if err := checkTestRun(programSet, t.Automation, rights); err != nil {
			return nil, err
		}
	}
	if len(open) > 0 {
		if err := h.Cancel(workspace, id); err != nil {
			return nil, err
		}
	}
	return map[string]any{"correlationId": id, "cancelled": len(open)}, nil
}

// Replays executes recorded runs again. It is a *recording.Replayer.
type Replays interface {
	Replay(ctx context.Context, programSet *programs.ProgramSet, w recording.Wanted) (report recording.Report, found bool, err error)
	Recorded(ctx context.Context, programSet *programs.ProgramSet, correlationID string) (recording.RecordedRun, error)
}

// replayRequest is the body of POST …/replay.
type replayRequest struct {
	Document    string `json:"document"`
	ExecutionID string `json:"executionId"`
}

// replayResponse is what replaying a run came to.
type replayResponse struct {
	CorrelationID string `json:"correlationId"`
	Document      string `json:"document"`
	recording.Report
}

// ReplayRun handles POST …/runs/{correlationId}/replay: it executes what was recorded
// again, with nothing leaving. Whoever asks must be allowed to test every automation that
// began a tree of it; of one tree only, that one.
func (h *Handlers) ReplayRun(r *http.Request) (any, error) {
	in := replayRequest{}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	in.Document = cmp.Or(in.Document, recording.Recorded)
	if in.Document != recording.Recorded && in.Document != recording.Current {
		return nil, domain.Invalid(domain.FieldError{Field: "document", Message: "must be one of current, recorded"})
	}
	programSet, err := h.programSet(r)
	if err != nil {
		return nil, err
	}
	run, err := h.findRun(programSet, gateway.Var(r, "correlationId"))
	if err != nil {
		return nil, err
	}
	may := func(automation string) error {
		return checkTestRun(programSet, automation, gateway.GrantFrom(r.Context()).Rights)
	}
	refusal := h.checkReplayable(run)
	if in.ExecutionID == "" || refusal != nil {
		if err := cmp.Or(may(run.Automation), refusal); err != nil {
			return nil, err
		}
	}
	report, found, err := h.Replays.Replay(r.Context(), programSet, recording.Wanted{
		CorrelationID: run.CorrelationID, ExecutionID: in.ExecutionID, Document: in.Document, May: may,
	})
	switch {
	case err != nil:
		return nil, err
	case !found && in.ExecutionID != "":
		return nil, cmp.Or(may(run.Automation), notReplayable("not_recorded", "this execution began no tree of the run that is recorded"))
	case !found:
		return nil, notReplayable("expired", "the recording of the run has expired")
	}
	return replayResponse{run.CorrelationID, in.Document, report}, nil
}

// findRun returns a run of a workspace.
func (h *Handlers) findRun(programSet *programs.ProgramSet, id string) (projections.Run, error) {
	run, known, err := projections.FindIn(h.ReadModel, projections.Runs{}.Get, programSet.Workspace.ID, id)
	if err == nil && !known {
		err = noRun(id)
	}
	return run, err
}

// checkReplayable refuses a run that cannot be replayed.
func (h *Handlers) checkReplayable(run projections.Run) error {
	switch {
	case !run.HasEnded():
		return notReplayable("running", "the run has not ended")
	case run.Recorded == "truncated":
		return notReplayable("truncated", "the run was too large to be recorded")
	case run.Recorded != true || h.Replays == nil:
		return notReplayable("not_recorded", "the run was not recorded")
	}
	return nil
}

// checkTestRun refuses what needs the right to test an automation of a run. Of one that is
// not there any more nobody knows what rules said of it: all must be theirs to test.
func checkTestRun(programSet *programs.ProgramSet, automation string, rights *access.Rights) error {
	if program := programSet.Program(automation); program != nil {
		return rights.Check("test", "automations", runtime.Subject(program))
	}
	if rights.Always("test", "automations") {
		return nil
	}
	return rights.Refusal("test", "automations")
}

func notReplayable(reason, message string) error {
	return domain.Refuse(domain.CodeConflict, "%s", message).Reason(reason)
}

// addRecorded adds to the executions of a run what they did and what left them, as far as
// that was recorded, and returns the chunks that were sent. What the caller may not read of
// the run is left out.
func (h *Handlers) addRecorded(r *http.Request, run projections.Run, tree *runTree) (chunks []json.RawMessage, err error) {
	if h.Replays == nil || run.Recorded != true || len(tree.all) == 0 {
		return nil, nil
	}
	programSet, err := h.programSet(r)
	if err != nil {
		return nil, err
	}
	recorded, err := h.Replays.Recorded(r.Context(), programSet, run.CorrelationID)
	if err != nil {
		return nil, err
	}
	for _, x := range tree.all {
		x.Effects, x.Steps = recorded.Effects[x.ExecutionID], recorded.Steps[x.ExecutionID]
		x.Input, x.Output = recorded.Inputs[x.ExecutionID], recorded.Outputs[x.ExecutionID]
	}
	tree.cut = tree.cut || recorded.Cut
	return recorded.Chunks, nil
}
