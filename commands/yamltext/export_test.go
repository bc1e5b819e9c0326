package yamltext

import "svc/domain/document"

// ReadForeign reads a text with the library, also one that document.YAML wrote.
func ReadForeign(text []byte, limits document.Limits) (any, error) {
	return readForeign(text, document.Counter{Limits: limits})
}
