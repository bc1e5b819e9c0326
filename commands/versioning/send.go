package versioning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// outcome is the outcome of a push.
type outcome int

const (
	sent  outcome = iota // the remote has it
	raced                // somebody else moved a ref: begin anew
)

// send records an intent, delivers it, and returns the outcome (contract 8.4).
func (p *push) send(ctx context.Context, intent workspace.Intent, turn func(context.Context) (release func(), err error),
	deliver func(context.Context, workspace.Intent) (outcome, error),
) (result outcome, err error) {
	err = p.op.Step(ctx, operation.PushStep, "Pushing to "+p.target, func(ctx context.Context) error {
		release, err := turn(ctx)
		if err != nil {
			return err
		}
		defer release()
		if err := p.op.Commit(ctx); err != nil {
			return err
		}
		if tag, ok := tagMove(intent.Moves); ok {
			p.tags = append(p.tags, tag.New)
		}
		_, err = p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Intend{Epoch: p.op.Epoch(), RepositoryID: p.repo.ID, Location: p.location, Intent: intent})
		if err != nil {
			return err
		}
		if result, err = deliver(ctx, intent); err != nil && ctx.Err() != nil {
			err = errors.Join(operations.ErrUnsettled, err) // the takeover finds out
		}
		return err
	})
	return result, err
}

// deliver sends an intent until its outcome is known. The text of a refusal is not
// trusted, only the refs of the remote are.
func (p *push) deliver(ctx context.Context, intent workspace.Intent) (outcome, error) {
	moves, cleared := intent.Moves, false
	for again := 0; ; {
		results, err := p.Push(ctx, updates(moves))
		if err == nil && isAccepted(results, moves, p.target) {
			p.warnRefused(intent, results)
			return sent, nil
		}
		lost := err != nil || hasUnknown(results)
		state, settleErr := p.findOutcome(ctx, intent, lost, err)
		switch {
		case settleErr != nil:
			return raced, settleErr
		case state != unsent:
			return state.outcome(), nil
		case lost && again == maxResends:
			return raced, cmp.Or(err, connectionLost(p.remote))
		case lost:
			again++
			moves = p.pendingMoves(moves)
			continue
		}
		if moves = p.pendingMoves(moves); !cleared {
			if cleared = true; p.deleteOwnBranch(ctx, moves, results) {
				continue
			}
		}
		fewer, ok := p.withoutRefused(moves, results)
		if !ok {
			return raced, p.refusal(results)
		}
		moves = fewer
	}
}

func updates(moves []workspace.Move) []gitsync.Update {
	list := make([]gitsync.Update, len(moves))
	for i, m := range moves {
		list[i] = gitsync.Update(m)
	}
	return list
}

func hasUnknown(results []gitsync.Result) bool {
	for _, r := range results {
		if r.Outcome == gitsync.Unknown {
			return true
		}
	}
	return false
}

// isAccepted reports whether the remote accepted T, or the tag when only that was sent.
func isAccepted(results []gitsync.Result, moves []workspace.Move, target string) bool {
	name := "refs/heads/" + target
	if len(moves) == 1 {
		name = moves[0].Name
	}
	for _, r := range results {
		if r.Name == name {
			return r.Outcome == gitsync.Accepted
		}
	}
	return false
}

// tagMove returns the move of the tag.
func tagMove(moves []workspace.Move) (tag workspace.Move, ok bool) {
	for _, m := range moves {
		if strings.HasPrefix(m.Name, "refs/tags/") {
			return m, true
		}
	}
	return tag, false
}

// warnRefused adds a warning for each ref but T that the remote did not accept.
func (p *push) warnRefused(intent workspace.Intent, results []gitsync.Result) {
	accepted := map[string]bool{}
	for _, r := range results {
		accepted[r.Name] = r.Outcome == gitsync.Accepted
	}
	for _, m := range intent.Moves {
		code, what := "intermediate_not_written", "the branch "+p.own
		if strings.HasPrefix(m.Name, "refs/tags/") {
			code, what = "tag_not_written", "the tag "+intent.Version.Tag
		}
		if !accepted[m.Name] && m.Name != "refs/heads/"+p.target {
			p.warnings = append(p.warnings, archive.Item{Msg: "the repository did not take " + what, Err: code, Filepath: m.Name, WorkspaceID: p.state.ID})
		}
	}
}

