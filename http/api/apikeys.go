package api

import (
	"net/http"
	"strings"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/accesstoken"
	"svc/domain/apikey"
	"svc/http/gateway"
	"svc/projections"
)

// apiKeyBody is the body of POST and PUT …/security/apikeys.
type apiKeyBody struct {
	Name      *string            `json:"name"`
	Rules     *[]access.KeyGrant `json:"rules"`
	ExpiresAt change[string]     `json:"expiresAt"`
	Disabled  bool               `json:"disabled"`
}

// shownKey is an API key as it is answered.
type shownKey struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Rules       []access.KeyRule `json:"rules"`
	SubjectType string           `json:"subjectType"`
	SubjectID   string           `json:"subjectId"`
	Last4       string           `json:"last4"`
	Disabled    bool             `json:"disabled,omitempty"`
	ExpiresAt   string           `json:"expiresAt,omitempty"`
	CreatedAt   string           `json:"createdAt"`
	CreatedBy   string           `json:"createdBy,omitempty"`
	UpdatedAt   string           `json:"updatedAt,omitempty"`
	UpdatedBy   string           `json:"updatedBy,omitempty"`
	LastUsedAt  string           `json:"lastUsedAt,omitempty"`
	APIKey      string           `json:"apiKey,omitempty"` // once
}

// Replayable implements gateway.Replayable: a repeat does not see the value.
func (k shownKey) Replayable() any {
	k.APIKey = ""
	return k
}

// listAPIKeys handles GET …/security/apikeys.
func listAPIKeys(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		page, err := pageIfAsked(r)
		if err != nil {
			return nil, err
		}
		var keys []projections.APIKey
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			keys, err = projections.APIKeys{}.Of(rd, workspaceID(r))
			return err
		})
		if err != nil {
			return nil, err
		}
		total, shown := len(keys), []shownKey{}
		from := min(page.Offset(), total)
		for _, key := range keys[from : from+min(page.Limit, total-from)] {
			item := showKey(key)
			if item.LastUsedAt, err = lastUsed(r.Context(), d, key.ID); err != nil {
				return nil, err
			}
			shown = append(shown, item)
		}
		return gateway.List(r, shown, total, page), nil
	}
}

// createAPIKey handles POST …/security/apikeys.
func createAPIKey(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		terms, err := readTerms(r)
		if err != nil {
			return nil, err
		}
		made, value, err := d.APIKeys.Create(r.Context(), workspaceID(r), terms)
		if err != nil {
			return nil, err
		}
		shown := keyAfter(d, r, made)
		shown.APIKey = value
		return gateway.Created(shown, strings.TrimRight(r.URL.Path, "/")+"/"+shown.ID), nil
	}
}

// updateAPIKey handles PUT …/security/apikeys/{idOrValue}.
func updateAPIKey(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, err := findKey(d, r)
		if err != nil {
			return nil, err
		}
		terms, err := readTerms(r)
		if err != nil {
			return nil, err
		}
		changed, err := d.APIKeys.Change(r.Context(), workspaceID(r), id, terms)
		if err != nil {
			return nil, err
		}
		return keyAfter(d, r, changed), nil
	}
}

// deleteAPIKey handles DELETE …/security/apikeys/{idOrValue}.
func deleteAPIKey(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, err := findKey(d, r)
		if err != nil {
			return nil, err
		}
		if _, err := d.APIKeys.Delete(r.Context(), workspaceID(r), id); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return map[string]string{"id": id}, nil
	}
}

// readTerms reads what a key is to hold and refuses what its maker does not.
func readTerms(r *http.Request) (terms apikey.Terms, err error) {
	var in apiKeyBody
	if err := gateway.Decode(r, &in); err != nil {
		return terms, err
	}
	switch {
	case in.Name == nil:
		return terms, missing("name")
	case in.Rules == nil:
		return terms, missing("rules")
	}
	terms = apikey.Terms{Name: *in.Name, Disabled: in.Disabled}
	if in.ExpiresAt.value != nil {
		if terms.ExpiresAt, err = accesstoken.ParseExpiry(*in.ExpiresAt.value); err != nil {
			return terms, err
		}
		terms.ExpiresAt = terms.ExpiresAt.UTC().Truncate(time.Millisecond)
	}
	if err := outlives(gateway.CallerFrom(r.Context()), terms.ExpiresAt); err != nil {
		return terms, err
	}
	if terms.Rules, err = access.ScopeKey(workspaceID(r), *in.Rules); err != nil {
		return terms, err
	}
	return terms, gateway.GrantFrom(r.Context()).Rights.CheckGrant(terms.Rules)
}

// outlives refuses to let a key make a key that lasts longer than itself.
func outlives(c gateway.Caller, expires time.Time) error {
	if c.Kind != gateway.KindAPIKey || c.Expires.IsZero() || !expires.IsZero() && !expires.After(c.Expires) {
		return nil
	}
	return domain.Refuse(domain.CodePermissionDenied, "a key cannot make or become one that lasts longer than itself")
}

// findKey returns the id of the key that the path names, by id or by value.
func findKey(d Deps, r *http.Request) (string, error) {
	var key projections.APIKey
	var ok bool
	name := gateway.Var(r, "idOrValue")
	err := d.ReadModel.View(func(rd projections.Reader) (err error) {
		if key, ok, err = (projections.APIKeys{}).Get(rd, name); err == nil && !ok {
			key, ok, err = projections.APIKeys{}.ByHash(rd, domain.HashSecret(name))
		}
		return err
	})
	if err == nil && (!ok || key.WorkspaceID != workspaceID(r)) {
		err = domain.Refuse(domain.CodeNotFound, "there is no such API key").With("resource", "apiKey")
	}
	return key.ID, err
}

// keyAfter is the answer to a write: the key as a read would show it now.
func keyAfter(d Deps, r *http.Request, done commands.APIKey) shownKey {
	settle(r.Context(), d.ReadModel)
	key := projections.APIKey{State: done.State}
	_ = d.ReadModel.View(func(rd projections.Reader) error { // the write has happened: without its times then
		if found, ok, err := (projections.APIKeys{}).Get(rd, done.State.ID); err == nil && ok {
			key = found
		}
		return nil
	})
	return showKey(key)
}

func showKey(k projections.APIKey) shownKey {
	shown := shownKey{
		ID: k.ID, Name: k.Name, Rules: k.Rules, SubjectType: apikey.SubjectType, SubjectID: k.WorkspaceID, Last4: k.Last4,
		Disabled: k.Disabled, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy, UpdatedAt: k.UpdatedAt, UpdatedBy: k.UpdatedBy,
	}
	if !k.ExpiresAt.IsZero() {
		shown.ExpiresAt = k.ExpiresAt.UTC().Format(domain.Timestamp)
	}
	return shown
}
