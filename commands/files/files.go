// Package files uploads, changes and deletes the files of workspaces. Their
// contents are blobs; the log has the metadata.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/file"
	"svc/eventstore"
)

// Blobs stores contents by their SHA-256 in hex. It is a *jetstream.Blobs.
type Blobs interface {
	PutFrom(ctx context.Context, r io.ReadSeeker, name string, size int64) error
}

// Settings are the live values of Files.
type Settings struct {
	Allowed   []string // UPLOADS_ALLOWED_MIMETYPES: type/* patterns; empty allows all
	Forbidden []string // UPLOADS_FORBIDDEN_MIMETYPES
	Public    bool     // UPLOADS_DEFAULT_VISIBILITY is public
	MaxTotal  int64    // WORKSPACE_FILES_MAX_BYTES: of all files of a workspace; 0: no limit
}

// Options configure Files. All fields but Before and Host are required.
type Options struct {
	Engine   *commands.Engine
	Store    eventstore.Store // takes several files in one append
	Blobs    Blobs
	Vault    commands.Vault
	Settings func() Settings
	Now      func() time.Time
	// Before returns how many bytes the files of a workspace have that were uploaded
	// before totals were recorded, those included whose time is over. It is asked once
	// for each workspace. Nil: there are none.
	Before func(ctx context.Context, workspaceID string) (int64, error)
	Host   domain.Host
}

// Files changes files. All methods are safe for concurrent use.
type Files struct {
	o     Options
	turns commands.Turns[string] // of workspaces: each change of a file changes the total
}

// New returns Files.
func New(o Options) (*Files, error) {
	if o.Engine == nil || o.Store == nil || o.Blobs == nil || o.Vault == nil || o.Settings == nil || o.Now == nil {
		return nil, errors.New("files: Options lack a required field")
	}
	return &Files{o: o}, nil
}

// Content is an uploaded content, on disk.
type Content struct {
	file.Content
	Reader io.ReadSeeker
}

// May refuses a change that the caller may not make. It gets the state that the decision is based on.
type May func(file.State) error

// Find returns the current state of a file.
func (f *Files) Find(ctx context.Context, workspaceID, id string, may May) (file.State, error) {
	return f.execute(ctx, workspaceID, id, file.Get{Now: f.o.Now()}, may, nil)
}

// Change changes the fields that are not nil.
type Change struct {
	Name         *string
	Public       *bool
	Metadata     *map[string]any
	ExpiresAfter *int64 // seconds from now on; 0: never
	ShareToken   *ShareToken
}

// Change changes a file.
func (f *Files) Change(ctx context.Context, workspaceID, id string, c Change, may May) (file.State, error) {
	token, err := f.tokenFor(ctx, workspaceID, id, c.ShareToken, may)
	if err != nil {
		return file.State{}, err
	}
	return f.execute(ctx, workspaceID, id, file.Change{
		Name: c.Name, Public: c.Public, Metadata: c.Metadata, ExpiresAfter: c.ExpiresAfter, Share: token, Now: f.o.Now(),
	}, may, nil)
}

// Replace replaces the content of a file, under the same id and address.
func (f *Files) Replace(ctx context.Context, workspaceID, id string, c Content, may May) (file.State, error) {
	if err := f.CheckType(c.Mimetype); err != nil {
		return file.State{}, err
	}
	have, err := f.Find(ctx, workspaceID, id, may)
	if err != nil {
		return file.State{}, err
	}
	if err := f.hasRoom(ctx, workspaceID, c.Size-have.Size); err != nil {
		return file.State{}, err
	}
	if err := f.storeContent(ctx, c); err != nil {
		return file.State{}, err
	}
	return f.executeCounted(ctx, workspaceID, id, file.Replace{Content: c.Content, Now: f.o.Now()}, may)
}

// Delete deletes a file. Its content stays while others refer to it.
func (f *Files) Delete(ctx context.Context, workspaceID, id string, may May) (file.State, error) {
	return f.executeCounted(ctx, workspaceID, id, file.Delete{Now: f.o.Now()}, may)
}

func (f *Files) execute(ctx context.Context, workspaceID, id string, cmd file.Command, may May, beside commands.Beside[file.State]) (file.State, error) {
	permitted := func(s file.State) error {
		if s.GoneAt(f.o.Now()) {
			return nil // it is for the rule to say so
		}
		return may(s)
	}
	done, err := commands.ExecuteBeside(ctx, f.o.Engine, file.Decider, file.Stream(workspaceID, id), cmd, beside, permitted)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodeNotFound {
		return file.State{}, refusal.With("id", id)
	}
	return done.State, err
}

