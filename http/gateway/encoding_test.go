package gateway

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhichEncodingsAreAccepted(t *testing.T) {
	for accept, want := range map[string]bool{
		"gzip": true, "gzip, deflate, br": true, "GZIP;q=0.5": true, "x-gzip": true, "*": true, "br, *;q=0.1": true, "gzip;q=x": true,
		"": false, "identity": false, "br": false, "gzip;q=0": false, "gzip;q=0, *": false, "*;q=0": false,
	} {
		require.Equal(t, want, AcceptsEncoding(http.Header{"Accept-Encoding": {accept}}, "gzip"), accept)
	}
	require.True(t, AcceptsEncoding(http.Header{"Accept-Encoding": {"gzip", "br"}}, "br"), "a list may come in several lines")
	require.False(t, AcceptsEncoding(http.Header{}, "br"))
}

func TestBrowsersPreferHTMLAndProgramsJSON(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8": true,
		"text/html": true, "Text/HTML;level=1;q=0.4": true, "application/json;q=0.5, text/html": true,
		"": false, "*/*": false, "text/*": false, "application/json": false, "application/json, text/html;q=0.9": false, "text/html;q=0": false,
	} {
		require.Equal(t, want, PrefersHTML(http.Header{"Accept": {accept}}), accept)
	}
}
