package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

type closed struct{}

func (closed) Error() string              { return "disk /var/data is full" }
func (closed) Unavailable() time.Duration { return 1500 * time.Millisecond }

func TestEveryCodeHasItsStatus(t *testing.T) {
	for code, status := range map[domain.Code]int{
		domain.CodeInvalidToken: 401, domain.CodeMissingToken: 401, domain.CodeInvalidCredentials: 401,
		domain.CodeTokenExpired: 401, domain.CodePermissionDenied: 403, domain.CodeInsufficientScope: 403,
		domain.CodeWorkspaceDenied: 403, domain.CodeOrganizationDenied: 403, domain.CodeNotFound: 404,
		domain.CodeAlreadyExists: 409, domain.CodeConflict: 409, domain.CodeLocked: 423,
		domain.CodeInvalidRequest: 400, domain.CodeInvalidParameter: 400, domain.CodeMissingParameter: 400,
		domain.CodeValidation: 422, domain.CodeRateLimit: 429, domain.CodeQuota: 429, domain.CodeConcurrency: 429,
		domain.CodeInternal: 500, domain.CodeUnavailable: 503, domain.CodeGatewayTimeout: 504, domain.CodeDatabase: 500,
	} {
		t.Run(string(code), func(t *testing.T) {
			err := fmt.Errorf("wrapped: %w", domain.Refuse(code, "no").Reason("because"))
			w := serve(t, gateway.Route{Method: "GET", Path: "/x", Surface: gateway.Versioned,
				Permission: gateway.Public, Handler: returns(nil, err)})
			a := w.do("GET", "/v2/x", "")
			f := a.requireFailure(t, status, code)
			require.Equal(t, "no", f.Message)
			require.Equal(t, "because", f.Details["reason"])
			require.Equal(t, status == 429 || status == 503, a.header.Get("Retry-After") != "")

			nested := w.do("GET", "/v3/x", "")
			require.Equal(t, status, nested.status)
			require.JSONEq(t, `{"error":{"code":"`+string(code)+`","message":"no","details":{"reason":"because"},"requestId":"`+
				nested.header.Get("X-Correlation-Id")+`"}}`, nested.body)
		})
	}
}

func TestAReasonCanHaveAStatus(t *testing.T) {
	large := domain.Refuse(domain.CodeInvalidRequest, "event x is too large").Reason("event_too_large").With("length", 11).With("limit", 10)
	f := serve(t, post("/x", returns(nil, large))).do("POST", "/x", "").requireFailure(t, 413, domain.CodeInvalidRequest)
	require.Equal(t, map[string]any{"reason": "event_too_large", "length": 11.0, "limit": 10.0}, f.Details)
}

func TestWhatTheCallerIsToldOfOtherErrors(t *testing.T) {
	tests := map[string]struct {
		err    error
		status int
		code   domain.Code
		retry  string
	}{
		"a fault of the platform": {errors.New("open /var/data: EIO"), 500, domain.CodeInternal, ""},
		"not now":                 {fmt.Errorf("append: %w", closed{}), 503, domain.CodeUnavailable, "2"},
		"too late":                {fmt.Errorf("search: %w", context.DeadlineExceeded), 504, domain.CodeGatewayTimeout, ""},
		"cancelled":               {context.Canceled, 503, domain.CodeUnavailable, "1"},
		"its own retry":           {domain.Refuse(domain.CodeQuota, "no").With("retryAfter", 30), 429, domain.CodeQuota, "30"},
		"gone":                    {gateway.RefuseStatus(410, "expired"), 410, domain.CodeInvalidRequest, ""},
		"unacceptable":            {gateway.RefuseStatus(406, "no such form"), 406, domain.CodeInvalidRequest, ""},
		"a body too large":        {&http.MaxBytesError{Limit: 5}, 413, domain.CodeInvalidRequest, ""},
		"details no JSON holds":   {domain.Refuse(domain.CodeConflict, "no").With("f", func() {}), 409, domain.CodeConflict, ""},
		"an unknown code":         {domain.Refuse("from_the_future", "no"), 500, "from_the_future", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := serve(t, gateway.Route{Method: "GET", Path: "/x", Permission: gateway.Public, Handler: returns(nil, tt.err)})
			a := w.do("GET", "/x", "")
			a.requireFailure(t, tt.status, tt.code)
			require.Equal(t, tt.retry, a.header.Get("Retry-After"))
			require.NotContains(t, a.body, "/var/data")
		})
	}
}

func TestAFaultIsLoggedWithItsCorrelation(t *testing.T) {
	w := serve(t, gateway.Route{Method: "GET", Path: "/x", Permission: gateway.Public, Handler: returns(nil, errors.New("EIO"))})
	a := w.do("GET", "/x", "")
	require.Contains(t, w.log.String(), `"msg":"request failed"`)
	require.Contains(t, w.log.String(), `"err":"EIO"`)
	require.Contains(t, w.log.String(), a.header.Get("X-Correlation-Id"))
}

func TestAPanicIsAnInternalError(t *testing.T) {
	boom := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom at line 7") })
	late := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		_, _ = w.Write([]byte("half an answer"))
		panic("boom")
	})
	w := serve(t,
		post("/func", func(*http.Request) (any, error) { panic("boom at line 7") }),
		gateway.Route{Method: "POST", Path: "/raw", Permission: gateway.Public, Handler: boom},
		gateway.Route{Method: "POST", Path: "/late", Permission: gateway.Public, Handler: late, Streaming: true},
		post("/encode", returns(func() {}, nil)))
	for _, path := range []string{"/func", "/raw"} {
		a := w.do("POST", path, "")
		a.requireFailure(t, 500, domain.CodeInternal)
		require.NotContains(t, a.body, "boom")
	}
	require.Contains(t, w.log.String(), "boom at line 7")
	require.Contains(t, w.log.String(), "errors_test.go")
	w.do("POST", "/encode", "").requireFailure(t, 500, domain.CodeInternal)

	resp, err := w.server.Client().Do(w.request("POST", "/late", ""))
	if err == nil {
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
	}
	require.Error(t, err, "a broken answer must not look whole")
}
