package runs

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/http/gateway"
)

// Contract automations 8: what each error of a run is answered with.
func TestErrorsOfRunsAsAnswers(t *testing.T) {
	t.Parallel()
	raise := automation.Raise
	for name, c := range map[string]struct {
		err    *automation.Error
		status int
		code   domain.Code
	}{
		"instruction":           {automation.Invalid("x"), 500, domain.CodeInternal},
		"variable":              {raise(automation.InvalidVariable, "x"), 500, domain.CodeInternal},
		"expression":            {raise(automation.InvalidExpression, "x"), 500, domain.CodeInternal},
		"not found":             {automation.NotFound("x", nil), 500, domain.CodeInternal},
		"too many calls":        {raise(automation.TooManyCalls, "x"), 500, domain.CodeInternal},
		"event":                 {raise(automation.InvalidEvent, "x"), 500, domain.CodeInternal},
		"large event":           {raise(automation.EventTooLarge, "x", "reason", "EventTooLarge"), 500, domain.CodeInternal},
		"fetch":                 {raise(automation.FetchFailed, "x", "reason", "connect"), 502, domain.CodeUpstream},
		"fetch took too long":   {raise(automation.FetchFailed, "x", "reason", "timeout"), 504, domain.CodeGatewayTimeout},
		"fetch not allowed":     {raise(automation.FetchForbidden, "x"), 500, domain.CodeInternal},
		"no secret":             {automation.MissingSecret("k"), 500, domain.CodeInternal},
		"rate":                  {raise(automation.RateLimitExceeded, "x", "retryAfter", 7.0), 429, domain.CodeRateLimit},
		"context":               {raise(automation.ContextTooLarge, "x"), 500, domain.CodeInternal},
		"locked":                {raise(automation.ResourceLocked, "x"), 423, domain.CodeLocked},
		"row not valid":         {raise(automation.CollectionFailed, "x", "reason", "validation"), 422, domain.CodeValidation},
		"row not unique":        {raise(automation.CollectionFailed, "x", "reason", "unique"), 422, domain.CodeValidation},
		"query of everything":   {raise(automation.CollectionFailed, "x", "reason", "empty_query"), 500, domain.CodeInternal},
		"code":                  {raise(automation.CustomCodeFailed, "x", "reason", "exception"), 500, domain.CodeInternal},
		"code took too long":    {raise(automation.CustomCodeFailed, "x", "reason", "timeout"), 504, domain.CodeGatewayTimeout},
		"took too long":         {raise(automation.ExecutionTimeout, "x"), 504, domain.CodeGatewayTimeout},
		"cancelled":             {raise(automation.ExecutionCancelled, "x"), 409, domain.CodeConflict},
		"arguments of a child":  {automation.BadArguments(nil), 500, domain.CodeInternal},
		"forbidden":             {raise(automation.Forbidden, "x"), 401, domain.CodeMissingToken},
		"fault of the platform": {automation.ErrorOf(errors.New("disk on fire")), 500, domain.CodeInternal},
	} {
		for audience, message := range map[errorAudience]string{anyCaller: "The automation failed.", reader: c.err.Message, tester: c.err.Message} {
			got, ok := errors.AsType[*gateway.Refusal](refuseRun(runtime.Outcome{Err: c.err, ExecutionID: "e"}, &runtime.Caller{}, audience))
			require.True(t, ok, name)
			require.Equal(t, c.status, got.Status, name)
			require.Equal(t, c.code, got.Err.Code, name)
			require.Equal(t, c.err.Name, got.Err.Details["name"], name)
			if c.status < 500 {
				message = c.err.Message
			}
			require.Equal(t, message, got.Err.Message, name)
			if audience != tester && c.status == 500 && c.err.Name != automation.InternalFault {
				require.Equal(t, automationFailed, got.Err.Details["reason"], name)
			}
			if audience == anyCaller && c.status >= 500 {
				require.Subset(t, []string{"name", "reason"}, keysOf(got.Err.Details), name)
			}
			require.True(t, got.Recorded)
		}
	}
	got, _ := errors.AsType[*gateway.Refusal](refuseRun(runtime.Outcome{Err: raise(automation.RateLimitExceeded, "x", "retryAfter", 7.0)}, &runtime.Caller{}, anyCaller))
	require.Equal(t, http.Header{"Retry-After": {"7"}}, got.Header)
	got, _ = errors.AsType[*gateway.Refusal](refuseRun(runtime.Outcome{Err: automation.BadArguments([]any{"z"})}, &runtime.Caller{}, anyCaller))
	require.Equal(t, []any{400, domain.CodeInvalidRequest}, []any{got.Status, got.Err.Code}, "arguments of the caller")
	require.Contains(t, got.Err.Details, "errors")
}

func keysOf(m map[string]any) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}
