package fetch

import (
	"bytes"
	"io"
	"net/http"
)

// StubbedRequest is a request that a stub answers.
type StubbedRequest struct {
	Method, URL string
	Header      map[string][]string
	Body        []byte // nil: none
}

// StubbedResponse is the answer of a stub.
type StubbedResponse struct {
	Status int
	Header map[string]string
	Body   []byte
}

// stubs is a transport that sends nothing: a function answers.
type stubs func(StubbedRequest) (StubbedResponse, error)

// RoundTrip implements http.RoundTripper.
func (s stubs) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := StubbedRequest{Method: r.Method, URL: r.URL.String(), Header: r.Header}
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // it is in memory
		var err error
		if asked.Body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	answer, err := s(asked)
	if err != nil {
		return nil, err
	}
	response := &http.Response{
		StatusCode: answer.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		Body: io.NopCloser(bytes.NewReader(answer.Body)), ContentLength: int64(len(answer.Body)),
	}
	for name, text := range answer.Header {
		response.Header.Set(name, text)
	}
	return response, nil
}