// storeContent stores a content.
func (f *Files) storeContent(ctx context.Context, c Content) error {
	if err := f.o.Blobs.PutFrom(ctx, c.Reader, c.Checksum, c.Size); err != nil {
		return commands.Refused(fmt.Errorf("keep a file: %w", err))
	}
	return nil
}

// Finder finds expired files, the oldest first, and at most limit of them.
type Finder interface {
	Due(ctx context.Context, now time.Time, limit int) ([]Ref, error)
}

// Ref names a file.
type Ref struct{ WorkspaceID, ID string }

// sweepAtOnce is how many files one sweep deletes.
const sweepAtOnce = 500

// Expire deletes files that due finds expired at now, and returns how many. They are hidden already.
func (f *Files) Expire(ctx context.Context, due Finder, now time.Time) (deleted int, err error) {
	found, err := due.Due(ctx, now, sweepAtOnce)
	if err != nil {
		return 0, fmt.Errorf("find expired files: %w", err)
	}
	for _, ref := range found {
		changed, err := f.expire(ctx, ref, now)
		if err != nil {
			return deleted, fmt.Errorf("delete expired file %s of workspace %s: %w", ref.ID, ref.WorkspaceID, err)
		}
		if changed {
			deleted++
		}
	}
	return deleted, nil
}

func (f *Files) expire(ctx context.Context, ref Ref, now time.Time) (bool, error) {
	beside, release, err := f.counting(ctx, ref.WorkspaceID)
	if err != nil {
		return false, err
	}
	defer release()
	done, err := commands.ExecuteBeside(ctx, f.o.Engine, file.Decider, file.Stream(ref.WorkspaceID, ref.ID), file.Command(file.Expire{Now: now}), beside)
	return done.Changed, err
}

// executeCounted is execute for a command that changes the size of a file.
func (f *Files) executeCounted(ctx context.Context, workspaceID, id string, cmd file.Command, may May) (file.State, error) {
	beside, release, err := f.counting(ctx, workspaceID)
	if err != nil {
		return file.State{}, err
	}
	defer release()
	return f.execute(ctx, workspaceID, id, cmd, may, beside)
}

// counting returns the function that appends the total of a workspace together with a change of a
// file. Changes of one workspace wait for each other on this node: concurrent ones would conflict.
func (f *Files) counting(ctx context.Context, workspaceID string) (beside commands.Beside[file.State], release func(), err error) {
	if release, err = f.turns.Acquire(ctx, workspaceID); err != nil {
		return nil, nil, err
	}
	cmd, err := f.count(ctx, workspaceID, 0)
	if err != nil {
		release()
		return nil, nil, err
	}
	return func(before, after file.State, own commands.EventIDs) ([]eventstore.Commit, error) {
		cmd.Bytes = sizeOf(after) - sizeOf(before)
		c, err := commands.DecideBeside(ctx, f.o.Engine, file.TotalDecider, file.TotalStream(workspaceID), file.TotalCommand(cmd), own)
		if err != nil || len(c.Facts) == 0 {
			return nil, err
		}
		return []eventstore.Commit{c}, nil
	}, release, nil
}

// sizeOf returns the size of a file in the total.
func sizeOf(s file.State) int64 {
	if s.Deleted {
		return 0
	}
	return s.Size
}

// hasRoom refuses bytes beyond the limit of the workspace, before they are stored. The append decides
// finally.
func (f *Files) hasRoom(ctx context.Context, workspaceID string, bytes int64) error {
	cmd, err := f.count(ctx, workspaceID, bytes)
	if err != nil {
		return err
	}
	total, err := f.total(ctx, workspaceID)
	if err == nil {
		_, err = file.TotalDecider.Decide(total, cmd)
	}
	return err
}

// count returns the command that counts bytes.
func (f *Files) count(ctx context.Context, workspaceID string, bytes int64) (file.Count, error) {
	cmd := file.Count{Bytes: bytes, Limit: f.o.Settings().MaxTotal}
	total, err := f.total(ctx, workspaceID)
	if err == nil && !total.Started && f.o.Before != nil {
		cmd.Before, err = f.o.Before(ctx, workspaceID)
	}
	return cmd, err
}

// total loads the total of a workspace.
func (f *Files) total(ctx context.Context, workspaceID string) (file.Total, error) {
	ctx = commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta}) // a look needs no ids
	done, err := commands.Execute(ctx, f.o.Engine, file.TotalDecider, file.TotalStream(workspaceID), file.TotalCommand(file.LookTotal{}))
	return done.State, err
}
