package apitest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/api/apitest"
)

// small is a document with one of everything that the guard looks at.
const small = `
openapi: 3.1.0
paths:
  /v2/things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      parameters: [{name: sort, in: query, schema: {type: string, enum: [up, down]}}]
      responses:
        '200':
          headers: {ETag: {schema: {type: string}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}
        '404': {$ref: '#/components/responses/Lost'}
    patch:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties: {name: {type: string}, tags: {type: array, items: {type: string}}}
      responses: {'200': {description: done}}
  /v3/things:
    get: {responses: {'200': {description: a beta}}}
components:
  responses:
    Lost: {content: {application/json: {schema: {oneOf: [{type: object, properties: {error: {type: string}}}]}}}}
  schemas:
    Thing:
      type: object
      required: [id]
      properties:
        id: {type: string}
        state: {type: string, enum: [open, shut]}
        size: {type: integer}
        child: {$ref: '#/components/schemas/Thing'}
        parts: {type: array, items: {type: object, properties: {weight: {type: number}}}}
        notes: {type: object, additionalProperties: {type: object, properties: {text: {type: string}}}}
`

func TestTheGuardNamesWhatBreaks(t *testing.T) {
	tests := map[string]struct{ from, to, want string }{
		"a lost path":              {"/v2/things/{id}:", "/v2/other/{id}:", "/v2/things/{id}: path lost"},
		"a lost method":            {"    patch:\n", "    put:\n", "PATCH /v2/things/{id}: method lost"},
		"a lost answer":            {"        '404'", "        '410'", "GET /v2/things/{id} 404: answer lost"},
		"a lost header":            {"ETag: {", "Tag: {", "GET /v2/things/{id} 200: header ETag lost"},
		"a lost media type":        {"content: {application/json: {schema: {$ref", "content: {text/plain: {schema: {$ref", "GET /v2/things/{id} 200: media type application/json lost"},
		"a lost field":             {"size: {type: integer}", "mass: {type: integer}", "GET /v2/things/{id} 200.size: field lost"},
		"a lost field in a list":   {"weight", "mass", "GET /v2/things/{id} 200.parts items.weight: field lost"},
		"a lost field in a map":    {"{text:", "{words:", "GET /v2/things/{id} 200.notes additionalProperties.text: field lost"},
		"a lost field of an error": {"{error:", "{fault:", "GET /v2/things/{id} 404 oneOf 0.error: field lost"},
		"a lost variant":           {"oneOf: [{type: object, properties: {error: {type: string}}}]", "oneOf: []", "GET /v2/things/{id} 404 oneOf 0: variant lost"},
		"a lost value":             {"[open, shut]", "[open]", "GET /v2/things/{id} 200.state: value shut lost"},
		"a lost promise":           {"      required: [id]\n", "", "GET /v2/things/{id} 200.id: no longer promised"},
		"a lost parameter":         {"name: sort", "name: order", "GET /v2/things/{id}: query parameter sort lost"},
		"a lost choice":            {"enum: [up, down]", "enum: [up]", "GET /v2/things/{id} query parameter sort: value down lost"},
		"a lost request field":     {"properties: {name: {type: string}, ", "properties: {", "PATCH /v2/things/{id} body.name: field lost"},
		"a changed type":           {"size: {type: integer}", "size: {type: string}", "GET /v2/things/{id} 200.size: type changed from integer to string"},
		"a type that is now open":  {"size: {type: integer}", "size: {type: [integer, 'null']}", "GET /v2/things/{id} 200.size: type changed from integer to [integer null]"},
		"a changed request type":   {"name: {type: string}", "name: {type: boolean}", "PATCH /v2/things/{id} body.name: type changed from string to boolean"},
		"a new required parameter": {"parameters: [{name: sort", "parameters: [{name: page, in: query, required: true}, {name: sort", "GET /v2/things/{id}: query parameter page newly required"},
		"a parameter now required": {"{name: sort, in: query,", "{name: sort, in: query, required: true,", "GET /v2/things/{id}: query parameter sort newly required"},
		"a request field required": {"properties: {name", "required: [name]\n              properties: {name", "PATCH /v2/things/{id} body.name: newly required"},
		"a body now required":      {"requestBody:\n", "requestBody:\n        required: true\n", "PATCH /v2/things/{id} body: newly required"},
		"a choice where was none":  {"name: {type: string}", "name: {type: string, enum: [a, b]}", "PATCH /v2/things/{id} body.name: newly limited to [a b]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(small, test.from, test.to, 1)
			require.NotEqual(t, small, changed)
			got, err := apitest.Breaks([]byte(small), []byte(changed))
			require.NoError(t, err)
			require.Equal(t, []string{test.want}, got)
		})
	}
}

func TestTheGuardLetsTheAPIGrow(t *testing.T) {
	tests := map[string]struct{ from, to string }{
		"nothing changed":           {"", ""},
		"a new path":                {"paths:\n", "paths:\n  /v2/more: {get: {parameters: [{name: q, in: query, required: true}]}}\n"},
		"a new optional field":      {"size: {type: integer}", "size: {type: integer}\n        colour: {type: string}"},
		"a new optional parameter":  {"parameters: [{name: sort", "parameters: [{name: page, in: query}, {name: sort"},
		"a new request field":       {"properties: {name", "properties: {more: {type: string}, name"},
		"a new value":               {"[open, shut]", "[open, shut, ajar]"},
		"a new answer":              {"        '404'", "        '409': {description: no}\n        '404'"},
		"a new promise":             {"required: [id]", "required: [id, size]"},
		"a request that takes more": {"name: {type: string}", "name: {type: [string, 'null']}"},
		"a beta that changes":       {"/v3/things:", "/v3/others:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := apitest.Breaks([]byte(small), []byte(strings.Replace(small, test.from, test.to, 1)))
			require.NoError(t, err)
			require.Empty(t, got)
		})
	}
}
