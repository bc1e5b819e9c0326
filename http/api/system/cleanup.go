package system

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/streams/cleanup"
)

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

// cleanIndicesRequest is the body of POST /sys/cleanup/indices.
type cleanIndicesRequest struct {
	Retention      *int     `json:"retention"`
	MaxEvents      *int     `json:"workspaceMaxEvents"`
	InactivityDays *int     `json:"workspaceInactivityDays"`
	WorkspaceIDs   []string `json:"workspaceIds"`
}

// CleanIndices handles POST /sys/cleanup/indices.
func (h *Handlers) CleanIndices() http.Handler {
	return h.runCleanup(func(r *http.Request, t cleanup.Terms) (activity.Cleaned, error) {
		var in cleanIndicesRequest
		if err := gateway.Decode(r, &in); err != nil {
			return activity.Cleaned{}, err
		}
		t, err := in.toTerms(t)
		if err != nil {
			return activity.Cleaned{}, err
		}
		return h.Cleanup.Indices(r.Context(), t)
	})
}

// toTerms returns terms with what the body says of them.
func (in cleanIndicesRequest) toTerms(t cleanup.Terms) (cleanup.Terms, error) {
	faults := checkSelection(in.WorkspaceIDs)
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

// cleanExecutionsRequest is the body of POST /sys/cleanup/executions.
type cleanExecutionsRequest struct {
	Expiration   any      `json:"automationExecutedExpiration"` // 14d, or a number of days; -1 off
	WorkspaceIDs []string `json:"workspaceIds"`
}

// CleanExecutions handles POST /sys/cleanup/executions.
func (h *Handlers) CleanExecutions() http.Handler {
	return h.runCleanup(func(r *http.Request, t cleanup.Terms) (activity.Cleaned, error) {
		var in cleanExecutionsRequest
		if err := gateway.Decode(r, &in); err != nil {
			return activity.Cleaned{}, err
		}
		faults := checkSelection(in.WorkspaceIDs)
		if in.Expiration != nil {
			var ok bool
			if t.Executions, ok = h.readExpiration(in.Expiration); !ok {
				faults = append(faults, domain.FieldError{
					Field: "automationExecutedExpiration", Message: "must be a time with suffix ms, s, m, h or d, or a number of days, of at most 36500 days; or -1 for off",
				})
			}
		}
		if len(faults) > 0 {
			return activity.Cleaned{}, domain.Invalid(faults...)
		}
		t.WorkspaceIDs = in.WorkspaceIDs
		return h.Cleanup.Executions(r.Context(), t)
	})
}

// readExpiration reads a time after which payloads are erased.
func (h *Handlers) readExpiration(v any) (time.Duration, bool) {
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
		age, err := h.ParseDuration(v)
		return age, err == nil && age >= 0 && age <= mostDays*day
	}
	return 0, false
}

// maxSelected is how many workspaces a run may be asked for by name.
const maxSelected = 1000

// checkSelection finds what is wrong with the workspaces that a run is for.
func checkSelection(ids []string) (faults []domain.FieldError) {
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

// runCleanup runs a job on the terms of the settings. A super admin may ask what it would
// erase; to erase is for the platform itself. There is no request timeout: the run
// ends when its client leaves or the server stops, and the next one goes on with it.
func (h *Handlers) runCleanup(run func(*http.Request, cleanup.Terms) (activity.Cleaned, error)) http.Handler {
	serve := gateway.HandlerFunc(func(r *http.Request) (any, error) {
		dry, err := handler.ReadDryRun(r)
		if err != nil {
			return nil, err
		}
		if !dry && gateway.CallerFrom(r.Context()).Kind != gateway.KindInternal {
			return nil, domain.Refuse(domain.CodePermissionDenied, "only the internal key may erase events: ask for a dry run").Reason("dry_run_only")
		}
		t := h.CleanupTerms()
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
	return http.HandlerFunc(serve.ServeHTTP)
}
