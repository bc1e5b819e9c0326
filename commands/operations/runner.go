// Package operations runs long pieces of work on workspaces, such as pushes and
// pulls: under the write lock, in steps that everybody can follow, until they
// end, are cancelled, or their node is gone and another one settles them.
package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Leases let one node at a time be at an operation.
type Leases interface {
	// Hold waits for the lease and runs work once while it is held. The context of
	// work ends when the lease is lost. It returns what work returned, or why the
	// lease could not be had.
	Hold(ctx context.Context, name string, work func(context.Context) error) error
}

// Blobs keeps results that are too large for an event.
type Blobs interface {
	Put(ctx context.Context, content []byte) (name string, err error)
}

// Runner runs operations. Engine, Workspaces, Leases and Blobs are required.
type Runner struct {
	Engine       *commands.Engine
	Workspaces   commands.Workspaces
	Leases       Leases
	Blobs        Blobs
	Timeout      func() time.Duration // of one operation; default 20 minutes
	PollInterval time.Duration        // between looks for a cancel that another node recorded; default 2 seconds
	Log          *slog.Logger         // default slog.Default

	mu       sync.Mutex
	runs     map[string]*Run // by the id of the operation
	settlers map[string]Settler
	closed   bool
	working  sync.WaitGroup // runs
}

// Spec is what is known of an operation before it starts.
type Spec struct {
	ID           string // that Reserve returned; "": a new one
	Kind         string
	WorkspaceID  string
	RepositoryID string
	Branch       string
	Reason       string // of the lock
	Over         string // the repository whose conflict it goes on with
	Under        uint64 // without Reason: the epoch of the lock of another operation that it works under; 0: there is nothing to lock yet
	Request      any    // what was asked, as its record shows it: no secrets
	Steps        int    // how many it has, if all goes well
}

// Work is what an operation does. A result is what the call would have answered.
// It ends soon after its context has; before it does what cannot be taken back it
// asks Run.Commit.
type Work func(ctx context.Context, run *Run) (result any, err error)

// Settler finds out what became of an operation whose runner is gone, and ends it.
type Settler func(ctx context.Context, run *Run, op operation.State) (result any, err error)

var (
	// ErrUnsettled is returned by a work that was told to stop and does not know what
	// came of it: the operation is left to whoever takes it over.
	ErrUnsettled = errors.New("operations: the outcome is not known")
	// ErrInterrupted is returned by a settler of an operation that did not get as far
	// as to change anything.
	ErrInterrupted = errors.New("operations: broken off")
)

// errStopping is why the work of a node that shuts down is stopped.
var errStopping = errors.New("operations: the node stops")

// RegisterSettler says how operations of a kind are settled. Those of other kinds count as
// broken off.
func (r *Runner) RegisterSettler(kind string, settle Settler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settlers == nil {
		r.settlers = map[string]Settler{}
	}
	r.settlers[kind] = settle
}

