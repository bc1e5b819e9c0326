package fetch_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/commands/egress"
	"svc/commands/fetch"
	"svc/domain/value"
)

func BenchmarkFetch(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"hello":["world",1,2,3]}`)
	}))
	defer s.Close()
	way, err := egress.New(egress.Options{Rules: egress.Rules{AllowPrivate: true}})
	if err != nil {
		b.Fatal(err)
	}
	defer way.Close()
	c, err := fetch.New(fetch.Options{Egress: way})
	if err != nil {
		b.Fatal(err)
	}
	call := fetch.Call{Params: value.NewObject("url", s.URL, "method", "post", "body", value.NewObject("text", strings.Repeat("x", 1000)))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Do(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
