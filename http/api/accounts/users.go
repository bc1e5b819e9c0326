package accounts

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/user"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// userResponse is an account as it is answered.
type userResponse struct {
	accounts.Account
	CreatedAt string `json:"createdAt,omitempty"`
	CreatedBy string `json:"createdBy,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
	UpdatedBy string `json:"updatedBy,omitempty"`
}

func (h *Handlers) toUserResponse(u projections.User) userResponse {
	return userResponse{h.Accounts.AccountOf(u.User, u.EmailProven), u.CreatedAt, u.CreatedBy, u.UpdatedAt, u.UpdatedBy}
}

// savedUserResponse is the answer to a write: the account as a read would show it now.
// The write has happened; when the read model does not come along in time, the
// answer has to do without times.
func (h *Handlers) savedUserResponse(r *http.Request, done accounts.Account) userResponse {
	handler.AwaitVisible(r.Context(), h.ReadModel)
	if found, err := handler.FindUser(h.ReadModel, done.ID, ""); err == nil {
		return h.toUserResponse(found)
	}
	return userResponse{Account: done}
}

// profileRequest is the body of PATCH /v2/user: what everybody changes of
// themselves.
type profileRequest struct {
	FirstName handler.Field[string]                     `json:"firstName"`
	LastName  handler.Field[string]                     `json:"lastName"`
	Photo     handler.Field[string]                     `json:"photo"`
	Language  handler.Field[string]                     `json:"language"`
	Meta      handler.Field[map[string]json.RawMessage] `json:"meta"`
}

func (p profileRequest) patch() accounts.Patch {
	return accounts.Patch{
		FirstName: p.FirstName.OrNil(), LastName: p.LastName.OrNil(), Photo: p.Photo.OrNil(), Language: p.Language.OrNil(), Meta: p.Meta.OrNil(),
	}
}

// checkPhoto refuses to name a picture that was uploaded here, unless it is the
// user's already: whoever knows the name of a picture must not get to see it by
// that.
func (p profileRequest) checkPhoto(h *Handlers, userID string) error {
	if !strings.HasPrefix(p.Photo.OrZero(), uploadedPhoto) {
		return nil
	}
	found, err := handler.FindUser(h.ReadModel, userID, "")
	if err == nil && found.Photo == p.Photo.OrZero() {
		return nil
	}
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	return domain.Invalid(domain.FieldError{Field: "photo", Message: "is the picture of another account: upload your own with POST /v2/user/photo"})
}

// UpdateUser handles PATCH /v2/user.
func (h *Handlers) UpdateUser(r *http.Request) (any, error) {
	var in profileRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	by, err := h.callerSession(r)
	if err != nil {
		return nil, err
	}
	if err := in.checkPhoto(h, by.UserID); err != nil {
		return nil, err
	}
	changed, err := h.Accounts.PatchSelf(r.Context(), by, in.patch())
	if err != nil {
		return nil, err
	}
	return h.savedUserResponse(r, changed), nil
}

// DeleteSelf handles DELETE /v2/user.
func (h *Handlers) DeleteSelf(r *http.Request) (any, error) {
	var in struct {
		CurrentPassword *string `json:"currentPassword"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	by, err := h.callerSession(r)
	if err != nil {
		return nil, err
	}
	password, err := h.readCurrentPassword(r, in.CurrentPassword)
	if err != nil {
		return nil, err
	}
	if err := h.Accounts.DeleteSelf(r.Context(), by, password); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return signOutResponse(r, handler.IDResponse(by.UserID)), nil
}

// MergeMeta handles POST /v2/user/meta.
func (h *Handlers) MergeMeta(r *http.Request) (any, error) {
	var in map[string]json.RawMessage
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	by, err := h.callerSession(r)
	if err != nil {
		return nil, err
	}
	left, err := h.Accounts.MergeMeta(r.Context(), by, in)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return left, nil
}

// DeleteMeta handles DELETE /v2/user/meta/{key}. What is not there is gone
// already.
func (h *Handlers) DeleteMeta(r *http.Request) (any, error) {
	by, err := h.callerSession(r)
	if err != nil {
		return nil, err
	}
	left, err := h.Accounts.DeleteMeta(r.Context(), by, gateway.Var(r, "key"))
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return left, nil
}

