package versioning

import (
	"context"
	"errors"
	"maps"
	"strings"

	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/domain/workspace"
)

// drive lets riders build one on top of the other, and sends them in one request.
func (v *Versioning) drive(ctx context.Context, batch []*rider) {
	leave, err := batch[0].p.turn(ctx)
	if err == nil {
		defer leave()
	}
	way, err := v.scout(ctx, batch)
	if err != nil {
		for _, r := range batch {
			close(r.build)
		}
		return
	}
	defer way.Close()
	riders, moves := way.build(batch)
	said := verdict{unsent: true}
	if ready(riders) && len(riders) > 0 {
		said = verdict{}
		said.results, said.err = way.Push(ctx, combined(moves, "refs/heads/"+way.target, way.refs.Empty()))
	}
	for _, r := range riders {
		r.verdict <- said
	}
}

// scout finds out, once for all, what the remote has.
func (v *Versioning) scout(ctx context.Context, batch []*rider) (*remote, error) {
	way, err := v.connect(batch[0].p.repo, batch[0].p.state.Settings.Slug)
	if err != nil {
		return nil, err
	}
	if err = way.look(ctx); err == nil {
		var heads []string
		for _, r := range batch {
			heads = append(heads, way.refs.Branch(r.p.own))
		}
		err = way.fetch(ctx, heads...)
	}
	if err != nil {
		way.Close()
	}
	return way, err
}

// build lets each build on the one before. Those that cannot are left out.
func (r *remote) build(batch []*rider) (riders []*rider, moves [][]workspace.Move) {
	head := r.head()
	for _, one := range batch {
		mine := gitsync.Refs{IDs: maps.Clone(r.refs.IDs), Default: r.refs.Default}
		if head != "" {
			mine.IDs["refs/heads/"+r.target] = head
		}
		one.build <- &job{r.Session, mine}
		if b := <-one.built; b.err == nil {
			riders, moves, head = append(riders, one), append(moves, b.intent.Moves), b.intent.Commit
		}
	}
	return riders, moves
}

// ready lets all record what they are about to send, and reports whether all did:
// each is part of what those after it send.
func ready(riders []*rider) bool {
	for _, r := range riders {
		r.intend <- struct{}{}
	}
	all := true
	for _, r := range riders {
		all = <-r.ready && all
	}
	return all
}

// combined are the moves of many pushes: T moves once, over all of them.
func combined(all [][]workspace.Move, target string, empty bool) []gitsync.Update {
	var branches, tags []gitsync.Update
	var trunk *gitsync.Update
	for _, moves := range all {
		for _, m := range moves {
			switch {
			case m.Name == target && trunk == nil:
				first := gitsync.Update(m)
				trunk = &first
			case m.Name == target:
				trunk.New = m.New
			case strings.HasPrefix(m.Name, "refs/tags/"):
				tags = append(tags, gitsync.Update(m))
			default:
				branches = append(branches, gitsync.Update(m))
			}
		}
	}
	if trunk == nil {
		return append(branches, tags...)
	}
	if empty { // hosts make the first branch the default
		return append(append([]gitsync.Update{*trunk}, branches...), tags...)
	}
	return append(append(branches, *trunk), tags...)
}

// ride prepares and sends a push together with others that are there. alone is true
// when that did not work out: then nothing was sent.
func (p *push) ride(ctx context.Context) (intent workspace.Intent, result outcome, alone bool, err error) {
	r := p.v.convoys.join(ctx, p)
	defer r.left() // whatever happens, nobody waits for it
	p.joined()
	job, ok := <-r.build
	if !ok {
		return intent, raced, true, nil
	}
	own := p.Session
	p.Session, p.refs, p.given = job.session, job.refs, true
	intent, err = p.prepare(ctx)
	p.Session, p.given = own, false
	r.built <- structure{intent, err}
	if err != nil {
		return intent, raced, false, err
	}
	<-r.intend
	result, err = p.sendBy(ctx, intent, noTurn, func(ctx context.Context, intent workspace.Intent) (outcome, error) {
		r.ready <- true
		return p.judged(ctx, intent, <-r.verdict)
	})
	return intent, result, false, err
}

// left answers what it was still asked for.
func (r *rider) left() {
	select {
	case r.built <- structure{err: errLeft}:
	default:
	}
	select {
	case r.ready <- false:
	default:
	}
}

var errLeft = errors.New("versioning: a push has left its convoy")

// judged is what became of one push of a request that sent many.
func (p *push) judged(ctx context.Context, intent workspace.Intent, v verdict) (outcome, error) {
	if v.unsent {
		return raced, nil
	}
	if v.err == nil && taken(v.results, intent.Moves, p.target) {
		p.warn(intent, v.results)
		return sent, nil
	}
	state, err := p.settle(ctx, intent, v.err != nil || unknown(v.results), v.err)
	switch {
	case err != nil && ctx.Err() != nil:
		return raced, errors.Join(operations.ErrUnsettled, err)
	case err != nil:
		return raced, err
	case state == unsent:
		return raced, nil
	}
	return state.outcome(), nil
}

// noTurn is for who has it already.
func noTurn(context.Context) (func(), error) { return func() {}, nil }
