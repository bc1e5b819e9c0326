package versioning

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands/archive"
	"svc/commands/repositories"
	"svc/domain"
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

// RepositoryStatus is how a workspace stands with one repository.
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

// Drifted is an object that is not the same here, there, and in what was integrated
// last.
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
	answers := v.askAll(ctx, now.State, list, refresh)
	if now, err = v.Workspaces.Get(ctx, workspaceID); err != nil { // asking may have settled a push
		return nil, nil, err
	}
	var all []RepositoryStatus
	var changes []Drifted
	for _, listed := range list {
		c, err := v.standing(ctx, now.State, now.Seq, listed, answers[listed.ID])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c.status)
		if listed.ID == named || named == "" && listed.ID == last.RepositoryID {
			changes = c.drifted()
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
	return c.drifted(), nil
}

// askAll asks remotes, a few at a time.
func (v *Versioning) askAll(ctx context.Context, s workspace.State, list []repositories.Listed, refresh bool) map[string]seen {
	var mu sync.Mutex
	var asking sync.WaitGroup
	slots := make(chan struct{}, 4)
	answers := map[string]seen{}
	for _, one := range list {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answer := v.ask(ctx, s, one.ID, refresh)
			mu.Lock()
			defer mu.Unlock()
			answers[one.ID] = answer
		})
	}
	asking.Wait()
	return answers
}

// comparison is a workspace, a repository, and what both had in common last.
type comparison struct {
	status           RepositoryStatus
	ours, base       archive.Tree
	here, then, have meanings
	knows            bool // whether the remote was ever seen
}

func (v *Versioning) standing(ctx context.Context, s workspace.State, seq uint64, listed repositories.Listed, answer seen) (c comparison, err error) {
	known := s.Sync[listed.ID]
	if repo, err := v.Repositories.Find(ctx, s, listed.ID); err == nil {
		known = s.SyncWith(listed.ID, PlaceOf(repo))
	}
	c.status = RepositoryStatus{
		ID: listed.ID, Type: listed.Type, Mode: listed.Mode, Branch: listed.Branch, Ahead: answer.ahead, Behind: answer.behind,
		Rewritten: answer.rewritten, Remote: answer.head, Stale: answer.err != nil, Error: failureOf(answer.err),
	}
	if known.Base != nil {
		c.status.Base = known.Base.Commit
	}
	if c.knows = !answer.at.IsZero(); c.knows {
		at := answer.at.UTC().Truncate(time.Millisecond)
		c.status.CheckedAt = &at
	}
	if c.base, err = v.base(ctx, known); err != nil {
		return c, err
	}
	if c.ours, err = v.ours(ctx, s.ID, seq, known, c.base); err != nil {
		return c, err
	}
	c.ours = overlay(c.ours, c.base, stillHeld(s, known))
	limits := v.limits().Document
	c.here, c.then, c.have = meaningsOf(c.ours, limits), meaningsOf(c.base, limits), answer.has
	if !c.knows {
		c.have = c.then
	}
	if known.Base == nil && maps.Equal(c.here, c.have) {
		c.then = c.here // they are the same, however that came
	}
	c.judge(s, answer)
	return c, nil
}

// judge is the table of contract 13.
func (c *comparison) judge(s workspace.State, answer seen) {
	local, remote := !maps.Equal(c.here, c.then), answer.other || !maps.Equal(c.have, c.then)
	if remote && maps.Equal(c.here, c.have) && !answer.other {
		local, remote = false, false // somebody else made the same of it
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

// differences counts the places that mean something else, if any is to count.
func differences(a, b meanings, count bool) (n int) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for place := range all {
		if count && a[place] != b[place] {
			n++
		}
	}
	return n
}

// drifted lists what differs from what was integrated last.
func (c *comparison) drifted() []Drifted {
	all := maps.Clone(c.here)
	maps.Copy(all, c.then)
	maps.Copy(all, c.have)
	current, expected := c.ours.Checksums(), c.base.Checksums()
	var list []Drifted
	for _, place := range slices.Sorted(maps.Keys(all)) {
		here, then, have := c.here[place], c.then[place], c.have[place]
		d := Drifted{Path: place, Current: current[place], Expected: expected[place]}
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
		if d.Type, d.Slug, _ = strings.Cut(place, "/"); d.Slug == "" {
			d.Slug = place
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
