package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"svc/commands/accounts"
	"svc/domain"
	"svc/http/gateway"
	"svc/projections"
)

// shownUser is an account as it is answered.
type shownUser struct {
	accounts.Account
	CreatedAt string `json:"createdAt,omitempty"`
	CreatedBy string `json:"createdBy,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
	UpdatedBy string `json:"updatedBy,omitempty"`
}

func showUser(d Deps, u projections.User) shownUser {
	return shownUser{d.Accounts.AccountOf(u.User, u.EmailProven), u.CreatedAt, u.CreatedBy, u.UpdatedAt, u.UpdatedBy}
}

// userAfter is the answer to a write: the account as a read would show it now.
// The write has happened; when the read model does not come along in time, the
// answer has to do without times.
func userAfter(d Deps, r *http.Request, done accounts.Account) shownUser {
	settle(r.Context(), d.ReadModel)
	if found, err := findUser(d, done.ID, ""); err == nil {
		return showUser(d, found)
	}
	return shownUser{Account: done}
}

// profileBody is the body of PATCH /v2/user: what everybody changes of
// themselves.
type profileBody struct {
	FirstName change[string]                     `json:"firstName"`
	LastName  change[string]                     `json:"lastName"`
	Photo     change[string]                     `json:"photo"`
	Language  change[string]                     `json:"language"`
	Meta      change[map[string]json.RawMessage] `json:"meta"`
}

func (p profileBody) patch() accounts.Patch {
	return accounts.Patch{
		FirstName: p.FirstName.orNil(), LastName: p.LastName.orNil(), Photo: p.Photo.orNil(), Language: p.Language.orNil(), Meta: p.Meta.orNil(),
	}
}

// checkPhoto refuses to name a picture that was uploaded here, unless it is the
// user's already: whoever knows the name of a picture must not get to see it by
// that.
func (p profileBody) checkPhoto(d Deps, userID string) error {
	if !strings.HasPrefix(p.Photo.orZero(), uploadedPhoto) {
		return nil
	}
	found, err := findUser(d, userID, "")
	if err == nil && found.Photo == p.Photo.orZero() {
		return nil
	}
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	return domain.Invalid(domain.FieldError{Field: "photo", Message: "is the picture of another account: upload your own with POST /v2/user/photo"})
}

// updateUser handles PATCH /v2/user.
func updateUser(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in profileBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		by, err := callerSession(d, r)
		if err != nil {
			return nil, err
		}
		if err := in.checkPhoto(d, by.UserID); err != nil {
			return nil, err
		}
		changed, err := d.Accounts.PatchSelf(r.Context(), by, in.patch())
		if err != nil {
			return nil, err
		}
		return userAfter(d, r, changed), nil
	}
}

// deleteSelf handles DELETE /v2/user.
func deleteSelf(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			CurrentPassword *string `json:"currentPassword"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		by, err := callerSession(d, r)
		if err != nil {
			return nil, err
		}
		password, err := currentPassword(d, r, in.CurrentPassword)
		if err != nil {
			return nil, err
		}
		if err := d.Accounts.DeleteSelf(r.Context(), by, password); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return signedOut(r, idOf(by.UserID)), nil
	}
}

// mergeMeta handles POST /v2/user/meta.
func mergeMeta(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in map[string]json.RawMessage
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		by, err := callerSession(d, r)
		if err != nil {
			return nil, err
		}
		left, err := d.Accounts.MergeMeta(r.Context(), by, in)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return left, nil
	}
}

// deleteMeta handles DELETE /v2/user/meta/{key}. What is not there is gone
// already.
func deleteMeta(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		by, err := callerSession(d, r)
		if err != nil {
			return nil, err
		}
		left, err := d.Accounts.DeleteMeta(r.Context(), by, gateway.Var(r, "key"))
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return left, nil
	}
}
