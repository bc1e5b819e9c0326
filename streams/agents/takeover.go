package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"svc/domain"
	"svc/projections"
)

// TakeOverEvery is how often messages of nodes that are gone are looked for.
const TakeOverEvery = 10 * time.Second

// TakeOver goes on with the messages of nodes that are gone, and refuses calls that nobody approved in time.
func (a *Agents) TakeOver(ctx context.Context) error {
	a.leaveLost()
	notes, err := a.o.Working.List(ctx, noteSpace)
	if err != nil {
		return err
	}
	var failed error
	for _, body := range notes {
		var n workNote
		if err := json.Unmarshal(body, &n); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if err := a.takeOver(ctx, n); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// leaveLost ends the work that began before the other nodes took this one for lost: one of them goes on with it, or this
// one as another process.
func (a *Agents) leaveLost() {
	process := a.o.Runtime.CurrentProcess()
	a.mu.Lock()
	defer a.mu.Unlock()
	for r := range maps.Values(a.running) {
		if r.process != process {
			r.cancel(errLeft)
		}
	}
}

func (a *Agents) takeOver(ctx context.Context, n workNote) error {
	if n.Until != 0 && a.o.Now().Before(time.UnixMilli(n.Until)) {
		return nil // it waits for a person
	}
	gone, err := a.o.IsGone(ctx, n.Process)
	if err != nil || !gone && n.Until == 0 {
		return err
	}
	_, revision, err := a.o.Working.Get(ctx, noteSpace+"/"+n.MessageID)
	if err != nil {
		return nil // it has just ended
	}
	process := a.o.Runtime.CurrentProcess()
	if process == "" {
		return nil // this node is away itself
	}
	n.Process, n.Until = process, 0
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if _, err := a.o.Working.Update(ctx, noteSpace+"/"+n.MessageID, body, revision); err != nil {
		return nil // another node was first
	}
	c, err := a.store.change(ctx, n.WorkspaceID, n.Address, func(c *Conversation) error {
		if c.Work == nil || c.Work.MessageID != n.MessageID {
			return errLost
		}
		if c.Work.Until != nil && a.o.Now().Before(*c.Work.Until) {
			return errWaits // the node was gone before it went on with an approval
		}
		if c.Work.Until != nil {
			no := false
			for i := range c.Work.Calls {
				if call := &c.Work.Calls[i]; call.Approved == nil {
					call.Approved, call.Reason = &no, "nobody approved it in time"
				}
			}
		}
		c.Work.Process, c.Work.Until = process, nil
		m := c.message(n.MessageID)
		m.Status, m.Approvals = Running, nil
		return nil
	})
	if errors.Is(err, errWaits) {
		return a.noteAgain(ctx, n)
	}
	if errors.Is(err, errLost) || errors.Is(err, errNoConversation) {
		return a.o.Working.Delete(ctx, noteSpace+"/"+n.MessageID)
	}
	if err != nil {
		return err
	}
	return a.goOn(ctx, n, c)
}

// errWaits says that a message waits for an approval.
var errWaits = errors.New("agents: the message waits for an approval")

// noteAgain notes until when a message waits.
func (a *Agents) noteAgain(ctx context.Context, n workNote) error {
	c, err := a.store.load(ctx, n.WorkspaceID, n.Address)
	if err != nil || c.Work == nil || c.Work.Until == nil {
		return err
	}
	return a.note(ctx, Ref{WorkspaceID: n.WorkspaceID, Slug: n.Agent}, c)
}

// goOn goes on with a message of a node that is gone. When that cannot be, the message fails.
func (a *Agents) goOn(ctx context.Context, n workNote, c *Conversation) error {
	if err := a.store.data.Drop(ctx, messageStream(n.WorkspaceID, n.MessageID), 0); err != nil {
		return err
	}
	if err := a.store.addEntry(ctx, n.WorkspaceID, n.MessageID, a.pointerExpiry(), entry{Address: n.Address}); err != nil {
		return err
	}
	request := c.Work.Request
	caller := &Caller{Owner: c.Owner, Depth: request.Depth, Meta: request.Meta}
	caller.Actor, caller.Email = request.Actor, request.Email
	if !request.OfWorkspace {
		who, err := a.o.Identify(ctx, n.WorkspaceID, request.Actor)
		if err != nil {
			return a.fail(ctx, n, c, caller, err)
		}
		caller.Caller = who
	}
	slug, err := a.slugOf(n.WorkspaceID, c.AgentID)
	if err != nil {
		return err
	}
	ref, err := a.Find(n.WorkspaceID, cmp.Or(slug, n.Agent), "execute", caller)
	if err == nil && ref.ID != c.AgentID {
		err = noAgent(n.Agent)
	}
	if err != nil {
		return a.fail(ctx, n, c, caller, err)
	}
	r := &run{Agents: a, ref: ref, caller: caller, c: c, story: newStory(c.Work.Frames), silent: true, resumed: true}
	if r.agent, err = a.read(ctx, ref, request.Draft, caller); err != nil {
		return a.fail(ctx, n, c, caller, err)
	}
	if r.secrets, err = a.o.Redactor(ctx, n.WorkspaceID); err != nil {
		return err
	}
	return a.launch(r)
}

// slugOf returns the slug that an agent has now; "" when it is gone.
func (a *Agents) slugOf(workspaceID, id string) (slug string, err error) {
	rd := a.o.ReadModel.Reader()
	defer rd.Close()
	err = projections.Content{}.List(rd, workspaceID, "agents/", func(item projections.Item) (bool, error) {
		if item.ID == id {
			slug = item.Slug()
		}
		return slug == "", nil
	})
	return slug, err
}

// fail ends a message that nobody can go on with.
func (a *Agents) fail(ctx context.Context, n workNote, c *Conversation, caller *Caller, why error) error {
	if _, told := errors.AsType[*domain.Error](why); !told {
		return why // it may work later
	}
	r := &run{Agents: a, ref: Ref{WorkspaceID: n.WorkspaceID, ID: c.AgentID, Slug: n.Agent}, caller: caller, c: c, story: newStory(c.Work.Frames), silent: true, process: c.Work.Process}
	r.end(Failed, "", faultOf(why))
	if err := r.save(ctx); err != nil {
		return err
	}
	r.finished(ctx)
	return nil
}
