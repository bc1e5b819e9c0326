package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"svc/domain"
	"svc/http/api/handler"
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

// Readiness tests services and remembers, for a while, what it found.
type Readiness struct {
	checks    []Check
	disabled  []string // services that are left out
	ttl       time.Duration
	base      string // INTERNAL_API_URL without credentials
	key       func() string
	transport http.RoundTripper
	now       func() time.Time

	flights singleflight.Group // reports and checks that are being made

	mu    sync.Mutex
	cache map[string]cachedReport // by service set; there are few
}

type cachedReport struct {
	report readinessReport
	at     time.Time
}

// NewReadiness returns the handlers that test the services.
func (h *Handlers) NewReadiness() *Readiness {
	return &Readiness{
		checks: h.Checks, disabled: h.DisabledServices, ttl: h.ReadinessTTL, base: withoutCredentials(h.InternalURL), key: h.InternalKey,
		transport: h.Transport, now: h.Now, cache: map[string]cachedReport{},
	}
}

// Report handles GET /v2/readiness.
func (rd *Readiness) Report() gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		chosen, err := chosenServices(r)
		if err != nil {
			return nil, err
		}
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(s string) bool { return slices.Contains(rd.disabled, s) })
		report, err := rd.cachedReport(r.Context(), chosen)
		if err != nil {
			return nil, err
		}
		return withStatus(report.Status, report), nil
	}
}

// Service handles GET /v2/{service}/readiness.
func (rd *Readiness) Service(name string) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		found := rd.runChecks(r.Context(), name)
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

// cachedReport returns the report that is kept, or makes one; who asks meanwhile gets
// the same. It goes on when whoever asked first leaves.
func (rd *Readiness) cachedReport(ctx context.Context, chosen []string) (readinessReport, error) {
	set := strings.Join(chosen, ",")
	if report, ok := rd.findCached(set); ok {
		return report, nil
	}
	done := rd.flights.DoChan("report "+set, func() (any, error) {
		if report, ok := rd.findCached(set); ok {
			return report, nil // by a flight that has just landed
		}
		report := rd.testServices(context.WithoutCancel(ctx), chosen)
		rd.storeCached(set, report)
		return report, nil
	})
	select {
	case outcome := <-done:
		return outcome.Val.(readinessReport), nil
	case <-ctx.Done():
		return readinessReport{}, ctx.Err()
	}
}

func (rd *Readiness) findCached(set string) (readinessReport, bool) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	cached, ok := rd.cache[set]
	return cached.report, ok && rd.now().Sub(cached.at) < rd.ttl
}

// storeCached keeps a report from the moment it was complete.
func (rd *Readiness) storeCached(set string, report readinessReport) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.cache[set] = cachedReport{report, rd.now()}
}

// testServices asks every service side by side.
func (rd *Readiness) testServices(ctx context.Context, chosen []string) readinessReport {
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

func (rd *Readiness) testService(ctx context.Context, service string) serviceReport {
	if service != gatewayService {
		return rd.requestService(ctx, service)
	}
	found := rd.runChecks(ctx, service)
	return serviceReport{Status: found.Status, ModulesReady: found.ModulesReady, Errors: found.Errors}
}

// Check tests one module of a service: a row of readiness.
type Check struct {
	Service string // one of the services of the contract
	Module  string
	Driver  string // what serves the module
	// Check fails when the module does not work. It has two seconds. An error
	// that is, or wraps, a Fault is reported under the fault's name.
	Check func(context.Context) error
}

// Fault gives a check's error the name it has in the report, such as
// WriteFailed.
type Fault struct {
	Name string
	Err  error
}

// Error implements error.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the error itself.
func (f *Fault) Unwrap() error { return f.Err }

// module is a module that works.
type module struct {
	Module string `json:"module"`
	Driver string `json:"driver"`
}

// moduleError is one that does not.
type moduleError struct {
	Error   string `json:"error"`
	Module  string `json:"module"`
	Driver  string `json:"driver"`
	Message string `json:"message"`
}

// checksReport is what the checks of one service came to.
type checksReport struct {
	Status       string        `json:"status"`
	ModulesReady []module      `json:"modulesReady"`
	Errors       []moduleError `json:"errors,omitempty"`
}

// checkWait is how long one check may take.
const checkWait = 2 * time.Second

// runChecks runs the checks of a service side by side.
func (rd *Readiness) runChecks(ctx context.Context, service string) checksReport {
	var rows []int
	for i, c := range rd.checks {
		if c.Service == service {
			rows = append(rows, i)
		}
	}
	faults := make([]error, len(rows))
	var running sync.WaitGroup
	for i, row := range rows {
		running.Go(func() { faults[i] = rd.runCheck(ctx, row) })
	}
	running.Wait()
	found := checksReport{Status: statusReady, ModulesReady: []module{}}
	for i, row := range rows {
		found.add(rd.checks[row], faults[i])
	}
	return found
}

func (e *checksReport) add(c Check, fault error) {
	if fault == nil {
		e.ModulesReady = append(e.ModulesReady, module{c.Module, c.Driver})
		return
	}
	e.Status = statusError
	e.Errors = append(e.Errors, moduleError{nameOf(fault), c.Module, c.Driver, fault.Error()})
}

// nameOf is the word for an error in the report.
func nameOf(err error) string {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Name
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "TimedOut"
	}
	return "CheckFailed"
}

