package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/ratelimit"
	"svc/domain/automation"
	"svc/domain/automation/value"
)

func TestParametersAreRead(t *testing.T) {
	tests := map[string]struct {
		params string
		want   ratelimit.Use
	}{
		"the least":         {`{"name": "l", "limit": 2, "window": 60}`, ratelimit.Use{Name: "l", Limit: 2, Window: time.Minute, Consume: 1, Consumer: value.Undefined}},
		"all":               {`{"name": "l", "limit": 0, "window": 0.5, "consumer": "c", "consume": 0, "break": true}`, ratelimit.Use{Name: "l", Window: 500 * time.Millisecond, Consumer: "c", Break: true}},
		"a consumer of 5":   {`{"name": "l", "limit": 1.5, "window": 1, "consumer": 5}`, ratelimit.Use{Name: "l", Limit: 1.5, Window: time.Second, Consume: 1, Consumer: "5"}},
		"nulls are absent":  {`{"name": "l", "limit": 1, "window": 1, "consumer": null, "consume": null, "break": null}`, ratelimit.Use{Name: "l", Limit: 1, Window: time.Second, Consume: 1, Consumer: value.Undefined}},
		"an empty consumer": {`{"name": "l", "limit": 1, "window": 1, "consumer": ""}`, ratelimit.Use{Name: "l", Limit: 1, Window: time.Second, Consume: 1, Consumer: ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := value.ParseJSON(tt.params)
			require.NoError(t, err)
			got, err := ratelimit.Read(v.(*value.Object))
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestBadParametersAreRefused(t *testing.T) {
	tests := map[string]struct{ params, want string }{
		"no name":            {`{"limit": 1, "window": 1}`, "name is a string that is not empty"},
		"an empty name":      {`{"name": "", "limit": 1, "window": 1}`, "name is a string that is not empty"},
		"a name of 1":        {`{"name": 1, "limit": 1, "window": 1}`, "name is a string that is not empty"},
		"no limit":           {`{"name": "l", "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"a limit below 0":    {`{"name": "l", "limit": -1, "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"a limit of text":    {`{"name": "l", "limit": "1", "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"an endless limit":   {`{"name": "l", "limit": 1e300, "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"no window":          {`{"name": "l", "limit": 1}`, "window is a number of seconds above 0 and up to 31622400"},
		"a window of 0":      {`{"name": "l", "limit": 1, "window": 0}`, "window is a number of seconds above 0 and up to 31622400"},
		"a window of years":  {`{"name": "l", "limit": 1, "window": 1e9}`, "window is a number of seconds above 0 and up to 31622400"},
		"a consume below 0":  {`{"name": "l", "limit": 1, "window": 1, "consume": -1}`, "consume is a whole number from 0 on"},
		"a consume of half":  {`{"name": "l", "limit": 1, "window": 1, "consume": 0.5}`, "consume is a whole number from 0 on"},
		"a consumer in list": {`{"name": "l", "limit": 1, "window": 1, "consumer": []}`, "consumer is a string, not array"},
		"a break of text":    {`{"name": "l", "limit": 1, "window": 1, "break": "yes"}`, "break is true or false, not string"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := value.ParseJSON(tt.params)
			require.NoError(t, err)
			_, err = ratelimit.Read(v.(*value.Object))
			raised := automation.ErrorOf(err)
			require.Equal(t, automation.InvalidInstruction, raised.Name)
			require.Equal(t, tt.want, raised.Message)
		})
	}
}
