package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled are the schemas of a document, each compiled when it is asked for first:
// that takes much longer than to hold an answer to it.
type compiled struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

const home = "https://svc.invalid/openapi.json"

func compile(doc *openapi3.T) (*compiled, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("load document: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("load document: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	return &compiled{compiler: compiler}, compiler.AddResource(home, value)
}

// check holds a body to the schema at a place of the document, "" for none.
func (c *compiled) check(place string, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil || place == "" {
		return err
	}
	c.mu.Lock()
	schema, err := c.compiler.Compile(home + place)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
