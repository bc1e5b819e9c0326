package api

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/http/gateway"
	"svc/projections"
)

// upkeep runs one long task on the read models at a time.
type upkeep struct {
	models Keeper
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	running *task
}

// task says what runs, since when and on whose word.
type task struct {
	kind  string
	by    string
	since time.Time
}

// rebuild handles POST /sys/readmodels/rebuild.
func (u *upkeep) rebuild() http.Handler {
	return u.alone("rebuild", func(r *http.Request) (any, error) {
		return u.models.Rebuild(r.Context(), nil)
	})
}

// verify handles POST /sys/readmodels/verify.
func (u *upkeep) verify() http.Handler {
	return u.alone("verify", func(r *http.Request) (any, error) {
		got, err := u.models.Verify(r.Context(), nil)
		got.Projections, got.Logs = orNone(got.Projections), orNone(got.Logs)
		return got, err
	})
}

func orNone[T any](items []T) []T { return append([]T{}, items...) }

// alone answers with what work returns, unless another task runs. The result is
// a plain handler, not a HandlerFunc, because those have a request timeout; the
// task ends when its client leaves or the server stops.
func (u *upkeep) alone(kind string, work gateway.HandlerFunc) http.Handler {
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
func (u *upkeep) begin(kind string, r *http.Request) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if t := u.running; t != nil {
		return domain.Refuse(domain.CodeLocked, "a %s of the read models is running", t.kind).
			Reason(t.kind).With("lockedBy", t.by).With("lockedAt", t.since.UTC().Format(domain.Timestamp))
	}
	u.running = &task{kind, cmp.Or(gateway.CallerFrom(r.Context()).Actor(), "internal"), u.now()}
	return nil
}

func (u *upkeep) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = nil
}
