package knowledge

import (
	"fmt"

	"svc/domain/document"
)

// Settings are what the documents of a base are processed by.
type Settings struct {
	Chunking Chunking
	Language string // of documents whose text does not tell
}

// ReadSettings reads the settings of a base. Those that it does not name have their defaults.
func ReadSettings(base *document.Map) Settings {
	base = document.Knowledge.Complete(base)
	chunking := base.Object("chunking")
	return Settings{
		Language: base.Text("language"),
		Chunking: Chunking{Fixed: chunking.Text("strategy") == "fixed", Size: integer(chunking, "size"), Overlap: integer(chunking, "overlap")},
	}
}

func integer(m *document.Map, name string) int {
	v, _ := m.Get(name)
	f, _ := v.(float64)
	return int(f)
}

// Division names how texts are divided. A document that was divided in another way has to be divided again.
func (s Settings) Division() string {
	strategy := "structure"
	if s.Chunking.Fixed {
		strategy = "fixed"
	}
	return fmt.Sprintf("%d/%s/%d/%d/%s", ChunkingVersion, strategy, s.Chunking.Size, s.Chunking.Overlap, s.Language)
}
