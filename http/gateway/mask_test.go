package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/gateway"
)

func TestCredentialsInAnAddressAreNotLogged(t *testing.T) {
	const jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzM2NyZXQifQ.s3cret"
	for sent, shown := range map[string]string{
		"/x/y?page=1&sort=-name":                  "/x/y?page=1&sort=-name",
		"/x/y?%74oken=s3cret&a=1":                 "/x/y?%74oken=***&a=1",
		"/x/y?%2574oken=s3cret":                   "/x/y?%2574oken=***",
		"/x/y?ACCESS_TOKEN=s3cret":                "/x/y?ACCESS_TOKEN=***",
		"/x/y?jwt=s3cret&sig=s3cret":              "/x/y?jwt=***&sig=***",
		"/x/y?api_key=s3cret&apikey=x":            "/x/y?api_key=***&apikey=***",
		"/x/y?pw=s3cret&state=s3cret":             "/x/y?pw=***&state=***",
		"/x/y?Authorization=Bearer+s3cret":        "/x/y?Authorization=***",
		"/x/y?sessionId=s3cret;key=s3cret":        "/x/y?sessionId=***&key=***",
		"/x/y?X-Amz-Signature=s3cret":             "/x/y?X-Amz-Signature=***",
		"/x/y?q=" + jwt:                           "/x/y?q=***",
		"/x/y?" + jwt:                             "/x/y?***",
		"/x/y?q=at%3As3cret":                      "/x/y?q=***",
		"/x/at:s3cret":                            "/x/***",
		"/x/%61t%3As3cret":                        "/x/***",
		"/x/%2561t%253As3cret":                    "/x/***",
		"/x/" + jwt:                               "/x/***",
		"/x/%65yJhbGciOiJub25lIn0%2Ee30%2Es3cret": "/x/***",
		"/x/v1.2:seat:b":                          "/x/v1.2:seat:b",
	} {
		w := serve(t, get("/x/{id}", 1))
		w.do("GET", sent, "")
		var line struct{ Path string }
		require.NoError(t, json.Unmarshal([]byte(strings.SplitN(w.log.String(), "\n", 2)[0]), &line))
		require.Equal(t, shown, line.Path)
	}
}

func TestTheLogNamesTheClient(t *testing.T) {
	w := start(t, gateway.Options{Routes: []gateway.Route{get("/x", 1)}, Settings: proxied(gateway.Settings{})})
	w.do("GET", "/x", "", "X-Forwarded-For", "6.6.6.6, 8.8.8.8")
	require.Contains(t, w.log.String(), `"ip":"8.8.8.8"`)
}
