package main

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// The document of a binary is the same each time, and what is no binary has none.
func TestTheDocumentOfABinary(t *testing.T) {
	binary, err := os.Executable() // of this test
	require.NoError(t, err)
	var texts [2]string
	for i := range texts {
		at := filepath.Join(t.TempDir(), "bom.json")
		require.NoError(t, write(binary, "1.2.3", at))
		text, err := os.ReadFile(at)
		require.NoError(t, err)
		texts[i] = string(text)
	}
	require.Equal(t, texts[0], texts[1])
	var made bom
	require.NoError(t, json.Unmarshal([]byte(texts[0]), &made))
	require.Equal(t, "1.2.3", made.Metadata.Component.Version)
	require.Equal(t, "stdlib", made.Components[0].Name)

	require.ErrorContains(t, write(filepath.Join(t.TempDir(), "none"), "1", "x"), "read the modules of")
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no binary"), 0o600))
	require.ErrorContains(t, write(text, "1", filepath.Join(t.TempDir(), "x")), "read the modules of")
}

// A module that is replaced is listed as that which is linked, and every reference has its component.
func TestModules(t *testing.T) {
	made := describe(&debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "svc"},
		Deps: []*debug.Module{
			{Path: "example.com/one", Version: "v1.0.0+incompatible", Sum: "h1:abc="},
			{Path: "example.com/two", Version: "v2.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v2.0.1"}},
		},
	}, "svc", "1.2.3", [sha256.Size]byte{})
	var urls []string
	for _, c := range made.Components {
		urls = append(urls, c.PackageURL)
	}
	require.Equal(t, []string{"pkg:golang/stdlib@1.26.8", "pkg:golang/example.com/one@v1.0.0%2Bincompatible", "pkg:golang/example.com/fork@v2.0.1"}, urls)
	require.Equal(t, []property{{"go:sum", "h1:abc="}}, made.Components[1].Properties)
	require.Equal(t, dependency{"pkg:golang/svc@1.2.3", urls}, made.Dependencies[0])
	require.Len(t, made.Dependencies, 4)
}
