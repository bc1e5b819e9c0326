package system

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// ReadModelMaintainer looks after the read models. It is a *projections.Models.
type ReadModelMaintainer interface {
	// Rebuild builds the read models anew beside those that serve.
	Rebuild(ctx context.Context, progress projections.Progress) (projections.Report, error)
	// Verify compares the read models with what the logs make of them.
	Verify(ctx context.Context, progress projections.Progress) (projections.VerifyReport, error)
}

// SearchMaintainer looks after the search index. It is a *projections.SearchIndex.
type SearchMaintainer interface {
	// Rebuild builds the index of all bases anew, or of those with an id or a slug, beside the one that serves.
	Rebuild(ctx context.Context, idOrSlug string) (projections.SearchReport, error)
	// Verify compares the index with the documents.
	Verify(ctx context.Context) (projections.ProjectionReport, error)
}

// Maintenance runs one long task on the read models at a time.
type Maintenance struct {
	models ReadModelMaintainer
	search SearchMaintainer
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	running *maintenanceTask
}

// maintenanceTask says what runs, since when and on whose word.
type maintenanceTask struct {
	kind  string
	by    string
	since time.Time
}

// NewMaintenance returns the handlers of the tasks on the read models.
func (h *Handlers) NewMaintenance() *Maintenance {
	return &Maintenance{models: h.ReadModels, search: h.SearchIndex, now: h.Now, log: h.Log}
}

// Rebuild handles POST /sys/readmodels/rebuild.
func (u *Maintenance) Rebuild() http.Handler {
	return u.runExclusively("rebuild", func(r *http.Request) (any, error) {
		return u.models.Rebuild(r.Context(), nil)
	})
}

// RebuildSearch handles POST /sys/search/rebuild.
func (u *Maintenance) RebuildSearch() http.Handler {
	return u.runExclusively("rebuild", func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		base := q.Text("base")
		if err := q.Err(); err != nil {
			return nil, err
		}
		return u.search.Rebuild(r.Context(), base)
	})
}

// Verify handles POST /sys/readmodels/verify.
func (u *Maintenance) Verify() http.Handler {
	return u.runExclusively("verify", func(r *http.Request) (any, error) {
		got, err := u.models.Verify(r.Context(), nil)
		if err == nil {
			err = got.AddSearch(r.Context(), u.search)
		}
		got.Projections, got.Logs = handler.NonNil(got.Projections), handler.NonNil(got.Logs)
		return got, err
	})
}

// runExclusively answers with what work returns, unless another task runs. The result is
// a plain handler, not a HandlerFunc, because those have a request timeout; the
// task ends when its client leaves or the server stops.
func (u *Maintenance) runExclusively(kind string, work gateway.HandlerFunc) http.Handler {
	h := gateway.HandlerFunc(func(r *http.Request) (any, error) {
		if err := u.begin(kind, r); err != nil {
			return nil, err
		}
		defer u.end()
		report, err := work(r)
		if err != nil {
			u.log.ErrorContext(r.Context(), "read models task broken off", "task", kind, "err", err)
			if errors.Is(err, projections.ErrNoSpace) {
				err = commands.Refused(err)
			}
			return nil, err
		}
		return gateway.OK(report).With("Cache-Control", "no-store"), nil
	})
	return http.HandlerFunc(h.ServeHTTP)
}

// begin takes the place of the running task, or says who has it.
func (u *Maintenance) begin(kind string, r *http.Request) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if t := u.running; t != nil {
		return domain.Refuse(domain.CodeLocked, "a %s of the read models is running", t.kind).
			Reason(t.kind).With("lockedBy", t.by).With("lockedAt", t.since.UTC().Format(domain.Timestamp))
	}
	u.running = &maintenanceTask{kind, cmp.Or(gateway.CallerFrom(r.Context()).Actor(), "internal"), u.now()}
	return nil
}

func (u *Maintenance) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = nil
}