// pendingMoves returns the moves that the remote has not made yet.
func (p *push) pendingMoves(moves []workspace.Move) (open []workspace.Move) {
	for _, m := range moves {
		if p.refs.IDs[m.Name] != m.New {
			open = append(open, m)
		}
	}
	return open
}

// refusedRefs returns the refs that the remote refused for their own sake, not because
// the request was atomic.
func refusedRefs(results []gitsync.Result) map[string]bool {
	names := map[string]bool{}
	for _, r := range results {
		names[r.Name] = r.Outcome == gitsync.Refused && !strings.Contains(strings.ToLower(r.Text), "atomic")
	}
	return names
}

// deleteOwnBranch deletes I at a remote that does not let it move back, so that it can be
// created again. It reports whether moves, changed for that, are worth another try.
func (p *push) deleteOwnBranch(ctx context.Context, moves []workspace.Move, results []gitsync.Result) bool {
	name := "refs/heads/" + p.own
	if names := refusedRefs(results); !names[name] || names["refs/heads/"+p.target] {
		return false
	}
	for i, m := range moves {
		if m.Name != name || m.Old == "" {
			continue
		}
		done, err := p.Push(ctx, []gitsync.Update{{Name: name, Old: m.Old}})
		if err != nil || done[0].Outcome != gitsync.Accepted {
			return false
		}
		moves[i].Old = ""
		return true
	}
	return false
}

// withoutRefused returns the moves to try next after the remote refused all because of
// some: all but the refused ones; when the remote does not name them, all but I, then T
// alone.
func (p *push) withoutRefused(moves []workspace.Move, results []gitsync.Result) (fewer []workspace.Move, ok bool) {
	target, names := "refs/heads/"+p.target, refusedRefs(results)
	if names[target] || len(moves) == 1 {
		return nil, false
	}
	for _, m := range moves {
		if !names[m.Name] {
			fewer = append(fewer, m)
		}
	}
	for _, m := range moves {
		if m.Name != target && len(fewer) == len(moves) {
			fewer = slices.DeleteFunc(fewer, func(other workspace.Move) bool { return other == m })
		}
	}
	return fewer, len(fewer) > 0
}

// refusal is the error when hooks, branch protection or rights refuse a push.
func (p *push) refusal(results []gitsync.Result) error {
	text := ""
	for _, r := range results {
		if r.Outcome == gitsync.Refused && (text == "" || r.Name == "refs/heads/"+p.target) {
			text = r.Text
		}
	}
	return remoteRefused(p.remote, p.target, text)
}

func remoteRefused(r *remote, branch, text string) *domain.Error {
	return domain.Refuse(domain.CodePermissionDenied, "the repository refused the update of %s: %s", branch, text).
		Reason("remote_refused").With("remote", text).With("branch", branch).With("repositoryId", r.repo.ID)
}

func remoteBusy(r *remote) error {
	return domain.Refuse(domain.CodeConflict, "others push to %s all the time: try again", r.target).Reason("remote_busy").
		With("repositoryId", r.repo.ID).With("targetBranch", r.target)
}

// backOff waits before the next try, longer each time.
func backOff(ctx context.Context, try int) error {
	wait := min(2*time.Second, 100*time.Millisecond<<try)
	return commands.Sleep(ctx, wait/2+rand.N(wait/2))
}

// remoteState says whether the remote has a push whose answer was lost.
type remoteState int

const (
	stored     remoteState = iota // the remote has it
	unsent                        // the remote is unchanged: it can be sent again
	superseded                    // another push was faster
)

func (s remoteState) outcome() outcome {
	if s == stored {
		return sent
	}
	return raced
}

// lookDelays are the waits before each look at a remote that did not answer.
var lookDelays = []time.Duration{0, time.Second, 4 * time.Second, 16 * time.Second}