// userIDForm is the form of the ids of users. Nothing else is looked for.
var userIDForm = regexp.MustCompile(`^[0-9a-f]{24}$`)

// ListUsers handles GET /v2/users: for super admins, those who were changed last first.
func (h *Handlers) ListUsers(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page, order := q.Page(20, 100), q.Sort("updatedAt", "createdAt", "email", "firstName", "lastName")
	status := user.Status(q.OneOf("status", "", string(user.Pending), string(user.Validated), string(user.Deactivated)))
	wanted := projections.UserQuery{Text: q.Text("search"), Status: status}
	validated := q.Bool("validated")
	if err := q.Err(); err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, _, err := projections.Users{}.Search(rd, wanted)
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
	items := make([]userResponse, 0, page.Limit)
	for _, u := range gateway.PageOf(found, page) {
		items = append(items, h.toUserResponse(u))
	}
	return gateway.List(r, items, len(found), page), nil
}

// createUserRequest is the body of POST /v2/users.
type createUserRequest struct {
	Email     *string  `json:"email"`
	FirstName string   `json:"firstName"`
	LastName  string   `json:"lastName"`
	Language  string   `json:"language"`
	Groups    []string `json:"groups"`
	Password  string   `json:"password"` // "": a mail invites to choose one
}

// CreateUser handles POST /v2/users.
func (h *Handlers) CreateUser(r *http.Request) (any, error) {
	var in createUserRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.Email == nil {
		return nil, handler.MissingField("email")
	}
	made, err := h.Accounts.Invite(r.Context(), accounts.Invitation{
		Email: *in.Email, FirstName: in.FirstName, LastName: in.LastName, Language: in.Language, Groups: in.Groups, Password: in.Password,
	})
	if err != nil {
		return nil, err
	}
	return gateway.Created(h.savedUserResponse(r, made), handler.Location(r, made.ID)), nil
}

// patchUserRequest is the body of PATCH /v2/users/{userId}. What is not in a profile
// takes a super admin.
type patchUserRequest struct {
	profileRequest
	Email    handler.Field[string]   `json:"email"`
	Status   handler.Field[string]   `json:"status"`
	Groups   handler.Field[[]string] `json:"groups"`
	Password handler.Field[string]   `json:"password"`
	MFA      handler.Field[string]   `json:"mfa"`
}

func (p patchUserRequest) patch() accounts.Patch {
	all := p.profileRequest.patch()
	all.Email, all.Groups, all.Password, all.MFA = p.Email.OrNil(), p.Groups.OrNil(), p.Password.OrNil(), p.MFA.OrNil()
	if status := p.Status.OrNil(); status != nil {
		all.Status = (*user.Status)(status)
	}
	return all
}

// PatchUser handles PATCH /v2/users/{userId}: oneself, or anybody as a super
// admin.
func (h *Handlers) PatchUser(r *http.Request) (any, error) {
	var in patchUserRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	id, caller := gateway.Var(r, "userId"), gateway.CallerFrom(r.Context())
	if caller.Super && !userIDForm.MatchString(id) {
		return nil, handler.NoUser(id)
	}
	if id == caller.UserID || caller.Super {
		if err := in.checkPhoto(h, id); err != nil {
			return nil, err
		}
	}
	changed, err := h.patchAs(r, caller, id, in.patch())
	if err != nil {
		return nil, err
	}
	return h.savedUserResponse(r, changed), nil
}

// patchAs changes a user. A visitor who changes themselves gets an account by
// that.
func (h *Handlers) patchAs(r *http.Request, caller gateway.Caller, id string, p accounts.Patch) (accounts.Account, error) {
	if caller.Super || caller.UserID != id {
		return h.Accounts.Patch(r.Context(), accounts.Actor{UserID: caller.UserID, SessionID: caller.SessionID, Super: caller.Super}, id, p)
	}
	by, err := h.callerSession(r)
	if err != nil {
		return accounts.Account{}, err
	}
	return h.Accounts.PatchSelf(r.Context(), by, p)
}

// DeleteUser handles DELETE /v2/users/{userId}.
func (h *Handlers) DeleteUser(r *http.Request) (any, error) {
	id := gateway.Var(r, "userId")
	if !userIDForm.MatchString(id) {
		return nil, handler.NoUser(id)
	}
	if err := h.Accounts.DeleteUser(r.Context(), id); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(id), nil
}
