package knowledge

import (
	"fmt"
	"strconv"
	"strings"

	"svc/domain/document"
)

// Settings are what the documents of a base are processed by.
type Settings struct {
	Chunking Chunking
	Language string // of documents whose text does not tell
	Embedding
}

// Embedding is the model that turns passages into vectors. The zero Embedding is none.
type Embedding struct {
	Model      string
	Dimensions int // 0: those of the model
}

// VectorSet names the vectors that an embedding makes; "": none. Vectors of different sets cannot be compared.
func (e Embedding) VectorSet() string {
	if e.Model == "" {
		return ""
	}
	return e.Model + "@" + strconv.Itoa(e.Dimensions)
}

// ParseVectorSet returns the embedding that makes a set of vectors.
func ParseVectorSet(set string) Embedding {
	at := strings.LastIndexByte(set, '@')
	if at < 0 {
		return Embedding{}
	}
	dimensions, _ := strconv.Atoi(set[at+1:]) // it was written by VectorSet
	return Embedding{set[:at], dimensions}
}

// ReadSettings reads the settings of a base. Those that it does not name have their defaults.
func ReadSettings(base *document.Map) Settings {
	base = document.Knowledge.Complete(base)
	chunking, embedding := base.Object("chunking"), base.Object("embedding")
	return Settings{
		Language: base.Text("language"), Embedding: Embedding{embedding.Text("model"), integer(embedding, "dimensions")},
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
