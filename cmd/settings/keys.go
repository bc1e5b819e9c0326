package settings

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// MasterKey is one key of SECRETS_MASTER_KEYS. The active one wraps data keys,
// the others only unwrap.
type MasterKey struct {
	KID    string
	Key    Secret // 32 raw bytes
	Active bool
}

// Bytes returns the raw key.
func (k MasterKey) Bytes() []byte { return []byte(k.Key.Reveal()) }

// The example keys of docs/config.md. They show the form and are refused.
const (
	exampleMasterKey = "8f3a61c27d09e4b5120c9be87f46d3a15e72b80d94cf1b6a3de05871ac29f64b"
	exampleAPIKey    = "example-only-3vQ8mZ1xKd7TgLw0RbYc"
)

const (
	masterKeyBytes  = 32
	apiKeyMinLength = 32
	minDistinct     = 12
	minDistinctHex  = 8 // of the 16 digits
)

// wireKey is the JSON form of a master key.
type wireKey struct {
	KID    string `json:"kid"`
	Key    string `json:"key"`
	Active bool   `json:"active,omitempty"`
}

func masterKeys(p *[]MasterKey) value {
	const expect = `JSON [{"kid":"k1","key":"<64 hex digits>","active":true}, …]`
	return bind(p, "JSON", expect, parseMasterKeys)
}

// parseMasterKeys parses and checks SECRETS_MASTER_KEYS. Its errors name a key by its kid and never contain the key.
func parseMasterKeys(text string) ([]MasterKey, error) {
	var wire []wireKey
	if decodeJSON(text, &wire) != nil {
		return nil, errBad
	}
	var keys []MasterKey
	seen, active := map[string]bool{}, 0
	for i, w := range wire {
		key, err := w.parse()
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if seen[key.KID] {
			return nil, fmt.Errorf("kid %s is given twice", key.KID)
		}
		seen[key.KID] = true
		if key.Active {
			active++
		}
		keys = append(keys, key)
	}
	if active != 1 {
		return nil, fmt.Errorf("exactly one key must be active, not %d", active)
	}
	return keys, nil
}

var kidPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,40}$`)

func (w wireKey) parse() (MasterKey, error) {
	if !kidPattern.MatchString(w.KID) {
		return MasterKey{}, errors.New("kid must be 1-40 letters, digits, dots, dashes or underscores")
	}
	raw, err := hex.DecodeString(w.Key)
	if err != nil || len(raw) != masterKeyBytes {
		return MasterKey{}, errors.New("a key must be 32 bytes as 64 hex digits")
	}
	if strings.EqualFold(w.Key, exampleMasterKey) {
		return MasterKey{}, errors.New("the example key of the documentation protects nothing")
	}
	if err := checkStrength(raw); err != nil {
		return MasterKey{}, err
	}
	return MasterKey{KID: w.KID, Key: Secret(raw), Active: w.Active}, nil
}

func internalKey(p *Secret) value {
	const expect = "a random key of at least 32 characters without blanks"
	return bind(p, "text", expect, parseInternalKey)
}

// parseInternalKey checks INTERNAL_API_KEY as it is and, when it is hex, the decoded bytes: hex has few distinct
// characters, and hides patterns.
func parseInternalKey(text string) (Secret, error) {
	if len(text) < apiKeyMinLength || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errBad
	}
	if text == exampleAPIKey || strings.EqualFold(text, exampleMasterKey) {
		return "", errors.New("the example key of the documentation protects nothing")
	}
	raw, hexErr := hex.DecodeString(text)
	if hexErr != nil {
		return Secret(text), checkStrength([]byte(text))
	}
	if hasPattern(raw) || hasPattern([]byte(text)) {
		return "", errPattern
	}
	if countDistinct(raw) < minDistinct || countDistinct([]byte(text)) < minDistinctHex {
		return "", errFewBytes
	}
	return Secret(text), nil
}

var (
	errPattern  = errors.New("the key follows a pattern; take a random one")
	errFewBytes = fmt.Errorf("the key has fewer than %d distinct bytes; take a random one", minDistinct)
)

// checkStrength refuses a key that is clearly not random.
func checkStrength(key []byte) error {
	if hasPattern(key) {
		return errPattern
	}
	if countDistinct(key) < minDistinct {
		return errFewBytes
	}
	return nil
}

func countDistinct(key []byte) int {
	seen := map[byte]bool{}
	for _, b := range key {
		seen[b] = true
	}
	return len(seen)
}

// hasPattern reports whether key is all equal, counts in steps for three
// quarters of its length, or repeats its first half.
func hasPattern(key []byte) bool {
	steps := map[byte]int{}
	most := 0
	for i := 1; i < len(key); i++ {
		step := key[i] - key[i-1]
		steps[step]++
		most = max(most, steps[step])
	}
	half := len(key) / 2
	return 4*most >= 3*(len(key)-1) || bytes.Equal(key[:half], key[len(key)-half:])
}

// newMasterKeys is the text of SECRETS_MASTER_KEYS with one fresh key.
func newMasterKeys(raw []byte) string {
	text, _ := json.Marshal([]wireKey{{KID: "k1", Key: hex.EncodeToString(raw), Active: true}}) // strings always encode
	return string(text)
}

// KeyFile is a key in the data directory, instead of one from the settings.
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

const internalKeyName = "internal-api-key"

// InternalKeyFile returns where a node stores the internal API key that it generates.
func InternalKeyFile(dataDir string) string { return filepath.Join(keysDir(dataDir), internalKeyName) }

func keysDir(dataDir string) string { return filepath.Join(dataDir, "keys") }

// generatedKeys lists the keys that a single node generates.
func generatedKeys() []keySpec {
	return []keySpec{
		{"SECRETS_MASTER_KEYS", "master-keys.json", newMasterKeys},
		{"INTERNAL_API_KEY", internalKeyName, base64.RawURLEncoding.EncodeToString},
	}
}

// EnsureKeys fills in the keys that were not given: from DATA_DIR/keys, or new ones from random, which are stored
// there. It refuses key files that others can read or own, and refuses to generate for a cluster or an external
// broker. It returns every key that lies in the data directory, new or not.
//
// It changes loaded, and so must run before loaded is shared.
func EnsureKeys(loaded *Loaded, random io.Reader) ([]KeyFile, error) {
	store := keyStore{dir: keysDir(loaded.Config.Core.DataDir), uid: os.Geteuid()}
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
		if err := loaded.setGenerated(spec.setting, text); err != nil {
			return nil, fmt.Errorf("key file %s: %w; restore it from a backup", file.Path, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// create generates a key, checks it like a given one, and stores it.
func (s keyStore) create(path string, spec keySpec, random io.Reader) (string, error) {
	raw := make([]byte, masterKeyBytes)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("read random source: %w", err)
	}
	if err := checkStrength(raw); err != nil {
		return "", fmt.Errorf("random source is broken: %w", err)
	}
	text := spec.make(raw)
	return text, s.write(path, text)
}

// setGenerated sets a setting to a generated text.
func (l *Loaded) setGenerated(name, text string) error {
	for i, row := range l.rows {
		if row.Name != name {
			continue
		}
		if err := row.value.set(text); err != nil {
			return errors.New(describeFault("expected "+row.value.expect, err))
		}
		l.given[name] = given{name, i, text, text, name, OriginGenerated}
		return nil
	}
	return fmt.Errorf("%s is not a setting", name)
}

// keyStore stores keys in files that only one user may read.
type keyStore struct {
	dir string
	uid int
}

const (
	keyDirMode  = 0o700
	keyFileMode = 0o600
	maxKeyFile  = 64 << 10
)

// read returns the text of a key file, os.ErrNotExist when there is none.
func (s keyStore) read(path string) (string, error) {
	if err := s.checkDir(); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return "", fmt.Errorf("%s is a symbolic link; put the key file itself there", path)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	if err := s.checkPrivate(path, info, keyFileMode); err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	return strings.TrimSuffix(string(content), "\n"), err
}

// checkDir checks the directory; os.ErrNotExist when there is none.
func (s keyStore) checkDir() error {
	info, err := os.Lstat(s.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", s.dir)
	}
	return s.checkPrivate(s.dir, info, keyDirMode)
}

// checkPrivate refuses a path that another user owns or can access.
func (s keyStore) checkPrivate(path string, info os.FileInfo, mode os.FileMode) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != s.uid {
		return fmt.Errorf("%s is owned by user %d, not by %d that runs svc; fix it with: chown %d %s", path, stat.Uid, s.uid, s.uid, path)
	}
	if got := info.Mode().Perm(); got&^mode != 0 {
		return fmt.Errorf("%s has access rights %04o, wider than %04o; if nobody else has read it, fix it with: chmod %04o %s", path, got, mode, mode, path)
	}
	return nil
}

// write stores text in a new file at path, atomically and synced.
func (s keyStore) write(path, text string) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // already renamed on success
	_, err = temp.WriteString(text + "\n")
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// makeDir creates the directory and makes its name durable.
func (s keyStore) makeDir() error {
	data := filepath.Dir(s.dir)
	if err := os.MkdirAll(data, keyDirMode); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, keyDirMode); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := syncDir(data); err != nil {
		return err
	}
	return s.checkDir()
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