// Start locks the workspace, records the operation and runs its work in the
// background. The end of ctx does not end it. The same Idempotency-Key gives the
// same operation, which is not run twice.
func (r *Runner) Start(ctx context.Context, spec Spec, work Work) (*Handle, error) {
	asked := commands.RequestFrom(ctx)
	about := operation.About{
		ID: cmp.Or(spec.ID, newID(ctx)), Kind: spec.Kind, WorkspaceID: spec.WorkspaceID, RepositoryID: spec.RepositoryID, Branch: spec.Branch,
		Steps: spec.Steps, CreatedBy: asked.Meta.UserID, CorrelationID: asked.Meta.CorrelationID, Under: spec.Reason == "",
	}
	var err error
	if about.Request, err = json.Marshal(spec.Request); err != nil {
		return nil, err
	}
	for again := asked.Seed != ""; ; again = true {
		if again {
			switch _, err := r.Get(ctx, about.WorkspaceID, about.ID); {
			case err == nil:
				return r.Follow(about.WorkspaceID, about.ID), nil
			case domain.CodeOf(err) != domain.CodeNotFound:
				return nil, err
			}
		}
		run, entered, err := r.register(background(ctx), about)
		if err != nil {
			return nil, err
		}
		if entered {
			err = r.launch(ctx, run, spec, work)
			asked.Saw(run.request.Position())
			if err != nil {
				return nil, err
			}
			return &Handle{runner: r, workspaceID: about.WorkspaceID, id: about.ID, run: run}, nil
		}
		// The same request is about to begin it, or the lock is taken over that a process left before the operation had begun.
		select {
		case <-run.begun:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func newID(ctx context.Context) string { return "op_" + commands.NewID(ctx, 20) }

// Reserve returns the id of the operation that a request is about to start: the one
// that it has chosen, or a new one for "". When it was started before, by the same
// Idempotency-Key or under the same chosen id, known is that operation, and nothing
// else is to be asked.
func (r *Runner) Reserve(ctx context.Context, workspaceID, chosen string) (id string, known *Handle, err error) {
	id = cmp.Or(chosen, newID(ctx))
	if chosen == "" && commands.RequestFrom(ctx).Seed == "" {
		return id, nil, nil
	}
	switch _, err := r.Get(ctx, workspaceID, id); {
	case err == nil:
		return id, r.Follow(workspaceID, id), nil
	case domain.CodeOf(err) != domain.CodeNotFound:
		return "", nil, err
	}
	return id, nil, nil
}

// launch runs a work in the background, and returns when it has begun.
func (r *Runner) launch(ctx context.Context, run *Run, spec Spec, work Work) error {
	begun := make(chan error, 2)
	go func() {
		defer r.unregister(run)
		begun <- r.withLease(ctx, run, func(leaseCtx context.Context) error {
			if err := r.begin(leaseCtx, run, spec); err != nil {
				return err
			}
			run.setBegun()
			begun <- nil
			r.execute(leaseCtx, run, work)
			return nil
		})
	}()
	select {
	case err := <-begun:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// background is the context of what goes on after the request that asked for it,
// with ids of its own.
func background(ctx context.Context) context.Context {
	asked := commands.RequestFrom(ctx)
	req := &commands.Request{Meta: asked.Meta}
	if asked.Seed != "" {
		req.Seed = asked.Seed + "/operation"
	}
	return commands.WithRequest(context.WithoutCancel(ctx), req)
}

// begin takes the lock and records the operation: both or, as far as that can be
// told, neither.
func (r *Runner) begin(ctx context.Context, run *Run, spec Spec) error {
	err := r.lock(ctx, run, spec)
	if err != nil {
		return err
	}
	_, err = commands.Execute(ctx, r.Engine, operation.Decider, run.stream(), operation.Command(operation.Start{About: run.about}))
	if err != nil {
		settling, cancel := detached(ctx)
		defer cancel()
		r.release(settling, run, "failed")
	}
	return err
}

// lock takes the lock of an operation, unless it works under that of another one.
func (r *Runner) lock(ctx context.Context, run *Run, spec Spec) error {
	if run.about.Under {
		now, err := r.Workspaces.Get(ctx, spec.WorkspaceID)
		run.about.Epoch, run.about.CreatedAt, run.lockSeq = spec.Under, r.now(), now.Seq
		return err
	}
	holder := &workspace.Operation{ID: run.about.ID, Kind: spec.Kind}
	for run.about.Epoch == 0 {
		now := r.now()
		locked, err := r.Workspaces.Execute(ctx, spec.WorkspaceID, workspace.AcquireLock{
			Reason: spec.Reason, By: run.about.CreatedBy, Now: now, Timeout: r.Workspaces.LockFor(), Operation: holder, Over: spec.Over,
		})
		if err != nil {
			return err
		}
		// A repeated request may meet the lock that it took before it was broken off,
		// and that was given back since.
		if isLockOf(locked.State.Lock, run.about.ID) {
			run.about.Epoch, run.about.CreatedAt, run.lockSeq = locked.State.Lock.Epoch, now, locked.Seq
		}
	}
	return nil
}

// isLockOf reports whether an operation holds a lock.
func isLockOf(l *workspace.Lock, id string) bool {
	return l != nil && l.Operation != nil && l.Operation.ID == id
}

// withLease does something while nobody else can be at the operation. The wait for
// that ends with ctx, or when the run is stopped.
func (r *Runner) withLease(ctx context.Context, run *Run, do func(context.Context) error) error {
	waiting, giveUp := context.WithCancelCause(run.base)
	defer giveUp(nil)
	run.setCancel(giveUp)
	patient := context.AfterFunc(ctx, func() { giveUp(context.Cause(ctx)) })
	return r.Leases.Hold(waiting, "operation/"+run.about.ID, func(leaseCtx context.Context) error {
		patient()
		return do(leaseCtx)
	})
}

// Cancel asks an operation to stop. It does so unless it is past the point of no
// return.
func (r *Runner) Cancel(ctx context.Context, workspaceID, id string) (operation.State, error) {
	asked, err := commands.Execute(ctx, r.Engine, operation.Decider, operation.Stream(workspaceID, id),
		operation.Command(operation.Cancel{By: commands.RequestFrom(ctx).Meta.UserID}))
	if err != nil {
		return operation.State{}, err
	}
	if run := r.find(id); run != nil {
		run.stop(Cancelled())
	}
	return asked.State, nil
}

// Get returns an operation as the log has it now.
func (r *Runner) Get(ctx context.Context, workspaceID, id string) (operation.State, error) {
	now, err := commands.Current(ctx, r.Engine, operation.Decider, operation.Stream(workspaceID, id))
	if err == nil && now.State.ID == "" {
		err = domain.Refuse(domain.CodeNotFound, "there is no such operation").With("resource", "operation").With("id", id)
	}
	return now.State, err
}

// timeout is how long an operation may take. A bulk run takes as long as it does:
// each of its workspaces has its time, and after each the lock is renewed. So does a
// replay, which waits for its receiver and holds no lock.
func (r *Runner) timeout(kind string) time.Duration {
	switch {
	case kind == operation.BulkImport || kind == operation.BulkPush || kind == operation.Replay:
		return unlimited
	case r.Timeout == nil:
		return 20 * time.Minute
	}
	return r.Timeout()
}

const unlimited = 365 * 24 * time.Hour

func (r *Runner) log(run *Run) *slog.Logger {
	log := r.Log
	if log == nil {
		log = slog.Default()
	}
	return log.With("operation", run.about.ID, "kind", run.about.Kind, "workspace", run.about.WorkspaceID)
}

// Cancelled is the error of a cancelled operation.
func Cancelled() *domain.Error {
	return domain.Refuse(domain.CodeConflict, "the operation was cancelled").Reason("cancelled")
}

// Close stops the operations of this node, and waits until they have ended, or ctx does.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	for _, run := range r.runs {
		run.stop(errStopping)
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.working.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.runs) > 0 {
			return fmt.Errorf("%d operations were still running: %w", len(r.runs), context.Cause(ctx))
		}
	}
	return nil
}

// Runs reports whether this node runs an operation, or waits to take it over.
func (r *Runner) Runs(id string) bool { return r.find(id) != nil }

func (r *Runner) find(id string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id]
}

// register notes a run; entered is false when there is one already.
func (r *Runner) register(base context.Context, about operation.About) (run *Run, entered bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false, commands.Refused(errStopping)
	}
	if known := r.runs[about.ID]; known != nil {
		return known, false, nil
	}
	if r.runs == nil {
		r.runs = map[string]*Run{}
	}
	run = &Run{runner: r, about: about, base: base, request: commands.RequestFrom(base), begun: make(chan struct{}), done: make(chan struct{})}
	run.setBegun = sync.OnceFunc(func() { close(run.begun) })
	r.runs[about.ID] = run
	r.working.Add(1)
	return run, true, nil
}

