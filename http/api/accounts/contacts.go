package accounts

import (
	"encoding/json"
	"net/http"
	"slices"

	"svc/domain"
	"svc/domain/user"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// contactsRequest is the body of POST /v2/contacts.
type contactsRequest struct {
	Email        *string   `json:"email"`
	Text         *string   `json:"text"`
	IDs          *[]string `json:"ids"`
	FirstName    *string   `json:"firstName"`
	LastName     *string   `json:"lastName"`
	AuthProvider *string   `json:"authProvider"`
	Status       *string   `json:"status"`
	Groups       *[]string `json:"groups"`
}

// contactResponse is a user as others see them; super admins see the fields below too.
type contactResponse struct {
	ID        string   `json:"id"`
	FirstName string   `json:"firstName"`
	LastName  string   `json:"lastName"`
	Photo     string   `json:"photo,omitempty"`
	Groups    []string `json:"groups"`

	*contactDetails
}

type contactDetails struct {
	Email    string                     `json:"email,omitempty"`
	Status   user.Status                `json:"status"`
	Language string                     `json:"language,omitempty"`
	Meta     map[string]json.RawMessage `json:"meta"`
	MFA      string                     `json:"mfa"`
	Role     string                     `json:"role,omitempty"`
}

// contactsResponse is the answer of POST /v2/contacts.
type contactsResponse struct {
	Size     int               `json:"size"`
	Contacts []contactResponse `json:"contacts"`
}

// maxIDs is how many people can be asked for by their ids at once.
const maxIDs = 1000

// FindContacts handles POST /v2/contacts. Whoever is no super admin finds whom
// they know already, by the whole address or by the id; by an address only whose it is,
// since others would share with somebody who merely says so.
func (h *Handlers) FindContacts(r *http.Request) (any, error) {
	caller := gateway.CallerFrom(r.Context())
	if caller.Anonymous {
		return nil, domain.Refuse(domain.CodePermissionDenied, "anonymous users cannot search for people")
	}
	var in contactsRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	q := gateway.NewQuery(r)
	page := q.Page(20, 100)
	wanted := projections.UserQuery{Before: q.Time("createdBefore"), After: q.Time("createdAfter"), Page: page.Number, Limit: page.Limit}
	if err := q.Err(); err != nil {
		return nil, err
	}
	if err := in.check(caller, wanted); err != nil {
		return nil, err
	}
	in.fill(&wanted)
	wanted.EmailValid = in.Email != nil && !caller.Super
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, size, err := projections.Users{}.Search(rd, wanted)
	answer := contactsResponse{Size: size, Contacts: []contactResponse{}}
	for _, u := range found {
		answer.Contacts = append(answer.Contacts, h.toContactResponse(caller, u))
	}
	return answer, err
}

// check refuses what the caller may not ask, and what makes no sense.
func (q contactsRequest) check(caller gateway.Caller, wanted projections.UserQuery) error {
	if !caller.Super {
		if err := q.checkPrivileged(wanted); err != nil {
			return err
		}
		if q.Email == nil && q.IDs == nil {
			return handler.MissingField("email")
		}
	}
	if q.IDs != nil && len(*q.IDs) > maxIDs {
		return domain.Invalid(domain.FieldError{Field: "ids", Message: "must be at most 1000"})
	}
	if q.Status != nil && !slices.Contains([]user.Status{user.Pending, user.Validated, user.Deactivated}, user.Status(*q.Status)) {
		return domain.Invalid(domain.FieldError{Field: "status", Message: "must be pending, validated or deactivated"})
	}
	return nil
}

// checkPrivileged refuses the first of what only super admins search by.
func (q contactsRequest) checkPrivileged(wanted projections.UserQuery) error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"text", q.Text != nil}, {"firstName", q.FirstName != nil}, {"lastName", q.LastName != nil},
		{"authProvider", q.AuthProvider != nil}, {"status", q.Status != nil}, {"groups", q.Groups != nil},
		{"createdBefore", !wanted.Before.IsZero()}, {"createdAfter", !wanted.After.IsZero()},
	} {
		if f.set {
			return domain.Refuse(domain.CodePermissionDenied, "only a super admin may search by %s", f.name).With("field", f.name)
		}
	}
	return nil
}

// fill adds the fields of the body to a query. An address that is given is one
// to look for, also when it is empty.
func (q contactsRequest) fill(wanted *projections.UserQuery) {
	or := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	wanted.Email, wanted.Text, wanted.FirstName, wanted.LastName = or(q.Email), or(q.Text), or(q.FirstName), or(q.LastName)
	wanted.AuthProvider, wanted.Status = or(q.AuthProvider), user.Status(or(q.Status))
	if q.IDs != nil {
		wanted.IDs = append([]string{}, *q.IDs...)
	}
	if q.Groups != nil {
		wanted.Groups = *q.Groups
	}
	if q.Email != nil && user.NormalEmail(*q.Email) == "" {
		wanted.IDs = []string{}
	}
}

func (h *Handlers) toContactResponse(caller gateway.Caller, u projections.User) contactResponse {
	response := contactResponse{ID: u.ID, FirstName: u.FirstName, LastName: u.LastName, Photo: u.Photo, Groups: u.Groups}
	if caller.Super {
		response.contactDetails = &contactDetails{
			Email: u.Email, Status: u.Status, Language: u.Language, Meta: u.Meta, MFA: u.MFA, Role: h.Accounts.AccountOf(u.User, u.EmailProven).Role,
		}
	}
	return response
}
