package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"

	"svc/http/gateway"
)

//go:embed openapi.yaml
var openapi []byte

// OpenAPI returns the OpenAPI document of the API in YAML, as it was written.
func OpenAPI() []byte { return bytes.Clone(openapi) }

// openapiJSON converts the document, once, for the first who asks: most services are never asked. It fails when the
// document is not YAML: a fault of the build, which a test finds.
var openapiJSON = sync.OnceValues(func() ([]byte, error) { return toJSON(openapi) })

// documentAsYAML handles GET /openapi.yaml.
func documentAsYAML() gateway.HandlerFunc {
	return static("application/yaml", func() ([]byte, error) { return openapi, nil })
}

// documentAsJSON handles GET /openapi.json.
func documentAsJSON() gateway.HandlerFunc {
	return static("application/json; charset=utf-8", openapiJSON)
}

// static serves bytes that change with the build only.
func static(kind string, load func() ([]byte, error)) gateway.HandlerFunc {
	tag := sync.OnceValue(func() string {
		body, _ := load() // it did not fail before
		sum := sha256.Sum256(body)
		return `"` + hex.EncodeToString(sum[:8]) + `"`
	})
	return func(*http.Request) (any, error) {
		body, err := load()
		if err != nil {
			return nil, fmt.Errorf("openapi.yaml: %w", err)
		}
		return gateway.Content{Type: kind, Reader: bytes.NewReader(body), Header: http.Header{
			"Etag":          {tag()},
			"Cache-Control": {"no-cache"},
		}}, nil
	}
}

// toJSON converts YAML to JSON and keeps the order of keys.
func toJSON(text []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	if len(root.Content) != 1 {
		return nil, fmt.Errorf("%d documents instead of one", len(root.Content))
	}
	var out bytes.Buffer
	err := writeNode(&out, root.Content[0])
	return out.Bytes(), err
}

func writeNode(out *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return writeItems(out, n, "{}", 2)
	case yaml.SequenceNode:
		return writeItems(out, n, "[]", 1)
	case yaml.ScalarNode:
		return writeScalar(out, n)
	}
	return fmt.Errorf("line %d: aliases are not used here", n.Line)
}

// writeItems writes the content of a node between brackets: in steps of two,
// key and value, for a mapping.
func writeItems(out *bytes.Buffer, n *yaml.Node, brackets string, step int) error {
	out.WriteByte(brackets[0])
	for i := 0; i < len(n.Content); i += step {
		if i > 0 {
			out.WriteByte(',')
		}
		if step == 2 {
			key, _ := json.Marshal(n.Content[i].Value) // a text always encodes
			out.Write(append(key, ':'))
		}
		if err := writeNode(out, n.Content[i+step-1]); err != nil {
			return err
		}
	}
	out.WriteByte(brackets[1])
	return nil
}

func writeScalar(out *bytes.Buffer, n *yaml.Node) error {
	var value any
	if err := n.Decode(&value); err != nil {
		return err
	}
	encoded, err := json.Marshal(value)
	out.Write(encoded)
	return err
}
