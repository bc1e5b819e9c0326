package versioning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"svc/commands/archive"
	"svc/commands/repositories"
	"svc/domain/document"
	"svc/domain/workspace"
)

// meanings are what the objects of a tree mean, by place: a hash each.
type meanings map[string]string

func meaningsOf(tree archive.Tree, limits document.Limits) meanings {
	all := meanings{}
	for place, o := range objects(tree) {
		text := o.meaning(limits)
		if text == nil || len(o.more) > 0 {
			text = append([]byte("unreadable\x00"), o.text...)
		}
		sum := sha256.Sum256(text)
		all[place] = hex.EncodeToString(sum[:])
	}
	return all
}

// seen is what a remote had when it was last asked.
type seen struct {
	place     workspace.Place
	base      string    // what was integrated then
	at        time.Time // when it answered; zero: never
	head      string    // of T; "": there is none
	has       meanings
	other     bool     // files have changed, also such as are no content
	ahead     int      // commits on I that are not in T
	saved     meanings // what this workspace has put on I; nil: nothing
	behind    int      // commits on T since what was integrated, or files
	rewritten bool
	files     bool // there are no commits: files are counted

	asked time.Time // when it was asked last
	err   error     // of that time
}

// drift remembers what remotes were last seen to have.
type drift struct {
	mu   sync.Mutex
	seen map[[2]string]seen // by workspace and repository
}

// maxSeen is how many remotes are remembered.
const maxSeen = 1000

func (d *drift) last(workspaceID, repositoryID string) seen {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[[2]string{workspaceID, repositoryID}]
}

func (d *drift) keep(workspaceID, repositoryID string, s seen) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil || len(d.seen) >= maxSeen {
		d.seen = map[[2]string]seen{}
	}
	d.seen[[2]string{workspaceID, repositoryID}] = s
}

func (d *drift) forget(workspaceID, repositoryID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.seen, [2]string{workspaceID, repositoryID})
}

// How long an answer of a remote stands, and how long one is waited for.
const (
	fresh   = time.Minute
	askTime = 5 * time.Second
)

// ask returns what a remote has: as it was last seen, unless that is long ago, or
// it is to be asked now. When it does not answer, what was last seen stands.
func (v *Versioning) ask(ctx context.Context, s workspace.State, id string, now bool) seen {
	leave, err := v.asks.Take(ctx, [2]string{s.ID, id})
	if err != nil {
		return seen{err: err}
	}
	defer leave()
	repo, err := v.Repositories.Find(ctx, s, id)
	if err != nil {
		return seen{err: err}
	}
	known := v.drift.last(s.ID, id)
	if known.place != PlaceOf(repo) {
		known = seen{place: PlaceOf(repo)} // of another place
	}
	now = now || known.base != baseOf(s.SyncWith(id, known.place))
	if !now && time.Since(known.asked) < fresh {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, err := v.observe(ctx, s, repo)
	if err == nil {
		known = answer
	}
	known.asked, known.err = time.Now(), err
	v.drift.keep(s.ID, id, known)
	return known
}

// baseOf is the commit that was integrated last, or the files where there are no
// commits; "" for none.
func baseOf(sync workspace.Sync) string {
	if sync.Base == nil {
		return ""
	}
	return cmp.Or(sync.Base.Commit, sync.Base.Files)
}

// observe looks at a remote. A push that it turns out to have is recorded.
func (v *Versioning) observe(ctx context.Context, s workspace.State, repo repositories.Repository) (seen, error) {
	if repo.Type == repositories.Filesystem {
		return v.observeFiles(ctx, s, repo)
	}
	r, err := v.connect(repo, s.Settings.Slug)
	if err != nil {
		return seen{}, err
	}
	defer r.Close()
	if err := r.look(ctx); err != nil {
		return seen{}, err
	}
	recorded, err := v.settleEarlier(ctx, r, s, runningPush(s))
	if s, err = v.renewed(ctx, s, recorded, err); err != nil {
		return seen{}, err
	}
	found := seen{at: time.Now(), head: r.head(), has: meanings{}, place: r.place, base: baseOf(s.SyncWith(repo.ID, r.place))}
	if found.head == "" {
		return found, nil
	}
	if err := r.fetch(ctx); err != nil {
		return seen{}, err
	}
	return found, v.compare(r, s.SyncWith(repo.ID, r.place), &found)
}

// renewed returns a workspace as it is once an earlier push of it was recorded.
func (v *Versioning) renewed(ctx context.Context, s workspace.State, recorded bool, err error) (workspace.State, error) {
	if err != nil || !recorded {
		return s, err
	}
	now, err := v.Workspaces.Get(ctx, s.ID)
	return now.State, err
}

// runningPush is the operation that is about to find out about its push itself.
func runningPush(s workspace.State) string {
	if s.Lock != nil && s.Lock.Operation != nil {
		return s.Lock.Operation.ID
	}
	return ""
}

// compare counts what a remote has more than was integrated.
func (v *Versioning) compare(r *remote, sync workspace.Sync, found *seen) error {
	there, err := r.Objects().ReadTree(r.head(), r.repo.Root)
	if err != nil {
		return err
	}
	found.has = meaningsOf(there.Managed, v.limits().Document)
	if found.rewritten, err = r.rewritten(sync); err != nil {
		return err
	}
	since := ""
	if sync.Base != nil && !found.rewritten {
		since = sync.Base.Commit
		found.other = !r.repo.Platform && sync.Base.Unmanaged != digest(there.Unmanaged)
	}
	if found.behind, err = r.Objects().CountCommits(since, r.head(), r.repo.Root); err != nil {
		return err
	}
	return v.compareOwn(r, sync, found)
}

// compareOwn looks at what is on I and not in T yet.
func (v *Versioning) compareOwn(r *remote, sync workspace.Sync, found *seen) (err error) {
	own := r.ownHead()
	if own == "" {
		return nil
	}
	if found.ahead, err = r.Objects().CountCommits(r.head(), own, r.repo.Root); err != nil || !sync.Recorded(own) {
		return err
	}
	saved, err := r.Objects().ReadTree(own, r.repo.Root)
	if err != nil {
		return err
	}
	found.saved = meaningsOf(saved.Managed, v.limits().Document)
	return nil
}
