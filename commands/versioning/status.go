package versioning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands/archive"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// The states of a workspace towards a repository.
const (
	Clean       = "clean"
	LocalDirty  = "local_dirty"
	RemoteAhead = "remote_ahead"
	Diverged    = "diverged"
	InConflict  = "conflicted"
)

// RepositoryStatus is the state of a workspace towards one repository.
type RepositoryStatus struct {
	ID        string             `json:"id"`
	Type      string             `json:"type"`
	Mode      string             `json:"mode"`
	Branch    string             `json:"branch"`
	State     string             `json:"state"`
	Ahead     int                `json:"ahead"`
	Behind    int                `json:"behind"`
	Rewritten bool               `json:"rewritten"`
	Base      string             `json:"base,omitempty"`
	Remote    string             `json:"remote,omitempty"`
	CheckedAt *time.Time         `json:"checkedAt"`
	Stale     bool               `json:"stale"`
	Error     *operation.Failure `json:"error"`
}

// Drifted is an object that differs between the workspace, the remote and the base.
type Drifted struct {
	Type     string `json:"type"`
	Slug     string `json:"slug"`
	Change   string `json:"change"` // added, modified, deleted
	Side     string `json:"side"`   // local, remote, both
	Current  string `json:"currentChecksum,omitempty"`
	Expected string `json:"expectedChecksum,omitempty"`

	Path string `json:"-"`
}

// LastSync is what a workspace was last pushed to or pulled from.
type LastSync struct {
	RepositoryID string // "": no repository
	Native       string // the native version that was pulled; "": none
}

// Status returns how a workspace stands with its repositories, and what differs
// from one of them: the one that is named, else the one last pushed to or pulled
// from; where there is none, from the native version that was pulled. With refresh they
// are asked now.
func (v *Versioning) Status(ctx context.Context, workspaceID, named string, last LastSync, refresh bool) ([]RepositoryStatus, []Drifted, error) {
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, nil, err
	}
	list := slices.DeleteFunc(v.Repositories.List(now.State), func(r repositories.Listed) bool { return r.Type == repositories.Archive })
	if named != "" && !slices.ContainsFunc(list, func(r repositories.Listed) bool { return r.ID == named }) {
		_, err := v.Repositories.Find(ctx, now.State, named)
		return nil, nil, err
	}
	answers := v.observeAll(ctx, now.State, list, refresh)
	if now, err = v.Workspaces.Get(ctx, workspaceID); err != nil { // asking may have settled a push
		return nil, nil, err
	}
	var all []RepositoryStatus
	var changes []Drifted
	for _, listed := range list {
		c, err := v.compareRepository(ctx, now.State, now.Seq, listed, answers[listed.ID])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c.status)
		if listed.ID == named || named == "" && listed.ID == last.RepositoryID {
			changes = c.driftedObjects()
		}
	}
	if version, there := newestNative(now.State, last.Native); there && named == "" && last.RepositoryID == "" {
		changes, err = v.sinceVersion(ctx, now.State, now.Seq, version)
	}
	return all, changes, err
}

// sinceVersion lists what differs from a native version.
func (v *Versioning) sinceVersion(ctx context.Context, s workspace.State, seq uint64, version workspace.Version) ([]Drifted, error) {
	was, is, err := v.Content.Between(ctx, s.ID, version.ContentRevision, seq)
	if err != nil {
		return nil, err
	}
	limits := v.limits().Document
	c := comparison{ours: is, base: was, here: meaningsOf(is, limits), then: meaningsOf(was, limits)}
	c.have = c.then
	return c.driftedObjects(), nil
}

// observeAll observes remotes, a few at a time.
func (v *Versioning) observeAll(ctx context.Context, s workspace.State, list []repositories.Listed, refresh bool) map[string]observation {
	var mu sync.Mutex
	var asking sync.WaitGroup
	slots := make(chan struct{}, 4)
	answers := map[string]observation{}
	for _, one := range list {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answer := v.observeCached(ctx, s, one.ID, refresh)
			mu.Lock()
			defer mu.Unlock()
			answers[one.ID] = answer
		})
	}
	asking.Wait()
	return answers
}

// comparison is a workspace, a repository and their base.
type comparison struct {
	status           RepositoryStatus
	ours, base       archive.Tree
	here, then, have meanings
	observed         bool // whether the remote was ever seen
}

