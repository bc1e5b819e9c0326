package projections

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/user"
)

// Users is the read model of accounts, without deleted ones. Credentials are not stored here: they
// are read from the log.
//
//	u{id}                  the user, as REST serves it and more
//	a{id}                  UserBrief
//	e{email}               id
//	c{seq}{id}             as a; seq is that of the user's first event
type Users struct{}

// User is an account as it is read.
type User struct {
	user.User
	EmailProven  bool   `json:"emailProven,omitempty"`
	EmailVouched bool   `json:"emailVouched,omitempty"`
	HasPassword  bool   `json:"hasPassword,omitempty"`
	Seq          uint64 `json:"seq"`   // of the event that last changed it
	First        uint64 `json:"first"` // of the event that created it
	CreatedAt    string `json:"createdAt"`
	CreatedBy    string `json:"createdBy"`
	UpdatedAt    string `json:"updatedAt"`
	UpdatedBy    string `json:"updatedBy"`
}

// UserBrief has the fields of an account that authentication and search need.
type UserBrief struct {
	ID          string                   `json:"id"`
	Email       string                   `json:"email,omitempty"`
	EmailProven bool                     `json:"emailProven,omitempty"`
	EmailValid  bool                     `json:"emailValid,omitempty"` // it counts for roles, shares and rules
	FirstName   string                   `json:"firstName,omitempty"`
	LastName    string                   `json:"lastName,omitempty"`
	Status      user.Status              `json:"status"`
	MFA         string                   `json:"mfa"`
	AuthData    map[string]user.Identity `json:"authData"`
	Groups      []string                 `json:"groups"`
	CreatedAt   time.Time                `json:"createdAt"`
}

// Super reports whether the account is one of the super admins in admins.
func (b UserBrief) Super(admins []string) bool {
	return user.User{Email: b.Email, Status: b.Status}.Super(b.EmailProven, admins)
}

// Name implements Projection.
func (Users) Name() string { return "users.3" }

// Log implements Projection.
func (Users) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (p Users) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case user.SignedUp, user.Created:
		return p.put(tx, ev, User{First: ev.Seq, CreatedAt: domain.FormatTime(ev.At), CreatedBy: ev.Meta.UserID})
	case user.Updated:
		return p.update(tx, ev, e.User.ID)
	case user.PasswordReset:
		return p.update(tx, ev, e.User.ID)
	case user.Deleted:
		old, err := p.stored(tx, e.UserID)
		if err != nil {
			return err
		}
		return p.drop(tx, old)
	}
	return nil
}

func (p Users) update(tx Tx, ev domain.Recorded, id string) error {
	old, err := p.stored(tx, id)
	if err != nil {
		return err
	}
	if err := p.drop(tx, old); err != nil {
		return err
	}
	return p.put(tx, ev, old)
}

// stored returns the user that an event is about.
func (Users) stored(tx Tx, id string) (u User, err error) {
	value, ok, err := tx.Get(userKey(id))
	if err != nil {
		return u, err
	}
	if !ok {
		return u, fmt.Errorf("user %s was never made", id)
	}
	return u, json.Unmarshal(value, &u)
}

// put stores u as the event leaves it.
func (p Users) put(tx Tx, ev domain.Recorded, u User) error {
	now := user.Decider.Evolve(user.State{User: u.User, Credentials: user.Credentials{EmailVouched: u.EmailVouched}}, ev.Data)
	u.User, u.HasPassword = now.User, now.Credentials.Password != ""
	u.EmailProven, u.EmailVouched = now.Credentials.EmailProven, now.Credentials.EmailVouched
	u.Seq, u.UpdatedAt, u.UpdatedBy = ev.Seq, domain.FormatTime(ev.At), ev.Meta.UserID
	body, err := json.Marshal(u)
	if err != nil {
		return err
	}
	brief, err := json.Marshal(u.brief())
	if err != nil {
		return err
	}
	err = tx.Set(userKey(u.ID), body)
	for _, key := range [][]byte{briefKey(u.ID), userOrderKey(u.First, u.ID)} {
		if err == nil {
			err = tx.Set(key, brief)
		}
	}
	if err == nil && u.Email != "" {
		err = tx.Set(emailKey(u.Email), []byte(u.ID))
	}
	return err
}

