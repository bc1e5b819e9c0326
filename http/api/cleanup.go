package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/http/gateway"
	"svc/streams/cleanup"
)

// CleanupDeps are what the cleanup routes need.
type CleanupDeps struct {
	Jobs  CleanupJobs
	Terms func() cleanup.Terms // those of the settings
	// Duration reads a time as settings are written: 36h, 14d.
	Duration func(text string) (time.Duration, error)
}

// CleanupJobs erase what is old. It is a *cleanup.Jobs.
type CleanupJobs interface {
	Indices(ctx context.Context, t cleanup.Terms) (activity.Cleaned, error)
	Executions(ctx context.Context, t cleanup.Terms) (activity.Cleaned, error)
}

// day is the unit of the times in the bodies, and mostDays the largest of them.
const (
	day      = 24 * time.Hour
	mostDays = 36500
)

// indicesBody is the body of POST /sys/cleanup/indices.
type indicesBody struct {
	Retention      *int     `json:"retention"`
	MaxEvents      *int     `json:"workspaceMaxEvents"`
	InactivityDays *int     `json:"workspaceInactivityDays"`
	WorkspaceIDs   []string `json:"workspaceIds"`
}

// cleanIndices handles POST /sys/cleanup/indices.
func cleanIndices(d Deps) http.Handler {
	return cleaning(d, func(r *http.Request, t cleanup.Terms) (activity.Cleaned, error) {
		var in indicesBody
		if err := gateway.Decode(r, &in); err != nil {
			return activity.Cleaned{}, err
		}
		t, err := in.over(t)
		if err != nil {
			return activity.Cleaned{}, err
		}
		return d.Cleanup.Jobs.Indices(r.Context(), t)
	})
}

// over returns terms with what the body says of them.
func (in indicesBody) over(t cleanup.Terms) (cleanup.Terms, error) {
	faults := selection(in.WorkspaceIDs)
	number := func(name string, n *int, least, most int, set func(int)) {
		switch {
		case n == nil:
		case *n < least || *n > most:
			faults = append(faults, domain.FieldError{Field: name, Message: fmt.Sprintf("must be from %d to %d", least, most)})
		default:
			set(*n)
		}
	}
	number("retention", in.Retention, -1, mostDays, func(n int) { t.Retention = time.Duration(n) * day })
	number("workspaceMaxEvents", in.MaxEvents, -1, 1_000_000_000, func(n int) { t.MaxEvents = n })
	number("workspaceInactivityDays", in.InactivityDays, 0, mostDays, func(n int) { t.Inactivity = time.Duration(n) * day })
	if len(faults) > 0 {
		return t, domain.Invalid(faults...)
	}
	t.WorkspaceIDs = in.WorkspaceIDs
	return t, nil
}

// executionsBody is the body of POST /sys/cleanup/executions.
type executionsBody struct {
	Expiration   any      `json:"automationExecutedExpiration"` // 14d, or a number of days; -1 off
	WorkspaceIDs []string `json:"workspaceIds"`
}

// cleanExecutions handles POST /sys/cleanup/executions.
func cleanExecutions(d Deps) http.Handler {
	return cleaning(d, func(r *http.Request, t cleanup.Terms) (activity.Cleaned, error) {
		var in executionsBody
		if err := gateway.Decode(r, &in); err != nil {
			return activity.Cleaned{}, err
		}
		faults := selection(in.WorkspaceIDs)
		if in.Expiration != nil {
			var ok bool
			if t.Executions, ok = d.Cleanup.expiration(in.Expiration); !ok {
				faults = append(faults, domain.FieldError{
					Field: "automationExecutedExpiration", Message: "must be a time with suffix ms, s, m, h or d, or a number of days, of at most 36500 days; or -1 for off",
				})
			}
		}
		if len(faults) > 0 {
			return activity.Cleaned{}, domain.Invalid(faults...)
		}
		t.WorkspaceIDs = in.WorkspaceIDs
		return d.Cleanup.Jobs.Executions(r.Context(), t)
	})
}

// expiration reads a time after which payloads are erased.
func (c CleanupDeps) expiration(v any) (time.Duration, bool) {
	switch v := v.(type) {
	case float64:
		if v == -1 {
			return -1, true
		}
		return time.Duration(v * float64(day)), v >= 0 && v <= mostDays
	case string:
		if v == "-1" {
			return -1, true
		}
		age, err := c.Duration(v)
		return age, err == nil && age >= 0 && age <= mostDays*day
	}
	return 0, false
}

// maxSelected is how many workspaces a run may be asked for by name.
const maxSelected = 1000

// selection finds what is wrong with the workspaces that a run is for.
func selection(ids []string) (faults []domain.FieldError) {
	if len(ids) > maxSelected {
		return []domain.FieldError{{Field: "workspaceIds", Message: fmt.Sprintf("must have at most %d items", maxSelected)}}
	}
	for i, id := range ids {
		if id == "" || len(id) > 64 {
			faults = append(faults, domain.FieldError{Field: fmt.Sprintf("workspaceIds[%d]", i), Message: "must be the id of a workspace"})
		}
	}
	return faults
}

// cleaning runs a job on the terms of the settings. A super admin may ask what it would
// erase; to erase is for the platform itself. There is no request timeout: the run
// ends when its client leaves or the server stops, and the next one goes on with it.
func cleaning(d Deps, run func(*http.Request, cleanup.Terms) (activity.Cleaned, error)) http.Handler {
	h := gateway.HandlerFunc(func(r *http.Request) (any, error) {
		dry, err := dryRun(r)
		if err != nil {
			return nil, err
		}
		if !dry && gateway.CallerFrom(r.Context()).Kind != gateway.KindInternal {
			return nil, domain.Refuse(domain.CodePermissionDenied, "only the internal key may erase events: ask for a dry run").Reason("dry_run_only")
		}
		t := d.Cleanup.Terms()
		t.DryRun = dry
		done, err := run(r, t)
		if err != nil {
			return nil, err
		}
		answer := gateway.OK(done).With("Cache-Control", "no-store")
		if at := commands.RequestFrom(r.Context()).Position(); !at.IsZero() {
			answer = answer.With("X-Svc-Seq", at.Token())
		}
		return answer, nil
	})
	return http.HandlerFunc(h.ServeHTTP)
}
