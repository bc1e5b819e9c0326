package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// State is a stage in the life of an API version.
type State string

// The states of an API version.
const (
	Beta       State = "beta"
	Stable     State = "stable"
	Deprecated State = "deprecated"
	Retired    State = "retired"
)

// Version is one major version of the API: a row of Versions.
type Version struct {
	Name         string
	State        State     // as declared; see StateAt
	Revisions    []string  // dates of its behaviour revisions, ascending
	DeprecatedAt time.Time // zero: not deprecated
	RetiredAt    time.Time // zero: no retirement is planned
	Successor    string    // where to migrate to

	nested bool // errors in the nested shape
}

// dateOnly is the form of revisions and retirement days.
const dateOnly = time.DateOnly

// Versions is the table of API versions.
func Versions() []Version {
	revisions := []string{"2025-01-01"}
	return []Version{
		{
			Name: "v1", State: Deprecated, Revisions: revisions, Successor: "v2",
			DeprecatedAt: time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC),
			RetiredAt:    time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC),
		},
		{Name: "v2", State: Stable, Revisions: revisions},
		{Name: "v3", State: Beta, Revisions: revisions, nested: true},
	}
}

// StateAt returns the state at a time: a version is retired at RetiredAt.
func (v Version) StateAt(t time.Time) State {
	if !v.RetiredAt.IsZero() && !t.Before(v.RetiredAt) {
		return Retired
	}
	return v.State
}

// VersionInfo is a version as GET / shows it.
type VersionInfo struct {
	Version   string   `json:"version"`
	State     State    `json:"state"`
	Revisions []string `json:"revisions"`
	RetiredOn string   `json:"retiredOn,omitempty"`
}

// VersionsAt lists the API versions with their states at a moment.
func VersionsAt(t time.Time) []VersionInfo {
	var infos []VersionInfo
	for _, v := range Versions() {
		infos = append(infos, VersionInfo{v.Name, v.StateAt(t), v.Revisions, v.retiredOn()})
	}
	return infos
}

func (v Version) retiredOn() string {
	if v.RetiredAt.IsZero() {
		return ""
	}
	return v.RetiredAt.Format(dateOnly)
}

// revision returns the latest revision not after the date that was asked for.
func (v Version) revision(asked string) (string, error) {
	latest := v.Revisions[len(v.Revisions)-1]
	if asked == "" {
		return latest, nil
	}
	if _, err := time.Parse(dateOnly, asked); err != nil {
		return latest, domain.Refuse(domain.CodeInvalidParameter, "X-Svc-API-Version must be a date such as %s", latest).
			With("parameter", "X-Svc-API-Version")
	}
	chosen := v.Revisions[0]
	for _, date := range v.Revisions {
		if date <= asked {
			chosen = date
		}
	}
	return chosen, nil
}

// setRetirementHeaders sets the warning headers of a deprecated version.
func (v Version) setRetirementHeaders(h http.Header, now time.Time) {
	if v.DeprecatedAt.IsZero() {
		return
	}
	if v.StateAt(now) != Retired {
		h.Set("X-Svc-API-Deprecation", fmt.Sprintf("%s retires on %s; migrate to %s", v.Name, v.retiredOn(), v.Successor))
	}
	h.Set("Deprecation", fmt.Sprintf("@%d", v.DeprecatedAt.Unix()))
	h.Set("Sunset", v.RetiredAt.Format(http.TimeFormat))
	h.Add("Link", fmt.Sprintf(`</%s>; rel="successor-version"`, v.Successor))
}

// retiredError is the refusal of a retired version.
func (v Version) retiredError() error {
	e := RefuseStatus(http.StatusGone, "%s was retired on %s; migrate to %s", v.Name, v.retiredOn(), v.Successor)
	e.Err.Reason("api_version_retired").With("retiredOn", v.retiredOn()).With("migrateTo", v.Successor)
	return e
}

// splitVersion takes a version prefix off an escaped path. Paths without one
// behave as v2.
func splitVersion(versions []Version, path string) (v *Version, rest string, prefixed bool) {
	word, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for i := range versions {
		if versions[i].Name == word {
			return &versions[i], cmp.Or(strings.TrimPrefix(path, "/"+word), "/"), true
		}
	}
	return stable(versions), path, false
}

func stable(versions []Version) *Version {
	i := slices.IndexFunc(versions, func(v Version) bool { return v.State == Stable })
	return &versions[i]
}

// checkVersion is the API version step: it sets the revision, warns of retirement, and refuses a
// retired version.
func (g *Gateway) checkVersion(w http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	revision, err := ex.version.revision(r.Header.Get("X-Svc-Api-Version"))
	ex.revision = revision
	ex.setHeader(w.Header(), "X-Svc-Api-Version-Used", revision)
	ex.version.setRetirementHeaders(w.Header(), ex.start)
	if ex.version.StateAt(ex.start) == Retired {
		return ex.version.retiredError()
	}
	return err
}
