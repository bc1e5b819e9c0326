package projections

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
)

// Run is what one correlation id stands for: what made an automation run, and all that
// came of it.
type Run struct {
	WorkspaceID   string
	CorrelationID string
	StartedAt     time.Time
	EndedAt       time.Time // when the last tree ended; zero: none has
	Status        RunStatus
	Trigger       activity.Trigger // of the first tree
	Automation    string           // of the first tree
	Executions    int              // that ended
	Recorded      any              // true, false, or "truncated"
	StartedBy     string           // whoever caused the first tree: a user or key:{id}; "": nobody in particular

	first runBegin
}

// Over reports whether nothing of the run goes on.
func (r Run) Over() bool { return r.Status != RunRunning && r.Status != RunWaiting }

// Event returns what rights on events are asked about when a run is shown that has no
// event of its own yet: the end of its first execution, without what that was given and
// gave.
func (r Run) Event() *feed.Event {
	return r.first.event(r.WorkspaceID, r.CorrelationID)
}

func (f runBegin) event(workspaceID, run string) *feed.Event {
	body, err := json.Marshal(struct {
		Slug        string           `json:"slug"`
		ExecutionID string           `json:"executionId"`
		Trigger     activity.Trigger `json:"trigger"`
	}{f.Automation, f.ExecutionID, f.Trigger})
	if err != nil {
		body = nil // texts only
	}
	source := f.Source
	source.CorrelationID, source.ExecutionID = run, f.ExecutionID
	return feed.Of(domain.Recorded{
		Log: domain.Activity, Stream: domain.StreamID{Scope: workspaceID}, Seq: f.Seq, At: time.UnixMilli(f.StartedAt).UTC(),
		Meta: source, Data: activity.Executed{}, Body: body,
	}, domain.At(domain.Activity, f.Seq), body)
}

func (r runRow) shown(workspaceID, run string) Run {
	shown := Run{
		WorkspaceID: workspaceID, CorrelationID: run, Status: r.status(), Executions: r.Executions, Recorded: r.Recorded > 0,
		StartedAt: time.UnixMilli(r.First.StartedAt).UTC(), Trigger: r.First.Trigger, Automation: r.First.Automation,
		first: r.First,
	}
	if by := r.First.Source; !drawn(by) {
		shown.StartedBy = by.UserID
	}
	if r.Truncated > 0 {
		shown.Recorded = recordedPartly
	}
	if r.End.Seq > 0 {
		shown.EndedAt = time.UnixMilli(r.End.At).UTC()
	}
	return shown
}

// drawn reports whether the user of an event is none: a visitor goes by the id that was
// drawn for the session of a call. Automations may have chosen another session since; the
// id is a UUID all the same, which those of users are not.
func drawn(m domain.Meta) bool {
	return m.UserID == m.SessionID || uuid.Validate(m.UserID) == nil
}

// Get returns a run.
func (p Runs) Get(r Reader, workspaceID, correlationID string) (run Run, ok bool, err error) {
	var row runRow
	if !Indexed(correlationID) {
		return run, false, nil
	}
	value, ok, err := r.Get(p, runKey(workspaceID, correlationID))
	ok, err = decoded(value, ok, err, &row)
	if err != nil || !ok || !row.known() {
		return run, false, err
	}
	return row.shown(workspaceID, correlationID), true, nil
}

// RunsQuery says which runs of a workspace are listed.
type RunsQuery struct {
	Automation string    // that the first tree executes; "": any
	From       time.Time // when they began at the earliest
	Before     time.Time // they began earlier; zero: whenever
}

// ListedRun is what a list tells of a run without reading it.
type ListedRun struct {
	CorrelationID string
	Status        RunStatus
}

// List visits the runs of a workspace, the last that began first, until visit returns
// false.
func (p Runs) List(r Reader, workspaceID string, q RunsQuery, visit func(ListedRun) (more bool)) error {
	prefix := scoped('l', workspaceID, nil)
	if q.Automation != "" {
		if !Indexed(q.Automation) {
			return nil
		}
		prefix = listed('a', workspaceID, q.Automation, nil)
	}
	span := Span{Prefix: prefix, Reverse: true}
	if !q.Before.IsZero() {
		span.From = append(append([]byte(nil), prefix...), seqKey(uint64(max(0, ceilMillis(q.Before))))...)
	}
	return r.Iterate(p, span, func(key, value []byte) (bool, error) {
		rest := key[len(prefix):]
		if at := int64(binary.BigEndian.Uint64(rest)); !q.From.IsZero() && at < ceilMillis(q.From) {
			return false, nil
		}
		return visit(ListedRun{string(rest[8:]), RunStatus(value)}), nil
	})
}

// ceilMillis is the first millisecond that is not before a time.
func ceilMillis(at time.Time) int64 { return at.Add(time.Millisecond - 1).UnixMilli() }

