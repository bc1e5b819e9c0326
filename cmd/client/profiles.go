package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Profile is a service, and who one is there.
type Profile struct {
	URL       string    `json:"url"`
	Email     string    `json:"email,omitempty"`
	UserID    string    `json:"userId"`
	Token     string    `json:"token"`
	TokenID   string    `json:"tokenId,omitempty"` // of an access token that was made for this profile
	ExpiresAt time.Time `json:"expiresAt"`
}

// Profiles are the profiles of a user of this machine, by their name.
type Profiles map[string]Profile

// profilesFile is the form of the file. The names stand below a key, so that there
// is room for more beside them.
type profilesFile struct {
	Profiles Profiles `json:"profiles"`
}

const (
	profilesDirMode  = 0o700
	profilesFileMode = 0o600 // it holds tokens
)

// ReadProfiles reads the profiles in a file. There are none when there is no file.
// A file that others may read is refused.
func ReadProfiles(path string) (Profiles, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return Profiles{}, nil
	}
	if err != nil {
		return nil, err
	}
	if got := info.Mode().Perm(); got&^profilesFileMode != 0 {
		return nil, fmt.Errorf("%s has access rights %04o and holds tokens; if nobody else has read it, fix it with: chmod 0600 %s", path, got, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file profilesFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s cannot be read as profiles: mend it, or remove it and sign in again", path) // the parser's words may hold part of a token
	}
	if file.Profiles == nil {
		file.Profiles = Profiles{}
	}
	return file.Profiles, nil
}

// Write keeps the profiles in a file that only its owner may read: complete, or as
// it was.
func (p Profiles) Write(path string) error {
	text, err := json.MarshalIndent(profilesFile{p}, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, profilesDirMode); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".profiles-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already after the rename
	_, err = temp.Write(append(text, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
