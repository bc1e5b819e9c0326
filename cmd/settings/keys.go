package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// KeyFile is a key that lies in the data directory instead of being given.
// Losing the file loses what the key protects, so each start says where it is.
type KeyFile struct {
	Setting string // SECRETS_MASTER_KEYS or INTERNAL_API_KEY
	Path    string
	Created bool // made by this call, not by an earlier start
}

// keySpec is one key that may be generated.
type keySpec struct {
	setting, file string
	make          func(raw []byte) string
}

// generatedKeys is the list of keys that a single node makes for itself.
func generatedKeys() []keySpec {
	return []keySpec{
		{"SECRETS_MASTER_KEYS", "master-keys.json", newMasterKeys},
		{"INTERNAL_API_KEY", "internal-api-key", base64.RawURLEncoding.EncodeToString},
	}
}

// EnsureKeys fills in the keys that were not given: from DATA_DIR/keys, or
// freshly drawn from random and kept there. It refuses key files that others
// can read or own, and refuses to generate for a cluster or an external broker.
// It returns every key that lies in the data directory, new or not.
//
// It changes loaded, and so must run before loaded is shared.
func EnsureKeys(loaded *Loaded, random io.Reader) ([]KeyFile, error) {
	store := keyStore{dir: filepath.Join(loaded.Config.Core.DataDir, "keys"), uid: os.Geteuid()}
	return store.ensure(loaded, random)
}

// ensure is EnsureKeys for one directory and one owner.
func (s keyStore) ensure(loaded *Loaded, random io.Reader) ([]KeyFile, error) {
	var files []KeyFile
	for _, spec := range generatedKeys() {
		if v, ok := loaded.given[spec.setting]; ok && v.origin != OriginGenerated {
			continue
		}
		if !loaded.Config.Broker.Single() {
			return nil, Faults{{spec.setting, "", "a value: with a cluster or an external broker no key is generated"}}
		}
		file := KeyFile{Setting: spec.setting, Path: filepath.Join(s.dir, spec.file)}
		text, err := s.read(file.Path)
		if errors.Is(err, os.ErrNotExist) {
			file.Created = true
			text, err = s.create(file.Path, spec, random)
		}
		if err != nil {
			return nil, fmt.Errorf("key of %s: %w", spec.setting, err)
		}
		if err := loaded.adopt(spec.setting, text); err != nil {
			return nil, fmt.Errorf("key file %s: %w; restore it from a backup", file.Path, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// create draws a key, judges it like a given one, and keeps it.
func (s keyStore) create(path string, spec keySpec, random io.Reader) (string, error) {
	raw := make([]byte, masterKeyBytes)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("read random source: %w", err)
	}
	if err := weak(raw); err != nil {
		return "", fmt.Errorf("random source is broken: %w", err)
	}
	text := spec.make(raw)
	return text, s.write(path, text)
}

// adopt sets a setting to a generated text.
func (l *Loaded) adopt(name, text string) error {
	for i, row := range l.rows {
		if row.Name != name {
			continue
		}
		if err := row.value.set(text); err != nil {
			return errors.New(reason("expected "+row.value.expect, err))
		}
		l.given[name] = given{name, i, text, text, name, OriginGenerated}
		return nil
	}
	return fmt.Errorf("%s is not a setting", name)
}
