package api

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"svc/commands/accounts"
	"svc/domain/user"
	"svc/http/gateway"
	"svc/projections"
)

// userIDForm is the form of the ids of users. Nothing else is looked for.
var userIDForm = regexp.MustCompile(`^[0-9a-f]{24}$`)

// listUsers handles GET /v2/users: for super admins, those who were changed last first.
func listUsers(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		page, order := q.Page(20, 100), q.Sort("updatedAt", "createdAt", "email", "firstName", "lastName")
		status := user.Status(q.OneOf("status", "", string(user.Pending), string(user.Validated), string(user.Deactivated)))
		wanted := projections.UserQuery{Text: q.Text("search"), Status: status}
		validated := q.Bool("validated")
		if err := q.Err(); err != nil {
			return nil, err
		}
		var found []projections.User
		err := d.ReadModel.View(func(rd projections.Reader) (err error) {
			found, _, err = projections.Users{}.Search(rd, wanted)
			return err
		})
		if err != nil {
			return nil, err
		}
		if validated != nil {
			found = slices.DeleteFunc(found, func(u projections.User) bool { return (u.Status == user.Validated) != *validated })
		}
		field := func(u projections.User) string {
			return map[string]string{
				"updatedAt": u.UpdatedAt, "createdAt": u.CreatedAt, "email": u.Email, "firstName": strings.ToLower(u.FirstName), "lastName": strings.ToLower(u.LastName),
			}[order.Field]
		}
		slices.SortStableFunc(found, func(a, b projections.User) int {
			if order.Down {
				a, b = b, a
			}
			return cmp.Or(strings.Compare(field(a), field(b)), strings.Compare(a.ID, b.ID))
		})
		from := min(page.Offset(), len(found))
		shown := make([]shownUser, 0, page.Limit)
		for _, u := range found[from:min(from+page.Limit, len(found))] {
			shown = append(shown, showUser(d, u))
		}
		return gateway.List(r, shown, len(found), page), nil
	}
}

// newUserBody is the body of POST /v2/users.
type newUserBody struct {
	Email     *string  `json:"email"`
	FirstName string   `json:"firstName"`
	LastName  string   `json:"lastName"`
	Language  string   `json:"language"`
	Groups    []string `json:"groups"`
	Password  string   `json:"password"` // "": a mail invites to choose one
}

// createUser handles POST /v2/users.
func createUser(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in newUserBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in.Email == nil {
			return nil, missing("email")
		}
		made, err := d.Accounts.Invite(r.Context(), accounts.Invitation{
			Email: *in.Email, FirstName: in.FirstName, LastName: in.LastName, Language: in.Language, Groups: in.Groups, Password: in.Password,
		})
		if err != nil {
			return nil, err
		}
		return gateway.Created(userAfter(d, r, made), strings.TrimRight(r.URL.Path, "/")+"/"+made.ID), nil
	}
}

// userPatch is the body of PATCH /v2/users/{userId}. What is not in a profile
// takes a super admin.
type userPatch struct {
	profileBody
	Email    change[string]   `json:"email"`
	Status   change[string]   `json:"status"`
	Groups   change[[]string] `json:"groups"`
	Password change[string]   `json:"password"`
	MFA      change[string]   `json:"mfa"`
}

func (p userPatch) patch() accounts.Patch {
	all := p.profileBody.patch()
	all.Email, all.Groups, all.Password, all.MFA = p.Email.orNil(), p.Groups.orNil(), p.Password.orNil(), p.MFA.orNil()
	if status := p.Status.orNil(); status != nil {
		all.Status = (*user.Status)(status)
	}
	return all
}

// patchUser handles PATCH /v2/users/{userId}: oneself, or anybody as a super
// admin.
func patchUser(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in userPatch
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		id, caller := gateway.Var(r, "userId"), gateway.CallerFrom(r.Context())
		if caller.Super && !userIDForm.MatchString(id) {
			return nil, noUser(id)
		}
		if id == caller.UserID || caller.Super {
			if err := in.checkPhoto(d, id); err != nil {
				return nil, err
			}
		}
		changed, err := patchAs(d, r, caller, id, in.patch())
		if err != nil {
			return nil, err
		}
		return userAfter(d, r, changed), nil
	}
}

// patchAs changes a user. A visitor who changes themselves gets an account by
// that.
func patchAs(d Deps, r *http.Request, caller gateway.Caller, id string, p accounts.Patch) (accounts.Account, error) {
	if caller.Super || caller.UserID != id {
		return d.Accounts.Patch(r.Context(), accounts.Actor{UserID: caller.UserID, SessionID: caller.SessionID, Super: caller.Super}, id, p)
	}
	by, err := callerSession(d, r)
	if err != nil {
		return accounts.Account{}, err
	}
	return d.Accounts.PatchSelf(r.Context(), by, p)
}

// deleteUser handles DELETE /v2/users/{userId}.
func deleteUser(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id := gateway.Var(r, "userId")
		if !userIDForm.MatchString(id) {
			return nil, noUser(id)
		}
		if err := d.Accounts.DeleteUser(r.Context(), id); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(id), nil
	}
}