// drop removes every key of u.
func (Users) drop(tx Tx, u User) (err error) {
	for _, key := range [][]byte{emailKey(u.Email), userKey(u.ID), briefKey(u.ID), userOrderKey(u.First, u.ID)} {
		if err == nil {
			err = tx.Delete(key)
		}
	}
	return err
}

// IsEmailValid reports whether the address counts for roles, shares and rules.
func (u User) IsEmailValid() bool {
	return user.Credentials{EmailProven: u.EmailProven, EmailVouched: u.EmailVouched}.IsEmailValid()
}

func (u User) brief() UserBrief {
	created, _ := time.Parse(domain.Timestamp, u.CreatedAt) // of our own making
	return UserBrief{
		ID: u.ID, Email: u.Email, EmailProven: u.EmailProven, EmailValid: u.IsEmailValid(), FirstName: u.FirstName, LastName: u.LastName,
		Status: u.Status, MFA: u.MFA, AuthData: u.AuthData, Groups: u.Groups, CreatedAt: created,
	}
}

// Get returns the user with this id; ok is false when there is none.
func (p Users) Get(r Reader, id string) (u User, ok bool, err error) {
	value, ok, err := r.Get(p, userKey(id))
	if err != nil || !ok {
		return User{}, false, err
	}
	err = json.Unmarshal(value, &u)
	return u, err == nil, err
}

// Brief returns the UserBrief of the user with this id; ok is false when there is none.
func (p Users) Brief(r Reader, id string) (b UserBrief, ok bool, err error) {
	value, ok, err := r.Get(p, briefKey(id))
	if err != nil || !ok {
		return UserBrief{}, false, err
	}
	err = json.Unmarshal(value, &b)
	return b, err == nil, err
}

// ByEmail returns the user with this address, in any case.
func (p Users) ByEmail(r Reader, email string) (User, bool, error) {
	id, ok, err := r.Get(p, emailKey(user.NormalEmail(email)))
	if err != nil || !ok {
		return User{}, false, err
	}
	return p.Get(r, string(id))
}

func userKey(id string) []byte     { return append([]byte{'u'}, id...) }
func briefKey(id string) []byte    { return append([]byte{'a'}, id...) }
func emailKey(email string) []byte { return append([]byte{'e'}, email...) }

func userOrderKey(seq uint64, id string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'c'}, seq), id...)
}

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
		return p.visitUsers(r, q.IDs, visit)
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

// visitUsers visits the users with these ids, each once.
func (p Users) visitUsers(r Reader, ids []string, visit func(UserBrief)) error {
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
		containsWords(first+" "+last+" "+b.Email, q.Text) &&
		strings.Contains(first, q.FirstName) && strings.Contains(last, q.LastName) &&
		(q.AuthProvider == "" || known) &&
		(q.Status == "" || q.Status == b.Status) &&
		(len(q.Groups) == 0 || slices.ContainsFunc(q.Groups, func(g string) bool { return slices.Contains(b.Groups, g) })) &&
		(q.Before.IsZero() || b.CreatedAt.Before(q.Before)) && (q.After.IsZero() || b.CreatedAt.After(q.After))
}

// containsWords reports whether every word of words is somewhere in text.
func containsWords(text, words string) bool {
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// StoredBrief is Brief for whoever may have made something of the same bytes
// before.
func (p Users) StoredBrief(r Reader, id string) (value []byte, ok bool, err error) {
	return r.Get(p, briefKey(id))
}

// ParseBrief reads what StoredBrief returned.
func ParseBrief(value []byte) (b UserBrief, err error) { return b, json.Unmarshal(value, &b) }