func (v *Versioning) compareRepository(ctx context.Context, s workspace.State, seq uint64, listed repositories.Listed, answer observation) (c comparison, err error) {
	sync := s.Sync[listed.ID]
	if repo, err := v.Repositories.Find(ctx, s, listed.ID); err == nil {
		sync = s.SyncWith(listed.ID, LocationOf(repo))
	}
	c.status = RepositoryStatus{
		ID: listed.ID, Type: listed.Type, Mode: listed.Mode, Branch: listed.Branch, Ahead: answer.ahead, Behind: answer.behind,
		Rewritten: answer.rewritten, Remote: answer.head, Stale: answer.err != nil, Error: failureOf(answer.err),
	}
	if sync.Base != nil {
		c.status.Base = sync.Base.Commit
	}
	if c.observed = !answer.at.IsZero(); c.observed {
		at := answer.at.UTC().Truncate(time.Millisecond)
		c.status.CheckedAt = &at
	}
	if c.base, err = v.baseTree(ctx, sync); err != nil {
		return c, err
	}
	if c.ours, err = v.workspaceTree(ctx, s.ID, seq, sync, c.base); err != nil {
		return c, err
	}
	c.ours = overlay(c.ours, c.base, heldPathFilter(s, sync))
	limits := v.limits().Document
	c.here, c.then, c.have = meaningsOf(c.ours, limits), meaningsOf(c.base, limits), answer.has
	if !c.observed {
		c.have = c.then
	}
	if sync.Base == nil && maps.Equal(c.here, c.have) {
		c.then = c.here // both sides are the same
	}
	c.setState(s, answer)
	return c, nil
}

// setState sets the state by the table of contract 13.
func (c *comparison) setState(s workspace.State, answer observation) {
	local, remote := !maps.Equal(c.here, c.then), answer.other || !maps.Equal(c.have, c.then)
	if remote && maps.Equal(c.here, c.have) && !answer.other {
		local, remote = false, false // both sides made the same change
	}
	if local && (answer.ahead == 0 || !maps.Equal(c.here, answer.saved)) {
		c.status.Ahead++ // in no commit yet
	}
	if !remote {
		c.status.Behind = 0
	}
	if answer.files {
		c.status.Ahead = differences(c.here, c.then, local)
	}
	switch {
	case s.Conflict != nil && s.Conflict.RepositoryID == c.status.ID:
		c.status.State = InConflict
	case local && remote:
		c.status.State = Diverged
	case local:
		c.status.State = LocalDirty
	case remote:
		c.status.State = RemoteAhead
	default:
		c.status.State = Clean
	}
}

// differences counts the places with different meanings, if count is set.
func differences(a, b meanings, count bool) (n int) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for docPath := range all {
		if count && a[docPath] != b[docPath] {
			n++
		}
	}
	return n
}

// driftedObjects lists what differs from the base.
func (c *comparison) driftedObjects() []Drifted {
	all := maps.Clone(c.here)
	maps.Copy(all, c.then)
	maps.Copy(all, c.have)
	current, expected := c.ours.Checksums(), c.base.Checksums()
	var list []Drifted
	for _, docPath := range slices.Sorted(maps.Keys(all)) {
		here, then, have := c.here[docPath], c.then[docPath], c.have[docPath]
		d := Drifted{Path: docPath, Current: current[docPath], Expected: expected[docPath]}
		switch {
		case here != then && have != then:
			d.Side, d.Change = "both", changeOf(then, here)
		case here != then:
			d.Side, d.Change = "local", changeOf(then, here)
		case have != then:
			d.Side, d.Change = "remote", changeOf(then, have)
		default:
			continue
		}
		if d.Type, d.Slug, _ = strings.Cut(docPath, "/"); d.Slug == "" {
			d.Slug = docPath
		}
		list = append(list, d)
	}
	return list
}

func changeOf(before, after string) string {
	switch {
	case before == "":
		return "added"
	case after == "":
		return "deleted"
	}
	return "modified"
}

func failureOf(err error) *operation.Failure {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return operation.FailureOf(refusal)
	}
	return &operation.Failure{Code: domain.CodeUnavailable, Message: "the repository did not answer in time"}
}

// meanings are what the objects of a tree mean, by place: a hash each.
type meanings map[string]string

func meaningsOf(tree archive.Tree, limits document.Limits) meanings {
	all := meanings{}
	for docPath, o := range objects(tree) {
		text := o.canonical(limits)
		if text == nil || len(o.more) > 0 {
			text = append([]byte("unreadable\x00"), o.text...)
		}
		sum := sha256.Sum256(text)
		all[docPath] = hex.EncodeToString(sum[:])
	}
	return all
}

