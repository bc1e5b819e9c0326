package versioning

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// outcome is what became of a push.
type outcome int

const (
	sent  outcome = iota // the remote has it
	raced                // somebody else moved a ref: begin anew
)

// send records what is about to be sent, sends it, and finds out what became of it
// (contract 8.4).
func (p *push) send(ctx context.Context, intent workspace.Intent, turn func(context.Context) (leave func(), err error)) (result outcome, err error) {
	return p.sendBy(ctx, intent, turn, p.deliver)
}

// sendBy is send with another way to deliver.
func (p *push) sendBy(ctx context.Context, intent workspace.Intent, turn func(context.Context) (leave func(), err error),
	deliver func(context.Context, workspace.Intent) (outcome, error),
) (result outcome, err error) {
	err = p.op.Step(ctx, operation.PushStep, "Pushing to "+p.target, func(ctx context.Context) error {
		leave, err := turn(ctx)
		if err != nil {
			return err
		}
		defer leave()
		if err := p.op.Commit(ctx); err != nil {
			return err
		}
		if tag, ok := tagOf(intent.Moves); ok {
			p.tags = append(p.tags, tag.New)
		}
		_, err = p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Intend{Epoch: p.op.Epoch(), RepositoryID: p.repo.ID, Place: p.place, Intent: intent})
		if err != nil {
			return err
		}
		if result, err = deliver(ctx, intent); err != nil && ctx.Err() != nil {
			err = errors.Join(operations.ErrUnsettled, err) // who takes over finds out
		}
		return err
	})
	return result, err
}

// deliver sends an intent until it is known what became of it. What a remote says
// about a refusal is not trusted: its refs are.
func (p *push) deliver(ctx context.Context, intent workspace.Intent) (outcome, error) {
	moves, cleared := intent.Moves, false
	for again := 0; ; {
		results, err := p.Push(ctx, updates(moves))
		if err == nil && taken(results, moves, p.target) {
			p.warn(intent, results)
			return sent, nil
		}
		lost := err != nil || unknown(results)
		state, settleErr := p.settle(ctx, intent, lost, err)
		switch {
		case settleErr != nil:
			return raced, settleErr
		case state != unsent:
			return state.outcome(), nil
		case lost && again == resends:
			return raced, cmp.Or(err, cutOff(p.remote))
		case lost:
			again++
			moves = p.left(moves)
			continue
		}
		if moves = p.left(moves); !cleared {
			if cleared = true; p.clear(ctx, moves, results) {
				continue
			}
		}
		fewer, ok := p.without(moves, results)
		if !ok {
			return raced, p.refused(results)
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

func unknown(results []gitsync.Result) bool {
	for _, r := range results {
		if r.Outcome == gitsync.Unknown {
			return true
		}
	}
	return false
}

// taken reports whether the remote has what counts: T; the tag, when nothing else
// was sent.
func taken(results []gitsync.Result, moves []workspace.Move, target string) bool {
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

// tagOf returns the tag among what a push moves.
func tagOf(moves []workspace.Move) (tag workspace.Move, ok bool) {
	for _, m := range moves {
		if strings.HasPrefix(m.Name, "refs/tags/") {
			return m, true
		}
	}
	return tag, false
}

// warn tells which refs the remote did not take beside T.
func (p *push) warn(intent workspace.Intent, results []gitsync.Result) {
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
			p.notes = append(p.notes, archive.Item{Msg: "the repository did not take " + what, Err: code, Filepath: m.Name, WorkspaceID: p.state.ID})
		}
	}
}

// left returns the moves that the remote has not made yet.
func (p *push) left(moves []workspace.Move) (open []workspace.Move) {
	for _, m := range moves {
		if p.refs.IDs[m.Name] != m.New {
			open = append(open, m)
		}
	}
	return open
}

// blamed are the refs that the remote refused for themselves, not because of
// others.
func blamed(results []gitsync.Result) map[string]bool {
	names := map[string]bool{}
	for _, r := range results {
		names[r.Name] = r.Outcome == gitsync.Refused && !strings.Contains(strings.ToLower(r.Text), "atomic")
	}
	return names
}

// clear removes I from a remote that does not let it move back, so that it can be
// made anew. It says whether moves, changed for that, are worth another try.
func (p *push) clear(ctx context.Context, moves []workspace.Move, results []gitsync.Result) bool {
	name := "refs/heads/" + p.own
	if names := blamed(results); !names[name] || names["refs/heads/"+p.target] {
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

// without returns the moves that are worth a try after the remote refused all
// because of some: those but the ones it refused; when it does not say which, those
// but I, then T alone.
func (p *push) without(moves []workspace.Move, results []gitsync.Result) (fewer []workspace.Move, ok bool) {
	target, names := "refs/heads/"+p.target, blamed(results)
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

// refused is the answer when hooks, protection or rights keep a push out.
func (p *push) refused(results []gitsync.Result) error {
	text := ""
	for _, r := range results {
		if r.Outcome == gitsync.Refused && (text == "" || r.Name == "refs/heads/"+p.target) {
			text = r.Text
		}
	}
	return refusedBy(p.remote, p.target, text)
}

func refusedBy(r *remote, branch, text string) *domain.Error {
	return domain.Refuse(domain.CodePermissionDenied, "the repository refused the update of %s: %s", branch, text).
		Reason("remote_refused").With("remote", text).With("branch", branch).With("repositoryId", r.repo.ID)
}

func busyRemote(r *remote) error {
	return domain.Refuse(domain.CodeConflict, "others push to %s all the time: try again", r.target).Reason("remote_busy").
		With("repositoryId", r.repo.ID).With("targetBranch", r.target)
}

// pause waits before another try, longer each time.
func pause(ctx context.Context, try int) error {
	wait := min(2*time.Second, 100*time.Millisecond<<try)
	return commands.Sleep(ctx, wait/2+rand.N(wait/2))
}
