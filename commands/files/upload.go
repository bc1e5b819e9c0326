package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/domain"
	"svc/domain/file"
	"svc/eventstore"
)

// Upload is a file to create.
type Upload struct {
	Name         string
	Content      Content
	Public       *bool // nil: as the settings say
	Metadata     map[string]any
	ExpiresAfter int64 // seconds; 0: never
	ShareToken   *ShareToken
}

// maxAttempts bounds the ids that are tried.
const maxAttempts = 5

// Upload creates files, all of them or none. May is called for each before anything is stored.
func (f *Files) Upload(ctx context.Context, workspaceID string, uploads []Upload, may May) ([]file.State, error) {
	for attempt := range maxAttempts {
		ids := f.newIDs(ctx, len(uploads), attempt)
		before, err := f.findEarlier(ctx, workspaceID, ids)
		if err != nil {
			return nil, err
		}
		if before != burned {
			return f.upload(ctx, workspaceID, uploads, ids, before, may)
		}
	}
	return nil, domain.Refuse(domain.CodeConflict, "no free id was found for a file, try again").Reason("stale")
}

func (f *Files) upload(ctx context.Context, workspaceID string, uploads []Upload, ids []id, before outcome, may May) ([]file.State, error) {
	made, commits, bytes := make([]file.State, len(uploads)), make([]eventstore.Commit, len(uploads)), int64(0)
	for i, u := range uploads {
		cmd, err := f.command(ctx, workspaceID, ids[i].file, u)
		if err != nil {
			return nil, err
		}
		events, err := file.Decider.Decide(file.State{}, cmd)
		if err != nil {
			return nil, withIndex(i, err)
		}
		made[i] = file.Decider.Fold(file.State{}, events...)
		bytes += made[i].Size
		if err := may(made[i]); err != nil {
			return nil, err
		}
		commits[i] = eventstore.Commit{
			Stream: file.Stream(workspaceID, ids[i].file), Meta: f.meta(ctx),
			Facts: []eventstore.Fact{{ID: ids[i].event, Event: events[0]}},
		}
	}
	if before == stored {
		return made, nil
	}
	if err := f.hasRoom(ctx, workspaceID, bytes); err != nil {
		return nil, err
	}
	for _, u := range uploads {
		if err := f.storeContent(ctx, u.Content); err != nil {
			return nil, err
		}
	}
	return made, f.append(ctx, workspaceID, bytes, commits)
}

// append records files together with the total of their workspace.
func (f *Files) append(ctx context.Context, workspaceID string, bytes int64, commits []eventstore.Commit) error {
	release, err := f.turns.Acquire(ctx, workspaceID)
	if err != nil {
		return err
	}
	defer release()
	cmd, err := f.count(ctx, workspaceID, bytes)
	if err != nil {
		return err
	}
	_, err = commands.ExecuteBeside(ctx, f.o.Engine, file.TotalDecider, file.TotalStream(workspaceID), file.TotalCommand(cmd),
		func(file.Total, file.Total, commands.EventIDs) ([]eventstore.Commit, error) { return commits, nil })
	return err
}

// command returns the command that creates a file.
func (f *Files) command(ctx context.Context, workspaceID, id string, u Upload) (file.Upload, error) {
	public := f.o.Settings().Public
	if u.Public != nil {
		public = *u.Public
	}
	cmd := file.Upload{
		ID: id, WorkspaceID: workspaceID, By: commands.RequestFrom(ctx).Meta.UserID, Content: u.Content.Content, Now: f.o.Now(),
		Terms: file.Terms{Name: u.Name, Public: public, Metadata: u.Metadata, ExpiresAfter: u.ExpiresAfter},
	}
	if err := f.CheckType(u.Content.Mimetype); err != nil {
		return cmd, err
	}
	if u.ShareToken == nil {
		return cmd, nil
	}
	sealed, err := f.seal(ctx, workspaceID, id, *u.ShareToken)
	cmd.Token = sealed
	return cmd, err
}

// withIndex adds the index of the file to a refusal.
func withIndex(i int, err error) error {
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return refusal.With("index", i)
	}
	return err
}

// CheckType refuses a type that the settings do not allow.
func (f *Files) CheckType(mimetype string) error {
	s := f.o.Settings()
	fits := func(pattern string) bool { return matches(strings.ToLower(pattern), mimetype) }
	allows := func(pattern string) bool { return fits(pattern) && (mimetype != svg || pattern != "image/*") }
	if !slices.ContainsFunc(s.Forbidden, fits) && (len(s.Allowed) == 0 || slices.ContainsFunc(s.Allowed, allows)) {
		return nil
	}
	fault := domain.FieldError{Field: "mimetype", Message: "files of the type " + mimetype + " are not taken here"}
	return domain.Invalid(fault).Reason("mimetype_not_allowed").With("mimetype", mimetype)
}

// svg can run scripts: image/* does not include it.
const svg = "image/svg+xml"

// matches reports whether a type fits a pattern, type/subtype or type/*.
func matches(pattern, mimetype string) bool {
	family, whole := strings.CutSuffix(pattern, "/*")
	return pattern == mimetype || whole && (family == "*" || strings.HasPrefix(mimetype, family+"/"))
}

// meta returns the source of the events of ctx.
func (f *Files) meta(ctx context.Context) domain.Meta {
	m := commands.RequestFrom(ctx).Meta
	if m.Host == (domain.Host{}) {
		m.Host = f.o.Host
	}
	return m
}

// id has the ids of a new file and of its event.
type id struct{ file, event string }

// newIDs returns ids for n files. For a repeated request they are the same each time, so that the
// repetition finds its files.
func (f *Files) newIDs(ctx context.Context, n, attempt int) []id {
	ids := make([]id, n)
	for i := range ids {
		var source [sha256.Size]byte
		if seed := commands.RequestFrom(ctx).Seed; seed != "" {
			source = sha256.Sum256(fmt.Appendf(nil, "%s\x00files\x00%d\x00%d", seed, i, attempt))
		} else {
			_, _ = rand.Read(source[:]) // never fails: crypto/rand ends the process instead
		}
		ids[i] = idsOf(source)
	}
	return ids
}

const idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

// idLength is that of the id of a file.
const idLength = 21

func idsOf(source [sha256.Size]byte) id {
	name := make([]byte, idLength)
	for i := range name {
		name[i] = idAlphabet[source[i]%64]
	}
	source = sha256.Sum256(source[:])
	event := ulid.ULID(source[:16])
	event[0] &= 0x7f // the first character of a ULID has three bits
	return id{string(name), event.String()}
}

// outcome is the outcome of an earlier attempt at the same upload.
type outcome int

const (
	none   outcome = iota // there was none
	stored                // its files are there
	burned                // a power cut left it incomplete: its ids cannot be used again
)

// findEarlier returns the outcome of an earlier attempt with these ids. A commit is atomic, so the
// first file decides. Only a repeated request can find its own.
func (f *Files) findEarlier(ctx context.Context, workspaceID string, ids []id) (outcome, error) {
	if commands.RequestFrom(ctx).Seed == "" {
		return none, nil
	}
	events, err := f.o.Store.Load(ctx, file.Stream(workspaceID, ids[0].file), 0)
	if err != nil {
		return none, commands.Refused(fmt.Errorf("the log: %w", err))
	}
	if len(events) == 0 {
		return none, nil
	}
	if _, void := events[0].Data.(domain.Void); void {
		return burned, nil
	}
	commands.RequestFrom(ctx).Saw(domain.At(domain.State, events[0].Seq))
	return stored, nil
}
