// Package collections performs the calls of automations on their collections: it reads
// rows, decides what changes, and appends that to the log.
//
// A namespace has one log, so that a write call of any size, over any of its
// collections, is one entry: all of it or nothing. An append names the entry that the
// decision was based on; when another node was faster, it is decided again. Concurrent
// calls of this node wait in a queue (write_queue.go): one of them decides for all that
// wait, and one entry, with one wait for the disk, has all their changes.
package collections

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/domain"
	"svc/domain/collection"
	"svc/domain/value"
)

// Log stores entries. It is a *jetstream.Collections.
type Log interface {
	Parts
	Append(ctx context.Context, id domain.StreamID, name string, expected uint64, snapshot bool, body []byte) (uint64, error)
	Since(ctx context.Context, id domain.StreamID, after uint64, visit func(collection.Logged) error) error
	DropParts(ctx context.Context, id domain.StreamID, below uint64) error
	Last(ctx context.Context, id domain.StreamID) (uint64, error)
	// Alone reports whether nobody but this process appends.
	Alone() bool
}

// Rows reads rows. It is a *rows.Model.
type Rows interface {
	View(ctx context.Context, id domain.StreamID, fn func(collection.Source, collection.Mark) error) error
	Reach(ctx context.Context, seq uint64) error
}

// Options configure Collections. Log, Rows and Vault are required.
type Options struct {
	Log    Log
	Rows   Rows
	Vault  commands.Vault
	Limits func() collection.Limits // default none given

	// Record records what happened in a workspace; required by Declare only.
	Record func(ctx context.Context, workspaceID string, ev domain.Event) error

	Now    func() time.Time // default time.Now
	NewID  func() string    // default a ULID
	Logger *slog.Logger     // default slog.Default
}

// Collections performs calls. All methods are safe for concurrent use.
type Collections struct {
	opts     Options
	envelope *Envelope

	mu     sync.Mutex
	queues map[domain.StreamID]*writeQueue
	due    chan domain.StreamID // namespaces due for a snapshot
}

// New returns Collections.
func New(o Options) (*Collections, error) {
	if o.Log == nil || o.Rows == nil || o.Vault == nil {
		return nil, errors.New("collections: Options.Log, Rows and Vault are required")
	}
	if o.Limits == nil {
		o.Limits = func() collection.Limits { return collection.Limits{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return ulid.Make().String() }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Collections{
		opts: o, envelope: &Envelope{Parts: o.Log, Vault: o.Vault}, queues: map[domain.StreamID]*writeQueue{}, due: make(chan domain.StreamID, 16),
	}, nil
}

// Caller is the caller of a call.
type Caller struct {
	WorkspaceID string
	App         string // slug of the app that runs; "" for the workspace itself
	Instance    string // full slug of its instance
	UserID      string // "" for nobody

	ids func(i int) string // of new rows, the same for every attempt; nil: new ones
}

// Call performs a function of the module. An error of the automation is an
// *automation.Error. A write is on disk, and in the rows of this node, when it returns;
// a read sees every write that was acknowledged before it began, on any node.
func (c *Collections) Call(ctx context.Context, caller Caller, function string, params *value.Object) (any, error) {
	return c.do(ctx, caller, function, func(l collection.Limits) (*collection.Call, error) { return collection.Prepare(function, params, l) })
}

// do performs a call.
func (c *Collections) do(ctx context.Context, caller Caller, function string, prepare func(collection.Limits) (*collection.Call, error)) (any, error) {
	id := StreamOf(caller.WorkspaceID, caller.App, caller.Instance)
	call, err := recoverPanic(ctx, c, id, function, func() (*collection.Call, error) { return prepare(c.opts.Limits()) })
	if err != nil {
		return nil, err
	}
	if call.Writes() {
		j := &job{ctx: ctx, call: call, userID: caller.UserID, ids: caller.ids}
		if err := c.enqueue(ctx, id, j); err != nil {
			return nil, err // whoever has the turn may still write to the job
		}
		return j.result, nil
	}
	if err := c.refresh(ctx, id); err != nil {
		return nil, err
	}
	return recoverPanic(ctx, c, id, function, func() (result any, err error) {
		err = c.opts.Rows.View(ctx, id, func(v collection.Source, _ collection.Mark) error {
			result, err = call.Read(v, abandonedCheck(ctx))
			return err
		})
		if err != nil {
			return nil, err
		}
		return result, nil
	})
}

// abandonedCheck returns a function that reports whether the caller does not wait any more.
func abandonedCheck(ctx context.Context) func() error {
	return func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}

// refresh waits until the rows have the acknowledged writes of other nodes. They have those of this
// node already.
func (c *Collections) refresh(ctx context.Context, id domain.StreamID) error {
	if c.opts.Log.Alone() {
		return nil
	}
	last, err := c.opts.Log.Last(ctx, id)
	if err != nil {
		return fmt.Errorf("ask for the last entry of %s: %w", id, err)
	}
	return c.opts.Rows.Reach(ctx, last)
}

// StreamOf returns the stream of the collections of a workspace, or of an app instance in it. Another
// app under the same slug has another stream.
func StreamOf(workspaceID, app, instance string) domain.StreamID {
	if app == "" && instance == "" {
		return collection.Stream(workspaceID, "workspace")
	}
	sum := sha256.Sum256([]byte(app + "\x00" + instance))
	return collection.Stream(workspaceID, "i-"+base64.RawURLEncoding.EncodeToString(sum[:]))
}
