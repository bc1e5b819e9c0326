package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/process"
	"svc/cmd/settings"
)

func TestNamesOfTheService(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		h    settings.HTTP
		want []string
	}{
		"those of the console": {
			settings.HTTP{APIURL: "https://api.example/v2", InternalAPIURL: "http://10.0.0.1:3001/v2", ConsoleURLs: []string{"https://console.example/", "https://other.example/console/"}},
			[]string{"https://console.example/", "https://other.example/console/"},
		},
		"this machine by number": {
			settings.HTTP{APIURL: "https://api.example/v2", InternalAPIURL: "http://localhost:3001/v2"},
			[]string{"http://127.0.0.1:3001", "http://[::1]:3001"},
		},
		"but none that only begins so": {
			settings.HTTP{APIURL: "https://localhost.example/v2", InternalAPIURL: "http://10.0.0.1/v2"}, nil,
		},
		"the hosts of pages": {
			settings.HTTP{APIURL: "https://api.example/v2", InternalAPIURL: "http://10.0.0.1/v2", PagesHost: ".pages.example"},
			[]string{"https://*.pages.example"},
		},
		"with the port of the API": {
			settings.HTTP{APIURL: "http://api.example:8080/v2", InternalAPIURL: "http://10.0.0.1/v2", PagesHost: "-pages.example"},
			[]string{"http://*-pages.example", "http://*-pages.example:8080"},
		},
		"or their own": {
			settings.HTTP{APIURL: "http://api.example:8080/v2", InternalAPIURL: "http://10.0.0.1/v2", PagesHost: ".pages.example:9090"},
			[]string{"http://*.pages.example:9090"},
		},
	}
	for name, test := range tests {
		require.Equal(t, test.want, process.OwnNames(test.h), name)
	}
}