// observation is the state of a remote when it was last asked.
type observation struct {
	location  workspace.Location
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

// observations caches the last observation of each remote.
type observations struct {
	mu           sync.Mutex
	byRepository map[[2]string]observation // by workspace and repository
}

// maxObservations is the size of that cache.
const maxObservations = 1000

func (d *observations) last(workspaceID, repositoryID string) observation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byRepository[[2]string{workspaceID, repositoryID}]
}

func (d *observations) store(workspaceID, repositoryID string, s observation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byRepository == nil || len(d.byRepository) >= maxObservations {
		d.byRepository = map[[2]string]observation{}
	}
	d.byRepository[[2]string{workspaceID, repositoryID}] = s
}

func (d *observations) delete(workspaceID, repositoryID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.byRepository, [2]string{workspaceID, repositoryID})
}

// How long an observation is used, and the timeout of one.
const (
	observationAge = time.Minute
	observeTimeout = 5 * time.Second
)

// observeCached returns the last observation of a remote, or a new one when that is too old
// or now is set. When the remote does not answer, the last observation is returned.
func (v *Versioning) observeCached(ctx context.Context, s workspace.State, id string, now bool) observation {
	release, err := v.observeTurns.Acquire(ctx, [2]string{s.ID, id})
	if err != nil {
		return observation{err: err}
	}
	defer release()
	repo, err := v.Repositories.Find(ctx, s, id)
	if err != nil {
		return observation{err: err}
	}
	known := v.observations.last(s.ID, id)
	if known.location != LocationOf(repo) {
		known = observation{location: LocationOf(repo)} // of another place
	}
	now = now || known.base != baseID(s.SyncWith(id, known.location))
	if !now && time.Since(known.asked) < observationAge {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	answer, err := v.observe(ctx, s, repo)
	if err == nil {
		known = answer
	}
	known.asked, known.err = time.Now(), err
	v.observations.store(s.ID, id, known)
	return known
}

// baseID is the commit that was integrated last, or the files where there are no
// commits; "" for none.
func baseID(sync workspace.Sync) string {
	if sync.Base == nil {
		return ""
	}
	return cmp.Or(sync.Base.Commit, sync.Base.Files)
}

// observe asks a remote for its state. A lost push that is found there is recorded.
func (v *Versioning) observe(ctx context.Context, s workspace.State, repo repositories.Repository) (observation, error) {
	if repo.Type == repositories.Filesystem {
		return v.observeFiles(ctx, s, repo)
	}
	r, err := v.connect(repo, s.Settings.Slug)
	if err != nil {
		return observation{}, err
	}
	defer r.Close()
	if err := r.listRefs(ctx); err != nil {
		return observation{}, err
	}
	recorded, err := v.settleLostPush(ctx, r, s, runningPush(s))
	if s, err = v.reloadAfterPush(ctx, s, recorded, err); err != nil {
		return observation{}, err
	}
	found := observation{at: time.Now(), head: r.head(), has: meanings{}, location: r.location, base: baseID(s.SyncWith(repo.ID, r.location))}
	if found.head == "" {
		return found, nil
	}
	if err := r.fetch(ctx); err != nil {
		return observation{}, err
	}
	return found, v.compareGit(r, s.SyncWith(repo.ID, r.location), &found)
}

// reloadAfterPush loads a workspace again after an earlier push was recorded.
func (v *Versioning) reloadAfterPush(ctx context.Context, s workspace.State, recorded bool, err error) (workspace.State, error) {
	if err != nil || !recorded {
		return s, err
	}
	now, err := v.Workspaces.Get(ctx, s.ID)
	return now.State, err
}

// runningPush is the running operation, which settles its push itself.
func runningPush(s workspace.State) string {
	if s.Lock != nil && s.Lock.Operation != nil {
		return s.Lock.Operation.ID
	}
	return ""
}

// compareGit counts the commits of a remote since the base.
func (v *Versioning) compareGit(r *remote, sync workspace.Sync, found *observation) error {
	there, err := r.Objects().ReadTree(r.head(), r.repo.Root)
	if err != nil {
		return err
	}
	found.has = meaningsOf(there.Managed, v.limits().Document)
	if found.rewritten, err = r.isRewritten(sync); err != nil {
		return err
	}
	since := ""
	if sync.Base != nil && !found.rewritten {
		since = sync.Base.Commit
		found.other = !r.repo.Platform && sync.Base.Unmanaged != digestUnmanaged(there.Unmanaged)
	}
	if found.behind, err = r.Objects().CountCommits(since, r.head(), r.repo.Root); err != nil {
		return err
	}
	return v.compareOwn(r, sync, found)
}

// compareOwn counts the commits on I that are not in T.
func (v *Versioning) compareOwn(r *remote, sync workspace.Sync, found *observation) (err error) {
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