// runCheck runs one check, or joins it when it runs already. One that does not end
// in time is left behind, and met again by the next who asks: a module that
// hangs holds one goroutine, not one for each question.
func (rd *Readiness) runCheck(ctx context.Context, row int) error {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	done := rd.flights.DoChan("check "+strconv.Itoa(row), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkWait)
		defer cancel()
		return nil, recoverCheck(ctx, rd.checks[row].Check)
	})
	select {
	case outcome := <-done:
		return outcome.Err
	case <-ctx.Done():
		return fmt.Errorf("no result within %s: %w", checkWait, ctx.Err())
	}
}

// recoverCheck turns a panic of a check into its error.
func recoverCheck(ctx context.Context, check func(context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Fault{"Panicked", fmt.Errorf("panic: %v", value)}
		}
	}()
	return check(ctx)
}

const (
	askWait   = checkWait + time.Second // a service's checks, and the way there
	askAnswer = 1 << 20                 // bytes of an answer that are read
)

// requestService asks a service over HTTP how its modules are.
func (rd *Readiness) requestService(ctx context.Context, service string) serviceReport {
	entry := serviceReport{Status: statusError, URL: rd.base + "/" + service}
	found, err := rd.fetch(ctx, entry.URL+"/readiness")
	if err != nil {
		entry.Errors = []moduleError{{Error: "Unreachable", Module: service, Driver: "http", Message: reason(err)}}
		return entry
	}
	entry.Status, entry.Errors = found.Status, found.Errors
	entry.Response = &response{found.Status, found.ModulesReady}
	return entry
}

// fetch goes through the transport alone: a redirect is not followed, because
// the key is for our own services.
func (rd *Readiness) fetch(ctx context.Context, address string) (checksReport, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return checksReport{}, err
	}
	req.Header.Set("X-Svc-Api-Key", rd.key())
	req.Header.Set("Accept", "application/json")
	if parent := gateway.Traceparent(ctx); parent != "" {
		req.Header.Set("Traceparent", parent)
	}
	res, err := rd.transport.RoundTrip(req)
	if err != nil {
		return checksReport{}, err
	}
	defer res.Body.Close()
	return readChecksReport(res)
}

// readChecksReport reads a service's answer. Another status than those two, or
// another body, did not come from the service.
func readChecksReport(res *http.Response) (checksReport, error) {
	var found checksReport
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusBadRequest {
		return found, fmt.Errorf("answered %d", res.StatusCode)
	}
	err := json.NewDecoder(io.LimitReader(res.Body, askAnswer)).Decode(&found)
	known := found.Status == statusReady && res.StatusCode == http.StatusOK ||
		found.Status == statusError && res.StatusCode == http.StatusBadRequest
	if err != nil || !known {
		return checksReport{}, errors.New("answered with something else than a report")
	}
	found.ModulesReady = handler.NonNil(found.ModulesReady)
	return found, nil
}

// reason is err without the address, which may hold credentials.
func reason(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", askWait)
	}
	return err.Error()
}

// withoutCredentials returns an address without user and password, and without
// a slash at its end.
func withoutCredentials(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "" // the settings have refused it long ago
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/")
}
