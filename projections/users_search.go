package projections

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain/user"
)

// UserQuery selects users: those that match every field that is set.
type UserQuery struct {
	IDs          []string    // one of these
	Email        string      // exactly, in whatever case
	EmailValid   bool        // only whose address counts for roles, shares and rules
	Text         string      // each of its words is in a name or the address
	FirstName    string      // part of it, in whatever case
	LastName     string      // part of it, in whatever case
	AuthProvider string      // known by this provider
	Status       user.Status // in this state
	Groups       []string    // in one of these
	Before       time.Time   // made before
	After        time.Time   // made after
	Page, Limit  int         // Page counts from 0; a Limit of 0 is all
}

// Search returns one page of the users that q selects, the newest first, and
// how many there are on all pages.
func (p Users) Search(r Reader, q UserQuery) (page []User, total int, err error) {
	q.Email, q.Text = user.NormalEmail(q.Email), strings.ToLower(q.Text)
	q.FirstName, q.LastName = strings.ToLower(q.FirstName), strings.ToLower(q.LastName)
	var wanted []string
	err = p.candidates(r, q, func(b UserBrief) {
		if !q.matches(b) {
			return
		}
		if total >= q.Page*q.Limit && (q.Limit == 0 || len(wanted) < q.Limit) {
			wanted = append(wanted, b.ID)
		}
		total++
	})
	for _, id := range wanted {
		if err != nil {
			break
		}
		var u User
		var ok bool
		if u, ok, err = p.Get(r, id); err == nil && !ok {
			err = fmt.Errorf("user %s is in the index, but not there", id)
		}
		page = append(page, u)
	}
	return page, total, err
}

// candidates visits, the newest first, at least the users that q selects.
func (p Users) candidates(r Reader, q UserQuery, visit func(UserBrief)) error {
	if q.Email != "" {
		u, ok, err := p.ByEmail(r, q.Email)
		if ok {
			visit(u.brief())
		}
		return err
	}
	if q.IDs != nil {
		return p.these(r, q.IDs, visit)
	}
	newestFirst := Span{Prefix: []byte{'c'}, Reverse: true}
	return r.Iterate(p, newestFirst, func(_, value []byte) (bool, error) {
		var b UserBrief
		if err := json.Unmarshal(value, &b); err != nil {
			return false, err
		}
		visit(b)
		return true, nil
	})
}

// these visits the users with these ids, each once.
func (p Users) these(r Reader, ids []string, visit func(UserBrief)) error {
	var found []User
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		u, ok, err := p.Get(r, id)
		if err != nil {
			return err
		}
		if ok {
			found = append(found, u)
		}
	}
	slices.SortFunc(found, func(a, b User) int { return cmp.Compare(b.First, a.First) })
	for _, u := range found {
		visit(u.brief())
	}
	return nil
}

// matches reports whether q, in lower case, selects b.
func (q UserQuery) matches(b UserBrief) bool {
	first, last := strings.ToLower(b.FirstName), strings.ToLower(b.LastName)
	_, known := b.AuthData[q.AuthProvider]
	return (q.IDs == nil || slices.Contains(q.IDs, b.ID)) &&
		(q.Email == "" || q.Email == b.Email) && (!q.EmailValid || b.EmailValid) &&
		hasWords(first+" "+last+" "+b.Email, q.Text) &&
		strings.Contains(first, q.FirstName) && strings.Contains(last, q.LastName) &&
		(q.AuthProvider == "" || known) &&
		(q.Status == "" || q.Status == b.Status) &&
		(len(q.Groups) == 0 || slices.ContainsFunc(q.Groups, func(g string) bool { return slices.Contains(b.Groups, g) })) &&
		(q.Before.IsZero() || b.CreatedAt.Before(q.Before)) && (q.After.IsZero() || b.CreatedAt.After(q.After))
}

// hasWords reports whether every word of words is somewhere in text.
func hasWords(text, words string) bool {
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
