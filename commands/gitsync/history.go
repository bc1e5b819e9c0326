package gitsync

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"svc/domain"
)

// maxHaves is how many commits a fetch tells that we have: enough to find common
// ground after the newest were taken back.
const maxHaves = 256

// recent returns the newest commits of a history.
func (o *Objects) recent(heads []plumbing.Hash) (all []plumbing.Hash) {
	_ = o.walk(heads, func(id plumbing.Hash, _ node) bool { // what cannot be read is not told
		if len(all) < maxHaves {
			all = append(all, id)
		}
		return len(all) < maxHaves
	})
	return all
}

// IsAncestor reports whether old is the commit of, or in its history. One
// that is not here is not.
func (o *Objects) IsAncestor(old, of string) (bool, error) {
	if old == "" || of == "" || !o.Has(old) {
		return false, nil
	}
	ancestor, err := o.peel(plumbing.NewHash(old))
	if err != nil {
		return false, err
	}
	head, err := o.peel(plumbing.NewHash(of))
	if err != nil {
		return false, err
	}
	found := false
	err = o.walk([]plumbing.Hash{head}, func(id plumbing.Hash, _ node) bool {
		found = found || id == ancestor
		return !found
	})
	return found, err
}

// CountCommits returns how many commits in the history of until, and not in that
// of since, touch a directory. A merge does when it differs from all of its
// parents. since may be "", or be gone from here: then all count. It looks at
// Limits.History commits at most.
func (o *Objects) CountCommits(since, until, root string) (count int, err error) {
	head, err := o.peel(plumbing.NewHash(until))
	if err != nil {
		return 0, err
	}
	old := map[plumbing.Hash]bool{}
	if o.Has(since) {
		base, err := o.peel(plumbing.NewHash(since))
		if err != nil {
			return 0, err
		}
		err = o.walk([]plumbing.Hash{base}, func(id plumbing.Hash, _ node) bool {
			old[id] = true
			return len(old) < o.limits.History
		})
		if err != nil {
			return 0, err
		}
	}
	looked := 0
	var failed error
	err = o.walk([]plumbing.Hash{head}, func(id plumbing.Hash, n node) bool {
		if old[id] || looked >= o.limits.History || failed != nil {
			return false
		}
		looked++
		touched, err := o.touches(n, root)
		if touched {
			count++
		}
		failed = err
		return true
	})
	if err == nil {
		err = failed
	}
	return count, err
}

// touches reports whether a commit has the directory differently from each of its
// parents.
func (o *Objects) touches(n node, root string) (bool, error) {
	here, err := o.entryAt(n.tree, root)
	if err != nil {
		return false, err
	}
	for _, parent := range n.parents {
		p, err := o.commit(parent)
		if err != nil {
			return false, err
		}
		there, err := o.entryAt(p.tree, root)
		if err != nil {
			return false, err
		}
		if there == here {
			return false, nil
		}
	}
	return len(n.parents) > 0 || here != entry{}, nil
}

// entryAt returns what is at a path of a tree; the zero entry when there is
// nothing.
func (o *Objects) entryAt(tree plumbing.Hash, path string) (entry, error) {
	at := entry{mode: dirMode, id: tree}
	for _, name := range segments(path) {
		if !at.isDir() {
			return entry{}, nil
		}
		entries, err := o.tree(at.id)
		if err != nil {
			return entry{}, err
		}
		next, ok := byName(entries)[name]
		if !ok {
			return entry{}, nil
		}
		next.name = ""
		at = next
	}
	return at, nil
}

// Resolve returns the commit whose id begins with prefix, among the histories of
// heads. None: 404; several: 422.
func (o *Objects) Resolve(prefix string, heads ...string) (string, error) {
	prefix = strings.ToLower(prefix)
	var from []plumbing.Hash
	for _, head := range heads {
		from = append(from, plumbing.NewHash(head))
	}
	var found []string
	err := o.walk(o.commitsOf(from), func(id plumbing.Hash, _ node) bool {
		if strings.HasPrefix(id.String(), prefix) {
			found = append(found, id.String())
		}
		return true
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", domain.Refuse(domain.CodeNotFound, "there is no commit %s", prefix).Reason("commit_not_found")
	case len(found) > 1:
		return "", domain.Refuse(domain.CodeValidation, "%d commits begin with %s", len(found), prefix).Reason("commit_ambiguous")
	}
	return found[0], nil
}
