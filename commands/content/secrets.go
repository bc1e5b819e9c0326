package content

import "svc/domain/document"

// SecretSettings returns the settings that the config of an index declares as
// secret.
func SecretSettings(index *document.Map) []string {
	config, _ := index.Get("config")
	m, _ := config.(*document.Map)
	schema, _ := m.Get("schema")
	typed, _ := schema.(*document.Map)
	var names []string
	for name, field := range typed.All() {
		if f, ok := field.(*document.Map); ok {
			if secret, _ := boolOf(f, "secret"); secret {
				names = append(names, name)
			}
		}
	}
	return names
}