// findOutcome asks the remote for the outcome of a push. lost says that the answer was
// lost, cause why sending failed; nil when it did not.
func (p *push) findOutcome(ctx context.Context, intent workspace.Intent, lost bool, cause error) (remoteState, error) {
	if cause != nil && !isTransient(cause) {
		return superseded, cause
	}
	var err error
	for _, wait := range lookDelays {
		if err := commands.Sleep(ctx, wait); err != nil {
			return superseded, outcomeUnknown(p.remote, err)
		}
		var state remoteState
		if state, err = p.v.findPush(ctx, p.remote, intent); err == nil {
			return state, nil
		}
		if !isTransient(err) {
			break
		}
	}
	if !lost {
		return superseded, err
	}
	return superseded, outcomeUnknown(p.remote, err)
}

// isTransient reports whether an error is one of the network or the remote, worth a retry.
func isTransient(err error) bool {
	refusal, ok := errors.AsType[*domain.Error](err)
	return ok && (refusal.Code == domain.CodeUnavailable || refusal.Code == domain.CodeGatewayTimeout)
}

// maxResends is how often moves that the remote did not get are sent again.
const maxResends = 2

func connectionLost(r *remote) error {
	return domain.Refuse(domain.CodeUnavailable, "the connection was lost each time before the repository had everything: nothing was changed there").
		Reason("remote_unreachable").With("repositoryId", r.repo.ID)
}

func outcomeUnknown(r *remote, cause error) error {
	refusal := domain.Refuse(domain.CodeUnavailable, "the connection was lost after sending, and the repository cannot be asked what became of it: the next push, pull or refreshed status finds out").
		Reason("outcome_unknown").With("repositoryId", r.repo.ID)
	if known, ok := errors.AsType[*domain.Error](cause); ok {
		refusal.With("cause", known.Details["reason"])
	}
	return refusal
}

// findPush looks for a push at the remote: T is its commit or contains it. When only the
// tag was to be moved, because the commit was there before, the tag decides.
func (v *Versioning) findPush(ctx context.Context, r *remote, intent workspace.Intent) (remoteState, error) {
	if err := r.listRefs(ctx); err != nil {
		return superseded, err
	}
	in := len(intent.Moves) == 1 && r.refs.IDs[intent.Moves[0].Name] == intent.Moves[0].New
	if len(intent.Moves) > 1 && r.head() != "" {
		var err error
		if in, err = r.contains(ctx, intent.Commit); err != nil {
			return superseded, err
		}
	}
	if in {
		return stored, nil
	}
	for _, m := range intent.Moves {
		if at := r.refs.IDs[m.Name]; at != m.Old && at != m.New {
			return superseded, nil
		}
	}
	return unsent, nil
}

// contains reports whether T is at a commit, or has it in its history.
func (r *remote) contains(ctx context.Context, commit string) (bool, error) {
	if r.head() == commit {
		return true, nil
	}
	if err := r.Fetch(ctx, r.head()); err != nil {
		return false, err
	}
	return r.Objects().IsAncestor(commit, r.head())
}

// settleLostPush finds out the outcome of an earlier push whose answer was lost, and
// records it when the remote has it. The push of the operation except is left alone.
func (v *Versioning) settleLostPush(ctx context.Context, r *remote, s workspace.State, except string) (recorded bool, err error) {
	return v.settleLostPushWith(ctx, r.repo, s, except, func(ctx context.Context, intent workspace.Intent) (remoteState, error) {
		return v.findPush(ctx, r, intent)
	})
}

// settleLostPushWith is settleLostPush with another way to look for the push.
func (v *Versioning) settleLostPushWith(
	ctx context.Context, repo repositories.Repository, s workspace.State, except string, find func(context.Context, workspace.Intent) (remoteState, error),
) (recorded bool, err error) {
	at := LocationOf(repo)
	intent := s.SyncWith(repo.ID, at).Intent
	if intent == nil || intent.OperationID == except {
		return false, nil
	}
	state, err := find(ctx, *intent)
	if err != nil || state != stored {
		return false, err
	}
	_, err = v.recordPush(ctx, s.ID, 0, repo.ID, at, *intent)
	return err == nil, err
}

// settleLostPush settles an earlier push before this one begins.
func (p *push) settleLostPush(ctx context.Context) error {
	recorded, err := p.v.settleLostPush(ctx, p.remote, p.state, p.op.ID())
	if err != nil || !recorded {
		return err
	}
	now, err := p.v.Workspaces.Get(ctx, p.state.ID)
	p.setState(now.State, p.repo)
	return err
}

