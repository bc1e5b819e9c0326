package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/http/gateway"
)

const (
	askWait   = checkWait + time.Second // a service's checks, and the way there
	askAnswer = 1 << 20                 // bytes of an answer that are read
)

// ask asks a service over HTTP how its modules are.
func (rd *readiness) ask(ctx context.Context, service string) serviceReport {
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
func (rd *readiness) fetch(ctx context.Context, address string) (examination, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return examination{}, err
	}
	req.Header.Set("X-Svc-Api-Key", rd.key())
	req.Header.Set("Accept", "application/json")
	if parent := gateway.Traceparent(ctx); parent != "" {
		req.Header.Set("Traceparent", parent)
	}
	res, err := rd.transport.RoundTrip(req)
	if err != nil {
		return examination{}, err
	}
	defer res.Body.Close()
	return readExamination(res)
}

// readExamination reads a service's answer. Another status than those two, or
// another body, did not come from the service.
func readExamination(res *http.Response) (examination, error) {
	var found examination
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusBadRequest {
		return found, fmt.Errorf("answered %d", res.StatusCode)
	}
	err := json.NewDecoder(io.LimitReader(res.Body, askAnswer)).Decode(&found)
	known := found.Status == statusReady && res.StatusCode == http.StatusOK ||
		found.Status == statusError && res.StatusCode == http.StatusBadRequest
	if err != nil || !known {
		return examination{}, errors.New("answered with something else than a report")
	}
	found.ModulesReady = orNone(found.ModulesReady)
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