// Count returns how many runs of a workspace there are that began with an automation,
// "" for any, and have a status, "" for any.
func (p Runs) Count(r Reader, workspaceID, automationSlug string, status RunStatus) (n int, err error) {
	if automationSlug != "" && !Indexed(automationSlug) {
		return 0, nil
	}
	statuses := RunStatuses()
	if status != "" {
		statuses = []RunStatus{status}
	}
	for _, s := range statuses {
		value, _, err := r.Get(p, runCounterKey(workspaceID, automationSlug, s))
		if err != nil {
			return n, err
		}
		n += int(countIn(value))
	}
	return n, nil
}

// UnfinishedTree is a tree that began and did not end.
type UnfinishedTree struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // of its first execution, as it was begun last
	Automation    string
	Trigger       activity.Trigger
	Attempt       int    // how often it was begun
	Replica       string // the node that began it last
	StartedAt     time.Time

	first runBegin
}

// Event is that of Run, for the tree.
func (t UnfinishedTree) Event() *feed.Event { return t.first.event(t.WorkspaceID, t.CorrelationID) }

// Unfinished visits the trees of all workspaces that began and did not end, until visit
// returns false.
func (p Runs) Unfinished(r Reader, visit func(UnfinishedTree) (more bool)) error {
	return p.UnfinishedIn(r, func(string) bool { return true }, visit)
}

// UnfinishedIn is Unfinished for the workspaces that are wanted. Of others nothing is read.
func (p Runs) UnfinishedIn(r Reader, wanted func(workspaceID string) bool, visit func(UnfinishedTree) (more bool)) error {
	return r.Iterate(p, Span{Prefix: []byte{'u'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		workspaceID, tree, _ := strings.Cut(string(key[1:]), "\x00")
		if !wanted(workspaceID) {
			return true, nil
		}
		t, ok, err := p.openTree(r, workspaceID, tree)
		return err == nil && (!ok || visit(t)), err
	})
}

// Again returns what became of a tree since it was read; open is false when it ended.
func (p Runs) Again(r Reader, t UnfinishedTree) (now UnfinishedTree, open bool, err error) {
	return p.openTree(r, t.WorkspaceID, treeFact{runBegin: t.first}.treeKey())
}

// Triggered returns the tree that an event or a schedule started for an automation; open
// is false when there is none, or it ended.
func (p Runs) Triggered(r Reader, workspaceID, triggerID, automationSlug string) (t UnfinishedTree, open bool, err error) {
	key := triggeredKey(triggerID, automationSlug)
	if !Indexed(key) {
		return t, false, nil
	}
	return p.openTree(r, workspaceID, key)
}

// Open lists the trees of a run that began and did not end, in the order in which they
// began; at most so many are looked for.
func (p Runs) Open(r Reader, workspaceID, correlationID string, most int) (trees []UnfinishedTree, err error) {
	var keys []string
	seen := map[string]bool{}
	prefix := listed('o', workspaceID, correlationID, nil)
	err = r.Iterate(p, Span{Prefix: prefix}, func(_, value []byte) (bool, error) {
		if len(value) > 1 && value[0] == beginning && !seen[string(value[1:])] {
			seen[string(value[1:])] = true
			keys = append(keys, string(value[1:]))
		}
		return len(keys) < most, nil
	})
	for _, key := range keys {
		if err != nil {
			break
		}
		var t UnfinishedTree
		var ok bool
		if t, ok, err = p.openTree(r, workspaceID, key); ok {
			trees = append(trees, t)
		}
	}
	return trees, err
}

func (p Runs) openTree(r Reader, workspaceID, key string) (t UnfinishedTree, ok bool, err error) {
	row, err := p.tree(r, workspaceID, key)
	if err != nil || !row.open() {
		return t, false, err
	}
	f := row.Facts[len(row.Facts)-1]
	return UnfinishedTree{
		WorkspaceID: workspaceID, CorrelationID: f.Run, ExecutionID: f.ExecutionID, Automation: f.Automation, Trigger: f.Trigger,
		Attempt: row.attempts(), Replica: f.Replica, StartedAt: time.UnixMilli(f.StartedAt).UTC(), first: f.runBegin,
	}, true, nil
}

// tree reads a tree; one that there is not has no facts.
func (p Runs) tree(r Reader, workspaceID, key string) (row treeRow, err error) {
	value, ok, err := r.Get(p, treeRowKey(workspaceID, key))
	_, err = decoded(value, ok, err, &row)
	return row, err
}

// attempts is how often a tree was begun.
func (r treeRow) attempts() (n int) {
	for _, f := range r.Facts {
		n = max(n, f.Attempt, 1)
	}
	return n
}

// Ended tells of the tree that an event or a schedule starts for an automation: how
// often it was begun, and whether it ended.
func (p Runs) Ended(r Reader, workspaceID, triggerID, automationSlug string) (attempts int, ended bool, err error) {
	key := triggeredKey(triggerID, automationSlug)
	if !Indexed(key) {
		return 0, false, nil
	}
	row, err := p.tree(r, workspaceID, key)
	for _, f := range row.Facts {
		ended = ended || f.Ended == 1
	}
	return row.attempts(), ended, err
}
