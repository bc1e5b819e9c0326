package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"svc/domain"
	"svc/http/gateway"
)

// The words of readiness.
const (
	statusReady = "ready"
	statusError = "error"
)

// services are the parts of the platform that can be tested. Without a choice
// the first usualServices are.
var services = []string{gatewayService, "runtime", "events", "workspaces", "searchengine", "crawler"}

const (
	gatewayService = "api-gateway"
	usualServices  = 4
)

// readinessReport is GET /v2/readiness.
type readinessReport struct {
	Status   string                   `json:"status"`
	Services map[string]serviceReport `json:"services"`
}

// serviceReport is one entry of it. The gateway has its modules itself; the
// others have what they answered.
type serviceReport struct {
	Status       string        `json:"status"`
	URL          string        `json:"url,omitempty"`
	ModulesReady []module      `json:"modulesReady,omitzero"`
	Response     *response     `json:"response,omitempty"`
	Errors       []moduleError `json:"errors,omitempty"`
}

// response is what a service answered, but for its errors.
type response struct {
	Status       string   `json:"status"`
	ModulesReady []module `json:"modulesReady"`
}

// readiness tests services and remembers, for a while, what it found.
type readiness struct {
	checks    []Check
	disabled  []string // services that are left out
	ttl       time.Duration
	base      string // INTERNAL_API_URL without credentials
	key       func() string
	transport http.RoundTripper
	now       func() time.Time

	flights singleflight.Group // reports and checks that are being made

	mu   sync.Mutex
	kept map[string]keptReport // by service set; there are few
}

type keptReport struct {
	report readinessReport
	at     time.Time
}

func newReadiness(d Deps) *readiness {
	return &readiness{
		checks: d.Checks, disabled: d.DisabledServices, ttl: d.ReadinessTTL, base: withoutCredentials(d.InternalURL), key: d.InternalKey,
		transport: d.Transport, now: d.Now, kept: map[string]keptReport{},
	}
}

// report handles GET /v2/readiness.
func (rd *readiness) report() gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		chosen, err := chosenServices(r)
		if err != nil {
			return nil, err
		}
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(s string) bool { return slices.Contains(rd.disabled, s) })
		report, err := rd.recall(r.Context(), chosen)
		if err != nil {
			return nil, err
		}
		return withStatus(report.Status, report), nil
	}
}

// service handles GET /v2/{service}/readiness.
func (rd *readiness) service(name string) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		found := rd.examine(r.Context(), name)
		return withStatus(found.Status, found), nil
	}
}

// withStatus sends a report with 200, or with 400 when something failed.
func withStatus(status string, report any) *gateway.Answer {
	if status != statusReady {
		return gateway.Status(http.StatusBadRequest, report)
	}
	return gateway.OK(report)
}

// chosenServices reads the services that were asked for, in the order of the
// table, so that equal sets are equal.
func chosenServices(r *http.Request) ([]string, error) {
	q := gateway.NewQuery(r)
	named := q.List("services")
	if err := q.Err(); err != nil {
		return nil, err
	}
	if len(named) == 0 {
		return services[:usualServices], nil
	}
	for _, name := range named {
		if !slices.Contains(services, name) {
			message := "must be among " + strings.Join(services, ", ")
			return nil, domain.Refuse(domain.CodeInvalidParameter, "services %s", message).
				With("parameter", "services").With("errors", []domain.FieldError{{Field: "services", Message: message}})
		}
	}
	return slices.DeleteFunc(slices.Clone(services), func(s string) bool { return !slices.Contains(named, s) }), nil
}

// recall returns the report that is kept, or makes one; who asks meanwhile gets
// the same. It goes on when whoever asked first leaves.
func (rd *readiness) recall(ctx context.Context, chosen []string) (readinessReport, error) {
	set := strings.Join(chosen, ",")
	if report, ok := rd.remembered(set); ok {
		return report, nil
	}
	done := rd.flights.DoChan("report "+set, func() (any, error) {
		if report, ok := rd.remembered(set); ok {
			return report, nil // by a flight that has just landed
		}
		report := rd.test(context.WithoutCancel(ctx), chosen)
		rd.remember(set, report)
		return report, nil
	})
	select {
	case outcome := <-done:
		return outcome.Val.(readinessReport), nil
	case <-ctx.Done():
		return readinessReport{}, ctx.Err()
	}
}

func (rd *readiness) remembered(set string) (readinessReport, bool) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	kept, ok := rd.kept[set]
	return kept.report, ok && rd.now().Sub(kept.at) < rd.ttl
}

// remember keeps a report from the moment it was complete.
func (rd *readiness) remember(set string, report readinessReport) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.kept[set] = keptReport{report, rd.now()}
}

// test asks every service side by side.
func (rd *readiness) test(ctx context.Context, chosen []string) readinessReport {
	found := make([]serviceReport, len(chosen))
	var running sync.WaitGroup
	for i, service := range chosen {
		running.Go(func() { found[i] = rd.testService(ctx, service) })
	}
	running.Wait()
	report := readinessReport{Status: statusReady, Services: map[string]serviceReport{}}
	for i, service := range chosen {
		report.Services[service] = found[i]
		if found[i].Status != statusReady {
			report.Status = statusError
		}
	}
	return report
}

func (rd *readiness) testService(ctx context.Context, service string) serviceReport {
	if service != gatewayService {
		return rd.ask(ctx, service)
	}
	found := rd.examine(ctx, service)
	return serviceReport{Status: found.Status, ModulesReady: found.ModulesReady, Errors: found.Errors}
}