// Settlers end operations that another node, or an earlier process of this one, did not
// finish (contract 8.4, 9.5).
func (v *Versioning) Settlers() map[string]operations.Settler {
	return map[string]operations.Settler{
		operation.Push: v.settlePush, operation.Pull: v.settleImport, operation.Import: v.settleImport, operation.Resolve: v.settleImport,
	}
}

// settlePush continues a push. When nothing was sent, nothing happened.
func (v *Versioning) settlePush(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	now, err := v.Workspaces.Get(ctx, run.WorkspaceID())
	if err != nil {
		return nil, err
	}
	for _, version := range now.State.Versions {
		if version.OperationID == op.ID {
			return NewVersionResponse(version, nil), nil
		}
	}
	if op.RepositoryID == "" {
		return nil, operations.ErrInterrupted
	}
	asked := PushRequest{RepositoryID: op.RepositoryID}
	if err := json.Unmarshal(op.Request, &asked); err != nil {
		return nil, err
	}
	repo, err := v.pushRepository(ctx, now.State, asked)
	if err != nil {
		return nil, err
	}
	sync := now.State.SyncWith(repo.ID, LocationOf(repo))
	if sync.Intent == nil || sync.Intent.OperationID != op.ID {
		return nil, operations.ErrInterrupted
	}
	intent := *sync.Intent
	ps := pushState{v: v, op: run, user: intent.Version.CreatedBy, when: truncateToSecond(intent.Version.CreatedAt), version: intent.Version, seq: intent.Synced}
	ps.setState(now.State, repo)
	if repo.Type == repositories.Filesystem {
		p, err := v.newFilePush(ctx, ps, repo)
		if err != nil {
			return nil, err
		}
		defer p.close()
		return p.resume(ctx, intent)
	}
	p := &push{pushState: ps}
	if err := p.open(ctx, repo); err != nil {
		return nil, err
	}
	defer p.Close()
	return p.resume(ctx, intent)
}

// resume finds out the outcome of a push and sends it again when the remote does not
// have it: the same content, time and parents give the same commit.
func (p *push) resume(ctx context.Context, intent workspace.Intent) (any, error) {
	state, err := p.findOutcome(ctx, intent, true, nil)
	if err != nil {
		return nil, err
	}
	if state == stored {
		return p.record(ctx, intent)
	}
	if tag, ok := tagMove(intent.Moves); ok {
		p.tags = []string{tag.Old, tag.New}
	}
	return p.run(ctx)
}

// settleImport ends a pull, an import or a resolution: its one event is on the log, or
// nothing happened.
func (v *Versioning) settleImport(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	now, err := v.Workspaces.Get(ctx, run.WorkspaceID())
	if err != nil {
		return nil, err
	}
	if c := now.State.Conflict; c != nil && c.OperationID == op.ID {
		return nil, Unresolved(*c)
	}
	return v.importResult(ctx, run.WorkspaceID(), op.ID)
}

// importResult returns the result of an import from its event.
func (v *Versioning) importResult(ctx context.Context, workspaceID, operationID string) (any, error) {
	events, err := v.Log.Load(ctx, workspace.Stream(workspaceID), 0)
	if err != nil {
		return nil, err
	}
	for _, ev := range slices.Backward(events) {
		done, ok := ev.Data.(workspace.Imported)
		if !ok || done.Import.OperationID != operationID {
			continue
		}
		imported := done.Import
		result := PullResult{Imported: imported.Files, Deleted: imported.Deleted, Workspace: imported.Workspace, Version: imported.Version}
		if result.ContentRevision, err = v.Revisions.Revision(ctx, workspaceID, ev.Seq); err != nil {
			return nil, err
		}
		if result.Errors, err = decodeItems(imported.Errors); err != nil {
			return nil, err
		}
		result.Warnings, err = decodeItems(imported.Warnings)
		return result, err
	}
	return nil, operations.ErrInterrupted
}

// decodeItems returns the errors or warnings of an event.
func decodeItems(values []any) (items []archive.Item, err error) {
	body, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	items = []archive.Item{}
	return items, json.Unmarshal(body, &items)
}

// truncateToSecond returns a time in the precision of commits.
func truncateToSecond(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