func (r *Runner) unregister(run *Run) {
	r.mu.Lock()
	delete(r.runs, run.about.ID)
	r.mu.Unlock()
	run.setBegun()
	close(run.done)
	r.working.Done()
}

// now returns the time of the log, in the precision of answers.
func (r *Runner) now() time.Time { return r.Workspaces.Now().UTC().Truncate(time.Millisecond) }

// Handle waits for an operation.
type Handle struct {
	runner      *Runner
	workspaceID string
	id          string
	run         *Run // nil: it runs elsewhere, or has ended
}

// Follow is the handle of an operation that was started before.
func (r *Runner) Follow(workspaceID, id string) *Handle {
	return &Handle{runner: r, workspaceID: workspaceID, id: id, run: r.find(id)}
}

// ID is the id of the operation.
func (h *Handle) ID() string { return h.id }

// poll is how often the log is asked about an operation that runs elsewhere.
const poll = 250 * time.Millisecond

// Wait waits until the operation has ended, for d at most. The request of ctx has
// then written what the operation has.
func (h *Handle) Wait(ctx context.Context, d time.Duration) (end operation.State, ended bool) {
	limit := time.NewTimer(d)
	defer limit.Stop()
	if h.run != nil {
		select {
		case <-h.run.done:
		case <-limit.C:
			return end, false
		case <-ctx.Done():
			return end, false
		}
		commands.RequestFrom(ctx).Saw(h.run.request.Position())
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		now, err := commands.Current(ctx, h.runner.Engine, operation.Decider, operation.Stream(h.workspaceID, h.id))
		if err == nil && now.State.Status.Ended() {
			commands.RequestFrom(ctx).Saw(domain.At(domain.State, now.Seq))
			return now.State, true
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return now.State, false
		case <-ctx.Done():
			return now.State, false
		}
	}
}
