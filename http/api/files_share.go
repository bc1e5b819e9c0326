package api

import (
	"net/http"
	"net/url"
	"time"

	"svc/domain"
	"svc/http/gateway"
)

// The time that a link lasts, in seconds.
const (
	usualLink   = 60
	longestLink = 365 * 86400
)

// shareFile handles POST …/files/{id}/share.
func shareFile(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, err := fileID(r)
		if err != nil {
			return nil, err
		}
		lasts, err := readLasting(r)
		if err != nil {
			return nil, err
		}
		s, err := d.Files.Commands.Find(r.Context(), workspaceID(r), id, mayFile(r, "update", "shareToken"))
		if err != nil {
			return nil, err
		}
		expires := d.Now().Truncate(time.Second).Add(time.Duration(lasts) * time.Second)
		token, err := d.Files.Links.Link(r.Context(), s, expires)
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"url": fileURL(d, s) + "?token=" + url.QueryEscape(token), "expiresAt": expires.UTC().Format(domain.Timestamp), "expiresIn": lasts,
		}, nil
	}
}

// readLasting reads for how many seconds a link is to last.
func readLasting(r *http.Request) (int64, error) {
	lasts := int64(usualLink)
	in := struct {
		ExpiresIn *int64 `json:"expiresIn"`
	}{&lasts}
	if err := gateway.Decode(r, &in); err != nil {
		return 0, err
	}
	if in.ExpiresIn == nil || lasts < 1 || lasts > longestLink {
		return 0, domain.Invalid(domain.FieldError{Field: "expiresIn", Message: "must be a number of seconds, from 1 to those of a year"})
	}
	return lasts, nil
}
